#include "postrider/sim/world/machine.h"

#include <algorithm>

#include "postrider/base/check.h"
#include "postrider/sim/world/describe.h"

namespace postrider::sim {
namespace {

// A clock that is so far ahead is not taken for the time.
constexpr Duration kClientsNotice = 24h;

constexpr std::uint32_t kSpinsMax = 100'000;  // turns at one instant; more is a loop

}  // namespace

Machine::Machine(Surroundings around)
    : around_(std::move(around)), ids_(around_.shard.engine.id_key) {}

Machine::~Machine() {
  for (const auto& process : processes_) process->store->crash(0);
}

Machine::Process* Machine::find(Incarnation number) {
  for (const auto& process : processes_) {
    if (process->number == number) return process.get();
  }
  return nullptr;
}

const Machine::Process* Machine::find(Incarnation number) const {
  for (const auto& process : processes_) {
    if (process->number == number) return process.get();
  }
  return nullptr;
}

Incarnation Machine::running() const {
  for (const auto& process : processes_) {
    if (process->owner) return process->number;
  }
  return 0;
}

Shard* Machine::owner() {
  Process* process = find(running());
  return process == nullptr ? nullptr : process->shard.get();
}

Moment Machine::moment(Incarnation number) const {
  const Process* process = find(number);
  const bool alive = process != nullptr && process->shard != nullptr;
  return {around_.agenda.now(), alive ? process->shard->engine_time() : Timestamp(), number};
}

Timestamp Machine::engine_now() const {
  const Process* process = find(running());
  const bool ready = process != nullptr && process->shard->ready();
  // Clients have clocks of their own, and those are right.
  const Duration leap = around_.clock.read().wall - around_.agenda.now();
  if (ready ? process->shard->clock_doubt() > Duration(0) : leap > kClientsNotice)
    return around_.agenda.now();
  if (!ready) return around_.clock.read().wall;
  return process->shard->engine_time() + (around_.agenda.now() - process->turned);
}

bool Machine::quiet() {
  Process* process = find(running());
  if (process == nullptr || process->dirty || !process->actions.empty() ||
      process->turned != around_.agenda.now())
    return false;
  return process->shard->ready() && process->shard->idle() && !process->shard->engine().restoring();
}

void Machine::start() {
  starting_ = false;
  if (running() != 0) return;
  ++restarts_;
  auto process = std::make_unique<Process>();
  process->number = ++last_;
  process->store = std::make_unique<SimStore>(around_.store);
  Process* place = process.get();
  processes_.push_back(std::move(process));
  auto shard =
      Shard::open(around_.shard, *place->store, around_.clock.read(),
                  [place](Action&& action) { place->actions.push_back(std::move(action)); });
  POSTRIDER_CHECK(shard.has_value());
  place->shard = std::move(*shard);
  const Epoch epoch = around_.store.disk.owner();
  around_.trace.line(around_.agenda.now(), "start")
      .number(place->number)
      .number(epoch.value())
      .end();
  around_.witness.began(moment(place->number), epoch);
}

void Machine::usurp() {
  Process* old = find(running());
  if (old == nullptr) return;
  around_.trace.line(around_.agenda.now(), "usurp").number(old->number).end();
  old->owner = false;
  start();
}

void Machine::retire() {
  std::vector<Incarnation> old;
  for (const auto& process : processes_) {
    if (!process->owner) old.push_back(process->number);
  }
  for (const Incarnation number : old) bury(number, 0, false);
}

void Machine::crash(Fate fate, std::optional<Duration> off) {
  Process* process = find(running());
  if (process == nullptr) return;
  const std::size_t undurable = process->store->undurable();
  off_ = off;
  bury(process->number, fate == Fate::kKeep ? undurable : 0, true);
  off_.reset();
}

void Machine::bury(Incarnation number, std::size_t kept, bool restart) {
  const auto at = std::find_if(processes_.begin(), processes_.end(),
                               [number](const auto& p) { return p->number == number; });
  POSTRIDER_CHECK(at != processes_.end());
  around_.trace.line(around_.agenda.now(), "die").number(number).number(std::uint64_t{kept}).end();
  const Moment when = moment(number);
  if ((*at)->shard->ready()) around_.buried((*at)->shard->engine());
  // The shard goes first: what it waits for must not find it any more. What still becomes durable
  // is nobody's.
  (*at)->owner = false;
  (*at)->shard.reset();
  (*at)->store->crash(kept);
  processes_.erase(at);
  around_.witness.died(when);
  around_.died(number);
  if (!restart || starting_) return;
  starting_ = true;
  around_.agenda.after(off_ ? *off_ : around_.restart_after(), [this] { start(); });
}

bool Machine::post(Incarnation number, Event event) {
  Process* process = find(number);
  if (process == nullptr) return true;
  if (around_.trace.wants_details())
    around_.trace.detail("post " + std::to_string(around_.agenda.now().ms()) + " " +
                         describe(event));
  if (!process->shard->post(std::move(event))) {
    process->dirty = true;
    return false;
  }
  process->dirty = true;
  return true;
}

void Machine::store_operation() {
  for (const auto& process : processes_) process->dirty = true;
  count_point();
}

void Machine::count_point() {
  ++points_;
  if (points_ == crash_point_) crash_now_ = true;
}

void Machine::crash_after(std::uint64_t point, Fate fate) {
  crash_point_ = point;
  crash_fate_ = fate;
}

void Machine::pump() {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    Process& process = *processes_[i];
    if (crash_now_ && process.owner) {
      crash_now_ = false;
      crash(crash_fate_);
      --i;
      continue;
    }
    if (!process.dirty) continue;
    turn(process);
    if (crash_now_) --i;  // dies before anything else happens to it
  }
  // A process whose shard gave up is buried last, when nobody is inside it.
  for (std::size_t i = 0; i < processes_.size();) {
    Process& process = *processes_[i];
    if (process.shard->fate() == Shard::Fate::kRunning) {
      ++i;
      continue;
    }
    around_.trace.line(around_.agenda.now(), "fate")
        .number(process.number)
        .word(process.shard->fate_reason())
        .end();
    bury(process.number, 0, process.owner);
  }
}

