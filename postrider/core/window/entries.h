// Queue: what the engine holds in memory. Entries are messages in a window, lanes are their order,
// residents are the destinations with something to do. Everything else is disk.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "postrider/base/check.h"
#include "postrider/base/time.h"
#include "postrider/core/rules/gates.h"
#include "postrider/core/rules/slab.h"
#include "postrider/core/rules/throttle.h"
#include "postrider/core/rules/timers.h"
#include "postrider/model/attempts.h"
#include "postrider/model/destination.h"
#include "postrider/model/message.h"
#include "postrider/model/profile.h"

namespace postrider {

// What the profile's `read` made of a message; null: the profile takes nothing apart, or not this
// one.
using ParsedMessage = std::unique_ptr<const Opaque>;
inline Result<ParsedMessage> parse_message(const ProfileSpec& profile, std::string_view attributes,
                                           std::string_view body) {
  if (profile.door.read == nullptr) return ParsedMessage();
  return profile.door.read(body, attributes);
}

// What most messages never have.
struct Details {
  Intent intent;
  std::string notes;
  AttemptHistory past;
  Duration patience{0};  // the next question comes not before; of one step only
};

// Where an entry waits: at one place at a time.
enum class Waits : std::uint8_t {
  kNowhere,        // an attempt is open, news is awaited, or a timer runs
  kInLane,         // ready, in the list of its lane
  kAtGate,         // at a shared gate …
  kAtLastingGate,  // … that other messages hold to their end …
  kBehindOrder,    // … and that a message before it in its order holds
  kForProbe,       // in flight, for the time of its next probe
  kClaimed,        // queued, and a follower of the open batch of its destination
  kVisiting,       // read for one event only; forgotten unless that changes it
};

// Where the records of a message are. Its body lies with them, or is shared.
enum class Space : std::uint8_t { kHot, kCold };

// One message in memory. Which combinations are legal is said by `check` (window/check.h).
struct Entry {
  Message message;
  State state;
  std::unique_ptr<std::string> reason;  // of the last failure; most messages never have one
  std::unique_ptr<Details> details;
  // What the profile's `read` made of the message; made when it is first needed, which changes
  // nothing that follows from the entry. About as many bytes again as the record has, and they are
  // not counted in the window: a command of a few fields takes about 450, a message that its
  // profile does not take apart none.
  mutable std::unique_ptr<const Opaque> parsed;
  mutable bool read = false;  // it was needed: what is not there then cannot be made
  Slot destination = kNoSlot;
  Slot next = kNoSlot;  // in its lane's ready list
  Slot prev = kNoSlot;
  Slot next_here = kNoSlot;  // among all entries of its destination
  Slot prev_here = kNoSlot;
  TimerHandle timer = 0;
  TimerHandle expiry_timer = 0;
  Slot attempt = kNoSlot;                 // its open one, by the handle of Attempts
  AttemptKind kind = AttemptKind::kSend;  // of its last attempt
  Timestamp due_entry;                    // its attempt entry in the store's due space; unset: none
  Waits waits = Waits::kNowhere;
  Space space = Space::kCold;
  StateIndex recorded = 0;  // its state as its records say
  bool stored = false;      // a state record exists
  bool holds_gates = false;
  bool marked = false;      // a record says that it holds gates from the cold space
  bool dirty = false;       // its notes or its intent are not what the state record says
  bool leaves_gap = false;  // it is being parked so that its order goes on
  GateName group = 0;       // in which it has a place

  bool ready() const { return waits == Waits::kInLane; }
  bool claimed() const { return waits == Waits::kClaimed; }
  bool visitor() const { return waits == Waits::kVisiting; }
  bool hot() const { return space == Space::kHot; }
  bool at_gate() const {
    return waits == Waits::kAtGate || waits == Waits::kAtLastingGate ||
           waits == Waits::kBehindOrder;
  }
  std::string_view reason_text() const {
    return reason ? std::string_view(*reason) : std::string_view();
  }
  Details& more() {
    if (!details) details = std::make_unique<Details>();
    return *details;
  }
  std::string_view notes() const {
    return details ? std::string_view(details->notes) : std::string_view();
  }
  // Whether it holds gates until its end: from its first start on.
  bool lasts() const { return message.lasting != 0 && state.first_attempt.is_set(); }
};

// What a lane has below its highest priority, and whose turn it is there. Priorities are told by
// the high half of their ids, which sorts the higher first. Only lanes that have such have it.
struct Lower {
  enum class Look : std::uint8_t { kNone, kAsked, kDone };

