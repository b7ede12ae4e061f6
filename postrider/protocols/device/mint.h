// Mint: a token for a meter, asked of a vendor or of an STS service. Making one costs credit, so a
// reply that was lost is not asked for again blindly. Pure functions; tokens are secrets.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/protocols/calin/calin.h"
#include "postrider/protocols/device/command.h"
#include "postrider/protocols/device/reply.h"

namespace postrider::device {

inline constexpr std::size_t kDecoderKeyDigits = 16;

// The body of POST /token/generate.
struct Mint {
  Command type = Command::kTopUpKwh;  // one that carries a token, but for a pre-existing one
  std::string plugin;
  std::string meter;
  std::string decoder_key;             // hexadecimal; empty: none. A secret.
  Timestamp issued;                    // wall time
  std::string correlation;             // the caller's own id; empty: none
  std::optional<Decimal> kwh;          // TOP_UP_KWH
  std::optional<Decimal> power_limit;  // SET_POWER_LIMIT, in W
  friend bool operator==(const Mint&, const Mint&) = default;
};
// Strict, like that of commands.
Result<Mint> parse_mint(std::string_view json);
std::string encode_mint(const Mint& mint);

// Where tokens are made, and as whom.
struct VendorV1 {
  calin::CredentialsV1 credentials;
  std::string vend_password;
};
struct VendorV2 {
  calin::CredentialsV2 credentials;
  std::string vend_password;
  std::string serial;  // a UUID of ours
};
calin::Call mint_call_v1(const VendorV1& vendor, const Mint& mint);
calin::Call mint_call_v2(const VendorV2& vendor, const Mint& mint);
// kInvalid when there is no decoder key.
Result<calin::Call> mint_call_sts(const Mint& mint, int random_number);

// kAccepted: `item` is the token.
SendReply read_mint_v1(const calin::HttpAnswer& answer);
SendReply read_mint_v2(const calin::HttpAnswer& answer);
SendReply read_mint_sts(const calin::HttpAnswer& answer);

}  // namespace postrider::device
