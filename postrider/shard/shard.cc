#include "postrider/shard/shard.h"

#include <algorithm>
#include <array>
#include <deque>
#include <list>
#include <memory_resource>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "postrider/base/check.h"
#include "postrider/base/hash.h"
#include "postrider/base/planted.h"
#include "postrider/core/rules/ledger.h"
#include "postrider/core/rules/timekeeper.h"
#include "postrider/shard/view.h"

namespace postrider {
namespace {

// What an event must not overtake: events of its destination, and events with its operation key.
class OrderKeys {
 public:
  void add(std::uint64_t key) {
    if (count_ < keys_.size()) {
      keys_[count_] = key;
    } else {
      more_.push_back(key);
    }
    ++count_;
  }
  std::size_t size() const { return count_; }
  std::uint64_t operator[](std::size_t i) const {
    return i < keys_.size() ? keys_[i] : more_[i - keys_.size()];
  }

 private:
  std::array<std::uint64_t, 2> keys_{};
  std::vector<std::uint64_t> more_;  // of a list of destinations
  std::size_t count_ = 0;
};

void add_destination(OrderKeys& out, std::string_view name) {
  out.add(order_key(destination_id(name, name, 0)));
}
void add_message(OrderKeys& out, MessageId id) { out.add(order_key(id.destination())); }
void add_caller(OrderKeys& out, const Caller& caller) {
  if (caller.key.kind == OperationKey::Kind::kNone) return;
  // The top bit keeps these apart from destinations.
  out.add(hash64(ledger_key(caller.key), hash64(caller.key.scope)) | (1ULL << 63));
}

// What was started and is over within one turn has not left, and need not: the request would be on
// its way when its attempt is over, and perhaps beside the request of a newer one. Where the
// message goes on, the attempt counts: its request leaves, and its abort behind it.
void drop_unsent(std::vector<Action>& actions) {
  std::vector<AttemptId> over;
  for (const Action& action : actions) {
    const auto* abort = std::get_if<AbortAttempt>(&action);
    if (abort != nullptr && abort->ended) over.push_back(abort->attempt);
  }
  if (over.empty()) return;
  std::sort(over.begin(), over.end());
  std::vector<AttemptId> unsent;  // sorted: attempts are numbered as they are started
  for (const Action& action : actions) {
    const auto* start = std::get_if<StartAttempt>(&action);
    if (start != nullptr && std::binary_search(over.begin(), over.end(), start->attempt))
      unsent.push_back(start->attempt);
  }
  if (unsent.empty()) return;
  const auto is_unsent = [&unsent](AttemptId attempt) {
    return std::binary_search(unsent.begin(), unsent.end(), attempt);
  };
  std::erase_if(actions, [&is_unsent](const Action& action) {
    const auto* start = std::get_if<StartAttempt>(&action);
    const auto* abort = std::get_if<AbortAttempt>(&action);
    return (start != nullptr && is_unsent(start->attempt)) ||
           (abort != nullptr && is_unsent(abort->attempt));
  });
}

struct OrderKeysOf {
  OrderKeys out;