  std::map<std::uint64_t, Slot> runs;  // in the ready list: the first of each lower priority
  std::uint64_t last_turn = 0;         // the priority that had the last one; 0: none
  Look look = Look::kNone;             // at what the disk has for the next turn
  std::uint64_t ahead = UINT64_MAX;    // the highest that started since a lower one had its turn
  MessageId favourite;                 // it found this one, or, unset, none …
  std::uint64_t top = 0;               // … below this priority
  MessageId begin;                     // where it began, …
  MessageId from;                      // … the read that is under way, …
  MessageId until;                     // … up to here
  MessageId resume;                    // too many before it cannot go: the next look begins here
  std::uint8_t pages = 0;
  bool wrapped = false;  // it began anew below the top
  bool missed = false;   // something came to the disk meanwhile
  bool full = false;     // too many wait at gates to read another one

  bool has_none() const { return look == Look::kDone && !favourite.is_set(); }

  // A message can go that could not, perhaps before the favourite.
  void hear_of(MessageId id) {
    const bool before =
        favourite.is_set() ? id.high == favourite.high && id < favourite : id.high > top;
    if (look == Look::kDone && before) look = Look::kNone;
    missed = true;
    if (id < resume) resume = MessageId();
  }
};

// The window of one lane, and where its disk part goes on. Only queued entries are in the ready
// list; the others (in flight, awaiting, back-off in memory, waiting for a shared gate) block a
// FIFO lane.
struct Lane {
  std::uint8_t number = 0;
  Slot first = kNoSlot;
  Slot last = kNoSlot;
  std::uint32_t in_memory = 0;
  std::uint32_t ready = 0;
  std::uint32_t at_gates = 0;    // wait at shared gates …
  std::uint32_t at_lasting = 0;  // … that others hold to their end …
  std::uint32_t at_order = 0;    // … and that a message before them holds, …
  MessageId last_at_order;       // … the last of them at most this one
  std::vector<MessageId>
      cold;  // of the entries in memory, those that live in the cold space; at most a window
  bool cold_ahead = false;  // messages on disk at or behind the cursor
  bool asleep = false;      // FIFO: the head sleeps on disk; its due entry wakes the lane
  bool refilling = false;   // a read is on its way
  bool deep = false;        // there was one before: it goes on behind its first page
  std::uint32_t spills =
      0;                    // how often its window went to disk: a page read before lacks that part
  std::uint32_t taken = 0;  // cold messages that came into the window since the start
  std::uint32_t refill_rows = 0;  // how many that read asked for …
  MessageId cursor;
  MessageId refill_from;  // … and where it began
  MessageId head;         // lower bound in the owed record; unset: the lane is not owed
  std::unique_ptr<Lower> lower;
  std::uint8_t passed = 0;  // starts since a lower priority had its turn
  static constexpr std::uint8_t kAllPassed = UINT8_MAX;

  // Something waits on disk that did not before.
  void gains(MessageId id) {
    if (!cold_ahead || id < cursor) cursor = id;
    cold_ahead = true;
    if (lower) lower->hear_of(id);
  }
  bool may_have_lower() const { return cold_ahead || (lower && !lower->runs.empty()); }
  Lower& the_lower() {
    if (!lower) lower = std::make_unique<Lower>();
    return *lower;
  }

  // What waits at a gate takes no place in the window, up to a limit: else one gate would stop the
  // whole lane.
  std::uint32_t in_window(std::uint32_t waiters_max) const {
    return in_memory - (at_gates < waiters_max ? at_gates : waiters_max);
  }
  // Everything waits, and the holder of a lasting gate may be on disk: then the lane must go on.
  // The holder of the gate of an order is found in front of the messages that wait for it.
  bool stuck() const {
    return at_gates == in_memory && (at_lasting > 0 || (at_order > 0 && cursor < last_at_order));
  }

