#include "postrider/sim/world/site.h"

#include <algorithm>
#include <utility>

#include "postrider/base/check.h"

namespace postrider::sim {
namespace {

constexpr int kSiteRoundsMax = 100'000;  // of one instant; more is a loop

}  // namespace

Site::Site(std::string name, Surroundings around, std::uint64_t seed)
    : name_(std::move(name)),
      around_(std::move(around)),
      clock_(around_.agenda),
      faults_({around_.faults, around_.agenda.now(), around_.span}, Rng(seed).fork(1)),
      store_{around_.agenda,
             disk_,
             &faults_,
             Rng(seed).fork(2),
             false,
             [this] {
               if (process_ != nullptr) process_->dirty = true;
               point();
             }},
      seed_(seed),
      seeds_(seed),
      rng_(Rng(seed).fork(3)) {
  around_.shard.seeds = [this] {
    const EntropySeed fresh = seeds_.next();
    if (!seeds_given_.insert(fresh).second) around_.violation(name_ + " was given a seed twice");
    return fresh;
  };
}

Site::~Site() {
  if (process_ != nullptr) process_->store->crash(0);
}

void Site::start() {
  if (process_ != nullptr) return;
  ++counts_.processes;
  if (around_.repeats_entropy) seeds_ = Seeds(seed_);
  process_ = std::make_unique<Process>();
  Process& process = *process_;
  process.number = counts_.processes;
  process.store = std::make_unique<SimStore>(store_);
  process.wire = std::make_unique<SimWire>(
      around_.wires, name_, [this](const station::Happened& happened) { heard(happened); },
      [this] { point(); });
  process.stations = std::make_unique<Stations>(around_.limits, around_.shard.seeds, *process.wire,
                                                static_cast<StationDoor&>(*this));
  for (auto& station : around_.make_stations()) process.stations->add(std::move(station));
  open_shard(process);
}

void Site::open_shard(Process& process) {
  ++counts_.epochs;
  auto shard =
      Shard::open(around_.shard, *process.store, clock_.read(),
                  [&process](Action&& action) { process.actions.push_back(std::move(action)); });
  POSTRIDER_CHECK(shard.has_value());
  process.shard = std::move(*shard);
  process.dirty = true;
  process.stations->new_epoch(process.shard->epoch());
}

// The shard goes and a new one comes, as runtime/host does it.
void Site::restart_shard() {
  if (process_ == nullptr || process_->dead) return;
  Process& process = *process_;
  process.shard.reset();
  process.actions.clear();
  process.untold.clear();
  process.open.clear();
  process.stations->interrupted();
  around_.died();
  open_shard(process);
}

void Site::crash(Fate fate, Duration off) {
  if (process_ == nullptr || process_->dead) return;
  crash_fate_ = fate;
  off_ = off;
  process_->dead = true;
  process_->wire->die();
}

void Site::crash_after(std::uint64_t point, Fate fate) {
  crash_point_ = point;
  crash_fate_ = fate;
}

// From inside of anything: what is under way goes on to its end, and nothing of it leaves.
void Site::point() {
  ++points_;
  if (points_ == crash_point_) crash(crash_fate_, Duration(100));
}

void Site::bury() {
  Process& process = *process_;
  const std::size_t kept = crash_fate_ == Fate::kKeep ? process.store->undurable() : 0;
  process.shard.reset();
  counts_.refused += process.stations->figures().posts_refused;
  process.stations.reset();
  process.store->crash(kept);
  process_.reset();
  around_.died();
  around_.agenda.after(off_, [this] { start(); });
}

void Site::heard(const station::Happened& happened) {
  if (process_ == nullptr || process_->dead) return;
  process_->stations->line(clock_.read(), happened);
  process_->dirty = true;
}

bool Site::post(Event event) {
  if (process_ == nullptr || process_->dead || process_->shard == nullptr) return false;
  process_->dirty = true;
  return process_->shard->post(std::move(event));
}

std::optional<AnswerCode> Site::post(Ticket /*ticket*/, Event event) {
  Process& process = *process_;
  if (process.dead) return std::nullopt;  // and is never answered
  process.dirty = true;
  if (process.shard != nullptr && process.shard->post(std::move(event))) return std::nullopt;
  return AnswerCode::kBusy;
}

void Site::attempt_ended(AttemptId attempt, WireReply reply) {
  Process& process = *process_;
  if (process.dead) return;
  ++counts_.ends;
  if (process.open.erase(attempt.value()) == 0)
    return around_.violation(name_ + ": attempt " + std::to_string(attempt.value()) +
                             " ended twice, or was never started");
  process.untold.push_back(AttemptEnded{attempt, std::move(reply)});
  process.dirty = true;
}

// All of it at once; it is the time that it takes which is virtual.
WireReply Site::worked(const WireRequest& request) const {
  WireReply reply;
  for (const WorkKind& kind : around_.work) {
    if (kind.name != request.target) continue;
    const std::unique_ptr<Work> work = kind.make(request.body);
    reply.status = work == nullptr ? 400 : 200;
    if (work == nullptr) return reply;
    while (!work->go_on(std::uint64_t{1} << 20)) {
    }
    reply.body = work->result();
    return reply;
  }
  return reply;
}

void Site::start_exchange(AttemptId exchange, WireRequest request) {
  around_.agenda.after(Duration(rng_.between(1, 500)), [this, exchange, number = process_->number,
                                                        reply = worked(request)]() mutable {
    if (process_ == nullptr || process_->dead || process_->number != number) return;
    process_->stations->exchanged(exchange, reply);
    process_->dirty = true;
  });
}

// An attempt that is work ends as those of stations do, unless it is aborted or its process is gone.
void Site::start_work(const StartAttempt& start) {
  around_.agenda.after(Duration(rng_.between(1, 500)),
                       [this, attempt = start.attempt, number = process_->number,
                        epoch = counts_.epochs, reply = worked(start.request)]() mutable {
                         if (process_ == nullptr || process_->dead ||
                             process_->number != number || counts_.epochs != epoch ||
                             !process_->open.contains(attempt.value()))
                           return;
                         attempt_ended(attempt, std::move(reply));
                       });
}

void Site::abort_exchange(AttemptId /*exchange*/) {}

void Site::misused(std::string_view verb, std::string what) {
  around_.violation(name_ + ": the station " + std::string(verb) + " " + what);
}

void Site::pump() {
  for (int rounds = 0; process_ != nullptr; ++rounds) {
    if (process_->dead) return bury();
    Process& process = *process_;
    if (!process.dirty) return;
    if (rounds == kSiteRoundsMax) return around_.violation(name_ + " does not come to rest");
    process.dirty = false;
    process.stations->run(clock_.read());
    if (process.dead) continue;
    while (!process.untold.empty() && process.shard->post(std::move(process.untold.front())))
      process.untold.pop_front();
    process.shard->turn(clock_.read());
    act(process);
    if (process.dead) continue;
    switch (process.shard->fate()) {
      case Shard::Fate::kRunning: break;
      case Shard::Fate::kRestart: restart_shard(); continue;
      case Shard::Fate::kStop: crash(Fate::kLose, Duration(rng_.between(100, 5'000))); continue;
    }
    const auto due = process.stations->next_deadline();
    if (due && *due == Timestamp()) process.dirty = true;  // it has more to hear
    schedule_wake(process);
  }
}

void Site::act(Process& process) {
  while (!process.actions.empty() && !process.dead) {
    Action action = std::move(process.actions.front());
    process.actions.pop_front();
    carry_out(process, action);
    point();
  }
}

void Site::carry_out(Process& process, Action& action) {
  const Instant now = clock_.read();
  if (const auto* start = std::get_if<StartAttempt>(&action)) {
    ++counts_.starts;
    around_.starts(*start);
    if (!process.open.insert(start->attempt.value()).second)
      around_.violation(name_ + ": an attempt was started twice");
    process.dirty = true;
    if (start->request.verb == kWorkVerb) return start_work(*start);
    if (!process.stations->offer(action, now))
      around_.violation(name_ + ": no station takes " + start->request.verb);
    return;
  }
  if (const auto* abort = std::get_if<AbortAttempt>(&action)) {
    if (process.open.erase(abort->attempt.value()) != 0) ++counts_.aborts;
    process.stations->offer(action, now);
    process.dirty = true;
    return;
  }
  if (process.stations->offer(action, now)) {
    process.dirty = true;
    return;
  }
  const auto& reply = std::get<Reply>(action);
  around_.told(reply.ticket, reply.answer);
}

void Site::schedule_wake(Process& process) {
  auto deadline = process.shard->next_deadline();
  const auto stations = process.stations->next_deadline();
  if (stations) deadline = deadline ? std::min(*deadline, *stations) : *stations;
  if (!deadline) return;
  const Timestamp at = std::max(clock_.truth_of(*deadline), around_.agenda.now());
  // A turn that is full waits for the store, which wakes the process when it is done.
  if (at == around_.agenda.now() && process.store->busy()) return;
  if (at >= process.wake_at) return;
  process.wake_at = at;
  around_.agenda.at(at, [this, number = process.number, at] {
    if (process_ == nullptr || process_->number != number || process_->wake_at != at) return;
    process_->wake_at = Timestamp::never();
    process_->dirty = true;
  });
}

bool Site::quiet() const {
  return process_ != nullptr && !process_->dead && !process_->dirty && process_->actions.empty() &&
         process_->untold.empty() && process_->shard->ready() && process_->shard->idle() &&
         !process_->shard->engine().restoring();
}

std::optional<Stats> Site::stats() {
  if (!quiet()) return std::nullopt;
  return process_->shard->engine().stats();
}

Site::Counts Site::counts() const {
  Counts out = counts_;
  if (process_ != nullptr) out.refused += process_->stations->figures().posts_refused;
  return out;
}

}  // namespace postrider::sim
