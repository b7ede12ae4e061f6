// What a program is told. Every value here leaves the engine after the sync, never before.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace postrider {

using WallTime = std::chrono::sys_time<std::chrono::milliseconds>;

// The message is on disk, and will have exactly one end.
struct Submitted {
  std::string id;         // as API, events and receivers know it
  bool repeated = false;  // the key was used before, with the same content
};

// Where a message is, why, and what comes next.
struct Standing {
  std::string id;
  std::string destination;
  std::string phase;   // "queued", "in-flight", "awaiting", "backoff", "parked", or how it ended
  std::string state;   // the profile's own word
  std::string why;     // in words
  std::string reason;  // of the last outcome
  std::uint32_t attempts = 0;
  bool ended = false;
  WallTime accepted{};
  WallTime next_at{};  // of the next attempt, not before; the epoch: as soon as its turn comes
};

enum class Cancelled : std::uint8_t {
  kNow,      // it has ended as cancelled
  kPending,  // an attempt is open; it ends as cancelled unless that succeeds
  kTooLate,  // it had ended already, or is under way and its profile cannot stop it
};

// A message in a mailbox.
struct Incoming {
  std::string id;
  std::string body;
  std::vector<std::pair<std::string, std::string>> attributes;
  WallTime accepted{};
};
struct Mail {
  std::vector<Incoming> messages;  // oldest first
  std::string cursor;              // a reading with it goes on behind the last of them
  bool more = false;               // waits behind them
};

struct Ended {
  std::string id;
  std::string phase;  // "delivered", "dead", "expired", "cancelled", "indeterminate"
  std::string reason;
  std::uint32_t attempts = 0;
  WallTime at{};
  // Where this end stands in the log. A program that keeps it and hands it to on_end after a
  // restart misses none.
  std::string position;
};

}  // namespace postrider
