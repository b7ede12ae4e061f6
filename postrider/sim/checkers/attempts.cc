// Checker 41: what is told of attempts is what happened. The list of a message has every attempt
// that is counted, or counts it as left out when there is no room; each began when one left and
// ended when a record says so; nothing that was durable is ever told otherwise, after a restart
// either; and a message that is delivered at its first attempt has no list.
#include "postrider/model/attempts.h"

#include <algorithm>
#include <unordered_map>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class AttemptsChecker final : public Checker {
 public:
  AttemptsChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts),
        notebook_(notebook),
        kept_(std::min<std::size_t>(context.shard.engine.limits.attempts_kept_max,
                                    kAttemptNotesMax)) {}

  void left(const Left& left) override {
    if (!is_send(left.call)) return;
    const auto exactly = decided_at(left);
    stories_[left.start.message].starts.push_back(
        {exactly.value_or(left.decided_after), exactly.value_or(left.when.engine)});
  }

  void receipt(const Receipted& receipt) override { stories_[receipt.id].heard = true; }

  void batch(const Batch& batch) override {
    std::unordered_map<MessageId, std::vector<Timestamp>> moved;
    for (const auto& [note, state] : batch.steps) moved[note->id].push_back(state.since);
    for (const Batch::StatePut& put : batch.states) {
      if (!looks_at(*put.note) || put.note->end) continue;
      const auto past = decode_attempt_history(put.past, {put.state.since, put.reason});
      if (!past) return complain(*put.note, "attempts cannot be read");
      const Phase phase = put.note->destination->profile->states[put.state.state].phase;
      const Now now{past->attempts, put.state.attempts, put.state.method, phase,
                    put.revived > 0 || counts_anew(*put.note)};
      check(*put.note, now, moved[put.note->id]);
    }
    for (const EndRecord& end : batch.ends) {
      const MessageNote* note = notebook_.find(end.id);
      if (note == nullptr || !looks_at(*note)) continue;
      const auto past = decode_attempt_history(end.past, {end.at, end.reason});
      if (!past) return complain(*note, "attempts cannot be read");
      if (past->attempts.is_open()) complain(*note, "an attempt outlives its message");
      moved[end.id].push_back(end.at);
      // More than its end is in this batch, or its method begins anew by itself.
      const bool anew = moved[end.id].size() > 1 || counts_anew(*note);
      check(*note, {past->attempts, end.attempts, stories_[end.id].method, end.phase, anew},
            moved[end.id]);
      stories_[end.id].starts.clear();
    }
  }

  void told(const Told& told) override {
    const auto* seen = std::get_if<Explanation>(&told.answer.view);
    if (const auto* view = std::get_if<MessageView>(&told.answer.view)) seen = &view->explanation;
    if (seen == nullptr) return;
    const MessageNote* note = notebook_.find(seen->id);
    const auto story = stories_.find(seen->id);
    if (note == nullptr || story == stories_.end() || !looks_at(*note)) return;
    if (!agree(story->second.list, seen->attempt_list) ||
        !agree(seen->attempt_list, story->second.list))
      complain(*note, "attempts are told otherwise than they are written");
  }

 private:
  struct Start {  // when it was decided: not before, not after
    Timestamp from;
    Timestamp to;
  };
  struct Story {  // as it is durable
    AttemptList list;
    std::uint16_t attempts = 0;
    std::uint8_t method = 0;
    std::vector<Start> starts;
    bool heard = false;  // of it by another way than its attempts
  };
  struct Now {
    const AttemptList& list;
    std::uint16_t attempts;
    std::uint8_t method;
    Phase phase;
    bool anew;  // its attempts may have been counted anew meanwhile
  };

  static bool looks_at(const MessageNote& note) {
    return !note.damaged && note.destination != nullptr && !note.destination->damaged &&
           note.destination->profile != nullptr;
  }
  static bool counts_anew(const MessageNote& note) {
    const ProfileSpec& profile = *note.destination->profile;
    const Method& method = profile.methods[note.method];
    const StateMask used = lifecycle_detail::used_states(method.initial, method.rows);
    for (std::size_t i = 0; i < profile.states.size(); ++i) {
      if (profile.states[i].refreshes && (used >> i & 1U) != 0) return true;
    }
    return false;
  }
  void complain(const MessageNote& note, std::string_view what) {
    verdicts_.violation(41, std::string(what) + ": " + to_string(note.id));
  }

  // What both of them have is the same, but what was open may have ended.
  static bool agree(const AttemptList& one, const AttemptList& other) {
    for (std::size_t i = 0; i < one.notes.size(); ++i) {
      const std::uint64_t number = one.earlier + i;
      if (number < other.earlier || number >= other.total()) continue;
      const AttemptNote& a = one.notes[i];
      const AttemptNote& b = other.notes[static_cast<std::size_t>(number - other.earlier)];
      const bool open = a.end == AttemptEnd::kOpen || b.end == AttemptEnd::kOpen;
      if (open ? a.at != b.at : a != b) return false;
    }
    return true;
  }

  void check(const MessageNote& note, const Now& now, const std::vector<Timestamp>& moved) {
    Story& story = stories_[note.id];
    check_size(note, now.list);
    if (!agree(story.list, now.list)) complain(note, "an attempt is told otherwise than before");
    if (kept_ > 0) {
      check_count(note, story, now);
      check_new(note, story, now.list, moved);
    }
    story.list = now.list;
    story.attempts = now.attempts;
    story.method = now.method;
  }

  void check_size(const MessageNote& note, const AttemptList& list) {
    if (list.notes.size() > kept_) complain(note, "too many attempts are kept");
    if (list.earlier > 0 && list.notes.size() < kept_)
      complain(note, "an attempt is left out though there is room");
  }

  // As many as its state counts; what it counted anew comes on top of what there was.
  void check_count(const MessageNote& note, const Story& story, const Now& now) {
    if (now.list.empty()) {
      const bool first = now.phase == Phase::kInFlight || now.phase == Phase::kAwaiting ||
                         now.phase == Phase::kDelivered;
      if (now.attempts > (first ? 1 : 0) || !story.list.empty())
        complain(note, "attempts are not told");
      return;
    }
    if (now.phase == Phase::kDelivered && now.list.total() == 1 && story.list.empty() &&
        !now.anew && now.list.notes[0].end == AttemptEnd::kDelivered)
      complain(note, "a message that was delivered at once costs more than it must");
    const std::uint64_t before = story.list.empty() ? story.attempts : story.list.total();
    if (now.list.total() < story.list.total()) complain(note, "an attempt is forgotten");
    const bool counts_on = !now.anew && now.method == story.method &&
                           now.attempts >= story.attempts && now.attempts < UINT16_MAX;
    if (counts_on && now.list.total() != before + now.attempts - story.attempts)
      complain(note, "attempts are not those that are counted");
  }

  // Those that began or ended since the last record.
  void check_new(const MessageNote& note, const Story& story, const AttemptList& list,
                 const std::vector<Timestamp>& moved) {
    const bool intent = note.destination->profile->methods[note.method].durable_intent;
    const std::uint64_t known = story.list.total() - (story.list.is_open() ? 1 : 0);
    Timestamp before = note.accepted;
    for (std::size_t i = 0; i < list.notes.size(); ++i) {
      const AttemptNote& one = list.notes[i];
      if (one.at < before) complain(note, "attempts are out of order");
      before = one.at + one.took.value_or(Duration(0));
      if (list.earlier + i < known) continue;
      const bool left = std::any_of(
          story.starts.begin(), story.starts.end(),
          [&one](const Start& start) { return start.from <= one.at && one.at <= start.to; });
      // News may come by another way. One that nobody answered may wait for a slow disk still, and
      // a crash may have kept one from leaving that was recorded.
      const bool answered =
          one.end == AttemptEnd::kDelivered ||
          (one.end == AttemptEnd::kFailed && one.failure != FailureClass::kTimeout);
      if (answered && !left && !intent && !story.heard)
        complain(note, "an attempt is told that never left");
      if (one.took && std::find(moved.begin(), moved.end(), before) == moved.end())
        complain(note, "an attempt ended when nothing happened");
    }
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  std::size_t kept_;
  std::unordered_map<MessageId, Story> stories_;
};

}  // namespace

std::unique_ptr<Checker> make_attempts_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<AttemptsChecker>(context, notebook);
}

}  // namespace postrider::sim
