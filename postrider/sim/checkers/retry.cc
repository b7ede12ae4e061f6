// Checker 8: retry times equal a naive oracle. Written from the words of the specification, not
// from the engine's code: every sleep that becomes durable must lie in the range that its rule
// allows, attempts are counted exactly, nothing is sent before its time, and nothing is given up
// early.
#include <charconv>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

__extension__ using Wide = __int128;

struct Range {
  Wide low;
  Wide high;
};

Wide curve_ms(const RetryRule& rule, std::uint16_t attempt) {
  const Wide base = rule.base.count();
  switch (rule.curve) {
    case Curve::kFixed: return base;
    case Curve::kLinear: return base * attempt;
    case Curve::kExponential: {
      Wide delay = base;
      for (int i = 1; i < attempt && delay < Wide{1} << 60; ++i) delay *= 2;
      return delay;
    }
    case Curve::kList:
      return rule.steps_used == 0
                 ? 0
                 : Wide{rule.steps[std::min<std::size_t>(attempt, rule.steps_used) - 1].count()};
  }
  return 0;
}

Range delay_range_ms(const RetryRule& rule, std::uint16_t attempts) {
  const std::uint16_t attempt = std::max<std::uint16_t>(attempts, 1);
  Wide delay = curve_ms(rule, attempt);
  const Wide cap = rule.cap.count();
  if (cap > 0) delay = rule.cap_after != 0 && attempt > rule.cap_after ? cap : std::min(delay, cap);
  const Wide part = delay * rule.jitter_percent / 100;
  switch (rule.jitter) {
    case Jitter::kNone: return {delay, delay};
    case Jitter::kAround:
      return {delay - part - 1, delay + part};  // a part of a millisecond may be cut off
    case Jitter::kAbove: return {delay, delay + part};
    case Jitter::kFull: return {0, delay};
    case Jitter::kFactor:
      return {delay * rule.jitter_low / 1000 - 1, delay * rule.jitter_high / 1000};
  }
  return {delay, delay};
}

Wide round_up(Wide at, Duration tick) {
  const Wide step = tick.count();
  return step <= 0 ? at : (at + step - 1) / step * step;
}

std::optional<Duration> wish_in(const WireReply& reply) {
  if (reply.end != WireEnd::kAnswered || (reply.status != 429 && reply.status != 503))
    return std::nullopt;
  const std::string* text = find_text(reply.headers, "retry-after");
  std::int64_t seconds = 0;
  if (text == nullptr ||
      std::from_chars(text->data(), text->data() + text->size(), seconds).ec != std::errc())
    return std::nullopt;
  return Duration(1000 * seconds);
}

Duration held_until(const DestinationNote& destination, Timestamp at) {
  if (!destination.route) return Duration(0);
  const Route& route = *destination.route;
  const bool now = route.held_since.is_set() && route.held_since < at;
  return route.held + (now ? at - route.held_since : Duration(0));
}

class RetryChecker final : public Checker {
 public:
  RetryChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void began(const Moment& when, Epoch /*epoch*/) override { newest_ = when.incarnation; }

  void asked(const Asked& asked) override {
    if (const auto* retry = std::get_if<RetryNow>(&asked.event))
      mark_hurried(retry->id, asked.when.engine);
    if (const auto* redrive = std::get_if<Redrive>(&asked.event))
      mark_hurried(redrive->id, asked.when.engine);
    if (const auto* seen = std::get_if<PeerSeen>(&asked.event))
      seen_[seen->destination] = asked.when.engine;
    if (const auto* arrived = std::get_if<Arrived>(&asked.event);
        arrived != nullptr && arrived->bytes.starts_with(kHere))
      seen_[arrived->bytes.substr(kHere.size())] = asked.when.engine;
    const auto* job = std::get_if<StartJob>(&asked.event);
    bulk_ = bulk_ || (job != nullptr && job->order.action == JobAction::kRetry);
  }

  void left(const Left& left) override {
    MessageNote* note = notebook_.find(left.start.message);
    // What a replaced owner started may have ended meanwhile.
    if (note == nullptr || note->destination == nullptr || note->end) return;
    Story& story = stories_[note->id];
    if (!is_send(left.call)) {
      story.wish.reset();  // what follows is due to the answer to this question
      return;
    }
    if (left.when.incarnation != newest_) {
      story.uncertain = true;  // a replaced owner sent it too
      return;
    }
    message_of_[{left.when.incarnation, left.start.attempt.value()}] = note->id;
    story.wish.reset();
    story.receipted = false;
    check_not_before(*note, story, left);
    if (story.incarnation != left.when.incarnation) story.sends = story.ahead = 0;
    story.incarnation = left.when.incarnation;
    if (story.ahead > 0) {
      --story.ahead;
    } else {
      ++story.sends;
    }
  }

