// Machine: the machine on which the process runs. It starts shards, gives them turns, carries their
// actions out and kills them, at any point between two of its own steps. Several processes can be
// alive for a while: a new owner takes the store over, and the old one does not know it yet.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "postrider/shard/shard.h"
#include "postrider/sim/world/agenda.h"
#include "postrider/sim/world/clock.h"
#include "postrider/sim/world/history.h"
#include "postrider/sim/world/network.h"
#include "postrider/sim/world/store.h"
#include "postrider/sim/world/trace.h"

namespace postrider::sim {

class Machine {
 public:
  struct Surroundings {
    Agenda& agenda;
    SimClock& clock;
    StoreSurroundings& store;
    Trace& trace;
    Witness& witness;
    const Fields& fields;
    ShardOptions shard;
    std::function<void(Incarnation, const StartAttempt&, const Call&)> start;
    std::function<void(Incarnation, AttemptId)> abort;
    std::function<void(Incarnation, Ticket, const Answer&)> tell;
    std::function<void(Incarnation)> died;
    std::function<void(std::string)> violation;
    std::function<void(const Engine&)>
        buried;  // last look at a healthy engine before its process goes
    std::function<Duration()> restart_after;  // how long the process is down
  };
  explicit Machine(Surroundings around);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void start();
  // Kills the owner. Of the batches that are not durable the first `kept` survive.
  enum class Fate : std::uint8_t { kKeep, kLose };
  void crash(Fate fate, std::optional<Duration> off = {});
  void usurp();   // a second process becomes the owner
  void retire();  // what a second process leaves behind: kills all but the owner

  bool post(Incarnation process, Event event);
  Incarnation running() const;  // the owner; 0: nobody
  Moment moment(Incarnation process) const;
  Timestamp engine_now() const;  // about what the process would say
  Shard* owner();
  bool quiet();  // the owner is up, has restored, has just had a turn and has nothing more to do

  // Gives turns to those who need one. After each thing of the agenda.
  void pump();

  // Crash points: counts store operations and actions, and dies after the chosen one.
  void crash_after(std::uint64_t point, Fate fate);
  std::uint64_t points() const { return points_; }
  std::uint64_t restarts() const { return restarts_; }
  void store_operation();

 private:
  struct Process {
    Incarnation number = 0;
    std::unique_ptr<SimStore> store;
    std::unique_ptr<Shard> shard;
    std::deque<Action> actions;
    bool dirty = true;
    bool owner = true;
    Timestamp turned;                        // true time of the last turn
    Timestamp wake_at = Timestamp::never();  // true time of the entered wake-up
    Timestamp quiet_engine;                  // all that was decided before has left
    std::uint64_t commits_seen = 0;
    std::deque<Timestamp> commit_calls;  // engine times, the last few
    Timestamp spin_at;
    std::uint32_t spins = 0;
  };

  Process* find(Incarnation process);
  const Process* find(Incarnation process) const;
  void turn(Process& process);
  void act(Process& process);
  void carry_out(Process& process, const Action& action);
  void leave(Process& process, const StartAttempt& start);
  void settle(Process& process);
  void schedule_wake(Process& process);
  void wake(Incarnation number, Timestamp at);
  void bury(Incarnation process, std::size_t kept, bool restart);
  Timestamp decided_after(const Process& process) const;
  void note_commits(Process& process);
  void count_point();

  Surroundings around_;
  const IdCodec ids_;
  std::vector<std::unique_ptr<Process>> processes_;
  Incarnation last_ = 0;
  std::optional<Duration> off_;  // how long it is down, when that is known beforehand
  bool starting_ = false;        // a restart is on the agenda
  bool crash_now_ = false;
  Fate crash_fate_ = Fate::kLose;
  std::uint64_t crash_point_ = 0;  // 0: none
  std::uint64_t points_ = 0;
  std::uint64_t restarts_ = 0;
};

}  // namespace postrider::sim