  // Something on disk goes before this one: in a FIFO lane, or for a message with an order,
  // whatever stands in front (after a restart, hot messages are in the window first; a sleeper is
  // at the cursor, too), for others a higher priority.
  bool owes_before(MessageId id, bool in_order) const {
    return cold_ahead && (in_order ? cursor < id : cursor.high < id.high);
  }
};

// The settings of a destination, bound to its profile. All that are like one template and have no
// settings of their own share one.
struct Bound {
  NamedTexts settings;  // that hold
  const ProfileSpec* profile = nullptr;
  Policy policy;
  std::shared_ptr<const Opaque> prepared = {};  // by the profile's `prepare`
  std::string like = {};                        // the template; empty: none
  NamedTexts own = {};                          // `like`: what goes before its settings
};

// What a destination did since it came into memory: for operators; it decides nothing.
struct Activity {
  // About how many there were in the last period: two counts are enough, because those of the
  // period before are taken as spread evenly over it.
  template <std::uint64_t kPeriodMs>
  class Pace {
   public:
    void add(Timestamp at) {
      turn_to(at);
      ++now_;
    }
    std::uint64_t recent(Timestamp at) const {
      Pace copy = *this;
      copy.turn_to(at);
      const std::uint64_t gone = static_cast<std::uint64_t>(at.ms()) % kPeriodMs;
      return copy.now_ + (copy.before_ * (kPeriodMs - gone) + kPeriodMs / 2) / kPeriodMs;
    }

   private:
    void turn_to(Timestamp at) {
      const std::uint64_t period = static_cast<std::uint64_t>(at.ms()) / kPeriodMs;
      if (period == period_) return;
      before_ = period == period_ + 1 ? now_ : 0;
      now_ = 0;
      period_ = period;
    }
    std::uint64_t period_ = 0;
    std::uint64_t now_ = 0;
    std::uint64_t before_ = 0;
  };
  using MinutePace = Pace<60'000>;
  using TenMinutePace = Pace<600'000>;

  // A third or more of the latest attempts failed. Two failures at least, so that a single one does
  // not mark a destination that has little to do.
  static constexpr std::uint64_t kDegradedFailuresMin = 2;
  static constexpr bool is_degraded(std::uint64_t delivered, std::uint64_t failed) {
    return failed >= kDegradedFailuresMin && 2 * failed >= delivered;
  }

