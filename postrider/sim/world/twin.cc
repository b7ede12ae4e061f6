#include "postrider/sim/world/twin.h"

#include <algorithm>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/model/records/keys.h"

namespace postrider::sim {
namespace {

constexpr std::size_t kSampleMax = 60;
constexpr int kRoundsMax = 20'000;
constexpr std::uint64_t kFirstTicket = std::uint64_t{1} << 40;  // clients never get there

// A shard of its own on a disk of its own, in a world where time stands still and everything works.
class Restored {
 public:
  Restored(const SimDisk& disk, const ShardOptions& options, Instant now)
      : agenda_(now.boot),
        around_{.agenda = agenda_, .disk = disk_, .after_operation = {}},
        store_(around_),
        now_(now) {
    disk.copy_to(disk_);
    auto shard = Shard::open(options, store_, now, [this](Action&& action) {
      if (auto* reply = std::get_if<Reply>(&action))
        answers_[reply->ticket.value()] = std::move(reply->answer);
    });
    POSTRIDER_CHECK(shard.has_value());
    shard_ = std::move(*shard);
  }

  // False when it does not come to rest.
  bool settle() {
    for (int round = 0; round < kRoundsMax; ++round) {
      shard_->turn(now_);
      if (agenda_.empty()) return shard_->ready() && shard_->idle();
      while (!agenda_.empty()) agenda_.run_next();
    }
    return false;
  }

  bool restoring() { return shard_->engine().restoring(); }

  std::optional<Answer> ask(Query query) {
    query.ticket = Ticket(++last_);
    if (!shard_->post(query) || !settle()) return std::nullopt;
    const auto at = answers_.find(last_);
    if (at == answers_.end()) return std::nullopt;
    return at->second;
  }

