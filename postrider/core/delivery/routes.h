// Routes: the health of destinations, told by what their attempts say: strikes, openings, holds,
// and when parked messages are to be looked at again.
//
// Invariants
//   - The route record says at least when failures began and that they are over; strikes in
//     between may be forgotten by a crash.
//   - `opening_entry` and `revive_entry` are the due entries that exist for the route; they may
//     be one.
//   - A route that is closed for long has no window: what waited in memory is on disk. A deep one
//     never has any.
//   - The position of a route never goes back.
#pragma once

#include <cstdint>
#include <string_view>

#include "postrider/base/rng.h"
#include "postrider/core/books/due.h"
#include "postrider/core/books/receipts.h"
#include "postrider/core/engine.h"
#include "postrider/core/rules/health.h"
#include "postrider/core/step.h"
#include "postrider/core/window/destinations.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/state_records.h"
#include "postrider/model/answer.h"

namespace postrider::core {

class Routes {
 public:
  Routes(const EngineLimits& limits, Tallies& tallies, Receipts& receipts, Due& due,
         Residents& residents, Destinations& destinations, StateRecords& records,
         std::uint64_t seed)
      : limits_(limits),
        tallies_(tallies),
        receipts_(receipts),
        due_(due),
        residents_(residents),
        destinations_(destinations),
        records_(records),
        rng_(Rng(seed).fork(kJitterSalt)) {}
  Routes(const Routes&) = delete;
  Routes& operator=(const Routes&) = delete;

  HealthChange tell_health(Step& step, Slot slot, HealthOn on, std::string_view reason);
  void note_delivery(Step& step, Slot slot);  // before the route hears that all is well
  void note_position(Step& step, Slot slot, std::uint64_t position);  // of a delivery
  void sweep_values(Step& step, Slot slot);  // of keys: the older ones end
  void hold_route(Step& step, Slot slot, Timestamp until, std::string_view reason);
  void open_route(Step& step, Slot slot);
  void write_route(Step& step, Slot slot);
  void move_look(Step& step, const Resident& resident, Timestamp& entry, Timestamp wanted);
  void set_revival(Step& step, Slot slot, Timestamp at);

 private:
  static constexpr std::uint64_t kJitterSalt = 7;  // other draws stay what they were without it

  void tell_change(Step& step, Slot slot, const HealthChange& change);
  void learn(Resident& resident, HealthOn on, const HealthChange& change);
  void hear_success(Step& step, Slot slot);

  const EngineLimits& limits_;
  Tallies& tallies_;
  Receipts& receipts_;
  Due& due_;
  Residents& residents_;
  Destinations& destinations_;
  StateRecords& records_;
  Rng rng_;
};

}  // namespace postrider::core
