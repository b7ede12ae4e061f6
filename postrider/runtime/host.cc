#include "postrider/runtime/host.h"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "postrider/base/check.h"

namespace postrider {
namespace {

// Whether it makes the store grow for longer than a moment.
bool needs_space(const Event& event) {
  return std::holds_alternative<Submit>(event) || std::holds_alternative<Redrive>(event) ||
         std::holds_alternative<FanOut>(event) || std::holds_alternative<ChangeGroup>(event) ||
         std::holds_alternative<Configure>(event);
}

// Whose share of the door stations use. No token can have it, for it is no name of a tenant.
constexpr std::string_view kStationTenant = "(stations)";

}  // namespace

class Host::Impl final : public StationDoor {
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
  Door await(std::string_view tenant, Await event, Done done, Ticket& ticket);
  void stop_waiting(Ticket ticket);
  void tell(Event event) {
    untold_.push_back(std::move(event));
    wake_();
  }
  // Of transports, and of stations.
  void attempt_ended(AttemptId attempt, WireReply reply) override {
    if (stations_ && stations_->exchanged(attempt, reply)) return wake_();
    // Of an incarnation that is gone, or given up: nobody wants to know.
    if (open_.erase(attempt.value()) != 0) tell(AttemptEnded{attempt, std::move(reply)});
  }
  void set_secrets(std::shared_ptr<const Secrets> secrets) {
    options_.shard.engine.secrets = secrets;
    if (shard_) shard_->set_secrets(std::move(secrets));
  }
  void seat(std::vector<std::unique_ptr<Station>> stations, Wire& wire);
  void line(const station::Happened& happened);
  std::optional<AnswerCode> post(Ticket ticket, Event event) override;
  void start_exchange(AttemptId exchange, WireRequest request) override {
    transport_.start(exchange, std::move(request));
  }
  void abort_exchange(AttemptId exchange) override { transport_.abort(exchange); }
  void misused(std::string_view verb, std::string what) override {
    if (options_.station_misused) options_.station_misused(verb, what);
  }
  void turn();
  const IdCodec& ids() const { return ids_; }
  std::optional<Timestamp> next_deadline() const {
    auto next = shard_ ? shard_->next_deadline() : std::nullopt;
    if (state_ == State::kRestarting) next = restart_at_;
    const auto stations = stations_ ? stations_->next_deadline() : std::nullopt;
    if (!stations) return next;
    return next ? std::min(*next, *stations) : *stations;
  }
  void drain(bool give_up) {
    draining_ = true;
    given_up_ = given_up_ || give_up;
    if (shard_) shard_->hold_starts();
    if (given_up_) abort_attempts();
    end_awaits();
    if (!shard_ && state_ != State::kStopped) stop({});
    wake_();
  }

