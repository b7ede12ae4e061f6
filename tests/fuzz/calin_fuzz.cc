// Feeds arbitrary answers to the readers of the vendor's API, and the same texts to the reader of
// commands as callers hand them in. The first bytes pick the command, the HTTP status and the kind
// of content.
#include "postrider/protocols/calin/calin.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/base/check.h"
#include "postrider/protocols/device/message.h"
#include "postrider/protocols/device/ulid.h"

namespace postrider::calin {
namespace {

using device::PollVerdict;
using device::SendVerdict;

void check_send(const device::SendReply& reply) {
  POSTRIDER_CHECK((reply.verdict == SendVerdict::kAccepted) == !reply.item.empty());
  POSTRIDER_CHECK(reply.item.size() <= kTaskBytesMax);
  POSTRIDER_CHECK(reply.reason.size() <= device::kReasonBytesMax);
}

void check_poll(const device::Request& request, const device::PollReply& reply) {
  POSTRIDER_CHECK(reply.reason.size() <= device::kReasonBytesMax);
  if (reply.verdict != PollVerdict::kAnswered) return;
  POSTRIDER_CHECK(reply.response.command == request.command);
  POSTRIDER_CHECK(reply.response.executed == reply.response.reason.empty());
  POSTRIDER_CHECK(reply.response.version.size() <= device::kVersionBytesMax);
  POSTRIDER_CHECK(!reply.response.date || device::is_possible(*reply.response.date));
}

void check_message(std::string_view text) {
  if (const auto message = device::parse_device_message(text)) {
    const std::string canonical = device::encode_device_message(*message);
    const auto again = device::parse_device_message(canonical);
    POSTRIDER_CHECK(again.has_value());
    POSTRIDER_CHECK(*again == *message);
    POSTRIDER_CHECK(device::is_submittable(message->request.command));
  }
  if (const auto ulid = device::parse_ulid(text))
    POSTRIDER_CHECK(device::parse_ulid(device::to_ulid(ulid->high, ulid->low)) == ulid);
}

}  // namespace
}  // namespace postrider::calin

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace postrider;         // NOLINT(google-build-using-namespace): one function
  using namespace postrider::calin;  // NOLINT(google-build-using-namespace)
  if (size < 2) return 0;
  constexpr std::array<int, 8> kStatuses = {200, 200, 200, 200, 201, 401, 404, 500};
  const std::string body(reinterpret_cast<const char*>(data) + 2, size - 2);
  device::Request request;
  request.command = static_cast<device::Command>(data[0] % device::kSubmitCommands);
  request.meter = "47003333623";
  const HttpAnswer answer{.status = kStatuses[data[1] % 8],
                          .content_type = data[1] < 240 ? "application/json" : "text/html",
                          .body = body};
  check_message(body);
  check_send(read_create_v1(request, answer));
  check_send(read_create_v2(answer));
  check_poll(request, read_poll_v1(request, "T1", answer));
  check_poll(request, read_poll_v2(request, answer));
  if (const auto login = read_login_v2(answer)) POSTRIDER_CHECK(!login->jwt.empty());
  if (const auto expiry = jwt_expiry(body)) POSTRIDER_CHECK(expiry->is_set());
  return 0;
}
