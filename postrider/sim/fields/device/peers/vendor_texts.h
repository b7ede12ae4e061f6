// The vendor's side of both versions of its API: what a request asks for, and what the answers look
// like. Written apart from the client's codec on purpose. Used by Vendor only; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/protocols/device/command.h"
#include "postrider/protocols/device/reply.h"

namespace postrider::sim {

enum class VendorCallKind : std::uint8_t { kCreate, kPoll, kLogin, kMint, kOther };
// What a path is for. `command` is one of the service's kind: a read, a token, TURN_ON or SET_DATE.
struct VendorPath {
  VendorCallKind kind = VendorCallKind::kOther;
  device::Command command = device::Command::kReadCredit;
};
VendorPath read_path_v1(std::string_view path);
VendorPath read_path_v2(std::string_view path);

struct VendorCredentials {
  std::string company;
  std::string user;
  std::string password;
};

// kInvalid says why the vendor refuses it.
Result<VendorCredentials> read_credentials_v1(std::string_view body);
Result<device::Request> read_create_body_v1(device::Command kind, std::string_view body);
Result<std::string> read_poll_body_v1(std::string_view body);
std::string create_answer_v1(std::string_view task);
std::string error_answer_v1(std::string_view code, std::string_view reason);
// `response` null: pending, told by one of three words. A rejected token has no result.
std::string poll_answer_v1(std::string_view task, const device::Request& request,
                           const device::Response* response, std::uint64_t pending_word);

Result<VendorCredentials> read_login_body_v2(std::string_view body);
std::string login_answer_v2(Timestamp expires_at, std::uint64_t serial, std::string& jwt);
Result<device::Request> read_create_body_v2(device::Command kind, std::string_view body);
Result<std::string> read_poll_body_v2(std::string_view body);
std::string create_answer_v2(std::string_view task);
std::string error_answer_v2(std::int64_t code, std::string_view reason);
std::string poll_answer_v2(const device::Request& request, const device::Response* response);

// A token is to be made: for which meter, and in version 1 by whom.
struct VendorMint {
  VendorCredentials who;
  std::string meter;
};
Result<VendorMint> read_mint_body_v1(std::string_view body);
Result<VendorMint> read_mint_body_v2(std::string_view body);
std::string mint_answer_v1(std::string_view token);
std::string mint_refusal_v1(std::int64_t code, std::string_view reason);
std::string mint_answer_v2(std::string_view token);

// Another request with an answer of another kind: what a vendor that lies answers for.
device::Request another_request(const device::Request& request);

}  // namespace postrider::sim