void Machine::turn(Process& process) {
  process.dirty = false;
  if (process.spin_at == around_.agenda.now()) {
    if (++process.spins == kSpinsMax) around_.violation("the shard does not come to rest");
  } else {
    process.spin_at = around_.agenda.now();
    process.spins = 0;
  }
  process.shard->turn(around_.clock.read());
  process.turned = around_.agenda.now();
  note_commits(process);
  act(process);
  if (crash_now_) return;
  settle(process);
}

void Machine::note_commits(Process& process) {
  if (process.store->commits_called() == process.commits_seen) return;
  process.commits_seen = process.store->commits_called();
  process.commit_calls.push_back(process.shard->engine_time());
  if (process.commit_calls.size() > 3) process.commit_calls.pop_front();
}

// All that was decided before this has left. A turn opens when the one before it is given to the
// store.
Timestamp Machine::decided_after(const Process& process) const {
  const std::size_t open = process.store->committing() ? 1 : 0;
  const std::size_t calls = process.commit_calls.size();
  Timestamp after = process.quiet_engine;
  if (calls >= open + 2) after = std::max(after, process.commit_calls[calls - open - 2]);
  return after;
}

void Machine::act(Process& process) {
  while (!process.actions.empty() && !crash_now_) {
    const Action action = std::move(process.actions.front());
    process.actions.pop_front();
    carry_out(process, action);
    count_point();
  }
}

void Machine::carry_out(Process& process, const Action& action) {
  if (const auto* start = std::get_if<StartAttempt>(&action)) {
    leave(process, *start);
  } else if (const auto* abort = std::get_if<AbortAttempt>(&action)) {
    around_.trace.line(around_.agenda.now(), "abort").number(abort->attempt.value()).end();
    around_.witness.aborted({moment(process.number), abort->attempt});
    around_.abort(process.number, abort->attempt);
  } else if (const auto* reply = std::get_if<Reply>(&action)) {
    around_.trace.line(around_.agenda.now(), "tell")
        .number(reply->ticket.value())
        .word(name_of(reply->answer.code))
        .id(reply->answer.id)
        .end();
    around_.witness.told({moment(process.number), reply->ticket, reply->answer});
    around_.tell(process.number, reply->ticket, reply->answer);
  }
}

void Machine::leave(Process& process, const StartAttempt& start) {
  Call call = around_.fields.read_call(start.request, ids_);
  if (call.to_field) call.id = start.message;  // far sides do not know our ids
  around_.trace.line(around_.agenda.now(), "attempt")
      .number(start.attempt.value())
      .id(start.message)
      .word(start.request.verb)
      .word(start.request.target)
      .end();
  around_.witness.left({moment(process.number), decided_after(process), start, call});
  around_.start(process.number, start, call);
}

void Machine::settle(Process& process) {
  if (!process.store->committing() && process.shard->ready())
    process.quiet_engine = process.shard->engine_time();
  schedule_wake(process);
}

void Machine::schedule_wake(Process& process) {
  const auto deadline = process.shard->next_deadline();
  if (!deadline) return;
  const Timestamp at = std::max(around_.clock.truth_of(*deadline), around_.agenda.now());
  // A turn that is full waits for the store, which wakes the process when it is done.
  if (at == around_.agenda.now() && process.store->busy()) return;
  if (at >= process.wake_at) return;
  process.wake_at = at;
  around_.agenda.at(at, [this, number = process.number, at] { wake(number, at); });
}

void Machine::wake(Incarnation number, Timestamp at) {
  Process* process = find(number);
  if (process == nullptr || process->wake_at != at) return;
  process->wake_at = Timestamp::never();
  process->dirty = true;
}

}  // namespace postrider::sim
