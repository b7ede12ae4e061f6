#include "postrider/sim/world/clients.h"

#include <algorithm>
#include <array>

#include "postrider/base/check.h"

namespace postrider::sim {
namespace {

constexpr std::size_t kKnownMax = 2048;
constexpr std::uint8_t kRushLane = 7;

// The events that a client can ask for name their caller; the others have none.
template <class Asking>
Ticket* ticket_of(Asking& event) {
  if constexpr (std::is_same_v<Asking, PeerSeen>) {
    return nullptr;  // the network tells of it, and waits for no answer
  } else if constexpr (requires { event.caller.ticket; }) {
    return &event.caller.ticket;
  } else if constexpr (requires { event.ticket; }) {
    return &event.ticket;
  } else {
    return nullptr;
  }
}

}  // namespace

Clients::Clients(Surroundings around, Rng rng)
    : around_(std::move(around)),
      rng_(rng),
      draws_({around_.options, around_.destinations, around_.engine_now, around_.agenda.now()},
             rng_),
      workload_(around_.field.make_workload(draws_, rng)),
      job_rng_(Rng(rng).fork(12)),
      fan_rng_(Rng(rng).fork(13)),
      rush_rng_(Rng(rng).fork(14)),
      import_rng_(Rng(rng).fork(15)),
      read_rng_(Rng(rng).fork(17)),
      list_rng_(Rng(rng).fork(16)),
      bulk_(job_rng_.chance(1, 4)) {}

void Clients::begin_staged() {
  for (const DestinationConfig& config : around_.destinations) {
    Configure configure;
    configure.config = config;
    wish(std::move(configure), true);
  }
}

void Clients::send(std::uint32_t destination, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    Submit submit;
    submit.destination = around_.destinations[destination].name;
    submit.body = "{\"operation\":" + std::to_string(draws_.next_operation()) + "}";
    wish(std::move(submit), false);
  }
}