  State state_ = State::kStarting;
  std::string failure_;
  bool has_space_ = true;
  std::uint64_t turns_ = 0;
  std::unique_ptr<Shard> shard_;
  std::unique_ptr<Stations> stations_;  // null: no profile has one

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
  void end_awaits();
  Door is_shut() const;
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
  std::unordered_map<std::uint64_t, Waiting> awaiting_;  // for long
  std::unordered_map<std::string, std::uint32_t> awaiting_of_;
  // Tenants come from the tokens of the configuration, so there are few and they stay.
  std::unordered_map<std::string, std::uint32_t> tenants_;
  std::unordered_set<std::uint64_t> open_;  // attempts on the wire
  std::deque<Event> untold_;                // bounded by what was started
  Timestamp restart_at_;
  bool draining_ = false;
  bool given_up_ = false;
};

Door Host::Impl::is_shut() const {
  if (draining_ || state_ == State::kStopped) return Door::kStopping;
  // Without a shard it is being restarted, and somebody who was just told so asks again at once.
  if (state_ == State::kRestarting || !shard_) return Door::kRestarting;
  return Door::kOpen;
}

Door Host::Impl::await(std::string_view tenant, Await event, Done done, Ticket& ticket) {
  if (const Door shut = is_shut(); shut != Door::kOpen) return shut;
  std::uint32_t& of_tenant = awaiting_of_[std::string(tenant)];
  if (of_tenant >= options_.tenant_awaiting_max) return Door::kTenantBusy;
  event.ticket = ticket = Ticket(++last_ticket_);
  if (!shard_->post(std::move(event))) return Door::kBusy;
  ++of_tenant;
  awaiting_.emplace(ticket.value(), Waiting{std::move(done), &of_tenant});
  wake_();
  return Door::kOpen;
}

void Host::Impl::stop_waiting(Ticket ticket) {
  const auto found = awaiting_.extract(ticket.value());
  if (found.empty()) return;
  --*found.mapped().of_tenant;
  tell(StopWaiting{ticket});
}

// Nothing ends for them any more; what they wait for goes on after the next start.
void Host::Impl::end_awaits() {
  auto awaiting = std::exchange(awaiting_, {});
  for (auto& [number, one] : awaiting) {
    --*one.of_tenant;
    Answer answer;
    answer.code = AnswerCode::kPending;
    one.done(std::move(answer));
  }
}

Door Host::Impl::post(std::string_view tenant, Event event, Done done) {
  if (const Door shut = is_shut(); shut != Door::kOpen) return shut;
  if (!has_space_ && needs_space(event)) return Door::kNoSpace;
  if (waiting_.size() >= options_.waiting_max) return Door::kBusy;
  std::uint32_t& of_tenant = tenants_[std::string(tenant)];
  if (of_tenant >= options_.tenant_waiting_max) return Door::kTenantBusy;
  Ticket* ticket = ticket_of(event);
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
    if (stations_) stations_->new_epoch(shard_->epoch());
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
    if (!shard_ && stations_) stations_->run(now);  // far sides do not wait for our disk
    if (!shard_) return;
  }
  while (!untold_.empty() && shard_->post(std::move(untold_.front()))) untold_.pop_front();
  shard_->turn(now);
  if (stations_) stations_->run(now);
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

void Host::Impl::seat(std::vector<std::unique_ptr<Station>> stations, Wire& wire) {
  POSTRIDER_CHECK(!stations_ && turns_ == 0);
  if (stations.empty()) return;
  stations_ = std::make_unique<Stations>(options_.stations, options_.shard.seeds, wire, *this);
  stations_->set_principals(options_.principals);
  for (auto& station : stations) stations_->add(std::move(station));
  if (shard_) stations_->new_epoch(shard_->epoch());
  wake_();
}

// Its posts wake the host by themselves; a deadline that comes earlier must be waited for.
void Host::Impl::line(const station::Happened& happened) {
  if (!stations_ || state_ == State::kStopped) return;
  const auto before = stations_->next_deadline();
  stations_->line(clock_.read(), happened);
  const auto after = stations_->next_deadline();
  if (after && (!before || *after < *before)) wake_();
}

std::optional<AnswerCode> Host::Impl::post(Ticket ticket, Event event) {
  if (!ticket.is_set()) {
    // News without an answer is bounded here, because far sides make as much of it as they like.
    if (draining_ || !shard_) return AnswerCode::kUnavailable;
    if (untold_.size() >= options_.tenant_waiting_max) return AnswerCode::kBusy;
    tell(std::move(event));
    return std::nullopt;
  }
  // What arrives makes messages and cards; its far side will ask again.
  if (!has_space_ && std::holds_alternative<Arrived>(event)) return AnswerCode::kBusy;
  const Done done = [this, ticket](Answer answer) {
    if (stations_) stations_->told(ticket, std::move(answer));
  };
  auto* const awaited = std::get_if<Await>(&event);
  Ticket own;
  const Door door = awaited != nullptr ? await(kStationTenant, std::move(*awaited), done, own)
                                       : post(kStationTenant, std::move(event), done);
  switch (door) {
    case Door::kOpen: return std::nullopt;
    case Door::kBusy:
    case Door::kTenantBusy:
    case Door::kNoSpace: return AnswerCode::kBusy;
    case Door::kRestarting:
    case Door::kStopping: return AnswerCode::kUnavailable;
  }
  POSTRIDER_CHECK(false);
}

void Host::Impl::act(Action&& action) {
  if (auto* start = std::get_if<StartAttempt>(&action)) {
    if (given_up_) return;
    open_.insert(start->attempt.value());
    if (!start->request.held_back.empty()) {
      WireReply reply;
      reply.end = WireEnd::kHeldBack;
      reply.body = std::move(start->request.held_back);
      return attempt_ended(start->attempt, std::move(reply));
    }
    if (stations_ && stations_->offer(action, clock_.read())) return;
    return transport_.start(start->attempt, std::move(start->request));
  }
  if (const auto* abort = std::get_if<AbortAttempt>(&action)) {
    open_.erase(abort->attempt.value());
    if (stations_ && stations_->offer(action, clock_.read())) return;
    return transport_.abort(abort->attempt);
  }
  answer(std::get<Reply>(std::move(action)));
}

void Host::Impl::answer(Reply&& reply) {
  auto found = waiting_.extract(reply.ticket.value());
  if (found.empty()) found = awaiting_.extract(reply.ticket.value());
  if (found.empty()) return;
  --*found.mapped().of_tenant;
  shard_->show_by_wall(reply.answer);
  found.mapped().done(std::move(reply.answer));
}

void Host::Impl::abort_attempts() {
  for (const std::uint64_t attempt : open_) {
    Action abort = AbortAttempt{AttemptId(attempt)};
    if (!stations_ || !stations_->offer(abort, clock_.read())) transport_.abort(AttemptId(attempt));
  }
  open_.clear();
}

void Host::Impl::abandon() {
  shard_.reset();
  abort_attempts();
  // What stations posted may have happened or not: they hear of the next epoch instead.
  if (stations_) stations_->interrupted();
  untold_.clear();
  auto waiting = std::exchange(waiting_, {});
  waiting.merge(awaiting_);
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
  if (stations_) stations_->stop();
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
Door Host::await(std::string_view tenant, Await event, Done done, Ticket& ticket) {
  return impl_->await(tenant, std::move(event), std::move(done), ticket);
}
void Host::stop_waiting(Ticket ticket) { impl_->stop_waiting(ticket); }
void Host::attempt_ended(AttemptId attempt, WireReply reply) {
  impl_->attempt_ended(attempt, std::move(reply));
}
void Host::set_secrets(std::shared_ptr<const Secrets> secrets) {
  impl_->set_secrets(std::move(secrets));
}
void Host::tell(Event event) { impl_->tell(std::move(event)); }
void Host::seat(std::vector<std::unique_ptr<Station>> stations, Wire& wire) {
  impl_->seat(std::move(stations), wire);
}
void Host::line(const station::Happened& happened) { impl_->line(happened); }
bool Host::has_stations() const { return impl_->stations_ != nullptr; }
Stations::Figures Host::station_figures() const {
  return impl_->stations_ ? impl_->stations_->figures() : Stations::Figures{};
}
void Host::tell_stations(StationFigures& figures) const {
  if (impl_->stations_) impl_->stations_->tell(figures);
}
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
