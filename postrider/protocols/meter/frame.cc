#include "postrider/protocols/meter/frame.h"

#include <algorithm>

#include "postrider/base/check.h"
#include "postrider/protocols/meter/fields.h"

namespace postrider::device {
namespace {

constexpr std::uint8_t kStart = 0x68;
constexpr std::uint8_t kEnd = 0x16;
constexpr std::uint8_t kOffset = 0x33;
constexpr std::size_t kHeadBytes = 10;  // start, address, start, control, length
constexpr std::size_t kTailBytes = 2;   // checksum, end
constexpr std::size_t kAddressBytes = 6;
constexpr std::size_t kIdentifierBytes = 2;
constexpr std::size_t kPasswordBytes = 4;

constexpr std::uint16_t kReportIdentifier = 0xC111;
constexpr std::uint16_t kTokenIdentifier = 0xA120;
constexpr std::uint16_t kOnIdentifier = 0xC03D;
constexpr std::uint16_t kOffIdentifier = 0xC03C;
constexpr std::uint16_t kDateIdentifier = 0xC010;
constexpr std::uint16_t kTimeIdentifier = 0xC011;
constexpr char kOnData = '\x96';
constexpr char kOffData = '\x35';

auto corrupt_frame(const char* why) { return fail(ErrorCode::kCorrupt, why); }
auto invalid(const char* why) { return fail(ErrorCode::kInvalid, why); }

std::uint8_t byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

std::uint8_t sum_of(std::string_view bytes) {
  std::uint8_t sum = 0;
  for (const char c : bytes) sum = static_cast<std::uint8_t>(sum + static_cast<std::uint8_t>(c));
  return sum;
}

// Nothing when it is not 1 to 12 decimal digits.
std::optional<std::string> padded_meter(std::string_view meter) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (meter.empty() || meter.size() > kMeterDigitsMax) return std::nullopt;
  if (!std::all_of(meter.begin(), meter.end(), is_digit)) return std::nullopt;
  return std::string(kMeterDigitsMax - meter.size(), '0').append(meter);
}

std::uint16_t identifier_of(std::string_view body) {
  return static_cast<std::uint16_t>(byte_at(body, 1) << 8 | byte_at(body, 0));
}

// The data item of a read or a write; nothing for tokens, the power limit and what meters lack.
std::optional<std::uint16_t> identifier_of(const Request& request) {
  const auto phase = static_cast<std::uint16_t>(
      request.phase == MeterPhase::kNone ? 0 : static_cast<unsigned>(request.phase) - 1);
  const auto plus_phase = [&](std::uint16_t first) {
    return static_cast<std::uint16_t>(first + phase);
  };
  switch (request.command) {
    case Command::kReadCredit: return 0xE421;
    case Command::kReadVoltage: return plus_phase(0xB611);
    case Command::kReadCurrent: return plus_phase(0xB621);
    case Command::kReadPower: return plus_phase(0xB630);
    case Command::kReadDate:
    case Command::kSetDate: return kDateIdentifier;
    case Command::kReadTime:
    case Command::kSetTime: return kTimeIdentifier;
    case Command::kTurnOn: return kOnIdentifier;
    case Command::kTurnOff: return kOffIdentifier;
    case Command::kReadPowerLimit:
    case Command::kReadVersion:
    case Command::kClearCredit:
    case Command::kClearTamper:
    case Command::kSetPowerLimit:
    case Command::kTopUpKwh:
    case Command::kDeliverPreexistingToken:
    case Command::kReadReport:
    case Command::kJoinNetwork: return std::nullopt;
  }
  POSTRIDER_CHECK(false);
}

bool is_write(Command command) { return is_act(command) && !is_token(command); }

std::string identifier_bytes(std::uint16_t identifier) {
  return {static_cast<char>(identifier & 0xFF), static_cast<char>(identifier >> 8)};
}

// What follows the identifier and the password of a write.
std::string write_data(const Request& request) {
  if (request.command == Command::kTurnOn) return {kOnData};
  if (request.command == Command::kTurnOff) return {kOffData};
  return request.command == Command::kSetDate ? date_bytes(*request.date)
                                              : time_bytes(*request.time);
}

Result<Request> read_write(const Frame& frame) {
  Request request;
  request.meter = frame.meter;
  if (frame.body.size() <= kIdentifierBytes + kPasswordBytes)
    return corrupt_frame("a write has no data");
  const std::string_view data =
      std::string_view(frame.body).substr(kIdentifierBytes + kPasswordBytes);
  switch (identifier_of(frame.body)) {
    case kOnIdentifier:
    case kOffIdentifier: {
      const bool on = identifier_of(frame.body) == kOnIdentifier;
      request.command = on ? Command::kTurnOn : Command::kTurnOff;
      if (data != std::string_view(on ? &kOnData : &kOffData, 1))
        return corrupt_frame("no relay command");
      return request;
    }
    case kDateIdentifier:
      request.command = Command::kSetDate;
      request.date = read_date(data);
      break;
    case kTimeIdentifier:
      request.command = Command::kSetTime;
      request.time = read_time(data);
      break;
    default: return corrupt_frame("the meter cannot write this");
  }
  if (!request.date && !request.time) return corrupt_frame("the date or time is impossible");
  return request;
}

Result<Request> read_read(const Frame& frame) {
  constexpr Command kReads[] = {Command::kReadCredit, Command::kReadVoltage, Command::kReadCurrent,
                                Command::kReadPower,  Command::kReadDate,    Command::kReadTime};
  constexpr MeterPhase kPhases[] = {MeterPhase::kA, MeterPhase::kB, MeterPhase::kC};
  if (frame.body.size() != kIdentifierBytes) return corrupt_frame("a read has an identifier only");
  Request request;
  request.meter = frame.meter;
  for (const Command command : kReads) {
    request.command = command;
    for (const MeterPhase phase : kPhases) {
      request.phase = phase;
      if (identifier_of(request) != identifier_of(frame.body)) continue;
      const bool phased = command == Command::kReadVoltage || command == Command::kReadCurrent ||
                          command == Command::kReadPower;
      if (!phased) request.phase = MeterPhase::kNone;
      return request;
    }
  }
  return corrupt_frame("the meter cannot read this");
}

std::optional<Report> read_report(std::string_view body) {
  // Places are counted from the start of the frame in the meter's manual, hence the difference.
  const auto field = [&](std::size_t place, std::size_t size) {
    return body.substr(place - kHeadBytes, size);
  };
  Report report;
  const auto minute = read_bcd(field(13, 1));
  const auto hour = read_bcd(field(14, 1));
  const auto day = read_bcd(field(15, 1));
  const auto month = read_bcd(field(16, 1));
  const auto year = read_bcd(field(17, 1));
  const auto credit = read_float(field(22, 4));
  const auto second_credit = read_float(field(30, 4));
  if (!minute || !hour || !day || !month || !year || !credit || !second_credit) return std::nullopt;
  report.frozen_on = {static_cast<int>(*year) + kYearMin, static_cast<int>(*month),
                      static_cast<int>(*day)};
  report.frozen_at = {static_cast<int>(*hour), static_cast<int>(*minute), 0};
  if (!is_possible(report.frozen_on) || !is_possible(report.frozen_at)) return std::nullopt;
  report.consumption = make_decimal(read_little(field(18, 4)), 2);
  report.credit = *credit;
  report.second_consumption = make_decimal(read_little(field(26, 4)), 2);
  report.second_credit = *second_credit;
  report.demand = static_cast<std::uint32_t>(read_little(field(34, 4)));
  report.voltage = make_decimal(read_little(field(38, 2)), 1);
  report.current = make_decimal(read_little(field(40, 4)), 3);
  report.status = static_cast<std::uint8_t>(read_little(field(44, 1)));
  report.readable = true;
  return report;
}

constexpr std::size_t kReportBodyBytesMin = 45 - kHeadBytes;

bool is_report(const Frame& frame) {
  const bool refused = (frame.control & 0x40) != 0;
  return !refused && frame.body.size() >= kIdentifierBytes &&
         identifier_of(frame.body) == kReportIdentifier;
}

Uplink answer(Response response) {
  return {.kind = UplinkKind::kAnswer, .response = std::move(response), .report = {}};
}

Uplink read_answer(const Frame& frame, const Request& asked) {
  const Command command = asked.command;
  const bool framed_read = is_read(command) && identifier_of(asked).has_value();
  switch (static_cast<Control>(frame.control)) {
    case Control::kReadOk:
      if (!framed_read || frame.body.size() < kIdentifierBytes) return {};
      if (identifier_of(frame.body) != identifier_of(asked)) return {};
      return answer(read_data(command, std::string_view(frame.body).substr(kIdentifierBytes)));
    case Control::kWriteOk: return is_write(command) ? answer(executed(command)) : Uplink();
    case Control::kTokenOk: return is_token(command) ? answer(executed(command)) : Uplink();
    case Control::kReadRefused:
      return framed_read ? answer(not_executed(command, kRefusedByMeter)) : Uplink();
    case Control::kWriteRefused:
      return is_write(command) ? answer(not_executed(command, kRefusedByMeter)) : Uplink();
    case Control::kTokenRefused:
      return is_token(command) ? answer(not_executed(command, kTokenRejected)) : Uplink();
    case Control::kToken:
    case Control::kRead:
    case Control::kWrite: break;
  }
  return {};
}

}  // namespace

