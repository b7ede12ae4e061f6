// Notes: what the profile remembers of a command between two looks at it. Kept by the engine, with
// the message's state and later with its end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/model/message.h"

namespace postrider::device {

// Why an attempt can no longer run.
enum class Proof : char {
  kNone = '-',       // it may
  kNotTaken = 'a',   // it never left us, or was refused
  kNack = 'b',       // the device did not acknowledge it
  kDiscarded = 'c',  // the server says that it threw it away
  kAbsent = 'd',     // two looks without it
  kExpired = 'e',    // its expiry is long past
};
constexpr bool ran_perhaps(Proof proof) {
  return proof != Proof::kNotTaken && proof != Proof::kDiscarded;
}
std::string_view name_of(Proof proof);  // "negative-ack"

// What happened about a command besides its transitions: what the server told, and what we told.
enum class Happening : std::uint8_t {
  kTransmitted,
  kAcked,
  kNacked,
  kDiscarded,
  kJoined,
  kUplink,
  kMismatched,  // an uplink that answers something else
  kToldSent,    // an event of ours: SENT_TO_NS
  kToldEnd,     // … and of the end
};
inline constexpr std::size_t kHappenings = 9;
inline constexpr std::size_t kHappenedMax = 48;  // of one command; the oldest go
std::string_view name_of(Happening what);        // "txack", as the server calls it
constexpr bool is_ours(Happening what) { return what >= Happening::kToldSent; }

struct Happened {
  Timestamp wall;
  Happening what = Happening::kTransmitted;
  friend bool operator==(const Happened&, const Happened&) = default;
};

struct Notes {
  std::string item;                // the server's id or the vendor's task …
  std::uint16_t attempt = 0;       // … of this attempt; the next four belong to it
  Timestamp absent_since;          // of the first look without the item; unset: none
  bool stranger = false;           // an event spoke of an item of the device that nobody knows
  bool seen = false;               // the item was in the server's queue, or an event named it
  bool alone = false;              // when it was not acknowledged, no other answer was owed
  bool refused = false;            // the vendor refused the token
  bool executed = false;           // what the response says
  Timestamp expires;               // of the last attempt at the server, by the wall; unset: never
  std::string proofs;              // one for each attempt, as far as they are closed
  std::string former;              // hashes of the items of earlier attempts
  std::string response;            // JSON, when there is one
  std::string summary;             // of an ended message: the command, without its token
  std::string outcome;             // of an ended message
  bool may_have_run = false;       // of an ended message
  std::vector<Happened> happened;  // oldest first
  friend bool operator==(const Notes&, const Notes&) = default;

  Proof proof(std::uint16_t number) const {
    return number == 0 || number > proofs.size() ? Proof::kNone
                                                 : static_cast<Proof>(proofs[number - 1U]);
  }
  void close(std::uint16_t number, Proof why);
  void add(Happening what, Timestamp wall);
  // Whether an attempt before this one, or any when 0, may have run.
  bool earlier_ran_perhaps(std::uint16_t number) const;
  // What belongs to an attempt is forgotten when another one is at work, but for whose its item
  // was.
  void turn_to(std::uint16_t number);
  bool was_of_earlier(std::string_view name) const;
};

std::string encode_notes(const Notes& notes);
// Notes of ours only: what cannot be read is as if nothing had been noted.
Notes decode_notes(std::string_view bytes);

}  // namespace postrider::device