  void outcome(const Outcomed& outcome) override {
    const auto at = message_of_.find({outcome.when.incarnation, outcome.attempt.value()});
    if (at == message_of_.end()) return;
    stories_[at->second].wish = wish_in(outcome.reply);
    message_of_.erase(at);
  }

  // What it still says is not heard.
  void aborted(const Aborted& aborted) override {
    message_of_.erase({aborted.when.incarnation, aborted.attempt.value()});
  }

  void receipt(const Receipted& receipt) override {
    if (receipt.signal == On::kPeerSeen) mark_hurried(receipt.id, receipt.when.engine);
    const auto at = stories_.find(receipt.id);
    if (at != stories_.end()) at->second.receipted = true;
  }

  void batch(const Batch& batch) override {
    // Attempts that a batch counts leave when it is durable, and before the next one.
    for (const MessageId id : std::exchange(ahead_, {})) {
      const auto at = stories_.find(id);
      if (at == stories_.end() || at->second.ahead == 0 ||
          at->second.incarnation != batch.when.incarnation)
        continue;
      if (!at->second.uncertain)
        verdicts_.violation(8, "an attempt was counted that never left: " + to_string(id));
      at->second.ahead = 0;
    }
    // A round of attempts that begins and fails within a batch cannot be told from the one before.
    for (const auto& [note, state] : batch.steps) {
      if (refreshes(*note, state) && note->state && *note->state != state)
        stories_[note->id].uncertain = true;
    }
    for (const Batch::StatePut& put : batch.states) {
      Story& story = stories_[put.note->id];
      if (!put.note->damaged && !story.uncertain) check_state(put, story, batch);
      story.durable = put.state.attempts;
      story.method = put.state.method;
      story.due = sleeps(put) ? put.state.due : Timestamp();
      story.since = put.state.since;
      story.refreshes = refreshes(*put.note, put.state);
    }
    for (const EndRecord& end : batch.ends) {
      const auto at = stories_.find(end.id);
      if (at == stories_.end()) continue;
      const MessageNote* note = notebook_.find(end.id);
      if (note != nullptr && !note->damaged && !at->second.uncertain)
        check_end(*note, at->second, end);
      stories_.erase(at);
    }
  }

 private:
  static constexpr Duration kCommandMost = 5min;
  static constexpr std::string_view kHere = "here ";  // news that a destination of the drill lives

  struct Story {
    std::uint16_t durable = 0;        // attempts in the last durable state
    std::uint8_t method = UINT8_MAX;  // of that state
    std::uint32_t sends = 0;          // left since then, in this incarnation
    std::uint32_t ahead = 0;          // counted in the durable state, not yet left
    Incarnation incarnation = 0;
    Timestamp due;                 // of the durable sleep; unset: it does not sleep
    Timestamp since;               // of the durable state
    bool refreshes = false;        // attempts are counted anew when that is left
    std::optional<Duration> wish;  // of the last answer, until it was followed
    bool receipted = false;        // since it was sent: that may be why it sleeps
    Timestamp hurried;             // an operator asked to retry now
    bool uncertain = false;
  };
  struct AttemptHash {
    std::size_t operator()(const std::pair<Incarnation, std::uint64_t>& key) const {
      return key.first * 1'000'003 + key.second;
    }
  };

  void mark_hurried(MessageId id, Timestamp now) {
    if (notebook_.find(id) != nullptr) stories_[id].hurried = std::max(now, Timestamp(1));
  }

  // A command may wait for a read while the state that it ends is still on its way to the disk.
  bool hurried_since(const MessageNote& note, const Story& story, Timestamp since) const {
    const auto seen =
        note.destination == nullptr ? seen_.end() : seen_.find(note.destination->config.name);
    if (seen != seen_.end() && seen->second + kCommandMost >= since) return true;
    return bulk_ || (story.hurried.is_set() && story.hurried + kCommandMost >= since);
  }

  static bool sleeps(const Batch::StatePut& put) {
    if (put.note->destination == nullptr || put.note->destination->profile == nullptr) return false;
    return put.note->destination->profile->states[put.state.state].phase == Phase::kBackoff;
  }