Result<std::string> encode_frame(const Frame& frame) {
  const std::optional<std::string> meter = padded_meter(frame.meter);
  if (!meter) return invalid("a meter number has 1 to 12 digits");
  if (frame.body.size() > kFrameBodyBytesMax)
    return fail(ErrorCode::kLimit, "the body is too long");
  std::string bytes(1, static_cast<char>(kStart));
  for (std::size_t i = kAddressBytes; i-- > 0;) {
    const int high = (*meter)[2 * i] - '0';
    const int low = (*meter)[2 * i + 1] - '0';
    bytes.push_back(static_cast<char>(high << 4 | low));
  }
  bytes.push_back(static_cast<char>(kStart));
  bytes.push_back(static_cast<char>(frame.control));
  bytes.push_back(static_cast<char>(frame.body.size()));
  for (const char c : frame.body)
    bytes.push_back(static_cast<char>(static_cast<std::uint8_t>(c) + kOffset));
  bytes.push_back(static_cast<char>(sum_of(bytes)));
  bytes.push_back(static_cast<char>(kEnd));
  return bytes;
}

Result<Frame> decode_frame(std::string_view bytes) {
  if (bytes.size() < kHeadBytes + kTailBytes) return corrupt_frame("the frame is too short");
  if (bytes.size() > kFrameBytesMax) return fail(ErrorCode::kLimit, "the frame is too long");
  if (byte_at(bytes, 0) != kStart || byte_at(bytes, 7) != kStart)
    return corrupt_frame("the frame begins wrongly");
  if (byte_at(bytes, 9) != bytes.size() - kHeadBytes - kTailBytes)
    return corrupt_frame("the frame has another length than it says");
  if (byte_at(bytes, bytes.size() - 1) != kEnd) return corrupt_frame("the frame ends wrongly");
  if (byte_at(bytes, bytes.size() - 2) != sum_of(bytes.substr(0, bytes.size() - kTailBytes)))
    return corrupt_frame("the checksum is wrong");
  Frame frame;
  for (std::size_t i = kAddressBytes; i > 0; --i) {
    const std::uint8_t digits = byte_at(bytes, i);
    if (digits >> 4 > 9 || (digits & 0x0F) > 9) return corrupt_frame("the address is not decimal");
    frame.meter.push_back(static_cast<char>('0' + (digits >> 4)));
    frame.meter.push_back(static_cast<char>('0' + (digits & 0x0F)));
  }
  frame.control = byte_at(bytes, 8);
  for (const char c : bytes.substr(kHeadBytes, bytes.size() - kHeadBytes - kTailBytes))
    frame.body.push_back(static_cast<char>(static_cast<std::uint8_t>(c) - kOffset));
  return frame;
}

