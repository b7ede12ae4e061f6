#include "postrider/protocols/device/command.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "postrider/base/check.h"

namespace postrider::device {
namespace {

constexpr std::array<std::string_view, kCommands> kCommandNames = {"READ_VOLTAGE",
                                                                   "READ_CURRENT",
                                                                   "READ_POWER",
                                                                   "READ_POWER_LIMIT",
                                                                   "READ_CREDIT",
                                                                   "READ_VERSION",
                                                                   "READ_DATE",
                                                                   "READ_TIME",
                                                                   "TURN_ON",
                                                                   "TURN_OFF",
                                                                   "SET_DATE",
                                                                   "SET_TIME",
                                                                   "CLEAR_CREDIT",
                                                                   "CLEAR_TAMPER",
                                                                   "SET_POWER_LIMIT",
                                                                   "TOP_UP_KWH",
                                                                   "DELIVER_PREEXISTING_TOKEN",
                                                                   "READ_REPORT",
                                                                   "JOIN_NETWORK"};
constexpr std::array<std::string_view, 3> kRepeats = {"free", "closed", "never"};
constexpr std::array<std::string_view, 4> kPhases = {"", "A", "B", "C"};

std::chrono::year_month_day to_chrono(const Date& date) {
  return {std::chrono::year{date.year}, std::chrono::month{static_cast<unsigned>(date.month)},
          std::chrono::day{static_cast<unsigned>(date.day)}};
}

}  // namespace

std::string_view name_of(Command command) {
  return kCommandNames.at(static_cast<std::size_t>(command));
}

std::optional<Command> parse_command(std::string_view name) {
  const auto found = std::find(kCommandNames.begin(), kCommandNames.end(), name);
  if (found == kCommandNames.end()) return std::nullopt;
  return static_cast<Command>(found - kCommandNames.begin());
}

std::string_view name_of(Repeat repeat) { return kRepeats.at(static_cast<std::size_t>(repeat)); }

std::optional<Repeat> parse_repeat(std::string_view word) {
  if (word == "document") return Repeat::kFree;
  const auto found = std::find(kRepeats.begin(), kRepeats.end(), word);
  if (found == kRepeats.end()) return std::nullopt;
  return static_cast<Repeat>(found - kRepeats.begin());
}

std::string_view name_of(MeterPhase phase) { return kPhases.at(static_cast<std::size_t>(phase)); }

std::optional<MeterPhase> parse_meter_phase(std::string_view name) {
  const auto found = std::find(kPhases.begin() + 1, kPhases.end(), name);
  if (found == kPhases.end()) return std::nullopt;
  return static_cast<MeterPhase>(found - kPhases.begin());
}

bool is_possible(const Date& date) {
  if (date.year < kYearMin || date.year > kYearMax) return false;
  if (date.month < 1 || date.month > 12 || date.day < 1 || date.day > 31) return false;
  return to_chrono(date).ok();
}

bool is_possible(const TimeOfDay& time) {
  return time.hour >= 0 && time.hour <= 23 && time.minute >= 0 && time.minute <= 59 &&
         time.second >= 0 && time.second <= 59;
}

int weekday_of(const Date& date) {
  POSTRIDER_CHECK(is_possible(date));
  const std::chrono::weekday day{std::chrono::sys_days{to_chrono(date)}};
  return static_cast<int>(day.c_encoding());
}

Result<void> check_request(const Request& request) {
  const auto bad = [](const char* why) { return fail(ErrorCode::kInvalid, why); };
  if (!is_submittable(request.command)) return bad("only a device says this; it is no command");
  if (request.meter.empty()) return bad("the device has no external reference");
  if (request.meter.size() > kReferenceBytesMax) return bad("the external reference is too long");
  if (request.command == Command::kSetDate && (!request.date || !is_possible(*request.date)))
    return bad("there must be a date that exists, from 2000 to 2099");
  if (request.command == Command::kSetTime && (!request.time || !is_possible(*request.time)))
    return bad("there must be a time of day");
  if (!is_token(request.command)) return {};
  if (request.token.empty()) return bad("there is no token");
  if (request.token.size() > kTokenDigitsMax) return bad("the token is too long");
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!std::all_of(request.token.begin(), request.token.end(), is_digit))
    return bad("a token is made of digits only");
  return {};
}

std::string masked_token(std::string_view token) {
  constexpr std::size_t kShown = 4;
  // Of a short one the last four would be too much of it.
  if (token.size() < 2 * kShown) return "…";
  return std::string("…").append(token.substr(token.size() - kShown));
}

}  // namespace postrider::device
