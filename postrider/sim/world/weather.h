// Weather: the faults that come by themselves and last. Peers go down, the disk fills up, processes
// die, clocks are set.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "postrider/base/rng.h"
#include "postrider/sim/world/agenda.h"
#include "postrider/sim/world/clock.h"
#include "postrider/sim/world/faults.h"
#include "postrider/sim/world/machine.h"
#include "postrider/sim/world/network.h"
#include "postrider/sim/world/store.h"
#include "postrider/sim/world/trace.h"

namespace postrider::sim {

class Weather {
 public:
  struct Surroundings {
    Agenda& agenda;
    SimClock& clock;
    Faults& faults;
    StoreSurroundings& store;
    Network& network;
    Machine& machine;
    Trace& trace;
    Witness& witness;
    std::function<void(std::uint32_t)>
        maintenance;  // somebody takes a destination out of service for a while
  };
  Weather(Surroundings around, Rng rng);

  void begin();
  void clear();  // the second phase: everything works again

 private:
  void enter(Fault fault);
  void strike(Fault fault);
  void strike_network(Fault fault);
  void strike_process(Fault fault);
  void strike_clock(Fault fault);
  void strike_boot(Fault fault);
  void set_moods(Fault fault);
  void set_mood(std::uint32_t peer, Mood mood, Duration for_so_long);
  void damage(bool torn);
  Duration lasting();

  Surroundings around_;
  Rng rng_;
  Rng boots_;
  bool cleared_ = false;
  std::map<std::uint32_t, std::uint64_t> episodes_;  // the newest mood of each peer
  std::uint64_t last_episode_ = 0;
};

}  // namespace postrider::sim
