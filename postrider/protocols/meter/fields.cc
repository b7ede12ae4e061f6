#include "postrider/protocols/meter/fields.h"

#include <bit>
#include <cmath>

#include "postrider/base/check.h"

namespace postrider::device {
namespace {

constexpr double kAmountMax = 1e9;

// The same in the request and in the answer: version 1, the two ports, which an answer swaps.
constexpr std::string_view kVersion{"\x00\x01", 2};
constexpr std::string_view kPorts{"\x00\x66\x00\x01", 4};
constexpr std::string_view kPortsSwapped{"\x00\x01\x00\x66", 4};
constexpr std::string_view kGetResponse{"\xC4\x01\xC1", 3};  // normal, with our invoke id
constexpr std::size_t kWrapperBytes = 8;
constexpr std::uint8_t kSigned32 = 0x05;
constexpr std::uint8_t kUnsigned32 = 0x06;

auto corrupt(const char* why) { return fail(ErrorCode::kCorrupt, why); }

struct Shape {
  std::size_t at;     // of the value in the data
  std::size_t bytes;  // of the value
  std::uint8_t scale;
};

std::optional<Shape> shape_of(Command command) {
  if (command == Command::kReadCredit) return Shape{0, 4, 2};
  if (command == Command::kReadVoltage) return Shape{1, 3, 2};
  if (command == Command::kReadPower) return Shape{0, 4, 1};
  if (command == Command::kReadCurrent) return Shape{0, 2, 2};
  return std::nullopt;
}

// The digits of a value with as many places as the meter has, e.g. "00012345".
std::optional<std::string> digits_of(const Decimal& value, const Shape& shape) {
  if (value.units < 0 || value.scale > shape.scale) return std::nullopt;
  std::string digits = std::to_string(value.units);
  digits.append(static_cast<std::size_t>(shape.scale - value.scale), '0');
  if (digits.size() > 2 * shape.bytes) return std::nullopt;
  return digits.insert(0, 2 * shape.bytes - digits.size(), '0');
}

std::string two_digits(int number) {
  POSTRIDER_CHECK(number >= 0 && number <= 99);
  return {static_cast<char>('0' + number / 10), static_cast<char>('0' + number % 10)};
}

std::uint32_t read_big(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<std::uint8_t>(c);
  return value;
}

Response read_value(Command command, std::string_view data, const Shape& shape) {
  Response bad = not_executed(command, kUndecodable);
  if (data.size() < shape.at + shape.bytes) return bad;
  const std::optional<std::int64_t> units = read_bcd(data.substr(shape.at, shape.bytes));
  if (!units) return bad;
  Response response = executed(command);
  response.value = make_decimal(*units, shape.scale);
  if (command != Command::kReadCredit) return response;
  if (data.size() < shape.bytes + 2) return bad;
  response.level = static_cast<std::uint8_t>(data[shape.bytes]);
  response.relay_on = data[shape.bytes + 1] == '\0';
  return response;
}

}  // namespace

std::optional<std::string> read_digits(std::string_view bytes) {
  std::string digits;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    if (byte >> 4 > 9 || (byte & 0x0F) > 9) return std::nullopt;
    digits.push_back(static_cast<char>('0' + (byte >> 4)));
    digits.push_back(static_cast<char>('0' + (byte & 0x0F)));
  }
  return digits;
}

std::optional<std::int64_t> read_bcd(std::string_view bytes) {
  POSTRIDER_CHECK(bytes.size() <= 9);
  const std::optional<std::string> digits = read_digits(bytes);
  if (!digits) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : *digits) value = value * 10 + (c - '0');
  return value;
}

std::string bcd_bytes(std::string_view digits) {
  POSTRIDER_CHECK(digits.size() % 2 == 0);
  std::string bytes;
  for (std::size_t i = digits.size(); i > 0; i -= 2)
    bytes.push_back(static_cast<char>((digits[i - 2] - '0') << 4 | (digits[i - 1] - '0')));
  return bytes;
}

std::int64_t read_little(std::string_view bytes) {
  POSTRIDER_CHECK(bytes.size() <= 7);
  std::int64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  return value;
}

std::optional<Decimal> read_float(std::string_view bytes) {
  const auto number = std::bit_cast<float>(static_cast<std::uint32_t>(read_little(bytes)));
  const double amount = number;
  if (!std::isfinite(amount) || std::fabs(amount) > kAmountMax) return std::nullopt;
  return make_decimal(std::llround(amount * 100), 2);
}

std::optional<Date> read_date(std::string_view bytes) {
  if (bytes.size() < 4 || !read_bcd(bytes.substr(0, 1))) return std::nullopt;
  const auto day = read_bcd(bytes.substr(1, 1));
  const auto month = read_bcd(bytes.substr(2, 1));
  const auto year = read_bcd(bytes.substr(3, 1));
  if (!day || !month || !year) return std::nullopt;
  const Date date{static_cast<int>(*year) + kYearMin, static_cast<int>(*month),
                  static_cast<int>(*day)};
  return is_possible(date) ? std::optional(date) : std::nullopt;
}

