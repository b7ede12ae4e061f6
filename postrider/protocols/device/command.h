// The commands that a metering device understands: a closed set, what repeating each may cost, and
// the typed data that some of them carry. Plain values, shared by the codecs of all delivery
// methods.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"

namespace postrider::device {

enum class Command : std::uint8_t {
  kReadVoltage,
  kReadCurrent,
  kReadPower,
  kReadPowerLimit,
  kReadCredit,
  kReadVersion,
  kReadDate,
  kReadTime,
  kTurnOn,
  kTurnOff,
  kSetDate,
  kSetTime,
  kClearCredit,
  kClearTamper,
  kSetPowerLimit,
  kTopUpKwh,
  kDeliverPreexistingToken,
  // What a device says unasked; nobody may submit these.
  kReadReport,
  kJoinNetwork,
};
inline constexpr std::size_t kCommands = 19;
inline constexpr std::size_t kSubmitCommands = 17;  // the first ones

std::string_view name_of(Command command);  // "READ_VOLTAGE"
std::optional<Command> parse_command(std::string_view name);

constexpr bool is_submittable(Command command) { return command < Command::kReadReport; }
constexpr bool is_read(Command command) { return command < Command::kTurnOn; }
// Carries a credit or maintenance token; the meter accepts each token once.
constexpr bool is_token(Command command) {
  return command >= Command::kClearCredit && command <= Command::kDeliverPreexistingToken;
}
// Changes something in the world: the relay, the clock, or what a token does.
constexpr bool is_act(Command command) {
  return command >= Command::kTurnOn && command <= Command::kDeliverPreexistingToken;
}

// What may follow an attempt whose fate is open.
enum class Repeat : std::uint8_t {
  kFree,    // send again
  kClosed,  // send again only when the former attempt can no longer run
  kNever    // end as unknown
};
std::string_view name_of(Repeat repeat);
constexpr Repeat default_repeat(Command command) {
  return is_act(command) ? Repeat::kClosed : Repeat::kFree;
}
// The setting of an operator for one command: "free", "closed", "never", or "document", the rule of
// the source document, by which everything may be repeated.
std::optional<Repeat> parse_repeat(std::string_view word);

// Of a three-phase meter. Not `Phase`, which is a phase of a message's life.
enum class MeterPhase : std::uint8_t { kNone, kA, kB, kC };
std::string_view name_of(MeterPhase phase);  // "A"; empty for none
std::optional<MeterPhase> parse_meter_phase(std::string_view name);

struct Date {
  int year = 0;
  int month = 0;
  int day = 0;
  friend auto operator<=>(const Date&, const Date&) = default;
};
struct TimeOfDay {
  int hour = 0;
  int minute = 0;
  int second = 0;
  friend auto operator<=>(const TimeOfDay&, const TimeOfDay&) = default;
};

// Meters and vendors write a year as two digits.
inline constexpr int kYearMin = 2000;
inline constexpr int kYearMax = 2099;
bool is_possible(const Date& date);
bool is_possible(const TimeOfDay& time);
int weekday_of(const Date& date);  // 0 is Sunday; only of a possible date

// A standard token has 20 digits; the bound leaves room for vendors that frame it.
inline constexpr std::size_t kTokenDigitsMax = 40;
inline constexpr std::size_t kReferenceBytesMax = 128;

struct Request {
  Command command = Command::kReadCredit;
  MeterPhase phase = MeterPhase::kNone;
  std::string meter;  // the external reference of the device
  std::optional<Date> date;
  std::optional<TimeOfDay> time;
  std::string token;  // digits; a secret, never shown whole
  friend bool operator==(const Request&, const Request&) = default;
};

// What no delivery method could send: a command that is not for submitting, a date or time that is
// missing or impossible, a token that is missing or not made of digits. The error never repeats a
// token.
Result<void> check_request(const Request& request);

// "…7890": how a token may be shown.
std::string masked_token(std::string_view token);

}  // namespace postrider::device
