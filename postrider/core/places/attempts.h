// Attempts: the attempts that are open, and how many there may be. An Attempt is a value: what was
// handed to a transport, about which messages, since when and until when. One owner, the engine.
//
// Invariants
//   - An attempt is open from `open` to `close`; its id is larger than that of every earlier
//     one.
//   - `find` knows an attempt exactly as long as it is open, so an outcome that comes later is
//     late.
//   - An entry's handle is set exactly while its attempt is open; only this class reads it.
//   - `open_now` is the sum of `open_attempts` of all residents, and `unproven_now` counts those
//     among them whose route was not known to answer when they were opened.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <unordered_map>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/core/engine.h"
#include "postrider/core/window/entries.h"
#include "postrider/model/answer.h"
#include "postrider/model/effects.h"
#include "postrider/model/ids.h"

namespace postrider::core {

struct Attempt {
  // The message whose turn came, and those that go with it in one request: none yet.
  struct Subject {
    MessageId leader;
    std::vector<MessageId> followers = {};
  };
  AttemptId id;
  Subject subject;
  AttemptKind kind = AttemptKind::kSend;
  Timestamp started;
  Timestamp due;                   // when it times out; unset: never
  std::uint64_t request_hash = 0;  // of the bytes, when an intent keeps it; 0: not kept
  Slot entry = kNoSlot;            // of its leader
  bool unproven = false;           // has one of the places for routes not known to answer
  bool decides_gate = false;       // whether a gate opens that failures closed
};

class Attempts {
 public:
  Attempts(const EngineLimits& limits, Tallies& tallies, std::uint64_t last_id);
  Attempts(const Attempts&) = delete;
  Attempts& operator=(const Attempts&) = delete;

  // `draft` without id, entry and place. The entry has none open.
  Attempt& open(Attempt draft, Slot slot, Entry& entry, Resident& resident);
  // The entry has one open. True: its destination waited for that, and is to be looked at.
  [[nodiscard]] bool close(Entry& entry, Resident& resident);

  bool is_open(const Entry& entry) const { return entry.attempt != kNoSlot; }
  Attempt* of(const Entry& entry) { return is_open(entry) ? &attempts_[entry.attempt] : nullptr; }
  const Attempt* of(const Entry& entry) const {
    return is_open(entry) ? &attempts_[entry.attempt] : nullptr;
  }
  Slot find(AttemptId id) const;  // the entry of its leader; none: it is not open

  std::uint64_t last_id() const { return last_id_; }
  std::uint32_t open_now() const { return static_cast<std::uint32_t>(attempts_.size()); }
  std::uint32_t free() const {
    return limits_.open_attempts_max > open_now() ? limits_.open_attempts_max - open_now() : 0;
  }
  bool full() const { return free() == 0; }
  // Places for routes that are not known to answer; some are kept for routes that are.
  std::uint32_t unproven_free() const;

  // What the starts since the last call cost their tenant.
  std::uint32_t take_cost();
  std::size_t memory_bytes() const;

 private:
  void count_start(const Resident& resident);

  const EngineLimits& limits_;
  Tallies& tallies_;
  std::pmr::unsynchronized_pool_resource pool_;
  Slab<Attempt> attempts_;
  std::pmr::unordered_map<std::uint64_t, Slot> by_id_{&pool_};  // the slot of the attempt
  std::uint64_t last_id_;
  std::uint32_t unproven_open_ = 0;
  std::uint32_t cost_ = 0;
};

// A route that is known to answer: it has had a success, and no failure since.
bool is_proven(const Resident& resident);

}  // namespace postrider::core