std::optional<TimeOfDay> read_time(std::string_view bytes) {
  if (bytes.size() < 3) return std::nullopt;
  const auto second = read_bcd(bytes.substr(0, 1));
  const auto minute = read_bcd(bytes.substr(1, 1));
  const auto hour = read_bcd(bytes.substr(2, 1));
  if (!second || !minute || !hour) return std::nullopt;
  const TimeOfDay time{static_cast<int>(*hour), static_cast<int>(*minute),
                       static_cast<int>(*second)};
  return is_possible(time) ? std::optional(time) : std::nullopt;
}

std::string date_bytes(const Date& date) {
  return bcd_bytes(two_digits(date.year - kYearMin) + two_digits(date.month) +
                   two_digits(date.day) + two_digits(weekday_of(date)));
}

std::string time_bytes(const TimeOfDay& time) {
  return bcd_bytes(two_digits(time.hour) + two_digits(time.minute) + two_digits(time.second));
}

Response read_data(Command command, std::string_view data) {
  if (const std::optional<Shape> shape = shape_of(command))
    return read_value(command, data, *shape);
  Response response = executed(command);
  if (command == Command::kReadDate) response.date = read_date(data);
  if (command == Command::kReadTime) response.time = read_time(data);
  if (!response.date && !response.time) return not_executed(command, kUndecodable);
  return response;
}

std::optional<std::string> data_bytes(Command command, const Response& response) {
  if (command == Command::kReadDate && response.date && is_possible(*response.date))
    return date_bytes(*response.date);
  if (command == Command::kReadTime && response.time && is_possible(*response.time))
    return time_bytes(*response.time);
  const std::optional<Shape> shape = shape_of(command);
  if (!shape || !response.value) return std::nullopt;
  const std::optional<std::string> digits = digits_of(*response.value, *shape);
  if (!digits) return std::nullopt;
  std::string data(shape->at, '\0');
  data.append(bcd_bytes(*digits));
  if (command == Command::kReadCredit) {
    data.push_back(static_cast<char>(response.level.value_or(0)));
    data.push_back(response.relay_on.value_or(true) ? '\0' : '\1');
  }
  return data;
}

Result<Response> read_dlms_answer(std::string_view bytes) {
  if (bytes.size() < kWrapperBytes + kGetResponse.size() + 2) return corrupt("DLMS: too short");
  if (!bytes.starts_with(kVersion)) return corrupt("DLMS: another version");
  const std::string_view ports = bytes.substr(2, 4);
  if (ports != kPorts && ports != kPortsSwapped) return corrupt("DLMS: other ports");
  if (read_big(bytes.substr(6, 2)) != bytes.size() - kWrapperBytes)
    return corrupt("DLMS: another length than it says");
  bytes.remove_prefix(kWrapperBytes);
  if (!bytes.starts_with(kGetResponse)) return corrupt("DLMS: no answer to our request");
  bytes.remove_prefix(kGetResponse.size());
  const bool access_error = bytes[0] == 1;
  if (access_error && bytes.size() == 2)
    return not_executed(Command::kReadPowerLimit, kRefusedByMeter);
  if (bytes[0] != 0 || bytes.size() != 6) return corrupt("DLMS: no number of 32 bits");
  const auto type = static_cast<std::uint8_t>(bytes[1]);
  if (type != kSigned32 && type != kUnsigned32) return corrupt("DLMS: no number of 32 bits");
  const std::uint32_t watts = read_big(bytes.substr(2));
  if (type == kSigned32 && watts > 0x7FFFFFFF)
    return not_executed(Command::kReadPowerLimit, kUndecodable);
  Response response = executed(Command::kReadPowerLimit);
  response.value = make_decimal(watts, 0);
  return response;
}

Result<std::string> encode_dlms_answer(const Response& response) {
  std::string content(kGetResponse);
  if (!response.executed) {
    content.append("\x01\x03", 2);  // an access error: denied
  } else {
    if (!response.value || response.value->scale != 0 || response.value->units < 0 ||
        response.value->units > 0xFFFFFFFFLL)
      return fail(ErrorCode::kInvalid, "a power limit is a whole number of watts");
    content.append({'\0', static_cast<char>(kUnsigned32)});
    for (int shift = 24; shift >= 0; shift -= 8)
      content.push_back(static_cast<char>((response.value->units >> shift) & 0xFF));
  }
  std::string bytes(kVersion);
  bytes.append(kPortsSwapped).push_back('\0');
  bytes.push_back(static_cast<char>(content.size()));
  return bytes.append(content);
}

}  // namespace postrider::device
