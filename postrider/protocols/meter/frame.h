// The meter's own frame, as it travels over LoRaWAN:
//
//   68 | address (6) | 68 | control | length | body | checksum | 16
//
// The address is the meter number in 12 decimal digits, last byte first; the checksum is the sum of
// all bytes before it. Each byte of the body is sent with 33h added, each field of it last byte
// first. Reading the power limit is the exception: a fixed DLMS request, and a DLMS answer. Pure
// functions; nothing a device sends can do more than be refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/protocols/device/command.h"
#include "postrider/protocols/device/reply.h"

namespace postrider::device {

inline constexpr std::size_t kMeterDigitsMax = 12;
inline constexpr std::size_t kFrameBodyBytesMax = 200;  // the most that a length byte may say
inline constexpr std::size_t kFrameBytesMax = kFrameBodyBytesMax + 12;

enum class Control : std::uint8_t {
  kToken = 0x00,
  kRead = 0x01,
  kWrite = 0x04,
  kTokenOk = 0x80,
  kReadOk = 0x81,
  kWriteOk = 0x84,
  kTokenRefused = 0xC0,
  kReadRefused = 0xC1,
  kWriteRefused = 0xC4,
};

struct Frame {
  std::string meter;  // 12 digits
  std::uint8_t control = 0;
  std::string body;  // as it is meant: without the 33h; fields still last byte first
  friend bool operator==(const Frame&, const Frame&) = default;
};
// kInvalid for a meter number that is not 1 to 12 digits, kLimit for a long body.
Result<std::string> encode_frame(const Frame& frame);
// kCorrupt for a wrong start, end, length or checksum, and for an address that is not decimal.
Result<Frame> decode_frame(std::string_view bytes);

// kInvalid when there is no such frame: READ_VERSION, a token that is missing or has an odd number
// of digits, an impossible date, a meter number that does not fit.
Result<std::string> encode_request(const Request& request);
// The meter's side, for models of one. All token commands look alike on the wire; they are read as
// DELIVER_PREEXISTING_TOKEN. The DLMS request names no meter.
Result<Request> decode_request(std::string_view bytes);
Result<std::string> encode_response(const Request& asked, const Response& response);

// What a meter reports unasked, once per period.
struct Report {
  bool readable = false;  // false: undecodable, and nothing below is set
  Date frozen_on;
  TimeOfDay frozen_at;
  Decimal consumption;  // kWh
  Decimal credit;
  Decimal second_consumption;  // of the second source
  Decimal second_credit;
  std::uint32_t demand = 0;
  Decimal voltage;
  Decimal current;
  std::uint8_t status = 0;
  friend bool operator==(const Report&, const Report&) = default;
};

enum class UplinkKind : std::uint8_t {
  kAnswer,      // to the request
  kMismatched,  // a good frame that does not answer it, or nothing was asked
  kReport       // unasked
};
struct Uplink {
  UplinkKind kind = UplinkKind::kMismatched;
  Response response;  // of an answer
  Report report;      // of a report
};
// The error says why the bytes are no frame of this meter: then they are an uplink without a
// response. `asked` may be null.
Result<Uplink> read_uplink(std::string_view bytes, std::string_view meter, const Request* asked);

// Whether one frame could answer both: then it proves nothing about either.
bool answers_alike(const Request& one, const Request& other);

}  // namespace postrider::device
