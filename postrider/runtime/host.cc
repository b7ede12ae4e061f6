#include "postrider/runtime/host.h"

#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "postrider/base/check.h"

namespace postrider {
namespace {

// Whose answer an event waits for; null: nobody's.
struct TicketOf {
  template <class Command>
  Ticket* operator()(Command& command) const {
    if constexpr (requires { command.caller.ticket; }) return &command.caller.ticket;
    if constexpr (requires { command.ticket; }) return &command.ticket;
    return nullptr;
  }
};

// Whether it makes the store grow for longer than a moment.
bool needs_space(const Event& event) {
  return std::holds_alternative<Submit>(event) || std::holds_alternative<Redrive>(event) ||
         std::holds_alternative<FanOut>(event) || std::holds_alternative<ChangeGroup>(event) ||
         std::holds_alternative<Configure>(event);
}

}  // namespace

class Host::Impl {
 public:
  Impl(HostOptions options, Store& store, Transport& transport, const Clock& clock,
       std::function<void()> wake)
      : options_(std::move(options)),
        ids_(options_.shard.engine.id_key),
        store_(store),
        transport_(transport),
        clock_(clock),
        wake_(std::move(wake)) {
    open_shard(clock_.read());
  }

  Door post(std::string_view tenant, Event event, Done done);
  void tell(Event event) {
    untold_.push_back(std::move(event));
    wake_();
  }
  void attempt_ended(AttemptId attempt, WireReply reply) {
    // Of an incarnation that is gone, or given up: nobody wants to know.
    if (open_.erase(attempt.value()) != 0) tell(AttemptEnded{attempt, std::move(reply)});
  }
  void turn();
  const IdCodec& ids() const { return ids_; }
  std::optional<Timestamp> next_deadline() const {
    if (state_ == State::kRestarting) return restart_at_;
    return shard_ ? shard_->next_deadline() : std::nullopt;
  }
  void drain(bool give_up) {
    draining_ = true;
    given_up_ = given_up_ || give_up;
    if (shard_) shard_->hold_starts();
    if (given_up_) abort_attempts();
    if (!shard_ && state_ != State::kStopped) stop({});
    wake_();
  }

  State state_ = State::kStarting;
  std::string failure_;
  bool has_space_ = true;
  std::uint64_t turns_ = 0;
  std::unique_ptr<Shard> shard_;

 private:
  struct Waiting {
    Done done;
    std::uint32_t* of_tenant;
  };

  void open_shard(Instant now);
  void act(Action&& action);
  void answer(Reply&& reply);
  void after_turn(Instant now);
  void abandon();  // everything that the shard owed to others
  void abort_attempts();
  void stop(std::string failure);

  HostOptions options_;
  const IdCodec ids_;
  Store& store_;
  Transport& transport_;
  const Clock& clock_;
  std::function<void()> wake_;