Result<std::string> encode_request(const Request& request) {
  if (const Result<void> good = check_request(request); !good) return tl::unexpected(good.error());
  Frame frame;
  frame.meter = request.meter;
  if (request.command == Command::kReadPowerLimit) {
    if (!padded_meter(request.meter)) return invalid("a meter number has 1 to 12 digits");
    return std::string(kDlmsRequest);
  }
  if (is_token(request.command)) {
    if (request.token.size() % 2 != 0) return invalid("a token has an even number of digits");
    frame.control = static_cast<std::uint8_t>(Control::kToken);
    frame.body = identifier_bytes(kTokenIdentifier).append(bcd_bytes(request.token));
    return encode_frame(frame);
  }
  const std::optional<std::uint16_t> identifier = identifier_of(request);
  if (!identifier) return invalid("the meter has no such command");
  frame.body = identifier_bytes(*identifier);
  frame.control = static_cast<std::uint8_t>(Control::kRead);
  if (is_write(request.command)) {
    frame.control = static_cast<std::uint8_t>(Control::kWrite);
    frame.body.append(kPasswordBytes, '\0').append(write_data(request));
  }
  return encode_frame(frame);
}

Result<Request> decode_request(std::string_view bytes) {
  Request request;
  if (bytes == kDlmsRequest) {
    request.command = Command::kReadPowerLimit;
    return request;
  }
  POSTRIDER_TRY(frame, decode_frame(bytes));
  if (frame.body.size() < kIdentifierBytes) return corrupt_frame("a request has an identifier");
  if (frame.control == static_cast<std::uint8_t>(Control::kRead)) return read_read(frame);
  if (frame.control == static_cast<std::uint8_t>(Control::kWrite)) return read_write(frame);
  if (frame.control != static_cast<std::uint8_t>(Control::kToken))
    return corrupt_frame("no request");
  if (identifier_of(frame.body) != kTokenIdentifier) return corrupt_frame("no token");
  request.command = Command::kDeliverPreexistingToken;
  request.meter = frame.meter;
  const auto token = read_digits(std::string_view(frame.body).substr(kIdentifierBytes));
  if (!token || token->empty() || token->size() > kTokenDigitsMax)
    return corrupt_frame("a token is made of digits only");
  request.token = *token;
  return request;
}

