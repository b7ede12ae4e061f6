// Settings: commands on destinations: configure, pause, resume, wake, drain, remove.
//
// Invariants
//   - A destination keeps its profile, and its id outlives it: a removed one leaves a tombstone.
//   - A destination is taken away only when nothing of it is in memory, asleep or on disk.
//   - A template that destinations are like stays; a change of it changes all of them at once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/core/books/receipts.h"
#include "postrider/core/delivery/rousing.h"
#include "postrider/core/delivery/routes.h"
#include "postrider/core/desk/holds.h"
#include "postrider/core/desk/operations.h"
#include "postrider/core/engine.h"
#include "postrider/core/places/shared_gates.h"
#include "postrider/core/starts/starts.h"
#include "postrider/core/step.h"
#include "postrider/core/window/census.h"
#include "postrider/core/window/destinations.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/sleepers.h"
#include "postrider/core/window/templates.h"
#include "postrider/core/window/window.h"

namespace postrider::core {

class Settings {
 public:
  Settings(const EngineOptions& options, const EngineLimits& limits, Receipts& receipts,
           Residents& residents, Sleepers& sleepers, Census& census, Destinations& destinations,
           Templates& templates, Window& window, SharedGates& gates, Routes& routes,
           Rousing& rousing, Starts& starts, Operations& operations, Holds& holds)
      : options_(options),
        limits_(limits),
        receipts_(receipts),
        residents_(residents),
        sleepers_(sleepers),
        census_(census),
        destinations_(destinations),
        templates_(templates),
        window_(window),
        gates_(gates),
        routes_(routes),
        rousing_(rousing),
        starts_(starts),
        operations_(operations),
        holds_(holds) {}
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

  void on(Step& step, const Configure& configure);
  void remove_drained(Step& step, const Chore& chore);
  void on(Step& step, const Pause& pause);
  void on(Step& step, const Resume& resume);
  void on(Step& step, const Wake& wake);
  void on(Step& step, const PeerSeen& seen);

  // Whether nothing of the destination lives; nothing when that must be read first.
  std::optional<bool> is_empty(Step& step, Slot slot);
  std::optional<bool> has_none_on_disk(Step& step, DestinationId id);
  void take_away(Step& step, Slot slot);  // an empty one

 private:
  std::optional<Answer> put_destination(Step& step, Slot slot, const DestinationConfig& config);
  Result<std::shared_ptr<const Bound>> bind(const DestinationConfig& config) const;
  void rebind(Step& step, Slot slot, std::shared_ptr<const Bound> bound);
  std::optional<Answer> on_template(Step& step, const Configure& configure);
  std::optional<Answer> put_template(Step& step, const DestinationConfig& config);
  std::optional<Answer> remove_template(Step& step, const std::string& name);
  std::optional<Answer> remove_destination(Step& step, Slot slot, const DestinationConfig& config);
  std::optional<Answer> change_health(Step& step, const std::string& name, HealthOn on,
                                      std::string_view reason);
  Answer tell_change(Slot slot, Health before) const;

  const EngineOptions& options_;
  const EngineLimits& limits_;
  Receipts& receipts_;
  Residents& residents_;
  Sleepers& sleepers_;
  Census& census_;
  Destinations& destinations_;
  Templates& templates_;
  Window& window_;
  SharedGates& gates_;
  Routes& routes_;
  Rousing& rousing_;
  Starts& starts_;
  Operations& operations_;
  Holds& holds_;
};

}  // namespace postrider::core