  template <class Command>
  void with_message(const Command& command) {
    add_message(out, command.id);
    add_caller(out, command.caller);
  }
  template <class Command>
  void with_destination(const Command& command) {
    add_destination(out, command.destination);
    add_caller(out, command.caller);
  }
  // Not the keys of the members, which are known only when the group was read: a fan-out is one
  // step, which sees all that was decided before it. Fan-outs to one group stay in order.
  void with_group(std::string_view name, const Caller& caller) {
    out.add(hash64(name, hash64("group")) | (1ULL << 63));
    add_caller(out, caller);
  }
  void operator()(const Submit& e) { with_destination(e); }
  void operator()(const Cancel& e) { with_message(e); }
  void operator()(const RetryNow& e) { with_message(e); }
  void operator()(const Redrive& e) { with_message(e); }
  void operator()(const Drop& e) { with_message(e); }
  void operator()(const Configure& e) {
    add_destination(out, e.config.name);
    add_caller(out, e.caller);
  }
  void operator()(const Pause& e) { with_destination(e); }
  void operator()(const Resume& e) { with_destination(e); }
  void operator()(const Wake& e) { with_destination(e); }
  void operator()(const StartJob& e) {
    if (!e.order.filter.destination.empty()) add_destination(out, e.order.filter.destination);
    add_caller(out, e.caller);
  }
  void operator()(const CancelJob& e) { add_caller(out, e.caller); }
  void operator()(const PutHold& e) { add_caller(out, e.caller); }
  void operator()(const DropHold& e) { add_caller(out, e.caller); }
  void operator()(const FanOut& e) {
    if (e.destinations.empty()) return with_group(e.group, e.caller);
    add_caller(out, e.caller);
    for (const std::string& name : e.destinations) add_destination(out, name);
  }
  void operator()(const ChangeGroup& e) { with_group(e.group.name, e.caller); }
  void operator()(const AttemptNews&) {}
  void operator()(const AttemptEnded&) {}
  void operator()(const ReceiptArrived& e) { add_message(out, e.id); }
  void operator()(const Arrived& e) { add_caller(out, e.caller); }
  void operator()(const PeerSeen& e) { add_destination(out, e.destination); }
  void operator()(const Confirm& e) { with_destination(e); }
  void operator()(const Await& e) {
    if (e.id.is_set()) add_message(out, e.id);
    if (!e.destination.empty()) add_destination(out, e.destination);
  }
  void operator()(const StopWaiting&) {}
  void operator()(const TimersDue&) {}
  void operator()(const Query& e) {
    if (e.what == Query::What::kExplain || e.what == Query::What::kMessage) add_message(out, e.id);
    if (!e.destination.empty()) add_destination(out, e.destination);
    if (e.what == Query::What::kFanoutGroup) with_group(e.group, {});
    if (e.what == Query::What::kOperation) add_caller(out, {.ticket = e.ticket, .key = e.key});
  }
  void operator()(const Chore& e) {
    if (e.destination.is_set()) out.add(order_key(e.destination));
  }
};

}  // namespace

class Shard::Impl {
 public:
  Impl(ShardOptions options, Store& store, Epoch epoch, Instant start, ActionSink act)
      : options_(std::move(options)),
        epoch_(epoch),
        store_(store),
        start_(start),
        act_(std::move(act)),
        entropy_(options_.seeds) {}

  void read_books();
  bool post(Event&& event) {
    if (events_.size() >= options_.event_queue_max) return false;
    events_.push_back(std::move(event));
    return true;
  }
  void turn(Instant instant);

  std::optional<Timestamp> next_deadline() const {
    if (!engine_) return std::nullopt;
    const auto look = timekeeper_->next_look();
    const auto engine = engine_->next_deadline();
    if (!engine) return look;
    // Engine time runs like boot time but for the slewing of small errors, so this may be a little
    // early or late; a late one is looked at again on the way.
    const Duration ahead = std::max(*engine - now_.engine, Duration(0));
    return look ? std::min(*look, last_.boot + ahead) : last_.boot + ahead;
  }

  std::optional<Duration> take_clock_step() {
    const auto step = timekeeper_ ? timekeeper_->take_step() : std::nullopt;
    return step ? std::optional(step->by) : std::nullopt;
  }

  std::optional<DoubtNews> take_clock_doubt() {
    return timekeeper_ ? timekeeper_->take_doubt() : std::nullopt;
  }
  void show_by_wall(Answer& answer) const {
    if (timekeeper_) postrider::show_by_wall(timekeeper_->books(), now_.engine, now_.doubt, answer);
  }

  Fate fate_ = Fate::kRunning;
  std::string fate_reason_;
  bool starts_held_ = false;
  ShardOptions options_;
  Epoch epoch_;
  std::unique_ptr<Engine> engine_;
  Now now_;

  bool idle() const {
    return events_.empty() && chores_.empty() && pages_.empty() && parked_.empty() && !in_commit_ &&
           open_.actions.empty() && open_.writes.empty();
  }

 private:
  struct Parked {
    Event event;
    OrderKeys keys;
    std::uint64_t number = 0;
    Reads reads;       // everything it asked for so far
    Found from_store;  // and what the store said
    std::uint64_t oldest_read = 0;
    bool reading = false;
    bool runnable = false;
  };
  using ParkedList = std::list<Parked>;
  struct Later {
    bool operator()(ParkedList::iterator one, ParkedList::iterator other) const {
      return one->number > other->number;
    }
  };

