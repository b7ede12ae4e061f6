// Host: keeps one shard running over a store and a transport, and is the door to it. It restarts
// the shard when a commit failed, waits when the disk is full, and bounds each tenant's share of
// the event queue. One thread, the loop's; it owns no thread itself.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/model/answer.h"
#include "postrider/model/event.h"
#include "postrider/model/id_codec.h"
#include "postrider/model/seams/clock.h"
#include "postrider/model/seams/station.h"
#include "postrider/model/seams/store.h"
#include "postrider/model/seams/transport.h"
#include "postrider/model/seams/wire.h"
#include "postrider/shard/shard.h"
#include "postrider/shard/stations.h"

namespace postrider {

struct HostOptions {
  ShardOptions shard;
  std::uint32_t waiting_max = 8192;                  // asked and not answered yet, of all tenants
  std::uint32_t tenant_waiting_max = 4096;           // of one tenant
  std::uint32_t tenant_awaiting_max = 1024;          // callers of one tenant that await something
  Duration restart_pause{1000};                      // between two attempts to take the store again
  std::function<void(Duration)> clock_was_set = {};  // the wall clock, by more than a minute
  std::function<void(const DoubtNews&)> clock_in_doubt = {};  // a leap at the start
  StationLimits stations;
  // Asked by stations; outlives the host. Null: they ask nobody for a token.
  const Principals* principals = nullptr;
  // A station broke its contract: a bug, for the log.
  std::function<void(std::string_view verb, const std::string& what)> station_misused = {};
};

// What the door says to somebody who wants something.
enum class Door : std::uint8_t {
  kOpen,        // taken; the answer follows
  kBusy,        // too much waits already: try again soon
  kTenantBusy,  // this tenant has its whole share waiting
  kNoSpace,     // the disk has no room for new messages; questions and ends still pass
  kRestarting,  // the store is being opened again
  kStopping,
};

class Host {
 public:
  using Done = std::function<void(Answer)>;
  enum class State : std::uint8_t {
    kStarting,  // nothing decided yet
    kRunning,
    kRestarting,  // a commit failed; the store is asked until it answers
    kStopped,     // drained, or failed: see failure()
  };

  // `wake` asks for a call of turn() soon, on the loop's thread; it may be called often.
  Host(HostOptions options, Store& store, Transport& transport, const Clock& clock,
       std::function<void()> wake);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // The event's ticket is given here. `done` is called exactly once, later and never from inside
  // post, unless the door did not open, or the shard was restarted: then with kUnavailable.
  Door post(std::string_view tenant, Event event, Done done);

  // Awaits something for long: it takes no place from those who wait for an answer, and holds up
  // no drain. `ticket` is for stop_waiting.
  Door await(std::string_view tenant, Await event, Done done, Ticket& ticket);
  // The caller has gone: its `done` is forgotten and never called.
  void stop_waiting(Ticket ticket);

  // News that nobody waits for: the network's. Never refused, always bounded by what was started.
  void attempt_ended(AttemptId attempt, WireReply reply);
  void tell(Event event);

  // The stations of this shard, over their wire; before the first turn, or not at all.
  void seat(std::vector<std::unique_ptr<Station>> stations, Wire& wire);
  // What the wire says. From handlers of the loop, never from inside a call of the wire.
  void line(const station::Happened& happened);
  bool has_stations() const;
  Stations::Figures station_figures() const;
  void tell_stations(StationFigures& figures) const;

  void turn();
  std::optional<Timestamp> next_deadline() const;  // boot time

  // The key files from now on, over restarts of the shard too.
  void set_secrets(std::shared_ptr<const Secrets> secrets);
  void set_space(bool enough);  // whether the disk has room for new messages
  // Takes nothing new, starts nothing new, and stops when what is open has ended and is durable.
  void drain();
  void give_up();  // the same, without waiting for open attempts

  State state() const;
  const std::string& failure() const;  // why it stopped by itself; empty: it did not
  bool restoring() const;              // still reading what an earlier life left
  std::uint64_t log_version() const;   // changes when the outcome log may have grown
  const IdCodec& ids() const;          // how message ids are written outside; the loop's thread

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
