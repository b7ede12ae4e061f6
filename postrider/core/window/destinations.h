// Destinations: brings destinations into memory, and keeps their records of settings and of what is
// owed.
//
// Invariants
//   - A destination that was read stays in memory even if the step has to come again; what could
//     not be read of it is quarantined by the step that is done.
//   - The owed record names, for each lane with something on disk, an id at or before the first
//     of it, or of it in memory. One that is being drained always has an owed record.
//   - A destination that was made like a template for a message is written with the message, or
//     gone when the step is over.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/core/books/sequences.h"
#include "postrider/core/step.h"
#include "postrider/core/window/census.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/templates.h"

namespace postrider::core {

// The use that is written down is at most the idle life by this earlier than the last one.
inline constexpr int kIdleMarks = 8;

class Destinations {
 public:
  struct Destined {
    bool known = false;   // everything was read
    Slot slot = kNoSlot;  // none: there is no such destination
  };
  Destinations(Timestamp started, const Sequences& sequences, Residents& residents, Census& census,
               Templates& templates)
      : started_(started),
        sequences_(sequences),
        residents_(residents),
        census_(census),
        templates_(templates) {}
  Destinations(const Destinations&) = delete;
  Destinations& operator=(const Destinations&) = delete;

  Destined find_destination(Step& step, std::string_view name);
  Destined find_destination(Step& step, DestinationId id);
  // For a message: when there is none of this name and a template fits it, one is made. It is
  // written down by `keep_made`, with the first message.
  Destined find_or_make(Step& step, const std::string& name);
  void keep_made(Step& step, Slot slot);
  void drop_unwritten();
  // A number for a new destination of this name; nothing when something must be read first, or all
  // are taken.
  std::optional<DestinationId> free_probe(Step& step, std::string_view name);
  // As it is in memory, and whose template it is like. `before`: the template until now.
  void write_config(Step& step, Resident& resident, std::string_view before);
  // A message came, or has ended. Written down where a template has an idle life, not each time.
  void note_use(Step& step, Slot slot) {
    if (residents_[slot].bound->policy.idle_life > Duration(0)) write_use(step, slot);
  }
  Route peek_at_route(Step& step, DestinationId id, const std::optional<Blob>& record) const;
  void begin_revival(Step& step, Slot slot, bool all, Timestamp until);
  void begin_sweep(Step& step, Slot slot);
  // The process has just started and this destination is owed something from before: a rule may say
  // that it catches up. That is not written down: after another start it is found anew.
  static void begin_behind(const Step& step, Resident& resident);
  void write_owed(Step& step, Slot slot);
  void cover(Step& step, Slot slot, Lane& lane, MessageId id);
  void settle_owed(Step& step, Slot slot, Lane& lane);
  // The record of a removed destination keeps its name, for what is told of it afterwards.
  enum class Removed : std::uint8_t { kHasNoName, kKeepsItsName };
  std::string name_of_destination(Step& step, DestinationId id,
                                  Removed removed = Removed::kHasNoName);
  const Templates& templates() const { return templates_; }
  // What destinations that are in memory now were made of, and could not be read.
  std::vector<Row> take_damaged() { return std::exchange(damaged_, {}); }

 private:
  Route read_route(Step& step, DestinationId id, const std::optional<Blob>& record);
  Slot make_resident(Step& step, DestinationId id, const Blob& record);
  void write_use(Step& step, Slot slot);

  Timestamp started_;
  const Sequences& sequences_;
  Residents& residents_;
  Census& census_;
  Templates& templates_;
  std::vector<Slot> unwritten_;
  std::vector<Row> damaged_;
};

}  // namespace postrider::core