  bool full() const {
    return events_in_turn_ >= options_.turn_events_max ||
           open_.writes.bytes() >= options_.turn_bytes_max;
  }
  void look_at_clock(Instant instant);
  void drain();
  bool run_parked();
  bool may_run(const Parked& parked) const;
  bool waits_behind(const OrderKeys& keys) const;
  void take(Event&& event);
  void park(Event&& event, const OrderKeys& keys, const Reads& need);
  void ask(ParkedList::iterator parked, const Reads& need);
  void unpark(ParkedList::iterator parked);
  void let_run(ParkedList::iterator parked);
  void forget_old_batches();
  void collect_chores();
  bool take_next();
  void close();
  void committed(CommitOutcome outcome);
  void act(std::vector<Action>& actions);  // empties them
  void fail(Fate fate, std::string reason);

  Store& store_;
  Instant start_;
  ActionSink act_;
  Entropy entropy_;
  std::optional<Timekeeper> timekeeper_;
  Instant last_;

  // An event fills a block of a deque by itself, so the blocks come from a pool.
  std::pmr::unsynchronized_pool_resource pool_;
  std::pmr::deque<Event> events_{&pool_};
  std::deque<Chore> chores_;
  // Of jobs, and of destinations that come back though memory is full: many and never urgent.
  std::deque<Chore> pages_;
  bool page_is_next_ = false;
  ParkedList parked_;
  std::unordered_map<std::uint64_t, std::deque<ParkedList::iterator>>
      order_;  // order key: parked events, oldest first
  std::priority_queue<ParkedList::iterator, std::vector<ParkedList::iterator>, Later>
      runnable_;                          // parked events that may run, each once
  std::set<std::uint64_t> oldest_reads_;  // of the parked events
  std::uint64_t last_parked_ = 0;

  View view_;
  Effects open_;
  const Found nothing_;  // of an event that has asked for nothing yet
  std::uint32_t events_in_turn_ = 0;
  std::vector<Action> committing_actions_;
  std::vector<Action> leaving_;  // scratch
  std::shared_ptr<WriteBatch>
      spare_batch_;  // its memory is used again when no read looks at it any more
  bool in_commit_ = false;
  bool turning_ = false;
  bool something_came_back_ = false;
  // Callbacks of the store may come after the shard is gone: they hold this and look before they
  // touch anything.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

 public:
  ~Impl() { *alive_ = false; }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
};

void Shard::Impl::fail(Fate fate, std::string reason) {
  if (fate_ != Fate::kRunning) return;
  fate_ = fate;
  fate_reason_ = std::move(reason);
}

void Shard::Impl::read_books() {
  store_.read(books_reads(), [this, alive = alive_](Result<Found> found) {
    if (!*alive) return;
    if (!found) return fail(Fate::kStop, "the store cannot be read: " + found.error().detail);
    auto books = postrider::read_books(*found);
    if (!books) return fail(Fate::kStop, "the books cannot be read: " + books.error().detail);
    const IdKey& key = books->meta.id_key;
    if (key != IdKey() && key != options_.engine.id_key)
      return fail(Fate::kStop, "the store has another key for message ids than it was opened with");
    timekeeper_.emplace(start_, books->meta.clock_floor, books->meta.wall);
    books->clock_lost = timekeeper_->began_at_floor();
    look_at_clock(start_);
    engine_ = std::make_unique<Engine>(options_.engine, epoch_, std::move(*books), now_.engine);
    engine_->set_wall(timekeeper_->books());
    if (starts_held_) engine_->hold_starts();
    chores_.push_back(Chore{});
  });
}

void Shard::Impl::look_at_clock(Instant instant) {
  const bool doubted = timekeeper_->books().in_doubt();
  last_ = instant;
  now_ = {timekeeper_->now(instant), instant.wall, timekeeper_->doubt(), &entropy_};
  if (doubted && engine_) engine_->set_wall(timekeeper_->books());
}

void Shard::Impl::turn(Instant instant) {
  if (fate_ != Fate::kRunning || !engine_ || turning_) return;
  turning_ = true;
  entropy_.renew();
  look_at_clock(instant);
  for (bool more = true; more && fate_ == Fate::kRunning;) {
    something_came_back_ = false;
    drain();
    const bool was_full = full();
    close();
    more = something_came_back_ ||
           (was_full && !in_commit_);  // a full turn without writes is over at once
  }
  turning_ = false;
}

void Shard::Impl::drain() {
  while (fate_ == Fate::kRunning && !full()) {
    if (run_parked()) continue;
    const auto deadline = engine_->next_deadline();
    if (deadline && *deadline <= now_.engine) {
      take(TimersDue{});
      continue;
    }
    if (parked_.size() >= options_.parked_max || !take_next()) return;  // parked events are bounded
  }
}

// Chores of the engine go before events from outside; only pages take turns with events, or as
// many pages as may be parked would leave no place for an event.
bool Shard::Impl::take_next() {
  // What is added to a queue meanwhile does not move its front.
  const auto take_from = [this](auto& queue) {
    take(std::move(queue.front()));
    queue.pop_front();
    return true;
  };
  if (!chores_.empty()) return take_from(chores_);
  const bool page = !pages_.empty() && (page_is_next_ || events_.empty());
  page_is_next_ = !page;
  if (page) return take_from(pages_);
  return !events_.empty() && take_from(events_);
}

bool Shard::Impl::waits_behind(const OrderKeys& keys) const {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (order_.contains(keys[i])) return true;
  }
  return false;
}