Result<std::string> encode_response(const Request& asked, const Response& response) {
  if (asked.command == Command::kReadPowerLimit) return encode_dlms_answer(response);
  Frame frame;
  frame.meter = asked.meter;
  const unsigned refused = response.executed ? 0 : 0x40;
  const bool read = is_read(asked.command);
  const unsigned kind = is_token(asked.command) ? 0x80 : (read ? 0x81 : 0x84);
  frame.control = static_cast<std::uint8_t>(kind | refused);
  if (!response.executed) {
    frame.body.assign(1, '\x01');
  } else if (read) {
    const std::optional<std::uint16_t> identifier = identifier_of(asked);
    const std::optional<std::string> data = data_bytes(asked.command, response);
    if (!identifier || !data) return invalid("the meter has no such answer");
    frame.body = identifier_bytes(*identifier).append(*data);
  }
  return encode_frame(frame);
}

Result<Uplink> read_uplink(std::string_view bytes, std::string_view meter, const Request* asked) {
  if (bytes.starts_with('\0')) {
    // The answer names no meter and no item; only the question makes it a power limit.
    POSTRIDER_TRY(response, read_dlms_answer(bytes));
    const bool fits = asked != nullptr && asked->command == Command::kReadPowerLimit;
    return fits ? answer(response) : Uplink();
  }
  POSTRIDER_TRY(frame, decode_frame(bytes));
  if (padded_meter(meter) != frame.meter) return corrupt_frame("the frame is of another meter");
  if (is_report(frame)) {
    Uplink uplink;
    uplink.kind = UplinkKind::kReport;
    if (frame.body.size() >= kReportBodyBytesMin)
      uplink.report = read_report(frame.body).value_or(Report());
    return uplink;
  }
  return asked == nullptr ? Uplink() : read_answer(frame, *asked);
}

bool answers_alike(const Request& one, const Request& other) {
  if (is_token(one.command) || is_token(other.command))
    return is_token(one.command) && is_token(other.command);
  if (is_write(one.command) || is_write(other.command))
    return is_write(one.command) && is_write(other.command);
  if (one.command == Command::kReadPowerLimit || other.command == Command::kReadPowerLimit)
    return one.command == other.command;
  return identifier_of(one).has_value() && identifier_of(one) == identifier_of(other);
}

}  // namespace postrider::device
