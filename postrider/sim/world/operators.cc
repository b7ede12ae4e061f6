// Operators and readers: the part of the clients that does not submit.
#include <algorithm>
#include <array>

#include "postrider/sim/world/clients.h"
#include "postrider/sim/world/plan.h"

namespace postrider::sim {

void Clients::plan_operators() {
  const std::uint32_t count = around_.options.messages / 3 + 10;
  for (std::uint32_t i = 0; i < count; ++i) {
    around_.agenda.after(up_to(around_.options.span), [this] {
      if (!calm_) operate();
    });
  }
}

Caller Clients::draw_caller() {
  Caller caller;
  if (rng_.chance(1, 3)) {
    caller.key.kind = OperationKey::Kind::kOpaque;
    caller.key.scope = "operators";
    caller.key.key = "operation-" + std::to_string(draws_.next_key());
  }
  return caller;
}

MessageId Clients::any_message() {
  if (known_.empty() || rng_.chance(1, 50)) {
    return MessageId{rng_.next(), rng_.next()};
  }
  return known_[rng_.below(known_.size())];
}

void Clients::operate() {
  switch (rng_.below(4)) {
    case 0: return operate_destination(any_destination().name);
    case 1: return operate_message(any_message());
    default: return ask_question();
  }
}

void Clients::maintain(std::uint32_t destination) {
  if (calm_) return;
  Pause pause;
  pause.destination = around_.destinations[destination % around_.destinations.size()].name;
  pause.reason = "maintenance";
  const std::string name = pause.destination;
  wish(std::move(pause), false);
  constexpr std::array<Duration, 4> kWaits = {1min, 30min, 5h, 30h};
  around_.agenda.after(up_to(kWaits[rng_.below(kWaits.size())]), [this, name] {
    Resume resume;
    resume.destination = name;
    wish(std::move(resume), true);
  });
}

void Clients::operate_destination(const std::string& name) {
  const Caller caller = draw_caller();
  const bool keyed = caller.key.kind != OperationKey::Kind::kNone;
  switch (rng_.below(10)) {
    case 0: return maintain(static_cast<std::uint32_t>(rng_.below(around_.destinations.size())));
    case 1:
    case 2: {
      Resume resume;
      resume.caller = caller;
      resume.destination = name;
      wish(std::move(resume), keyed);
      return;
    }
    case 3:
    case 4: {
      Wake wake;
      wake.caller = caller;
      wake.destination = name;
      wish(std::move(wake), keyed);
      return;
    }
    case 5:
    case 6: {
      PeerSeen seen;
      seen.destination = name;
      wish(std::move(seen), false);
      return;
    }
    case 7:
    case 8: return drain(static_cast<std::uint32_t>(rng_.below(around_.destinations.size())));
    default:
      return change_settings(static_cast<std::uint32_t>(rng_.below(around_.destinations.size())));
  }
}

// Other numbers for the same destination. Rarely it is taken away, which works only when it is
// empty, and put back.
void Clients::change_settings(std::uint32_t destination) {
  DestinationConfig& known = around_.destinations[destination];
  Configure configure;
  configure.caller = draw_caller();
  if (rng_.chance(1, 3)) {
    configure.config = known;
    configure.config.removed = true;
    wish(configure, true);
    configure.caller = Caller{};
    configure.config.removed = false;
    around_.agenda.after(up_to(1h), [this, configure] { wish(configure, true); });
    return;
  }
  SimOptions options = around_.options;
  known = draw_destination(around_.fields, options, destination, rng_);
  configure.config = known;
  wish(std::move(configure), true);
}

// It goes when it is empty; somebody wants it back later, whether it has gone or not.
void Clients::drain(std::uint32_t destination) {
  constexpr std::array<Duration, 4> kWaits = {1min, 1h, 10h, 60h};
  Configure configure;
  configure.caller = draw_caller();
  configure.config = around_.destinations[destination];
  configure.config.removed = configure.config.draining = true;
  wish(configure, true);
  const Duration wait = up_to(kWaits[rng_.below(kWaits.size())]);
  around_.agenda.after(wait, [this, destination] {
    Configure again;
    again.config = around_.destinations[destination];
    wish(std::move(again), true);
  });
}

void Clients::operate_message(MessageId id) {
  const Caller caller = draw_caller();
  const bool keyed = caller.key.kind != OperationKey::Kind::kNone;
  switch (rng_.below(4)) {
    case 0:
    case 1: wish(Cancel{caller, id}, keyed); return;
    case 2: wish(RetryNow{caller, id}, keyed); return;
    default:
      wish(rng_.chance(1, 2) ? Event(Redrive{caller, id}) : Event(Drop{caller, id}), keyed);
      return;
  }
}

void Clients::read_log() {
  Query query;
  query.what = Query::What::kLog;
  query.from = log_from_;
  query.limit = 1 + static_cast<std::uint32_t>(rng_.below(200));
  log_wish_ = wish(query, true);
}

void Clients::log_told(const LogPage& page) {
  log_from_ = page.next;
  const Duration wait = page.at_end ? Duration(rng_.between(60'000, 7'200'000)) : Duration(1);
  around_.agenda.after(wait, [this] { read_log(); });
}

void Clients::list_dead() {
  Query query;
  query.what = Query::What::kDeadLetters;
  query.cursor = dead_from_;
  query.limit = 1 + static_cast<std::uint32_t>(rng_.below(100));
  dead_wish_ = wish(query, true);
}

void Clients::dead_told(const DeadLetters& letters) {
  dead_from_ = letters.next;
  for (const DeadLetter& letter : letters.letters) treat_letter(letter);
  Duration wait(1);
  if (letters.next.empty())
    wait = calm_ ? Duration(1'800'000) : Duration(rng_.between(600'000, 36'000'000));
  around_.agenda.after(wait, [this] { list_dead(); });
}

void Clients::treat_letter(const DeadLetter& letter) {
  if (letter.phase == Phase::kParked) {
    // A message that is parked for want of reach comes back by itself when all is well, if its
    // field says so; one that was in the way of others waits for an operator.
    const bool stays =
        around_.field.customs().parked_return && !letter.reason.starts_with("in the way");
    const bool helps = calm_ ? !stays : rng_.chance(1, 4);
    if (helps) wish(RetryNow{{}, letter.id}, false);
    if (!calm_ && rng_.chance(1, 4)) around_.rumour(letter.id);
    return;
  }
  if (calm_) return;
  const Caller caller = draw_caller();
  const bool keyed = caller.key.kind != OperationKey::Kind::kNone;
  if (rng_.chance(1, 6)) wish(Redrive{caller, letter.id}, keyed);
  if (rng_.chance(1, 12)) wish(Drop{caller, letter.id}, keyed);
}

void Clients::calm() {
  calm_ = true;
  if (around_.options.world != WorldKind::kDrawn) return;  // nobody closed anything
  // Whoever still wants to close something has changed their mind.
  std::erase_if(wishes_, [](const auto& item) {
    const Event& event = item.second.event;
    const auto* configure = std::get_if<Configure>(&event);
    return std::holds_alternative<Pause>(event) || std::holds_alternative<PutHold>(event) ||
           (configure != nullptr && configure->config.removed);
  });
  for (const char* name : {"hold-0", "hold-1", "hold-2"}) release(name);
  stop_repeating();
  for (const DestinationConfig& config : around_.destinations) {
    Configure configure;
    configure.config = config;
    wish(std::move(configure), true);
    Resume resume;
    resume.destination = config.name;
    wish(std::move(resume), true);
    Wake wake;
    wake.destination = config.name;
    wish(std::move(wake), true);
  }
  calm_templates();
}

}  // namespace postrider::sim
