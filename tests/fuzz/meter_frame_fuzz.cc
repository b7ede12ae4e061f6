// Feeds arbitrary bytes to the meter frame codec: as they come, and as the body of a sound frame,
// which few mutations would reach. What is read must be what is written.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/base/check.h"
#include "postrider/protocols/meter/frame.h"

namespace postrider::device {
namespace {

constexpr std::string_view kMeter = "047003333623";

Request request_for(std::uint8_t choice) {
  Request request;
  request.command = static_cast<Command>(choice % kSubmitCommands);
  request.phase = static_cast<MeterPhase>(choice / kSubmitCommands % 4);
  request.meter = kMeter;
  return request;
}

void read_answer(std::string_view bytes, const Request& request) {
  const Result<Uplink> uplink = read_uplink(bytes, kMeter, &request);
  if (!uplink || uplink->kind != UplinkKind::kAnswer) return;
  const Response& response = uplink->response;
  POSTRIDER_CHECK(response.command == request.command);
  POSTRIDER_CHECK(response.executed == response.reason.empty());
  if (!response.executed) return;
  // Bytes that are no part of the value may differ; the value may not.
  const Result<std::string> again = encode_response(request, response);
  POSTRIDER_CHECK(again.has_value());
  const Result<Uplink> twice = read_uplink(*again, kMeter, &request);
  POSTRIDER_CHECK(twice.has_value() && twice->response == response);
}

void read_request(std::string_view bytes) {
  const Result<Request> request = decode_request(bytes);
  if (!request || request->command == Command::kReadPowerLimit) return;
  const Result<std::string> again = encode_request(*request);
  POSTRIDER_CHECK(again.has_value());
  POSTRIDER_CHECK(*decode_request(*again) == *request);
}

}  // namespace
}  // namespace postrider::device

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace postrider::device;  // NOLINT(google-build-using-namespace): one function
  if (size < 2) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Request request = request_for(data[0]);
  read_answer(bytes, request);
  read_request(bytes);
  if (const auto frame = decode_frame(bytes)) POSTRIDER_CHECK(*encode_frame(*frame) == bytes);
  if (bytes.size() > kFrameBodyBytesMax) return 0;
  const auto framed =
      encode_frame({.meter = std::string(kMeter), .control = data[1], .body = bytes});
  POSTRIDER_CHECK(framed.has_value());
  read_answer(*framed, request);
  read_request(*framed);
  POSTRIDER_CHECK(read_uplink(*framed, kMeter, nullptr).has_value());
  return 0;
}
