// Site: one machine of a world of several, with a store, a clock, a shard and stations of its own.
// It does what runtime/host does for them, crashes between any two of its steps, also behind each
// write to a line, and comes back. Order at one instant: stations, messages, tick.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "postrider/model/seams/work.h"
#include "postrider/shard/shard.h"
#include "postrider/shard/stations.h"
#include "postrider/sim/world/agenda.h"
#include "postrider/sim/world/clock.h"
#include "postrider/sim/world/faults.h"
#include "postrider/sim/world/seeds.h"
#include "postrider/sim/world/store.h"
#include "postrider/sim/world/wires.h"

namespace postrider::sim {

class Site final : public StationDoor {
 public:
  struct Surroundings {
    Agenda& agenda;
    Wires& wires;
    ShardOptions shard;
    StationLimits limits;
    FaultSet faults;  // of its store
    Duration span{0};
    bool repeats_entropy = false;  // a planted bug: each process draws what the first one drew
    std::vector<WorkKind> work;  // of its profiles
    std::function<std::vector<std::unique_ptr<Station>>()> make_stations;
    std::function<void(const StartAttempt&)> starts;  // before its station has it
    std::function<void(Ticket, const Answer&)> told;  // a client
    std::function<void()> died;                       // nothing that was asked is answered
    std::function<void(std::string)> violation;
  };
  struct Counts {
    std::uint64_t processes = 0;
    std::uint64_t epochs = 0;
    std::uint64_t starts = 0;
    std::uint64_t ends = 0;
    std::uint64_t aborts = 0;
    std::uint64_t refused = 0;  // posts of stations
  };
  Site(std::string name, Surroundings around, std::uint64_t seed);
  ~Site() override;
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  const std::string& name() const { return name_; }
  SimDisk& disk() { return disk_; }
  SimClock& clock() { return clock_; }
  void calm() { faults_.stop(); }

  void start();
  enum class Fate : std::uint8_t { kKeep, kLose };  // of a batch that is in commit
  void crash(Fate fate, Duration off);
  void restart_shard();  // as after a failed commit: lines stay
  // Counts writes to lines, store operations and actions, and dies behind the chosen one.
  void crash_after(std::uint64_t point, Fate fate);
  std::uint64_t points() const { return points_; }

  bool up() const { return process_ != nullptr; }
  bool post(Event event);  // of a client, with its ticket; false: not taken
  // Nothing is open and nothing waits.
  bool quiet() const;
  std::optional<Stats> stats();
  Counts counts() const;

  void pump();  // after each thing of the agenda

 private:
  struct Process {
    std::unique_ptr<SimStore> store;
    std::unique_ptr<SimWire> wire;
    std::unique_ptr<Stations> stations;
    std::unique_ptr<Shard> shard;
    std::deque<Action> actions;
    std::deque<Event> untold;
    std::set<std::uint64_t> open;  // attempts of stations, of this epoch
    bool dirty = true;
    bool dead = false;  // it must go, and does nothing any more
    Timestamp wake_at = Timestamp::never();
    std::uint64_t number = 0;
  };

  std::optional<AnswerCode> post(Ticket ticket, Event event) override;
  void attempt_ended(AttemptId attempt, WireReply reply) override;
  void start_exchange(AttemptId exchange, WireRequest request) override;
  void abort_exchange(AttemptId exchange) override;
  void misused(std::string_view verb, std::string what) override;

  WireReply worked(const WireRequest& request) const;
  void start_work(const StartAttempt& start);
  void heard(const station::Happened& happened);
  void open_shard(Process& process);
  void act(Process& process);
  void carry_out(Process& process, Action& action);
  void schedule_wake(Process& process);
  void bury();
  void point();

  const std::string name_;
  Surroundings around_;
  SimClock clock_;
  SimDisk disk_;
  Faults faults_;
  StoreSurroundings store_;
  const std::uint64_t seed_;
  Seeds seeds_;
  Rng rng_;
  std::unique_ptr<Process> process_;
  std::set<EntropySeed> seeds_given_;
  Counts counts_;
  std::uint64_t points_ = 0;
  std::uint64_t crash_point_ = 0;
  Fate crash_fate_ = Fate::kLose;
  Duration off_{0};
  bool restart_ = false;
};

}  // namespace postrider::sim
