#include "tests/support/scenario/world.h"

#include <algorithm>
#include <array>
#include <utility>

#include "postrider/model/id_address.h"
#include "postrider/profiles/all.h"
#include "postrider/sim/fields/drill/drill.h"
#include "tests/support/scenario/scenario.h"

namespace postrider::scenario {
namespace {

constexpr Timestamp kBootStart{1'000'000};
constexpr Timestamp kWallStart{1'767'225'600'000};  // 2026-01-01T00:00:00Z
constexpr int kRoundsMax = 1'000'000;  // a scenario that turns more often at one command spins

}  // namespace

World::World(std::string profile) : profile_(std::move(profile)) {
  static const std::vector<const ProfileSpec*> kProfiles = [] {
    const auto all = all_profiles();
    std::vector<const ProfileSpec*> out(all.begin(), all.end());
    out.push_back(&sim::drill_profile());
    return out;
  }();
  options_.profiles = kProfiles;
  options_.seed = 1;
  names_.start = kWallStart;
  names_.message = [this](MessageId id) { return name_of_message(id); };
  names_.destination = [this](DestinationId id) {
    const auto found = destination_names_.find(id);
    return found == destination_names_.end() ? std::string("a destination") : found->second;
  };
}
World::~World() = default;

std::vector<std::string> World::run(std::string_view command) {
  lines_.clear();
  std::vector<std::string> all = split_words(command);
  const std::string verb = all.empty() ? std::string() : all.front();
  if (!all.empty()) all.erase(all.begin());
  Words words(std::move(all));
  const auto handler = handlers().find(verb);
  if (handler == handlers().end()) {
    lines_.push_back("!! nobody knows the command '" + verb + "'");
    return lines_;
  }
  if (shard_ == nullptr && verb != "engine" && verb != "wall") open_shard();
  (this->*handler->second)(words);
  if (const auto complaint = words.complaint()) lines_.push_back("!! " + *complaint);
  if (shard_ != nullptr) settle();
  return lines_;
}

Instant World::instant() const {
  return {kBootStart + elapsed_, kWallStart + elapsed_ + wall_offset_, synchronised_};
}

void World::open_shard() {
  ShardOptions options;
  options.engine = options_;
  auto opened =
      Shard::open(options, store_, instant(), [this](Action&& action) { act(std::move(action)); });
  if (!opened) {
    say("!! the shard did not open: " + opened.error().detail);
    return;
  }
  shard_ = std::move(*opened);
  settle();
}

void World::say(std::string line) {
  lines_.push_back(show_time(elapsed_) + "  " + std::move(line));
}

std::string World::name_of_message(MessageId id) const {
  const auto found = message_names_.find(id);
  return found == message_names_.end() ? to_string(id) : found->second;
}

Caller World::caller(OperationKey key, std::function<void(const Answer&)> then) {
  const Ticket ticket(++last_ticket_);
  waiting_[ticket.value()] = std::move(then);
  return {ticket, std::move(key)};
}

void World::post(Event event) {
  if (shard_ == nullptr) return;
  if (!shard_->post(std::move(event))) say("!! the event queue is full");
}

Answer World::ask(Query question) {
  Answer out;
  bool answered = false;
  question.ticket = caller({}, [&](const Answer& answer) {
                      out = answer;
                      answered = true;
                    }).ticket;
  const std::uint64_t ticket = question.ticket.value();
  post(std::move(question));
  for (int round = 0; round < 1000 && !answered && shard_ != nullptr; ++round)
    shard_->turn(instant());
  waiting_.erase(ticket);
  if (!answered) say("!! a question was not answered");
  return out;
}

void World::act(Action&& action) {
  if (auto* attempt = std::get_if<StartAttempt>(&action)) return start(std::move(*attempt));
  if (const auto* abort = std::get_if<AbortAttempt>(&action)) {
    const auto open = open_.find(abort->attempt);
    if (open == open_.end()) return;
    if (!quiet_) {
      say(name_of_message(open->second.message) + " attempt " +
          std::to_string(open->second.number) + " is aborted");
    }
    if (open->second.regardless) return;
    std::erase_if(coming_,
                  [&](const auto& coming) { return coming.second.attempt == abort->attempt; });
    open_.erase(open);
    return;
  }
  const Reply& reply = std::get<Reply>(action);
  const auto waiting = waiting_.find(reply.ticket.value());
  if (waiting == waiting_.end()) return say("!! an answer that nobody waits for");
  const auto then = std::move(waiting->second);
  waiting_.erase(waiting);
  then(reply.answer);
}

void World::start(StartAttempt&& attempt) {
  name_event(attempt);
  const int number = ++attempts_seen_[attempt.message];
  const std::string name = name_of_message(attempt.message);
  const Behaviour behaviour = peer_.meet(destination_of_[attempt.message]);
  open_[attempt.attempt] = {attempt.message, number, behaviour.regardless, attempt.request.target,
                            std::string(attempt.request.body)};
  if (quiet_) {
    ++quiet_attempts_;
  } else {
    const std::string& verb = attempt.request.verb;
    const std::string& target = attempt.request.target;
    // A command is told by the call that it makes, everything else by its verb.
    const bool calls = commands_.contains(attempt.message);
    const bool sends = verb == "POST" || verb == "SEND";
    const std::string what = calls ? target.substr(target.rfind('/') + 1) : verb;
    say(name + " attempt " + std::to_string(number) + " starts" +
        (sends && !calls ? "" : ": " + what));
  }
  if (peer_.shows_requests()) {
    lines_.push_back("    " + attempt.request.verb + " " + attempt.request.target);
    for (const NamedText& header : attempt.request.headers.list()) {
      lines_.push_back("    " + header.first + ": " + header.second);
    }
    lines_.push_back("    body: " + std::string(attempt.request.body));
  }
  if (behaviour.silent) return;
  const Duration wait = behaviour.at_time_out ? attempt.request.time_out : behaviour.after;
  coming_.emplace(elapsed_ + wait, Coming{attempt.attempt, behaviour.reply});
}

bool World::hand_over_answers() {
  bool any = false;
  while (!coming_.empty() && coming_.begin()->first <= elapsed_) {
    const Coming coming = coming_.begin()->second;
    coming_.erase(coming_.begin());
    const auto open = open_.find(coming.attempt);
    if (open == open_.end()) continue;
    if (!quiet_) {
      say(name_of_message(open->second.message) + " attempt " +
          std::to_string(open->second.number) + ": " + Peer::show(coming.reply));
    }
    open_.erase(open);
    post(AttemptEnded{coming.attempt, coming.reply});
    any = true;
  }
  return any;
}

bool World::turn_until_quiet() {
  for (int round = 0; round < kRoundsMax; ++round) {
    shard_->turn(instant());
    if (shard_->fate() != Shard::Fate::kRunning) {
      say("!! the shard gave up: " + shard_->fate_reason());
      return false;
    }
    if (hand_over_answers()) continue;
    const auto deadline = shard_->next_deadline();
    if (shard_->idle() && (!deadline || *deadline > instant().boot)) return true;
  }
  say("!! the shard never comes to rest");
  return false;
}

void World::settle() {
  if (!turn_until_quiet()) return;
  observe();
}

void World::observe() {
  for (bool more = true; more;) {
    Query question;
    question.what = Query::What::kLog;
    question.from = cursor_;
    const Answer answer = ask(question);
    const auto* page = std::get_if<LogPage>(&answer.view);
    if (page == nullptr) return say("!! the log was not answered with a page");
    if (page->fell_behind) say("the log's cursor fell behind");
    for (const LogEntry& entry : page->entries) say(show(names_, entry));
    cursor_ = page->next;
    more = !page->at_end && !page->entries.empty();
  }
  std::vector<std::pair<int, std::string>> ordered;
  for (const auto& [name, order] : destinations_) ordered.emplace_back(order, name);
  std::sort(ordered.begin(), ordered.end());
  for (const auto& [order, name] : ordered) observe_health(name);
}

void World::observe_health(const std::string& name) {
  Query question;
  question.what = Query::What::kDestination;
  question.destination = name;
  const Answer answer = ask(question);
  const auto* view = std::get_if<DestinationView>(&answer.view);
  if (view == nullptr) return;
  destination_names_[view->id] = name;
  const Route& route = view->route;
  const std::pair<Health, Timestamp> now(route.health, route.closed_until);
  const auto before = health_.find(name);
  const Health was = before == health_.end() ? Health::kNormal : before->second.first;
  const bool changed =
      before == health_.end() ? route.health != Health::kNormal : before->second != now;
  health_[name] = now;
  if (!changed || quiet_) return;
  std::string line = name + " health: " + std::string(postrider::name_of(was)) + " -> " +
                     std::string(postrider::name_of(route.health));
  if (route.closed_until.is_set()) line += " until " + show_time(names_, route.closed_until);
  if (!route.reason.empty() && route.health != Health::kNormal) line += " \"" + route.reason + "\"";
  say(line);
}

std::optional<Duration> World::next_instant() const {
  std::optional<Duration> next;
  if (const auto deadline = shard_->next_deadline())
    next = std::max(*deadline - kBootStart, elapsed_);
  if (!coming_.empty() && (!next || coming_.begin()->first < *next)) next = coming_.begin()->first;
  return next;
}

void World::advance(Words& words) {
  quiet_ = words.flag("quietly");
  quiet_attempts_ = 0;
  const Duration until = elapsed_ + words.to_duration(words.next("a duration"));
  for (int steps = 0; shard_->fate() == Shard::Fate::kRunning; ++steps) {
    const auto next = next_instant();
    if (!next || *next > until || words.complaint()) break;
    if (steps == kRoundsMax) {
      say("!! time does not pass");
      break;
    }
    elapsed_ = *next;
    settle();
  }
  elapsed_ = std::max(elapsed_, until);
  settle();
  if (quiet_)
    lines_.push_back("    (" + std::to_string(quiet_attempts_) + " attempts started meanwhile)");
  quiet_ = false;
}

void World::crash(Words& words) {
  const Duration off = words.duration("off").value_or(Duration(0));
  const Duration wall = words.duration("wall").value_or(Duration(0));
  shard_.reset();
  open_.clear();
  coming_.clear();
  waiting_.clear();
  elapsed_ += off;
  wall_offset_ += wall;
  say("crash and restart");
  open_shard();
}

}  // namespace postrider::scenario
