// Waiters: callers that asked to be told when a message has ended, or when a mailbox has something
// to read. They live in memory only: whatever ends this engine answers them otherwise.
//
// Invariants
//   - A ticket waits for one thing, and is answered once: by that, or by its time, or not at all
//     when its caller has gone.
//   - No more than `awaits_max` wait, and no more than `awaits_of_one_max` for one thing; a
//     caller that finds no room is told so at once.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/core/engine.h"
#include "postrider/core/rules/timers.h"
#include "postrider/core/step.h"
#include "postrider/model/ids.h"

namespace postrider::core {

class Waiters {
 public:
  Waiters(const EngineLimits& limits, Timers& timers) : limits_(limits), timers_(timers) {}
  Waiters(const Waiters&) = delete;
  Waiters& operator=(const Waiters&) = delete;

  // A mailbox is named by an id without a sequence. False: there is no room.
  bool wait(const Step& step, Ticket ticket, MessageId thing, Duration at_most);
  // It has ended, or has something to read: all of them get this answer.
  void tell(Step& step, MessageId thing, Answer answer = {});
  void time_out(Step& step, Ticket ticket);
  void stop(Ticket ticket);

  bool empty() const { return waiting_.empty(); }
  bool any_of(MessageId thing) const { return by_thing_.contains(thing); }
  static MessageId mailbox(DestinationId id) { return MessageId{id.value() << 20, 0}; }

 private:
  struct Waiting {
    MessageId thing;
    TimerHandle timer = 0;
  };
  void leave(Ticket ticket, MessageId thing);

  const EngineLimits& limits_;
  Timers& timers_;
  std::unordered_map<std::uint64_t, Waiting> waiting_;  // by ticket
  std::unordered_map<MessageId, std::vector<Ticket>> by_thing_;
};

}  // namespace postrider::core