 private:
  Agenda agenda_;
  SimDisk disk_;
  StoreSurroundings around_;
  SimStore store_;
  Instant now_;
  std::unique_ptr<Shard> shard_;
  std::map<std::uint64_t, Answer> answers_;
  std::uint64_t last_ = 0;
};

std::string in_words(const Route& route) {
  std::string text(name_of(route.health));
  for (const std::int64_t number :
       {std::int64_t{route.strikes}, std::int64_t{route.waits}, route.closed_until.ms(),
        route.failing_since.ms(), route.health_since.ms(), route.held_since.ms(),
        route.held.count(), route.revive_at.ms(), route.interval.count(), route.delivered_at.ms(),
        route.sweep_until.ms(), static_cast<std::int64_t>(route.position),
        std::int64_t{route.claims}, std::int64_t{route.members_max},
        static_cast<std::int64_t>(route.refused.size())}) {
    text += " " + std::to_string(number);
  }
  if (route.batch.is_open())
    text += " batch " + to_string(route.batch.leader) + " of " +
            std::to_string(route.batch.followers.size() + 1);
  return text + " " + route.reason;
}

// In flight without a durable intent is queued again by a crash.
Phase settled(Phase phase) { return phase == Phase::kInFlight ? Phase::kQueued : phase; }

}  // namespace

Twins::Twins(Surroundings around, std::vector<std::string> destinations)
    : around_(around), destinations_(std::move(destinations)), last_ticket_(kFirstTicket) {}

void Twins::consider() {
  if (around_.agenda.run_so_far() < next_at_ || !restored_.empty() || !around_.machine.quiet())
    return;
  next_at_ = around_.agenda.run_so_far() * 5 / 4 + 500;
  check_scheduled();
  compare();
}

std::vector<MessageId> Twins::sample() const {
  std::vector<MessageId> ids;
  for (const char space : {keys::kHot, keys::kCold}) {
    auto at = around_.disk.records().lower_bound(std::string(1, space));
    for (; at != around_.disk.records().end() && at->first[0] == space && ids.size() < kSampleMax;
         ++at) {
      const auto hot = keys::parse_hot(at->first);
      const auto cold = keys::parse_cold(at->first);
      const MessageNote* note = hot ? around_.notebook.find(hot->sequence)
                                    : (cold ? around_.notebook.find(cold->id) : nullptr);
      const bool is_state =
          (hot && hot->part == keys::Part::kState) || (cold && cold->part == keys::Part::kState);
      if (note != nullptr && !is_state && !note->damaged) ids.push_back(note->id);
    }
  }
  return ids;
}

// Whoever restores it finds that what is left of its messages cannot be read, or ends what was
// open, and takes the drained destination away; the running engine may still have them in memory.
bool Twins::goes_when_restored(std::string_view name) const {
  const DestinationNote* destination = std::as_const(around_.notebook).find(name);
  if (destination == nullptr || !destination->config.draining) return false;
  for (const auto& [key, value] : around_.disk.records()) {
    const auto hot = keys::parse_hot(key);
    const auto cold = keys::parse_cold(key);
    if (!hot && !cold) continue;
    const MessageNote* note =
        hot ? around_.notebook.find(hot->sequence) : around_.notebook.find(cold->id);
    if (note == nullptr || note->id.destination() != destination->id) continue;
    const bool open = note->state && destination->profile != nullptr &&
                      destination->profile->states[note->state->state].phase == Phase::kInFlight;
    if (note->damaged || open) return true;
  }
  return false;
}

void Twins::compare() {
  Shard& shard = *around_.machine.owner();
  const Timestamp now = shard.engine_time();
  if (shard.engine().stats().counters != around_.notebook.counters()) {
    around_.verdicts.violation(10, "the counters in memory are not those on disk");
  }
  Restored twin(around_.disk, around_.options,
                Instant{now, now - around_.notebook.meta().wall.bias});
  if (!twin.settle() || twin.restoring()) return;
  asked_with_ = disturbances_;
  const Incarnation process = around_.machine.running();
  const auto ask_both = [&](Query query) {
    const auto answer = twin.ask(query);
    if (!answer) return;
    query.ticket = Ticket(++last_ticket_);
    if (around_.machine.post(process, query)) restored_.emplace(query.ticket.value(), *answer);
  };
  for (const MessageId id : sample()) {
    Query query;
    query.what = Query::What::kExplain;
    query.id = id;
    ask_both(query);
  }
  for (std::size_t i = 0; i < destinations_.size() && i < kSampleMax; ++i) {
    if (goes_when_restored(destinations_[i])) continue;
    Query query;
    query.what = Query::What::kDestination;
    query.destination = destinations_[i];
    ask_both(query);
  }
}

bool Twins::take(Incarnation /*process*/, Ticket ticket, const Answer& answer) {
  if (ticket.value() < kFirstTicket) return false;
  const auto at = restored_.find(ticket.value());
  if (at == restored_.end()) return true;
  const Answer restored = std::move(at->second);
  restored_.erase(at);
  if (disturbances_ != asked_with_) {
    restored_.clear();
    return true;
  }
  ++compared_;
  if (answer.code != restored.code) {
    around_.verdicts.violation(10, "restored: " + std::string(name_of(restored.code)) +
                                       ", running: " + std::string(name_of(answer.code)));
    return true;
  }
  const auto* running = std::get_if<Explanation>(&answer.view);
  const auto* again = std::get_if<Explanation>(&restored.view);
  if (running != nullptr && again != nullptr) compare_messages(*running, *again);
  const auto* route = std::get_if<DestinationView>(&answer.view);
  const auto* route_again = std::get_if<DestinationView>(&restored.view);
  if (route != nullptr && route_again != nullptr) compare_routes(*route, *route_again);
  return true;
}

void Twins::compare_messages(const Explanation& running, const Explanation& restored) const {
  const MessageNote* note = around_.notebook.find(running.id);
  if (note == nullptr || note->damaged || note->destination == nullptr) return;
  // Who restores a route that cannot be read looks at everything anew.
  if (note->destination->damaged) return;
  // A leader that expires when it is restored gives its followers back, and what they did not hear
  // is looked at again.
  const std::optional<Route>& route = note->destination->route;
  if (route && route->batch.claims(note->id)) return;
  // A sweep is under way, and the restored one is further in it.
  if (restored.phase == Phase::kCancelled && restored.reason.starts_with("dropped:") &&
      note->destination->policy.lane_rule(note->id.lane()).dropped_when_deep)
    return;
  // It has met a newer value of the key, which the running one has on disk.
  if (restored.phase == Phase::kCancelled && restored.reason == "superseded" &&
      note->destination->policy.lane_rule(note->id.lane()).latest != Latest::kNever)
    return;
  const auto differ = [this, &running, &restored](const std::string& what) {
    around_.verdicts.violation(10, "restored otherwise than it was running, " + what + ": " +
                                       to_string(running.id) + " is " + running.state + ", again " +
                                       restored.state);
  };
  // What was open with a durable intent is undecided after a crash, and may end at once.
  const bool intent = note->destination->profile->methods[note->method].durable_intent;
  if (running.phase == Phase::kInFlight && intent) return;
  // What the restored one could start at once may be on its way already, or have been judged.
  const bool slept_out =
      running.phase == Phase::kBackoff && running.place != Explanation::Place::kSleeping;
  if (running.phase == Phase::kInFlight || running.phase == Phase::kQueued || slept_out) {
    if (running.expires.is_set() && restored.phase == Phase::kExpired)
      return;  // the open attempt had the benefit
    if (running.cancel_wanted && restored.phase == Phase::kCancelled) return;  // of the doubt
    const Field* field = note->destination->field;
    if (field != nullptr && field->may_end_unsent(*note, restored)) return;
    if (settled(restored.phase) != Phase::kQueued && restored.phase != Phase::kParked &&
        restored.phase != Phase::kBackoff && restored.phase != Phase::kAwaiting) {
      differ("phase");
    }
    if (running.accepted != restored.accepted || running.expires != restored.expires)
      differ("times");
    return;
  }
  // Its time is over, and its timer stands in line behind others.
  const Shard* shard = around_.machine.owner();
  if (running.phase == Phase::kAwaiting && shard != nullptr && running.next_at.is_set() &&
      running.next_at <= shard->engine_time())
    return;
  if (running.phase != restored.phase || running.state != restored.state) return differ("state");
  if (running.attempts != restored.attempts) differ("attempts");
  if (running.failure != restored.failure || running.reason != restored.reason) differ("reason");
  if (running.since != restored.since) differ("since");
  // What was open with a durable intent failed in the restored one, which may have closed the route
  // for everybody. Routes are compared by themselves, when nothing is open.
  const bool same_way = running.health == restored.health;
  if (same_way && (running.next != restored.next || running.next_at != restored.next_at)) {
    differ("what comes next, " + std::to_string(running.next_at.ms()) + " and " +
           std::to_string(restored.next_at.ms()));
  }
  if (running.cancel_wanted != restored.cancel_wanted) differ("cancel");
  if (running.origin != restored.origin) differ("origin");
}

void Twins::compare_routes(const DestinationView& running, const DestinationView& restored) const {
  const DestinationNote* note = around_.notebook.find(running.id);
  // What was open with a durable intent counts as a failure after a crash.
  if (note == nullptr || note->damaged || running.open_attempts > 0) return;
  // In health normal the books of failures are not written, so a restart may forget them. It must
  // not remember what a success has cleared, or the route would trip early and be disabled for
  // failures of long ago.
  if (restored.route.strikes > running.route.strikes)
    around_.verdicts.violation(10, "strikes came back from the dead: " + running.config.name);
  const auto essence = [](Route route) {
    route.seen_at = Timestamp();
    route.strikes = 0;
    // Only that there was a delivery is written at once.
    if (route.delivered_at.is_set()) route.delivered_at = Timestamp(1);
    if (route.health == Health::kNormal) {
      route.health_since = Timestamp();
      route.reason.clear();
    }
    // The restored one may have ended or opened a batch meanwhile; what they both have is below.
    route.claims = 0;
    route.batch = {};
    route.refused.clear();
    return route;
  };
  const bool same_batch = running.route.batch.is_open() && restored.route.batch.is_open() &&
                          running.route.claims == restored.route.claims;
  if (same_batch && running.route.batch != restored.route.batch)
    around_.verdicts.violation(10, "a batch is restored otherwise: " + running.config.name);
  // What is owed from before a start may be caught up with, and that is not written down.
  const bool behind = note->policy.health.begins_behind;
  if (behind &&
      (running.route.health == Health::kCatchUp || restored.route.health == Health::kCatchUp))
    return;
  const Route now = essence(running.route);
  Route again = essence(restored.route);
  const bool forgot = now.health == Health::kNormal && !again.failing_since.is_set();
  if (forgot) again.failing_since = now.failing_since;
  if (now == again && running.config.settings == restored.config.settings) return;
  around_.verdicts.violation(
      10, "a route is restored otherwise than it was running: " + running.config.name + " is " +
              in_words(running.route) + ", again " + in_words(restored.route));
}

// Every live message is somewhere where something will come for it.
void Twins::check_scheduled() const {
  const auto& records = around_.disk.records();
  for (auto at = records.lower_bound(std::string(1, keys::kCold));
       at != records.end() && at->first[0] == keys::kCold; ++at) {
    const auto cold = keys::parse_cold(at->first);
    const MessageNote* note =
        cold && cold->part == keys::Part::kMessage ? around_.notebook.find(cold->id) : nullptr;
    if (note == nullptr || note->damaged) continue;
    if (note->hot)
      around_.verdicts.violation(1, "a message is hot and cold: " + to_string(note->id));
    if (!is_scheduled(*note))
      around_.verdicts.violation(
          1, "a message is live and nothing will come for it: " + to_string(note->id));
  }
}

bool Twins::is_scheduled(const MessageNote& note) const {
  if (note.destination != nullptr && note.destination->policy.pulled) return true;  // its reader
  const auto& disk = around_.disk;
  if (note.reach_from) {
    const DestinationNote* way = note.destination;
    return way == nullptr || way->damaged || (way->route && way->route->revive_at.is_set());
  }
  if (note.parked) return true;
  if (note.state && note.state->due.is_set() &&
      disk.get(keys::due(note.state->due, keys::DueKind::kAttempt, note.id)))
    return true;
  const auto owed = disk.get(keys::owed(note.id.destination()));
  if (!owed) return false;
  const auto heads = decode_owed(owed->view());
  if (!heads) return false;
  const MessageId head = heads->heads[note.id.lane()];
  return head.is_set() && head <= note.id;
}

}  // namespace postrider::sim
