#include "postrider/shard/stations.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "postrider/base/check.h"

namespace postrider {

using station::Happened;
using station::Wanted;

struct Stations::Seat {
  std::unique_ptr<Station> station;
  std::string verb;
  std::deque<Happened> queue;  // bounded by what the station waits for
  // Its own numbers to ours. 0: it is over, and that is in the queue.
  std::unordered_map<std::uint64_t, std::uint64_t> lines;
  std::unordered_map<std::uint64_t, std::uint64_t> exchanges;
  std::uint64_t last_line = 0;
  std::uint64_t last_token = 0;
  std::uint32_t posts = 0;  // not answered yet
};

Stations::Stations(StationLimits limits, Entropy::Source seeds, Wire& wire, StationDoor& door)
    : limits_(limits), entropy_(std::move(seeds)), wire_(wire), door_(door) {}
Stations::~Stations() = default;

void Stations::add(std::unique_ptr<Station> station) {
  auto seat = std::make_unique<Seat>();
  seat->verb = station->verb();
  POSTRIDER_CHECK(seat_of(seat->verb) == nullptr);
  seat->station = std::move(station);
  seats_.push_back(std::move(seat));
}

Stations::Seat* Stations::seat_of(std::string_view verb) {
  for (const auto& seat : seats_) {
    if (seat->verb == verb) return seat.get();
  }
  return nullptr;
}

void Stations::drop(std::string_view verb) {
  POSTRIDER_CHECK(!calling_);
  Seat* const seat = seat_of(verb);
  if (seat == nullptr) return;
  clear(*seat, true);
  std::erase_if(seats_, [seat](const auto& one) { return one.get() == seat; });
}

void Stations::stop() {
  POSTRIDER_CHECK(!calling_);
  for (const auto& seat : seats_) clear(*seat, false);
  seats_.clear();
}

// In the order of numbers: what leaves must not follow from how a table is laid out.
void Stations::clear(Seat& seat, bool post) {
  const auto numbers_of = [&seat](const auto& table) {
    std::vector<std::uint64_t> numbers;
    for (const auto& [number, one] : table) {
      if (one.seat == &seat) numbers.push_back(number);
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
  };
  for (const std::uint64_t number : numbers_of(attempts_)) {
    const auto attempt = attempts_.extract(number).mapped();
    due_.erase({attempt.due, number});
    if (post && !attempt.over) door_.attempt_ended(AttemptId(number), {.end = WireEnd::kReset});
  }
  for (const std::uint64_t number : numbers_of(lines_)) {
    lines_.erase(number);
    wire_.close(LineId(number));
  }
  for (const std::uint64_t number : numbers_of(exchanges_)) {
    exchanges_.erase(number);
    door_.abort_exchange(AttemptId(number));
  }
  std::erase_if(tickets_, [&seat](const auto& ticket) { return ticket.second.seat == &seat; });
}

void Stations::new_epoch(Epoch epoch) {
  interrupted();
  attempts_.clear();
  due_.clear();
  for (const auto& seat : seats_) {
    std::erase_if(seat->queue, [](const Happened& happened) {
      return std::holds_alternative<station::Started>(happened) ||
             std::holds_alternative<station::Aborted>(happened) ||
             std::holds_alternative<station::Told>(happened) ||
             std::holds_alternative<station::NewEpoch>(happened);
    });
    // Before everything else, or the station would go on with attempts that are over.
    seat->queue.emplace_front(station::NewEpoch{epoch});
  }
}

void Stations::interrupted() {
  tickets_.clear();
  for (const auto& seat : seats_) seat->posts = 0;
}

bool Stations::offer(Action& action, Instant now) {
  if (auto* start = std::get_if<StartAttempt>(&action)) {
    Seat* const seat = seat_of(start->request.verb);
    if (seat == nullptr) return false;
    const Duration time_out = start->request.time_out;
    const Timestamp due = time_out > Duration(0) ? now.boot + time_out : Timestamp::never();
    const std::uint64_t number = start->attempt.value();
    POSTRIDER_CHECK(attempts_.emplace(number, Attempt{seat, due}).second);
    if (due != Timestamp::never()) due_.emplace(due, number);
    seat->queue.emplace_back(
        station::Started{start->attempt, start->message, std::move(start->request)});
    return true;
  }
  if (const auto* abort = std::get_if<AbortAttempt>(&action)) {
    const auto found = attempts_.find(abort->attempt.value());
    if (found == attempts_.end()) return false;
    give_up(found->first, found->second);
    return true;
  }
  auto& reply = std::get<Reply>(action);
  if ((reply.ticket.value() & kOfStation) == 0) return false;
  told(reply.ticket, std::move(reply.answer));
  return true;
}

// It stays known until its station has heard, which may still end it before that.
void Stations::give_up(std::uint64_t number, Attempt& attempt) {
  due_.erase({attempt.due, number});
  if (std::exchange(attempt.over, true)) return;
  attempt.seat->queue.emplace_back(station::Aborted{AttemptId(number)});
}

void Stations::told(Ticket ticket, Answer answer) {
  const auto found = tickets_.extract(ticket.value());
  if (found.empty()) return;  // of an epoch that is over
  const Wait wait = found.mapped();
  --wait.seat->posts;
  if (wait.token.is_set())
    wait.seat->queue.emplace_back(station::Told{wait.token, std::move(answer)});
}

bool Stations::exchanged(AttemptId exchange, WireReply& reply) {
  if ((exchange.value() & kOfStation) == 0) return false;
  const auto found = exchanges_.extract(exchange.value());
  if (found.empty()) return true;  // aborted
  const Wait wait = found.mapped();
  wait.seat->exchanges[wait.token.value()] = 0;
  wait.seat->queue.emplace_back(station::Exchanged{wait.token, std::move(reply)});
  return true;
}

void Stations::line(Instant now, const Happened& happened) {
  POSTRIDER_CHECK(!calling_);
  now_ = now;
  entropy_.renew();
  if (const auto* opened = std::get_if<station::LineOpened>(&happened);
      opened != nullptr && opened->listener.is_set())
    return accept(*opened);
  const LineId number = std::visit(
      [](const auto& one) {
        if constexpr (requires { one.line; }) return one.line;
        return LineId();
      },
      happened);
  POSTRIDER_CHECK(number.is_set());  // a wire tells of lines only
  const auto found = lines_.find(number.value());
  if (found == lines_.end()) return;
  Seat& seat = *found->second.seat;
  const LineId local = found->second.local;
  if (const auto* closed = std::get_if<station::LineClosed>(&happened)) {
    // It is over now, whatever the station does before it hears of that.
    lines_.erase(found);
    seat.lines[local.value()] = 0;
    seat.queue.emplace_back(station::LineClosed{local, closed->end, closed->detail});
    return give_queued(seat);
  }
  give_queued(seat);
  if (!lines_.contains(number.value())) return;  // closed just now
  if (const auto* took = std::get_if<station::LineTook>(&happened))
    return call(seat, station::LineTook{local, took->bytes, took->from});
  if (const auto* opened = std::get_if<station::LineOpened>(&happened))
    return call(seat, station::LineOpened{local, {}, opened->peer});
  call(seat, station::LineDrained{local});
}

void Stations::accept(const station::LineOpened& opened) {
  POSTRIDER_CHECK((opened.line.value() & kAcceptedLine) != 0);
  auto listener = lines_.find(opened.listener.value());
  if (listener != lines_.end()) {
    give_queued(*listener->second.seat);
    listener = lines_.find(opened.listener.value());
  }
  if (listener == lines_.end() || lines_.size() >= limits_.lines.lines_max) {
    if (listener != lines_.end()) ++figures_.lines_refused;
    return wire_.close(opened.line);
  }
  Seat& seat = *listener->second.seat;
  const LineId local = listener->second.local;
  lines_.emplace(opened.line.value(), Line{&seat, opened.line});
  seat.lines.emplace(opened.line.value(), opened.line.value());
  call(seat, station::LineOpened{opened.line, local, opened.peer});
}

void Stations::run(Instant now) {
  POSTRIDER_CHECK(!calling_);
  now_ = now;
  entropy_.renew();
  end_overdue();
  for (const auto& seat : seats_) {
    give_queued(*seat);
    const auto deadline = seat->station->next_deadline();
    if (deadline && *deadline <= now.boot) call(*seat, station::DeadlineReached{});
  }
}

void Stations::end_overdue() {
  while (!due_.empty() && due_.begin()->first <= now_.boot) {
    const std::uint64_t number = due_.begin()->second;
    ++figures_.attempts_overdue;
    door_.attempt_ended(AttemptId(number), {.end = WireEnd::kTimedOut});
    give_up(number, attempts_.at(number));
  }
}

// Only what is there now: a station that posts again because the door is shut must not keep the
// loop from opening it.
void Stations::give_queued(Seat& seat) {
  for (std::size_t left = seat.queue.size(); left > 0; --left) {
    const Happened happened = std::move(seat.queue.front());
    seat.queue.pop_front();
    if (still_wanted(seat, happened)) call(seat, happened);
  }
}

// Whether the station has not ended by itself what this is the end of.
bool Stations::still_wanted(Seat& seat, const Happened& happened) {
  if (const auto* closed = std::get_if<station::LineClosed>(&happened))
    return seat.lines.erase(closed->line.value()) != 0;
  if (const auto* exchanged = std::get_if<station::Exchanged>(&happened))
    return seat.exchanges.erase(exchanged->token.value()) != 0;
  if (const auto* aborted = std::get_if<station::Aborted>(&happened))
    return attempts_.erase(aborted->attempt.value()) != 0;
  return true;
}

void Stations::call(Seat& seat, const Happened& happened) {
  POSTRIDER_CHECK(!calling_);
  calling_ = true;
  wanted_.clear();
  seat.station->on({now_, entropy_, principals_}, happened, wanted_);
  carry_out(seat);
  calling_ = false;
}

void Stations::carry_out(Seat& seat) {
  if (wanted_.size() > limits_.wants_max) ++figures_.overflows;
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    if (i >= limits_.wants_max) {
      refuse(seat, wanted_[i]);
      continue;
    }
    std::visit([&](auto& one) { want(seat, one); }, wanted_[i]);
  }
}

void Stations::refuse(Seat& seat, Wanted& wanted) {
  if (auto* open = std::get_if<station::OpenLine>(&wanted)) {
    if (number_line(seat, open->line)) refuse_line(seat, open->line);
  } else if (const auto* write = std::get_if<station::WriteLine>(&wanted)) {
    overflow(seat, write->line);
  } else if (const auto* hold = std::get_if<station::HoldLine>(&wanted)) {
    overflow(seat, hold->line);
  } else if (auto* close = std::get_if<station::CloseLine>(&wanted)) {
    want(seat, *close);
  } else if (auto* post = std::get_if<station::Post>(&wanted)) {
    if (std::holds_alternative<AttemptEnded>(post->event)) return want(seat, *post);
    if (post->token.is_set() && !take_token(seat, post->token)) return;
    refuse_post(seat, post->token, AnswerCode::kBusy);
  } else if (auto* exchange = std::get_if<station::Exchange>(&wanted)) {
    if (take_token(seat, exchange->token)) hold_back(seat, exchange->token);
  } else {
    want(seat, std::get<station::AbortExchange>(wanted));
  }
}

bool Stations::number_line(Seat& seat, LineId local) {
  if (local.value() <= seat.last_line || (local.value() & kAcceptedLine) != 0) {
    misused(seat, "line " + std::to_string(local.value()) + " was opened with an old number");
    return false;
  }
  seat.last_line = local.value();
  return true;
}

bool Stations::take_token(Seat& seat, Token token) {
  if (token.value() <= seat.last_token) {
    misused(seat, "token " + std::to_string(token.value()) + " was used again");
    return false;
  }
  seat.last_token = token.value();
  return true;
}

void Stations::refuse_line(Seat& seat, LineId local) {
  ++figures_.lines_refused;
  seat.lines[local.value()] = 0;
  seat.queue.emplace_back(
      station::LineClosed{local, LineEnd::kFull, "as many lines are open as may be"});
}

void Stations::refuse_post(Seat& seat, Token token, AnswerCode code) {
  if (!token.is_set()) {
    ++figures_.news_lost;
    return;
  }
  ++figures_.posts_refused;
  Answer answer;
  answer.code = code;
  answer.detail = "the door is shut; ask again later";
  seat.queue.emplace_back(station::Told{token, std::move(answer)});
}

void Stations::hold_back(Seat& seat, Token token) {
  seat.exchanges[token.value()] = 0;
  seat.queue.emplace_back(station::Exchanged{token, {.end = WireEnd::kHeldBack}});
}

// The number of the wire; unset: the line is over, and the station is to blame unless it could not
// know.
LineId Stations::find_line(Seat& seat, LineId local, std::string_view what) {
  const auto found = seat.lines.find(local.value());
  if (found != seat.lines.end()) return LineId(found->second);
  misused(seat, std::string(what) + " line " + std::to_string(local.value()) +
                    ", which is over or never was");
  return {};
}

void Stations::overflow(Seat& seat, LineId local) {
  const LineId number = find_line(seat, local, "used");
  if (!number.is_set()) return;
  lines_.erase(number.value());
  wire_.close(number);
  seat.lines[local.value()] = 0;
  seat.queue.emplace_back(
      station::LineClosed{local, LineEnd::kOverflow, "too much was wanted at once"});
}

void Stations::misused(Seat& seat, std::string what) {
  ++figures_.misuses;
  door_.misused(seat.verb, std::move(what));
}

void Stations::want(Seat& seat, station::OpenLine& open) {
  if (!number_line(seat, open.line)) return;
  if (lines_.size() >= limits_.lines.lines_max) return refuse_line(seat, open.line);
  const LineId number(++last_line_);
  lines_.emplace(number.value(), Line{&seat, open.line});
  seat.lines.emplace(open.line.value(), number.value());
  wire_.open(number, std::move(open.order));
}

void Stations::want(Seat& seat, station::WriteLine& write) {
  const LineId number = find_line(seat, write.line, "wrote to");
  if (number.is_set()) wire_.write(number, std::move(write.bytes), write.to);
}

void Stations::want(Seat& seat, station::HoldLine& hold) {
  const LineId number = find_line(seat, hold.line, "held");
  if (number.is_set()) wire_.hold(number, hold.held);
}

void Stations::want(Seat& seat, station::CloseLine& close) {
  const LineId number = find_line(seat, close.line, "closed");
  seat.lines.erase(close.line.value());
  if (!number.is_set()) return;
  lines_.erase(number.value());
  wire_.close(number);
}

void Stations::want(Seat& seat, station::Post& post) {
  if (auto* ended = std::get_if<AttemptEnded>(&post.event)) {
    if (post.token.is_set()) misused(seat, "waits for the answer to an end, which has none");
    return end_attempt(seat, *ended);
  }
  if (post.token.is_set() && !take_token(seat, post.token)) return;
  Ticket* const ticket = ticket_of(post.event);
  if (ticket == nullptr) {
    if (post.token.is_set()) misused(seat, "waits for the answer to an event that has none");
    if (const auto code = door_.post({}, std::move(post.event))) refuse_post(seat, {}, *code);
    return;
  }
  if (seat.posts >= limits_.posts_max) return refuse_post(seat, post.token, AnswerCode::kBusy);
  const Ticket own(++last_ticket_);
  *ticket = own;
  if (const auto code = door_.post(own, std::move(post.event)))
    return refuse_post(seat, post.token, *code);
  ++seat.posts;
  tickets_.emplace(own.value(), Wait{&seat, post.token});
}

void Stations::end_attempt(Seat& seat, AttemptEnded& ended) {
  const auto found = attempts_.find(ended.attempt.value());
  if (found == attempts_.end() || found->second.seat != &seat)
    return misused(seat, "ended attempt " + std::to_string(ended.attempt.value()) +
                             ", which is over or never was its own");
  due_.erase({found->second.due, found->first});
  const bool over = found->second.over;
  attempts_.erase(found);
  if (!over) door_.attempt_ended(ended.attempt, std::move(ended.reply));
}

void Stations::want(Seat& seat, station::Exchange& exchange) {
  if (!take_token(seat, exchange.token)) return;
  if (seat.exchanges.size() >= limits_.exchanges_max) return hold_back(seat, exchange.token);
  const AttemptId number(++last_exchange_);
  exchanges_.emplace(number.value(), Wait{&seat, exchange.token});
  seat.exchanges.emplace(exchange.token.value(), number.value());
  door_.start_exchange(number, std::move(exchange.request));
}

void Stations::want(Seat& seat, station::AbortExchange& abort) {
  const auto found = seat.exchanges.extract(abort.token.value());
  if (found.empty())
    return misused(seat, "aborted exchange " + std::to_string(abort.token.value()) +
                             ", which is over or never was");
  if (found.mapped() == 0) return;  // its end is in the queue, and goes with it
  exchanges_.erase(found.mapped());
  door_.abort_exchange(AttemptId(found.mapped()));
}

std::optional<Timestamp> Stations::next_deadline() const {
  std::optional<Timestamp> next;
  const auto not_after = [&next](Timestamp at) { next = next ? std::min(*next, at) : at; };
  for (const auto& seat : seats_) {
    if (!seat->queue.empty()) return Timestamp();
    if (const auto deadline = seat->station->next_deadline()) not_after(*deadline);
  }
  if (!due_.empty()) not_after(due_.begin()->first);
  return next;
}

Stations::Figures Stations::figures() const {
  Figures out = figures_;
  out.lines = lines_.size();
  return out;
}

void Stations::tell(StationFigures& figures) const {
  for (const auto& seat : seats_) seat->station->tell(figures);
}

}  // namespace postrider
