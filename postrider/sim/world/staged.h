// Staged worlds: a plan that answers one question. The destinations, the limits of the engine, what
// is submitted when, and what becomes of the peers are all said here; the engine, the shard, the
// store, the network and the checkers are those of every world.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "postrider/shard/shard.h"
#include "postrider/sim/world/agenda.h"
#include "postrider/sim/world/field.h"
#include "postrider/sim/world/network.h"
#include "postrider/sim/world/options.h"

namespace postrider::sim {

// How many destinations, messages and hours a staged world has when nobody says, and what it cannot
// have otherwise. Of a flood the number of messages is free, of the others fixed.
SimOptions staged(SimOptions options);

StagedDestination staged_destination(const SimOptions& options, std::uint32_t number);
void stage_limits(const SimOptions& options, ShardOptions& shard);

// What its figures are about, by name of the destination.
bool is_watched(WorldKind world, const std::string& destination);

inline constexpr std::uint32_t kHealthyInHang = 10;
inline constexpr Duration kStormReturns{10min};  // so long after the beginning …
inline constexpr Duration kStormSpan{25min};     // … and from then on it takes everything

// What the rules allow at most in a staged world (ADR 0010).
//
// Hang: one place in eight, 32 of 256, is only for destinations that answer. Ten of them with one
// message each never fill these, so each starts in the step that accepts it and waits for nobody.
inline constexpr std::uint64_t kHangForeignMax = 0;
// Flood: in one round each tenant has its weight, and the flood's is three. Its number of messages
// and of destinations does not matter.
inline constexpr std::uint64_t kFloodWeight = 3;
inline constexpr std::uint64_t kFloodPassMax = kFloodWeight;
// Storm: the far side takes `s` = 10 in any second, so a route that begins with one place, and gets
// one more by each success, has p <= 1 + s places when the first failure is heard. In a second it
// hears 2 s successes at most. Each failure that is heard takes half of the places and is followed
// by p - 1 that are not, so failures are at most the p that were open and twice all places that
// were there or came, p + 2 (p + 2 s); with one place there are at most s more, one after the
// other.
inline constexpr std::uint64_t kStormTaken = Peer::kLimit;
inline constexpr std::uint64_t kStormPlaces = 1 + kStormTaken;
inline constexpr std::uint64_t kStormStartsMax =
    2 * kStormTaken + kStormPlaces + 2 * (kStormPlaces + 2 * kStormTaken) + kStormTaken;

class Stage {
 public:
  struct Surroundings {
    Agenda& agenda;
    Network& network;
    const SimOptions& options;
    std::function<void(std::uint32_t destination, std::uint32_t count)> send;
  };
  explicit Stage(Surroundings around) : around_(std::move(around)) {}

  void begin();  // enters everything that will happen

 private:
  void begin_hang();
  void begin_flood();
  void begin_storm();
  void send_at(Duration when, std::uint32_t destination, std::uint32_t count);
  void every(Duration from, Duration step, std::uint32_t destination);

  Surroundings around_;
};

}  // namespace postrider::sim
