// What the far side answered, in one vocabulary for all delivery methods: to a command that was
// handed over (SendReply), to a question after it (PollReply), and the answer of the device itself
// (Response). Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/protocols/device/command.h"

namespace postrider::device {

// A number as it was read: units / 10^scale. No floating point, because what was 123.45 at the
// meter must be 123.45 for the caller.
struct Decimal {
  std::int64_t units = 0;
  std::uint8_t scale = 0;
  friend bool operator==(const Decimal&, const Decimal&) = default;
};
inline constexpr std::size_t kDecimalDigitsMax = 18;
Decimal make_decimal(std::int64_t units, std::uint8_t scale);  // without zeros at the end
std::string to_text(const Decimal& value);                     // "123.45": a number of JSON as well
std::optional<Decimal> parse_decimal(std::string_view text);   // "-0.50", nothing around it

inline constexpr std::string_view kUndecodable = "undecodable";
inline constexpr std::string_view kTokenRejected = "token_rejected";
inline constexpr std::string_view kRefusedByMeter = "refused_by_meter";
inline constexpr std::size_t kReasonBytesMax = 200;
inline constexpr std::size_t kVersionBytesMax = 200;

// Delivered; `executed` tells EXECUTION_SUCCESS from EXECUTION_FAILURE. Only the fields that the
// command asks for are set.
struct Response {
  Command command = Command::kReadCredit;  // the one that was asked
  bool executed = false;
  std::string reason;  // why it was not executed
  std::optional<Decimal> value;
  std::optional<int> level;
  std::optional<bool> relay_on;
  std::optional<Date> date;
  std::optional<TimeOfDay> time;
  std::string version;
  friend bool operator==(const Response&, const Response&) = default;
};
Response executed(Command command);
Response not_executed(Command command, std::string_view reason);

// The fate of a command that was handed to a network server or vendor.
enum class SendVerdict : std::uint8_t {
  kAccepted,     // `item` names it from now on
  kRejected,     // for good: no attempt can succeed
  kFailed,       // provably not accepted; another attempt may be
  kFailedAlarm,  // the same, and an operator has to look
  kLoginNeeded,  // not accepted because the login has ended; one new login, one repeat
  kUnknown       // nobody can tell
};
std::string_view name_of(SendVerdict verdict);

struct SendReply {
  SendVerdict verdict = SendVerdict::kUnknown;
  std::string item;    // the server's id or the vendor's task
  std::string reason;  // for humans; made safe to show
  friend bool operator==(const SendReply&, const SendReply&) = default;
};

enum class PollVerdict : std::uint8_t {
  kPending,
  kAnswered,    // `response` holds it
  kRejected,    // for good
  kError,       // says nothing about the command: ask again later, never send again
  kMismatched,  // an answer to something else; go on as after an error
  kLoginNeeded
};
std::string_view name_of(PollVerdict verdict);

struct PollReply {
  PollVerdict verdict = PollVerdict::kError;
  Response response;
  std::string reason;
  bool odd = false;  // pending by a word that nobody knows: worth a warning
  friend bool operator==(const PollReply&, const PollReply&) = default;
};

}  // namespace postrider::device
