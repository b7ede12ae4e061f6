// What a destination of LXMF can be told, and the numbers that follow. A destination is a
// recipient: its name ends in ':' and the 32 digits of the recipient's address, as lxmf:HASH.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/model/attributes.h"
#include "postrider/model/policy.h"
#include "postrider/model/profile.h"
#include "postrider/protocols/lxmf/message.h"

namespace postrider::lxmf {

struct Prepared {
  std::string identity;  // the key file of the sender, unless the message names another
  Carriage method = Carriage::kOpportunistic;
  std::string node;  // digits of the address of the propagation node; empty: none
};

inline constexpr std::size_t kSettingCount = 8;
extern const std::array<SettingRow, kSettingCount> kSettingRows;
Result<Policy> configure(const NamedTexts& settings);
std::optional<Prepared> prepare(const NamedTexts& settings);

// Nothing: the destination's name does not say a recipient.
std::optional<Address> recipient_of(std::string_view destination);
inline constexpr std::string_view kRecipientPrefix = "lxmf:";
std::string recipient_name(const Address& recipient);  // lxmf:HASH

// How a failure on the way to a node is called: it closes the gate of the node, and no route.
inline constexpr FailureClass kNodeFailure = FailureClass::kServer;
GateName gate_of(std::string_view node);  // by the digits of its address
GateLimits gate_limits(GateName name, const Policy& policy);
GateWords gate_words(GateName name);

}  // namespace postrider::lxmf
