// The device profile's numbers and its words for what became of a command. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "postrider/model/lifecycle.h"
#include "postrider/model/policy.h"
#include "postrider/protocols/device/command.h"

namespace postrider::device {

enum class Way : std::uint8_t { kPush, kPull };

// An acknowledgement and the uplink that carried it are less than this apart, unless the plugin
// says otherwise.
inline constexpr Duration kPairWindow = 10s;
// Two looks without the item that are this far apart prove that it is gone; one does not.
inline constexpr Duration kLooksApart = 5s;
// The server has forgotten a command for certain when its expiry is so long past.
inline constexpr Duration kExpiryMargin = 60s;
// A clock that is set later than this would be set wrong.
inline constexpr Duration kSetTimeLife = 60s;

// Which of the profile's methods delivers a command; a pull of class never goes as one of class
// closed, because its tables are the same.
std::uint8_t method_of(Way way, Repeat repeat);

// The defaults of a destination: a network (push) or a gateway (pull).
Policy default_policy(Way way);

// `deliveryStatus` of a state; empty for a cancelled message.
std::string_view shown(StateIndex state);

enum class Outcome : std::uint8_t { kExecuted, kRefused, kFailed, kExpired, kCancelled, kUnknown };
std::string_view name_of(Outcome outcome);

// What is known of a command when it ends.
struct Ending {
  StateIndex end = 0;
  Command command = Command::kReadCredit;
  bool executed = true;               // Done: the response says success
  bool refused = false;               // Failed: the vendor refused the token
  bool any_may_have_run = false;      // of all its attempts
  bool earlier_may_have_run = false;  // of those before the one that was answered
};
Outcome outcome_of(const Ending& ending);
bool may_have_run(const Ending& ending);

}  // namespace postrider::device