void Shard::Impl::take(Event&& event) {
  OrderKeys keys;
  if (!parked_.empty()) {
    OrderKeysOf visitor;
    std::visit(visitor, event);
    keys = visitor.out;
    if (waits_behind(keys)) return park(std::move(event), keys, {});
  }
  ++events_in_turn_;
  Stepped stepped = engine_->step(now_, event, nothing_, open_);
  collect_chores();
  if (stepped.done()) return;
  if (parked_.empty()) {
    OrderKeysOf visitor;
    std::visit(visitor, event);
    keys = visitor.out;
  }
  park(std::move(event), keys, stepped.need);
}

void Shard::Impl::park(Event&& event, const OrderKeys& keys, const Reads& need) {
  parked_.push_back({std::move(event), keys, ++last_parked_, {}, {}, 0});
  const auto parked = std::prev(parked_.end());
  for (std::size_t i = 0; i < keys.size(); ++i) order_[keys[i]].push_back(parked);
  if (!need.empty()) ask(parked, need);
}

void Shard::Impl::ask(ParkedList::iterator parked, const Reads& need) {
  const std::uint64_t read = view_.begin_read();
  if (parked->oldest_read == 0) {
    parked->oldest_read = read;
    oldest_reads_.insert(oldest_reads_.end(), read);
  }
  parked->reading = true;
  for (const std::string& key : need.keys) parked->reads.keys.push_back(key);
  for (const Scan& scan : need.scans) parked->reads.scans.push_back(scan);
  store_.read(need, [this, alive = alive_, parked](Result<Found> found) {
    if (!*alive || fate_ != Fate::kRunning) return;
    if (!found) return fail(Fate::kStop, "the store cannot be read: " + found.error().detail);
    parked->from_store.absorb(std::move(*found));
    parked->reading = false;
    let_run(parked);
    something_came_back_ = true;
  });
}

bool Shard::Impl::may_run(const Parked& parked) const {
  if (parked.reading) return false;
  for (std::size_t i = 0; i < parked.keys.size(); ++i) {
    const auto queue = order_.find(parked.keys[i]);
    if (queue == order_.end() || queue->second.front()->number != parked.number) return false;
  }
  return true;
}

// To be called whenever something that it waited for has come: its read, or its turn in an order.
void Shard::Impl::let_run(ParkedList::iterator parked) {
  if (!parked->runnable && may_run(*parked)) {
    parked->runnable = true;
    runnable_.push(parked);
  }
}

// Runs the first parked event that may; true when there was one.
bool Shard::Impl::run_parked() {
  if (runnable_.empty()) return false;
  const auto parked = runnable_.top();
  runnable_.pop();
  parked->runnable = false;
  ++events_in_turn_;
  const Found found = view_.look(parked->from_store, parked->reads, open_.writes);
  Stepped stepped = engine_->step(now_, parked->event, found, open_);
  collect_chores();
  if (stepped.done()) {
    unpark(parked);
  } else {
    ask(parked, stepped.need);
  }
  return true;
}

void Shard::Impl::unpark(ParkedList::iterator parked) {
  const OrderKeys keys = parked->keys;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto queue = order_.find(keys[i]);
    POSTRIDER_CHECK(queue != order_.end());
    queue->second.pop_front();
    if (queue->second.empty()) order_.erase(queue);
  }
  oldest_reads_.erase(parked->oldest_read);
  parked_.erase(parked);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto queue = order_.find(keys[i]);
    if (queue != order_.end()) let_run(queue->second.front());
  }
  forget_old_batches();
}

// A read that is under way may still need the batches that were in commit when it began.
void Shard::Impl::forget_old_batches() {
  view_.forget_before(oldest_reads_.empty() ? 0 : *oldest_reads_.begin());
}

