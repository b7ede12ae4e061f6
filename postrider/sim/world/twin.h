// Twin: a second shard on a copy of the disk, at a moment when the first one has nothing to do.
// What was restored must be what was running. (Checker 10.) The first shard is asked the usual way
// and answers a little later; if anything else happened meanwhile, the comparison is dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "postrider/shard/shard.h"
#include "postrider/sim/world/clock.h"
#include "postrider/sim/world/machine.h"
#include "postrider/sim/world/notebook.h"
#include "postrider/sim/world/store.h"
#include "postrider/sim/world/verdicts.h"

namespace postrider::sim {

class Twins {
 public:
  struct Surroundings {
    Agenda& agenda;
    Machine& machine;
    const SimDisk& disk;
    const ShardOptions& options;
    Notebook& notebook;
    Verdicts& verdicts;
  };
  Twins(Surroundings around, std::vector<std::string> destinations);

  // Looks whether a comparison is due; called after each thing of the agenda.
  void consider();
  void compare();  // now; the owner must be quiet
  // An answer to one of our own questions? Then it is taken.
  bool take(Incarnation process, Ticket ticket, const Answer& answer);
  void disturb() { ++disturbances_; }  // something left or became durable

  std::uint64_t compared() const { return compared_; }

 private:
  bool goes_when_restored(std::string_view name) const;
  std::vector<MessageId> sample() const;
  void check_scheduled() const;
  bool is_scheduled(const MessageNote& note) const;
  void compare_messages(const Explanation& running, const Explanation& restored) const;
  void compare_routes(const DestinationView& running, const DestinationView& restored) const;

  Surroundings around_;
  std::vector<std::string> destinations_;
  std::uint64_t next_at_ = 2000;  // things of the agenda
  std::uint64_t disturbances_ = 0;
  std::uint64_t asked_with_ = 0;  // disturbances when the questions were asked
  std::uint64_t last_ticket_;
  std::map<std::uint64_t, Answer> restored_;  // by the ticket of the question to the running one
  std::uint64_t compared_ = 0;
};

}  // namespace postrider::sim
