// The vendor API "Calin", in two versions: a command is handed over as a task, and the task is
// asked for its outcome until there is one. Requests hold the operator's credentials: never log a
// body. Pure functions; HTTP is the transport's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/protocols/device/command.h"
#include "postrider/protocols/device/reply.h"

namespace postrider::calin {

inline constexpr std::size_t kReplyBytesMax = std::size_t{256} << 10;
inline constexpr std::size_t kTaskBytesMax = 128;
inline constexpr std::size_t kJwtBytesMax = 8192;
// A login is renewed this long before it ends.
inline constexpr Duration kRenewBefore = 1s;

struct Call {
  std::string path;  // behind the base address
  std::string body;  // JSON, to be POSTed
};

// An answer over HTTP; that there was none is not for the codec to judge.
struct HttpAnswer {
  int status = 0;
  std::string_view content_type;
  std::string_view body;
};
bool is_html(const HttpAnswer& answer);

// Version 1. The credentials travel in every body.
struct CredentialsV1 {
  std::string company;
  std::string user;
  std::string password;
};
// kInvalid when the vendor has no such command, no such data item for the phase, or the request
// lacks what it needs: then no call can ever succeed.
Result<Call> create_call_v1(const CredentialsV1& credentials, const device::Request& request);
Result<Call> poll_call_v1(const CredentialsV1& credentials, const device::Request& request,
                          std::string_view task);
device::SendReply read_create_v1(const device::Request& request, const HttpAnswer& answer);
device::PollReply read_poll_v1(const device::Request& request, std::string_view task,
                               const HttpAnswer& answer);

// Version 2. A login gives a token for the header of every other call.
struct CredentialsV2 {
  std::string user;
  std::string password;
  std::string company;
  std::string customer;
};
Call login_call_v2(const CredentialsV2& credentials);
struct Login {
  std::string jwt;                      // a secret
  std::optional<Timestamp> expires_at;  // wall time; nothing when the token does not say
};
// kUnavailable when the vendor did not log us in; the error never repeats what it said.
Result<Login> read_login_v2(const HttpAnswer& answer);
bool is_login_due(const Login& login, Timestamp wall);
std::string authorization(const Login& login);  // the value of the header

Result<Call> create_call_v2(const CredentialsV2& credentials, const device::Request& request);
Result<Call> poll_call_v2(const CredentialsV2& credentials, const device::Request& request,
                          std::string_view task);
device::SendReply read_create_v2(const HttpAnswer& answer);
device::PollReply read_poll_v2(const device::Request& request, const HttpAnswer& answer);

// The claim "exp" of a JSON Web Token. The signature is the vendor's business.
std::optional<Timestamp> jwt_expiry(std::string_view jwt);

}  // namespace postrider::calin