void Shard::Impl::collect_chores() {
  for (Chore& chore : open_.chores) {
    const bool page = chore.kind == Chore::Kind::kJob || chore.kind == Chore::Kind::kDryRun ||
                      (chore.kind == Chore::Kind::kRestore && chore.all);
    (page ? pages_ : chores_).push_back(std::move(chore));
  }
  open_.chores.clear();
}

// The open turn goes into commit when the one before it is durable.
void Shard::Impl::close() {
  if (planted(Bug::kReplyBeforeCommit)) {
    std::vector<Action> replies;
    for (Action& action : open_.actions) {
      if (std::holds_alternative<Reply>(action)) replies.push_back(std::move(action));
    }
    std::erase_if(open_.actions,
                  [](const Action& action) { return std::holds_alternative<Reply>(action); });
    act(replies);
  }
  if (in_commit_ || fate_ != Fate::kRunning) return;
  engine_->close_turn(now_.engine, timekeeper_->books(), open_);
  events_in_turn_ = 0;
  drop_unsent(open_.actions);
  if (open_.writes.empty()) {
    leaving_.swap(open_.actions);
    return act(leaving_);
  }
  std::shared_ptr<WriteBatch> batch = std::exchange(spare_batch_, nullptr);
  if (!batch || batch.use_count() != 1) batch = std::make_shared<WriteBatch>();
  batch->clear();
  std::swap(*batch, open_.writes);
  spare_batch_ = batch;
  committing_actions_.swap(open_.actions);
  view_.commit(batch);
  in_commit_ = true;
  store_.commit(epoch_, batch, [this, alive = alive_](CommitOutcome outcome) {
    if (*alive) committed(outcome);
  });
}

void Shard::Impl::committed(CommitOutcome outcome) {
  POSTRIDER_CHECK(in_commit_);
  in_commit_ = false;
  switch (outcome) {
    case CommitOutcome::kDurable: break;
    case CommitOutcome::kFailed: return fail(Fate::kRestart, "a commit failed");
    case CommitOutcome::kAmbiguous:
      return fail(Fate::kRestart, "nobody knows whether a commit was written");
    case CommitOutcome::kNoSync: return fail(Fate::kStop, "the store failed for good");
  }
  view_.durable();
  forget_old_batches();
  something_came_back_ = true;
  leaving_.swap(committing_actions_);
  act(leaving_);
}

void Shard::Impl::act(std::vector<Action>& actions) {
  for (Action& action : actions) act_(std::move(action));
  actions.clear();
}

Result<std::unique_ptr<Shard>> Shard::open(ShardOptions options, Store& store, Instant start,
                                           ActionSink act) {
  POSTRIDER_TRY(epoch, store.acquire(options.number));
  std::unique_ptr<Shard> shard(new Shard());
  shard->impl_ = std::make_unique<Impl>(std::move(options), store, epoch, start, std::move(act));
  shard->impl_->read_books();
  return shard;
}

Shard::Shard() = default;
Shard::~Shard() = default;
bool Shard::post(Event&& event) { return impl_->post(std::move(event)); }
void Shard::turn(Instant instant) { impl_->turn(instant); }
std::optional<Timestamp> Shard::next_deadline() const { return impl_->next_deadline(); }
void Shard::hold_starts() {
  impl_->starts_held_ = true;
  if (impl_->engine_) impl_->engine_->hold_starts();
}
Epoch Shard::epoch() const { return impl_->epoch_; }
void Shard::set_secrets(std::shared_ptr<const Secrets> secrets) {
  impl_->options_.engine.secrets = secrets;
  if (impl_->engine_) impl_->engine_->set_secrets(std::move(secrets));
}
Shard::Fate Shard::fate() const { return impl_->fate_; }
const std::string& Shard::fate_reason() const { return impl_->fate_reason_; }
bool Shard::idle() const { return impl_->idle(); }
bool Shard::ready() const { return impl_->engine_ != nullptr; }
Engine& Shard::engine() { return *impl_->engine_; }
Timestamp Shard::engine_time() const { return impl_->now_.engine; }
std::optional<Duration> Shard::take_clock_step() { return impl_->take_clock_step(); }
std::optional<DoubtNews> Shard::take_clock_doubt() { return impl_->take_clock_doubt(); }
Duration Shard::clock_doubt() const { return impl_->now_.doubt; }
void Shard::show_by_wall(Answer& answer) const { impl_->show_by_wall(answer); }

}  // namespace postrider
