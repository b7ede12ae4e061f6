// Shard: one engine, its store and the four beats of a turn: read, decide, commit, act. At most two
// turns exist, one in commit and one open. Used by the runtime and by the simulator alike;
// single-threaded, owns no thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "postrider/base/entropy.h"
#include "postrider/core/engine.h"
#include "postrider/model/effects.h"
#include "postrider/model/event.h"
#include "postrider/model/seams/clock.h"
#include "postrider/model/seams/store.h"

namespace postrider {

struct ShardOptions {
  EngineOptions engine;
  std::uint32_t number = 0;
  std::uint32_t event_queue_max = 8192;  // events waiting; a full event queue is backpressure
  std::uint32_t parked_max = 1024;       // events waiting for a read
  std::uint32_t turn_events_max = 1024;
  std::size_t turn_bytes_max = 4U << 20;
  // Where the seed of a turn comes from; asked at most once in a turn, and only when something is
  // drawn.
  Entropy::Source seeds = {};
};

class Shard {
 public:
  enum class Fate : std::uint8_t {
    kRunning,
    kRestart,  // a commit failed or is in doubt: drop this shard and make a new one from the store
    kStop,     // the store failed for good, or cannot be read: stop the process
  };
  using ActionSink = std::function<void(Action&&)>;

  // Acquires the store. `act` is called for each action, in order, when it may leave.
  static Result<std::unique_ptr<Shard>> open(ShardOptions options, Store& store, Instant start,
                                             ActionSink act);
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // False: the event queue is full and the event untouched, try again later. Events of one
  // destination are decided in the order of the posts.
  [[nodiscard]] bool post(Event&& event);

  // Does everything that can be done now. Call it after posts, when a deadline has come, and after
  // the store called back.
  void turn(Instant instant);

  // From now on nothing is started; see Engine. The shard must be ready, or become so.
  void hold_starts();

  // The key files from now on; the next shard gets them by its options.
  void set_secrets(std::shared_ptr<const Secrets> secrets);

  // When to call turn again if nothing else happens. In boot time.
  std::optional<Timestamp> next_deadline() const;

  Epoch epoch() const;  // of this ownership of the store
  Fate fate() const;
  const std::string& fate_reason() const;
  bool idle() const;              // nothing waits, nothing is open or in commit
  Engine& engine();               // for tests, the simulator and benchmarks; only when ready
  bool ready() const;             // the meta record is read, the engine exists
  Timestamp engine_time() const;  // of the last turn
  // By how much the wall clock was set since the last call, when it was more than a minute.
  std::optional<Duration> take_clock_step();
  // What became of a leap of the wall clock at the start, since the last call.
  std::optional<DoubtNews> take_clock_doubt();
  // How far the wall is ahead and not believed; 0: it is believed, and the kernel is not asked.
  Duration clock_doubt() const;
  // Makes the stamps of an answer that has left wall time, for callers.
  void show_by_wall(Answer& answer) const;

 private:
  Shard();
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