  Timestamp since;
  std::uint64_t delivered = 0;
  std::uint64_t failed = 0;
  MinutePace deliveries;
  MinutePace failures;
  TenMinutePace deliveries_lately;
  TenMinutePace failures_lately;
  Timestamp failed_at;
  FailureClass last_failure = FailureClass::kNone;
  std::unique_ptr<std::string> last_error;
};

struct Resident {
  DestinationId id;
  std::string name;
  std::shared_ptr<const Bound> bound;  // none: the slot is free
  bool draining = false;               // takes no new messages
  bool unwritten = false;              // made in this step, for a message that is not admitted yet
  Route route;
  GateState gate;
  std::vector<Lane> lanes;
  std::uint8_t next_lane = 0;   // whose turn it is
  std::uint32_t in_memory = 0;  // entries …
  Slot newest = kNoSlot;        // … by their links, the last that came first
  std::uint32_t open_attempts = 0;
  std::vector<std::pair<StateIndex, std::uint64_t>> cold_states;  // of all in the cold space
  std::uint64_t cold_messages = 0;                                // their sum
  std::uint64_t swept_cold = 0;                                   // … after the last sweep
  std::uint64_t kept_bytes = 0;                                   // of a mailbox: what they hold
  bool recounted = false;                                         // and is to be written
  std::uint32_t chores = 0;                                       // on their way
  TimerHandle look_timer = 0;
  Timestamp more_until;      // nothing starts before: more messages are on their way; unset: none
  Timestamp opening_entry;   // its entry in the due space; unset: none
  Timestamp revive_entry;    // another one, of its revival
  Timestamp ok_at;           // the last success in this process
  Timestamp used_at;         // with an idle life: the last message that came or ended; unset: not
                             // since it came into memory
  Timestamp used_stored;     // what its entry under its template says; unset: not known
  Timestamp lost_at;         // when a message was parked last for want of reach
  Timestamp failing_stored;  // what the route record says of failures; it must hear when they begin
                             // and end
  std::uint16_t strikes_stored = 0;
  Throttle throttle;
  std::uint64_t ring_tenant = 0;  // under whose name it stands in the ring
  bool in_ring = false;
  bool held_back = false;      // has no room; the end of one of its attempts may give some
  bool crowded = false;        // waits for one of the places for routes not known to answer
  bool at_group = false;       // waits for a place in its group
  bool owed_stored = false;    // an owed record exists
  bool stranded = false;       // a success may find messages that are parked for want of reach
  bool reviving = false;       // they are being put back in line …
  bool revive_again = false;   // … and there was another success meanwhile
  Timestamp revive_later;      // … and the first that must wait longer; unset: none so far
  bool sweeping = false;       // what is not worth sending any more is being ended
  bool rousing = false;        // messages in back-off hear of a sign of life …
  bool rouse_again = false;    // … and there was another one meanwhile
  bool bringing = false;       // members of its open batch are being read …
  bool leader_sleeps = false;  // … or not, because the leader is on disk until its time comes
  Slot lru_next = kNoSlot;     // idle residents, least recently used first
  Slot lru_prev = kNoSlot;
  bool in_lru = false;
  Activity activity;

  DestinationFacts facts() const { return {name, bound->settings}; }
  // As it is written down.
  DestinationConfig config() const {
    const bool stands_alone = bound->like.empty();
    return {.name = name,
            .profile = std::string(stands_alone ? bound->profile->name : std::string_view()),
            .settings = stands_alone ? bound->settings : bound->own,
            .draining = draining,
            .like = bound->like};
  }

  Lane* lane(std::uint8_t number) {
    for (Lane& lane : lanes) {
      if (lane.number == number) return &lane;
    }
    return nullptr;
  }
  const Lane* lane(std::uint8_t number) const {
    for (const Lane& lane : lanes) {
      if (lane.number == number) return &lane;
    }
    return nullptr;
  }
  std::size_t place_of(std::uint8_t number) const {  // in `lanes`; behind the last: there is none
    std::size_t place = 0;
    while (place < lanes.size() && lanes[place].number != number) ++place;
    return place;
  }
  Lane& the_lane(std::uint8_t number) {  // one that exists
    Lane* found = lane(number);
    POSTRIDER_CHECK(found != nullptr);
    return *found;
  }
  Lane& lane_or_new(std::uint8_t number) {
    if (Lane* found = lane(number)) return *found;
    lanes.push_back(Lane{.number = number});
    return lanes.back();
  }
};

// A hot message in back-off that is not in memory.
struct Sleeper {
  Timestamp accepted;
  std::uint8_t profile = 0;  // its number
  StateIndex state = 0;
};

// Gates that a message holds until its end, wherever it is meanwhile.
struct HeldGates {
  std::array<GateName, kGatesMax> gates{};  // 0: none
};

// A gate that messages of several destinations share.
struct SharedGate {
  GateState state;
  GateLimits limits;
  // By priority, then in the order of acceptance; an id that is not the slot's any more is stale.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::pair<Slot, MessageId>> waiters;
  TimerHandle timer = 0;
  MessageId holder;  // the last that took a place and has not given it back
  // Failures in a row close it: what GateLimits says about strikes.
  std::uint16_t strikes = 0;
  std::uint16_t closings = 0;  // in a row
  Timestamp closed_until;      // unset: not closed
  MessageId trial;             // whose call decides whether it opens

  // Whether failures keep it shut, and until when; unset: until the trial is over.
  bool shut(Timestamp now) const {
    return closed_until.is_set() && (now < closed_until || trial.is_set());
  }
};

}  // namespace postrider