  static bool refreshes(const MessageNote& note, const State& state) {
    return note.destination != nullptr && note.destination->profile != nullptr &&
           note.destination->profile->states[state.state].refreshes;
  }

  void check_not_before(const MessageNote& note, const Story& story, const Left& left) {
    if (story.uncertain || note.damaged) return;
    const Timestamp latest =
        decided_at(left).value_or(left.when.engine);  // it was decided at this time or before …
    const Timestamp earliest = decided_at(left).value_or(left.decided_after);  // … and after this
    const bool asleep =
        story.due.is_set() && earliest > story.since && !hurried_since(note, story, story.since);
    if (asleep && latest < story.due)
      verdicts_.violation(8, "sent before its back-off was over: " + to_string(note.id));
    const bool first = story.durable == 0 && story.sends == 0 && !story.hurried.is_set() && !bulk_;
    if (first && note.not_before.is_set() && latest < note.not_before)
      verdicts_.violation(8, "sent before its time: " + to_string(note.id));
  }

  void check_state(const Batch::StatePut& put, Story& story, const Batch& batch) {
    const MessageNote& note = *put.note;
    if (note.destination == nullptr || note.destination->profile == nullptr) return;
    if (story.incarnation != batch.when.incarnation) story.sends = story.ahead = 0;
    const ProfileSpec& profile = *note.destination->profile;
    if (profile.states[put.state.state].revives) check_parked(put, story);
    // A revival gives fresh attempts. When a slow commit holds a whole round of them, nobody can
    // tell to which round those belong that leave after it.
    if (put.revived > 0) {
      const bool plain = put.revived == 1 && put.before &&
                         profile.states[put.before->state].revives &&
                         !profile.states[put.state.state].revives;
      story.uncertain = story.uncertain || !plain;
      story.durable = 0;
      story.sends = 0;
    }
    if (story.uncertain) return;
    // A state that is left without attempts may be entered again in the millisecond in which it was
    // left. An attempt that has left since then shows it.
    const bool stays =
        story.since == put.state.since && story.sends == 0 && refreshes(*put.note, put.state);
    if (story.refreshes && !stays) story.durable = 0;
    const std::uint32_t known = std::min<std::uint32_t>(
        UINT16_MAX,
        (story.method == put.state.method || story.method == UINT8_MAX ? story.durable : 0U) +
            story.sends);
    const bool other_method = story.method != UINT8_MAX && story.method != put.state.method;
    if (put.state.attempts < known && !other_method && put.state.method == note.method) {
      verdicts_.violation(8, "attempts are miscounted: " + std::to_string(put.state.attempts) +
                                 " instead of " + std::to_string(known) + " of " +
                                 to_string(note.id));
    }
    story.ahead = put.state.attempts > known && !other_method ? put.state.attempts - known : 0;
    if (story.ahead > 0) ahead_.push_back(note.id);
    story.sends = 0;
    story.incarnation = batch.when.incarnation;
    const bool again =
        put.before &&
        put.before->due == put.state.due;  // the same sleep, written for another reason
    if (sleeps(put) && !again && !hurried_since(note, story, put.state.since) &&
        note.destination->configured < put.state.since)
      check_sleep(put, story);
    if (sleeps(put) && !again) story.wish.reset();
  }

  void check_sleep(const Batch::StatePut& put, const Story& story) {
    const DestinationNote& destination = *put.note->destination;
    const State& state = put.state;
    const RetryRule& rule = destination.policy.rule(state.failure);
    Range range = delay_range_ms(rule, state.counted());
    if (story.wish && state.certainty == Certainty::kAnswered) {
      const Wide wish = std::min<Wide>(story.wish->count(), rule.retry_after_max.count());
      range = {story.receipted ? range.low : std::max(range.low, wish), std::max(range.high, wish)};
    }
    const Wide earliest = round_up(state.since.ms() + range.low, rule.tick);
    const Wide latest = round_up(state.since.ms() + range.high, rule.tick);
    if (state.due.ms() < earliest || state.due.ms() > latest) {
      verdicts_.violation(8, "a retry after " + std::to_string((state.due - state.since).count()) +
                                 " ms, which its rule does not allow: " + to_string(put.note->id) +
                                 " attempt " + std::to_string(state.attempts));
    }
    if (rule.attempts_max != 0 && state.counted() >= rule.attempts_max) {
      verdicts_.violation(
          8, "a retry after the last attempt that the rule allows: " + to_string(put.note->id));
    }
    const Duration held = held_until(destination, state.since) - state.held_before;
    const bool over = rule.budget > Duration(0) && state.first_attempt.is_set() &&
                      state.due - meant(state.first_attempt) - held > rule.budget;
    if (over && !destination.damaged)
      verdicts_.violation(8, "a retry behind the budget: " + to_string(put.note->id));
  }

