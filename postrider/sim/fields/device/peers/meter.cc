#include "postrider/sim/fields/device/peers/meter.h"

#include <bit>
#include <charconv>

#include "postrider/base/hash.h"
#include "postrider/protocols/meter/frame.h"

namespace postrider::sim {
namespace {

using device::Command;
using device::Request;
using device::Response;

constexpr std::size_t kReportPlaces = 45;  // counted from the start of the frame
constexpr std::size_t kFrameHeadBytes = 10;

struct Civil {
  device::Date date;
  device::TimeOfDay time;
};

Civil civil_of(Timestamp time) {
  using std::chrono::floor;
  const std::chrono::sys_time<Duration> point{Duration(time.ms())};
  const auto day = floor<std::chrono::days>(point);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(floor<std::chrono::seconds>(point - day));
  return {{static_cast<int>(date.year()), static_cast<int>(static_cast<unsigned>(date.month())),
           static_cast<int>(static_cast<unsigned>(date.day()))},
          {static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
           static_cast<int>(clock.seconds().count())}};
}

Timestamp moment_of(const Civil& civil) {
  const std::chrono::year_month_day date(
      std::chrono::year(civil.date.year),
      std::chrono::month(static_cast<unsigned>(civil.date.month)),
      std::chrono::day(static_cast<unsigned>(civil.date.day)));
  const auto point = std::chrono::sys_days(date) + std::chrono::hours(civil.time.hour) +
                     std::chrono::minutes(civil.time.minute) +
                     std::chrono::seconds(civil.time.second);
  return Timestamp(std::chrono::duration_cast<Duration>(point.time_since_epoch()).count());
}

std::int64_t last_digits(std::string_view token, std::size_t count) {
  token.remove_prefix(token.size() - std::min(count, token.size()));
  std::int64_t number = 0;
  std::from_chars(token.data(), token.data() + token.size(), number);
  return number;
}

void put_little(std::string& body, std::size_t place, std::uint32_t number, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    body[place - kFrameHeadBytes + i] = static_cast<char>(number >> (8 * i) & 0xFF);
}

void put_bcd(std::string& body, std::size_t place, int number) {
  body[place - kFrameHeadBytes] = static_cast<char>(number / 10 % 10 << 4 | number % 10);
}

}  // namespace

Meter::Meter(std::string_view number) : number_(without_zeros(number)) {
  // Every meter has read something by now, and not two the same.
  credit_ = static_cast<std::int64_t>(hash64(number_) % 100'000);
}

Response Meter::run(Timestamp now, const Request& request) {
  const Command command = request.command;
  if (refuses_) {
    const bool token = device::is_token(command);
    return device::not_executed(command, token ? device::kTokenRejected : device::kRefusedByMeter);
  }
  if (device::is_read(command)) return read(now, request);
  if (device::is_token(command)) {
    return take_token(request.token) ? device::executed(command)
                                     : device::not_executed(command, device::kTokenRejected);
  }
  Response response = device::executed(command);
  if (command == Command::kTurnOn || command == Command::kTurnOff) {
    relay_on_ = command == Command::kTurnOn;
    response.relay_on = relay_on_;
  } else {
    set_clock(now, request);
  }
  return response;
}

Response Meter::read(Timestamp now, const Request& request) const {
  Response response = device::executed(request.command);
  const auto phase = static_cast<std::int64_t>(request.phase);
  const auto some = static_cast<std::int64_t>(hash64(number_) % 1000);
  const Civil civil = civil_of(clock(now));
  if (request.command == Command::kReadVoltage) {
    response.value = device::make_decimal(23'000 + some + phase, 2);
  } else if (request.command == Command::kReadCurrent) {
    response.value = device::make_decimal(relay_on_ ? 100 + some + phase : 0, 2);
  } else if (request.command == Command::kReadPower) {
    response.value = device::make_decimal(relay_on_ ? 1000 + some + phase : 0, 1);
  } else if (request.command == Command::kReadPowerLimit) {
    response.value = device::make_decimal(limit_, 0);
  } else if (request.command == Command::kReadCredit) {
    response.value = device::make_decimal(credit_, 2);
    response.level = credit_ < 1000 ? 1 : 0;
    response.relay_on = relay_on_;
  } else if (request.command == Command::kReadDate) {
    response.date = civil.date;
  } else if (request.command == Command::kReadTime) {
    response.time = civil.time;
  } else {
    response.version = "model 1";
  }
  return response;
}

bool Meter::take_token(const std::string& token) {
  if (token.empty() || !used_tokens_.insert(token).second) return false;
  constexpr std::int64_t kCreditMax = 99'999'999;
  switch (token.front()) {
    case '7': tampered_ = false; break;
    case '8': credit_ = 0; break;
    case '9': limit_ = last_digits(token, 5); break;
    default: credit_ = std::min(credit_ + last_digits(token, 4), kCreditMax); break;
  }
  return true;
}

void Meter::set_clock(Timestamp now, const Request& request) {
  Civil civil = civil_of(clock(now));
  if (request.date) civil.date = *request.date;
  if (request.time) civil.time = *request.time;
  clock_ahead_ = moment_of(civil) - now;
}

std::string Meter::answer(const Request& request, const Response& response) const {
  Request asked = request;
  asked.meter = number_;
  Result<std::string> frame = device::encode_response(asked, response);
  if (!frame) frame = device::encode_response(asked, device::not_executed(asked.command, ""));
  return frame.value_or("");
}

std::string Meter::report(Timestamp now) const {
  const Civil civil = civil_of(clock(now));
  std::string body(kReportPlaces - kFrameHeadBytes, '\0');
  put_little(body, 10, 0xC111, 2);
  put_bcd(body, 13, civil.time.minute);
  put_bcd(body, 14, civil.time.hour);
  put_bcd(body, 15, civil.date.day);
  put_bcd(body, 16, civil.date.month);
  put_bcd(body, 17, civil.date.year % 100);
  put_little(body, 18, 12'345, 4);
  put_little(body, 22, std::bit_cast<std::uint32_t>(static_cast<float>(credit_) / 100), 4);
  put_little(body, 38, 2301, 2);
  put_little(body, 40, relay_on_ ? 5670 : 0, 4);
  put_little(body, 44, relay_on_ ? 0 : 1, 1);
  const auto control = static_cast<std::uint8_t>(device::Control::kReadOk);
  return device::encode_frame({number_, control, std::move(body)}).value_or("");
}

Meter& Meters::at(std::string_view number) {
  std::string name = without_zeros(number);
  const auto found = meters_.find(name);
  if (found != meters_.end()) return found->second;
  return meters_.try_emplace(name, name).first->second;
}

const Meter* Meters::find(std::string_view number) const {
  const auto found = meters_.find(without_zeros(number));
  return found == meters_.end() ? nullptr : &found->second;
}

Response Meters::run(MeterLedger::Number copy, Timestamp now, const Request& request) {
  Response response = at(ledger.copy(copy).meter).run(now, request);
  ledger.run(copy, now, response.executed);
  return response;
}

}  // namespace postrider::sim
