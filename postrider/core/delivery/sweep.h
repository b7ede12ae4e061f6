// Sweep: ends messages of a destination that are not worth sending any more: the messages of lanes
// that are dropped when the route becomes deep, and older values of keys in lanes that keep the
// latest. It goes through the lanes in pages, from the newest back.
//
// Invariants
//   - A sweep ends messages that wait, never one that is on its way, and only such as were accepted
//     before it was asked for.
//   - The route says that a sweep is owed until its last page is done, so a crash repeats it; a
//     repeated sweep finds less to do and changes nothing else.
//   - While a sweep is under way its destination stays in memory.
//   - A value ends only when a newer one was met, by the text of their key, that lives in the same
//     commit. Keys are remembered by their hash, at most `swept_keys_max` of all sweeps together;
//     values of keys for which there was no room stay.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "postrider/core/delivery/delivery.h"
#include "postrider/core/delivery/routes.h"
#include "postrider/core/engine.h"
#include "postrider/core/step.h"
#include "postrider/core/window/lookup.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/sleepers.h"
#include "postrider/core/window/window.h"
#include "postrider/model/answer.h"

namespace postrider::core {

class Sweep {
 public:
  Sweep(const EngineLimits& limits, Tallies& tallies, Residents& residents, Sleepers& sleepers,
        Window& window, Lookup& lookup, Routes& routes, Delivery& delivery)
      : limits_(limits),
        tallies_(tallies),
        residents_(residents),
        sleepers_(sleepers),
        window_(window),
        lookup_(lookup),
        routes_(routes),
        delivery_(delivery) {}
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  void sweep(Step& step, const Chore& chore);

 private:
  struct Page {
    std::vector<MessageId> ids;
    bool complete = false;  // of this lane
    std::string next;
  };
  struct Value {  // of a key, as its record says
    MessageId id;
    std::string key;
    Duration age{0};
    bool swept = false;    // it was accepted before the sweep was asked for
    MessageId newer = {};  // that may take its place; unset: none is known
  };
  // A way through all lanes of a destination; a crash forgets it.
  struct Walk {
    Timestamp drop_until;  // as the route said when it began
    Timestamp latest_until;
    std::map<std::uint64_t, MessageId> newest = {};  // by the hash of the key, in this lane
    std::uint64_t met = 0;                           // messages of this lane
  };
  const Rows* scan_page(Step& step, const Chore& chore, const Resident& resident) const;
  Page read_page(Step& step, const Chore& chore, const Resident& resident);
  Page drop_page(Step& step, Slot slot, const Chore& chore);
  Page value_page(Step& step, Slot slot, const Chore& chore, Walk& walk);
  std::vector<Value> read_values(const Rows& rows, const Step& step, const Resident& resident,
                                 Walk& walk, std::uint64_t& met) const;
  std::vector<MessageId> values_in_memory(const Resident& resident, std::uint8_t lane) const;
  MessageId newer_than(const Value& value, const Walk& walk) const;
  void note_newest(Walk& walk, std::uint64_t hash, MessageId id);
  void end_values(Step& step, Slot slot, Walk& walk, const std::vector<Value>& values);
  void forget_keys(Walk& walk);
  void go_on(Step& step, Slot slot, const Chore& chore, Page page);

  const EngineLimits& limits_;
  Tallies& tallies_;
  Residents& residents_;
  Sleepers& sleepers_;
  Window& window_;
  Lookup& lookup_;
  Routes& routes_;
  Delivery& delivery_;
  std::map<std::uint64_t, Walk> walks_;  // by destination
  std::uint64_t keys_ = 0;               // in all of them
};

}  // namespace postrider::core