  std::uint64_t last_ticket_ = 0;
  std::unordered_map<std::uint64_t, Waiting> waiting_;
  // Tenants come from the tokens of the configuration, so there are few and they stay.
  std::unordered_map<std::string, std::uint32_t> tenants_;
  std::unordered_set<std::uint64_t> open_;  // attempts on the wire
  std::deque<Event> untold_;                // bounded by what was started
  Timestamp restart_at_;
  bool draining_ = false;
  bool given_up_ = false;
};

Door Host::Impl::post(std::string_view tenant, Event event, Done done) {
  if (draining_ || state_ == State::kStopped) return Door::kStopping;
  // Without a shard it is being restarted, and somebody who was just told so asks again at once.
  if (state_ == State::kRestarting || !shard_) return Door::kRestarting;
  if (!has_space_ && needs_space(event)) return Door::kNoSpace;
  if (waiting_.size() >= options_.waiting_max) return Door::kBusy;
  std::uint32_t& of_tenant = tenants_[std::string(tenant)];
  if (of_tenant >= options_.tenant_waiting_max) return Door::kTenantBusy;
  Ticket* ticket = std::visit(TicketOf{}, event);
  POSTRIDER_CHECK(ticket != nullptr);  // what nobody waits for goes through tell()
  *ticket = Ticket(++last_ticket_);
  const std::uint64_t number = ticket->value();
  if (!shard_->post(std::move(event))) return Door::kBusy;
  ++of_tenant;
  waiting_.emplace(number, Waiting{std::move(done), &of_tenant});
  wake_();
  return Door::kOpen;
}

void Host::Impl::open_shard(Instant now) {
  now.synchronised = clock_.synchronised();
  auto shard =
      Shard::open(options_.shard, store_, now, [this](Action&& action) { act(std::move(action)); });
  if (shard) {
    shard_ = std::move(*shard);
    if (draining_) shard_->hold_starts();
    state_ = State::kStarting;
    return wake_();
  }
  // A full disk empties; anything else does not mend by waiting.
  if (shard.error().code != ErrorCode::kLimit) return stop(shard.error().detail);
  state_ = State::kRestarting;
  failure_ = shard.error().detail;
  restart_at_ = now.boot + options_.restart_pause;
}

void Host::Impl::turn() {
  if (state_ == State::kStopped) return;
  Instant now = clock_.read();
  if (shard_ && shard_->clock_doubt() > Duration(0)) now.synchronised = clock_.synchronised();
  ++turns_;
  if (!shard_) {
    if (now.boot >= restart_at_) open_shard(now);
    if (!shard_) return;
  }
  while (!untold_.empty() && shard_->post(std::move(untold_.front()))) untold_.pop_front();
  shard_->turn(now);
  if (const auto step = shard_->take_clock_step(); step && options_.clock_was_set)
    options_.clock_was_set(*step);
  if (const auto news = shard_->take_clock_doubt(); news && options_.clock_in_doubt)
    options_.clock_in_doubt(*news);
  after_turn(now);
}

void Host::Impl::after_turn(Instant now) {
  switch (shard_->fate()) {
    case Shard::Fate::kRunning: break;
    case Shard::Fate::kRestart:
      failure_ = shard_->fate_reason();
      abandon();
      if (draining_) return stop({});
      return open_shard(now);
    case Shard::Fate::kStop: return stop(shard_->fate_reason());
  }
  if (state_ == State::kStarting && shard_->ready()) {
    state_ = State::kRunning;
    failure_.clear();
  }
  if (!untold_.empty()) wake_();
  if (draining_ && shard_->ready() && open_.empty() && untold_.empty() && waiting_.empty() &&
      shard_->idle())
    stop({});
}

void Host::Impl::act(Action&& action) {
  if (auto* start = std::get_if<StartAttempt>(&action)) {
    if (given_up_) return;
    open_.insert(start->attempt.value());
    return transport_.start(start->attempt, std::move(start->request));
  }
  if (const auto* abort = std::get_if<AbortAttempt>(&action)) {
    open_.erase(abort->attempt.value());
    return transport_.abort(abort->attempt);
  }
  answer(std::get<Reply>(std::move(action)));
}

void Host::Impl::answer(Reply&& reply) {
  auto found = waiting_.extract(reply.ticket.value());
  if (found.empty()) return;
  --*found.mapped().of_tenant;
  shard_->show_by_wall(reply.answer);
  found.mapped().done(std::move(reply.answer));
}

void Host::Impl::abort_attempts() {
  for (const std::uint64_t attempt : open_) transport_.abort(AttemptId(attempt));
  open_.clear();
}

void Host::Impl::abandon() {
  shard_.reset();
  abort_attempts();
  untold_.clear();
  auto waiting = std::exchange(waiting_, {});
  for (auto& [number, one] : waiting) {
    --*one.of_tenant;
    Answer answer;
    answer.code = AnswerCode::kUnavailable;
    answer.detail = "interrupted: nobody can tell yet whether it happened; repeat it with its key";
    one.done(std::move(answer));
  }
}

void Host::Impl::stop(std::string failure) {
  abandon();
  state_ = State::kStopped;
  failure_ = std::move(failure);
}

Host::Host(HostOptions options, Store& store, Transport& transport, const Clock& clock,
           std::function<void()> wake)
    : impl_(std::make_unique<Impl>(std::move(options), store, transport, clock, std::move(wake))) {}
Host::~Host() = default;
Door Host::post(std::string_view tenant, Event event, Done done) {
  return impl_->post(tenant, std::move(event), std::move(done));
}
void Host::attempt_ended(AttemptId attempt, WireReply reply) {
  impl_->attempt_ended(attempt, std::move(reply));
}
void Host::tell(Event event) { impl_->tell(std::move(event)); }
void Host::turn() { impl_->turn(); }
std::optional<Timestamp> Host::next_deadline() const { return impl_->next_deadline(); }
void Host::set_space(bool enough) { impl_->has_space_ = enough; }
void Host::drain() { impl_->drain(false); }
void Host::give_up() { impl_->drain(true); }
Host::State Host::state() const { return impl_->state_; }
const std::string& Host::failure() const { return impl_->failure_; }
bool Host::restoring() const {
  return !impl_->shard_ || !impl_->shard_->ready() || impl_->shard_->engine().restoring();
}
std::uint64_t Host::log_version() const { return impl_->turns_; }
const IdCodec& Host::ids() const { return impl_->ids(); }

}  // namespace postrider
