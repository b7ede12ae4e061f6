// Timers: a hierarchical wheel of 1 ms ticks, five levels of 256 slots (34 years). Arm, cancel and
// fire are O(1); nodes live in one slab, linked by index. Timers of one instant fire in the order
// in which they were armed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/model/ids.h"

namespace postrider {

enum class TimerKind : std::uint8_t {
  kState,       // a message in memory: its state's timer
  kWakeHot,     // a message that sleeps in the hot space
  kDueAttempt,  // due entries of the store: an attempt …
  kDueExpiry,   // … the expiry of a message …
  kDueOpening,  // … the opening of a route …
  kDueCard,     // … the expiry of a card
  kRouteLook,   // a route in memory: its spacing or rate lets the next start through
  kGate,        // a shared gate opens
  kGroup,       // … or the gate of a group of destinations
  kLoadDue,     // the next page of due entries must be read
  kRetain,      // buckets to close or drop
  kJob,         // the next page of a job
  kOwed,        // owed destinations have waited long enough for room in memory
  kAwait,       // a caller has waited long enough
  kIdle,        // destinations like a template are to be looked at
};

struct Timer {
  TimerKind kind = TimerKind::kState;
  MessageId id;            // the message, or {value, 0} for routes and gates
  std::uint32_t slot = 0;  // free for the owner
  Timestamp due = {};      // of a fired timer: the time that it was armed for
};

// 0 is no timer. The generation in the upper half makes a stale handle harmless.
using TimerHandle = std::uint64_t;

class Timers {
 public:
  explicit Timers(Timestamp now);

  TimerHandle arm(Timestamp at, const Timer& timer);  // `at` in the past fires at the next advance
  void cancel(TimerHandle handle);  // of a fired or cancelled timer: nothing happens
  bool armed(TimerHandle handle) const;

  // Moves to `now` and appends what has fired, ordered by time and then by arming. At most `limit`
  // per call; the rest stays due.
  void advance(Timestamp now, std::size_t limit, std::vector<Timer>& fired);

  // Not later than the first timer; may be earlier, when only a coarser slot is known. nullopt:
  // nothing armed.
  std::optional<Timestamp> next() const;

  std::size_t size() const { return size_; }
  std::size_t memory_bytes() const;

 private:
  static constexpr std::size_t kLevels = 5;
  static constexpr std::uint32_t kSlotBits = 8;
  static constexpr std::uint32_t kSlots = 1U << kSlotBits;
  static constexpr std::uint32_t kWheelBits = kLevels * kSlotBits;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Node {
    std::int64_t at = 0;
    MessageId id;
    std::uint32_t slot = 0;        // the owner's
    std::uint32_t generation = 0;  // odd: armed
    std::uint32_t before = kNone;  // in its list; or its position in the heap
    std::uint32_t behind = kNone;  // in its list, or in the list of free nodes
    TimerKind kind = TimerKind::kState;
  };
  struct List {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
  };
  struct Level {
    std::array<List, kSlots> slots;
    std::array<std::uint64_t, kSlots / 64> occupied{};  // bit n: slot n has timers
  };

  struct Overdue {
    std::int64_t at;
    std::uint64_t arming;
    std::uint32_t index;
    bool operator<(const Overdue& other) const {
      return at != other.at ? at < other.at : arming < other.arming;
    }
  };

  struct Place {
    std::size_t level;  // kLevels: too far ahead for the wheel
    std::uint32_t slot;
  };
  Place place_of(std::int64_t at) const;
  List& list_of(Place place);
  std::optional<Place> first_place() const;
  std::int64_t start_of(Place place) const;
  void append(std::uint32_t index);
  void unlink(std::uint32_t index);
  void cascade(Place place);
  bool reach_far(std::int64_t now);
  Timer release(std::uint32_t index);

  // The heap of `past_`; each node knows its position, so that cancelling needs no search.
  void overdue_put(std::size_t position, const Overdue& entry);
  void overdue_add(std::uint32_t index);
  void overdue_remove(std::size_t position);
  void overdue_settle(std::size_t position);

  // Every timer before this tick has fired or is in `past_`; the others are in the wheel, each at
  // the place that follows from its time and the cursor alone.
  std::int64_t cursor_;
  std::array<Level, kLevels> levels_;
  List far_;  // beyond the wheel
  std::vector<Overdue>
      overdue_;  // a heap by time and arming: armed for a tick that the cursor had left
  std::vector<Node> nodes_;
  std::uint32_t free_ = kNone;
  std::uint64_t armings_ = 0;
  std::size_t size_ = 0;
};

}  // namespace postrider