  void check_end(const MessageNote& note, const Story& story, const EndRecord& end) {
    const bool gave_up = end.phase == Phase::kDead && (end.cause == FailureClass::kTimeout ||
                                                       end.cause == FailureClass::kServer ||
                                                       end.cause == FailureClass::kConnect);
    if (!gave_up || end.reason == "receipt" || !note.destination) return;
    if (is_in_the_way(note, end.attempts)) return;
    if (note.destination->policy.rule(end.cause).parks && note.destination->configured < end.at &&
        uses_reach(note))
      verdicts_.violation(8, "dead although it should be parked: " + to_string(note.id));
    // Nothing durable tells when a first attempt began that was the last as well.
    State last = note.last_state.value_or(State());
    last.attempts = end.attempts;
    check_given_up(note, story, {end.cause, end.at, last});
  }

  // Parked for want of reach is given up as well, until somebody is there.
  void check_parked(const Batch::StatePut& put, const Story& story) {
    if (!parks_when_spent(*put.note)) return;
    const bool again = put.before && put.before->since == put.state.since;
    if (!again && !hurried_since(*put.note, story, put.state.since))
      check_given_up(*put.note, story, {put.state.failure, put.state.since, put.state});
  }

  // A table may park for other reasons than that nothing is left to try.
  static bool parks_when_spent(const MessageNote& note) {
    for (const Transition& row : note.destination->profile->methods[note.method].rows) {
      const bool spent = row.on == On::kOutOfReach || row.on == On::kExhausted;
      if (spent && row.verb == Do::kPark && (row.from & ~in(row.to)) != 0) return true;
    }
    return false;
  }

  static bool uses_reach(const MessageNote& note) {
    return lifecycle_detail::uses(note.destination->profile->methods[note.method].rows,
                                  On::kOutOfReach);
  }

  struct GivenUp {
    FailureClass cause;
    Timestamp at;
    State last;
  };
  // Given up because the rule had nothing left: then the latest retry that it allowed must be
  // behind the budget.
  void check_given_up(const MessageNote& note, const Story& story, const GivenUp& end) {
    if (note.destination->damaged) return;
    const DestinationNote& destination = *note.destination;
    const RetryRule& rule = destination.policy.rule(end.cause);
    if (destination.configured >= end.at || end.last.attempts == 0) return;
    if (rule.attempts_max != 0 && end.last.counted() >= rule.attempts_max) return;
    if (rule.budget <= Duration(0))
      return verdicts_.violation(8, "given up although the rule had more: " + to_string(note.id));
    if (!end.last.first_attempt.is_set()) return;
    const Duration held = held_until(destination, end.at) - end.last.held_before;
    const Range range = delay_range_ms(rule, end.last.counted());
    Wide delay = range.high;
    if (story.wish)
      delay =
          std::max<Wide>(delay, std::min<Wide>(story.wish->count(), rule.retry_after_max.count()));
    const Wide latest = round_up(end.at.ms() + delay, rule.tick);
    if (latest - meant(end.last.first_attempt).ms() - held.count() <= rule.budget.count()) {
      verdicts_.violation(8, "given up although the budget was not spent: " + to_string(note.id));
    }
  }

  // What began while the wall was in doubt began later, when the wall is believed.
  Timestamp meant(Timestamp engine) const { return notebook_.meta().wall.meant(engine); }

  Verdicts& verdicts_;
  Notebook& notebook_;
  bool bulk_ = false;  // a job hurries whom it meets
  Incarnation newest_ = 0;
  std::vector<MessageId> ahead_;           // of the last batch
  std::map<std::string, Timestamp> seen_;  // last sign of life, by destination
  std::unordered_map<MessageId, Story> stories_;
  std::unordered_map<std::pair<Incarnation, std::uint64_t>, MessageId, AttemptHash> message_of_;
};

}  // namespace

std::unique_ptr<Checker> make_retry_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<RetryChecker>(context, notebook);
}

}  // namespace postrider::sim