void Clients::begin() {
  begin_staged();
  plan_submits();
  plan_rushes();
  plan_operators();
  plan_jobs();
  plan_fanouts();
  plan_imports();
  plan_readers();
  plan_templates();
  around_.agenda.after(Duration(60'000), [this] { read_log(); });
  around_.agenda.after(Duration(600'000), [this] { list_dead(); });
  begin_listings();
}

std::uint64_t Clients::wish(Event event, bool insists) {
  const std::uint64_t number = ++last_wish_;
  wishes_.emplace(number, Wish{std::move(event), insists});
  ask(number);
  return number;
}

void Clients::ask(std::uint64_t number) {
  const auto at = wishes_.find(number);
  if (at == wishes_.end()) return;
  Wish& wanted = at->second;
  const Incarnation process = around_.running();
  const auto later = [this, number] {
    around_.agenda.after(Duration(rng_.between(100, 30'000)), [this, number] { ask(number); });
  };
  if (process == 0) {
    if (!wanted.insists) return give_up(number);
    return later();
  }
  const Ticket ticket(++last_ticket_);
  const bool answered = std::visit(
      [ticket](auto& event) {
        Ticket* place = ticket_of(event);
        if (place != nullptr) *place = ticket;
        return place != nullptr;
      },
      wanted.event);
  around_.witness.asked({around_.moment(process), ticket, wanted.event, number});
  if (!around_.post(process, wanted.event)) return later();
  around_.trace.line(around_.agenda.now(), "ask")
      .number(ticket.value())
      .number(std::uint64_t{wanted.event.index()})
      .end();
  if (!answered) return give_up(number);
  waiting_[ticket.value()] = {number, process};
}

void Clients::process_died(Incarnation process) {
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (at->second.process != process) {
      ++at;
      continue;
    }
    const std::uint64_t number = at->second.wish;
    at = waiting_.erase(at);
    const auto found = wishes_.find(number);
    if (found == wishes_.end()) continue;
    if (!found->second.insists) {
      give_up(number);
      continue;
    }
    around_.agenda.after(Duration(rng_.between(10, 60'000)), [this, number] { ask(number); });
  }
}

void Clients::told(Incarnation /*process*/, Ticket ticket, const Answer& answer) {
  const auto at = waiting_.find(ticket.value());
  if (at == waiting_.end()) return;
  const std::uint64_t number = at->second.wish;
  waiting_.erase(at);
  const auto found = wishes_.find(number);
  if (found == wishes_.end()) return;
  const Wish wanted = std::move(found->second);
  wishes_.erase(found);
  if (const auto* submit = std::get_if<Submit>(&wanted.event)) submit_told(*submit, answer);
  if (const auto* start = std::get_if<StartJob>(&wanted.event)) job_told(*start, answer);
  if (const auto* fanout = std::get_if<FanOut>(&wanted.event)) fanout_told(*fanout, answer);
  if (listing_told(number, answer) || reader_told(number, wanted, answer)) return;
  if (const auto* page = std::get_if<LogPage>(&answer.view); page != nullptr && number == log_wish_)
    log_told(*page);
  if (const auto* letters = std::get_if<DeadLetters>(&answer.view);
      letters != nullptr && number == dead_wish_) {
    dead_told(*letters);
  } else if (letters != nullptr && number == export_wish_) {
    export_told(*letters);
  }
}

// Messages come in bursts to one destination and in long quiet times between them.
void Clients::plan_submits() {
  std::uint32_t planned = 0;
  while (planned < around_.options.messages) {
    const std::uint32_t left = around_.options.messages - planned;
    const std::uint32_t size = rng_.chance(1, 6) ? 5 + static_cast<std::uint32_t>(rng_.below(60))
                                                 : 1 + static_cast<std::uint32_t>(rng_.below(4));
    const std::uint32_t count = std::min(left, size);
    const auto destination = static_cast<std::uint32_t>(rng_.below(around_.destinations.size()));
    around_.agenda.after(Duration(1'000) + up_to(around_.options.span),
                         [this, destination, count] { burst(destination, count); });
    planned += count;
  }
}

void Clients::burst(std::uint32_t destination, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    around_.agenda.after(Duration(rng_.chance(1, 2) ? 0 : rng_.between(0, 30'000)),
                         [this, destination] {
                           Submit submit = workload_->draw_submit(destination);
                           const bool keyed = submit.caller.key.kind != OperationKey::Kind::kNone;
                           if (keyed && rng_.chance(1, 20))
                             wish(submit, true);  // the same at the same time
                           wish(std::move(submit), keyed);
                         });
  }
}

// In some worlds many urgent messages come at once, behind which others must not wait for ever.
// They have a lane of their own, where nothing but their turn holds them up.
void Clients::plan_rushes() {
  const SimOptions& options = around_.options;
  if (!around_.field.customs().rushes || !options.own.empty() || !rush_rng_.chance(1, 3)) return;
  for (std::uint32_t i = 0; i < options.messages / 80 + 1; ++i) {
    // Those that the plan gives few places.
    const std::uint64_t few = (around_.destinations.size() + 1) / 3;
    if (few == 0) return;
    const auto destination = static_cast<std::uint32_t>(3 * rush_rng_.below(few) + 1);
    around_.agenda.after(Duration(rush_rng_.between(1'000, options.span.count())),
                         [this, destination] { rush(destination); });
  }
}

void Clients::rush(std::uint32_t destination) {
  for (std::uint32_t i = 0; i < 14; ++i) {
    Submit submit;
    submit.destination = around_.destinations[destination].name;
    submit.lane = kRushLane;
    if (i >= 2) submit.priority = static_cast<std::uint16_t>(1 + rush_rng_.below(3));
    submit.attributes = workload_->rush_attributes();
    submit.body = "{\"operation\":" + std::to_string(draws_.next_operation()) + "}";
    wish(std::move(submit), false);
  }
}

// Whoever brings news repeats it until it is acknowledged, and sometimes once too often.
void Clients::arrive(std::string text) {
  Arrived arrived;
  arrived.caller.key.kind = OperationKey::Kind::kOpaque;
  arrived.caller.key.scope = "peers";
  arrived.caller.key.key = "news-" + std::to_string(++last_news_);
  arrived.profile = around_.field.profile().name;
  arrived.source.origin = "peer";
  arrived.bytes = std::move(text);
  if (workload_->repeats_news()) wish(arrived, true);
  wish(std::move(arrived), true);
}

void Clients::bring(Arrived event, bool repeats) { wish(std::move(event), repeats); }

void Clients::submit_told(const Submit& submit, const Answer& answer) {
  note_key(submit.caller.key);
  if (answer.code == AnswerCode::kAccepted && !answer.replayed) {
    ++accepted_;
    if (known_.size() < kKnownMax) {
      known_.push_back(answer.id);
    } else {
      known_[known_next_++ % kKnownMax] = answer.id;
    }
    const bool plain = around_.options.world != WorldKind::kDrawn || submit.lane == kRushLane;
    if (!calm_ && !plain) follow_up(submit, answer.id);
    if (!calm_ && !readers_.empty() && read_rng_.chance(1, 3)) await_end(answer.id);
  }
  // What is carried in is brought again as it is.
  const bool keyed = submit.caller.key.kind != OperationKey::Kind::kNone && !submit.origin.is_set();
  if (keyed && !calm_ && rng_.chance(1, 6)) ask_same_again(submit);
}

// The same key again, much later or at once, and sometimes for something else.
void Clients::ask_same_again(const Submit& submit) {
  constexpr std::array<Duration, 7> kWaits = {10ms, 5s, 10min, 5h, 23h, 30h, 40h};
  Submit again = submit;
  if (rng_.chance(1, 3)) workload_->draw_other_content(again);
  const Duration wait = kWaits[rng_.below(kWaits.size())];
  around_.agenda.after(wait, [this, again] {
    if (!calm_) wish(again, true);
  });
}

void Clients::follow_up(const Submit& /*submit*/, MessageId id) {
  constexpr std::array<Duration, 6> kWaits = {0ms, 100ms, 5s, 10min, 3h, 30h};
  const Duration wait = kWaits[rng_.below(kWaits.size())];
  if (rng_.chance(1, 5)) {
    around_.agenda.after(wait, [this, id] {
      Query query;
      query.what = rng_.chance(1, 3) ? Query::What::kMessage : Query::What::kExplain;
      query.id = id;
      wish(query, false);
    });
  }
  if (rng_.chance(1, 8)) {
    around_.agenda.after(kWaits[rng_.below(kWaits.size())], [this, id] {
      if (!calm_) operate_message(id);
    });
  }
}

}  // namespace postrider::sim
