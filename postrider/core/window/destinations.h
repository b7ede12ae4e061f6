// Destinations: brings destinations into memory, and keeps their records of settings and of what is
// owed.
//
// Invariants
//   - A destination that was read stays in memory even if the step has to come again; what could
//     not be read of it is quarantined by the step that is done.
//   - The owed record names, for each lane with something on disk, an id at or before the first
//     of it, or of it in memory. One that is being drained always has an owed record.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/core/books/sequences.h"
#include "postrider/core/engine.h"
#include "postrider/core/step.h"
#include "postrider/core/window/census.h"
#include "postrider/core/window/residents.h"

namespace postrider::core {

class Destinations {
 public:
  struct Destined {
    bool known = false;   // everything was read
    Slot slot = kNoSlot;  // none: there is no such destination
  };
  Destinations(const EngineOptions& options, Timestamp started, const Sequences& sequences,
               Residents& residents, Census& census)
      : options_(options),
        started_(started),
        sequences_(sequences),
        residents_(residents),
        census_(census) {}
  Destinations(const Destinations&) = delete;
  Destinations& operator=(const Destinations&) = delete;

  Destined find_destination(Step& step, std::string_view name);
  Destined find_destination(Step& step, DestinationId id);
  Route peek_at_route(Step& step, DestinationId id, const std::optional<Blob>& record) const;
  static std::shared_ptr<const Bound> bound_to(const DestinationConfig& config,
                                               const ProfileSpec& profile, const Policy& policy);
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
  // What destinations that are in memory now were made of, and could not be read.
  std::vector<Row> take_damaged() { return std::exchange(damaged_, {}); }

 private:
  Route read_route(Step& step, DestinationId id, const std::optional<Blob>& record);
  Slot make_resident(Step& step, DestinationId id, const Blob& record);
  std::shared_ptr<const Bound> bind(const DestinationConfig& config);

  const EngineOptions& options_;
  Timestamp started_;
  const Sequences& sequences_;
  Residents& residents_;
  Census& census_;
  std::vector<Row> damaged_;
};

}  // namespace postrider::core
