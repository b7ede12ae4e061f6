// Checker 22: events. The first start of a command and its end are each told once, in the commit in
// which they happen, under an id that nobody else has; what an event says of the end is what the
// end itself says; and every event becomes a message, in the order of telling, or the log says why
// not. What came in unasked and concerns no command is told as well, in its commit.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "postrider/profiles/device/news.h"
#include "postrider/profiles/device/notes.h"
#include "postrider/profiles/device/profile.h"
#include "postrider/sim/checkers/all.h"
#include "postrider/sim/fields/device/checkers/all.h"
#include "postrider/sim/fields/device/checkers/notes.h"

namespace postrider::sim {
namespace {

class EventChecker final : public Checker {
 public:
  EventChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), destinations_(context.destinations), notebook_(notebook) {}

  void batch(const Batch& batch) override {
    for (const NestedRecord& nested : batch.nested) note_told(nested);
    check_unsolicited(batch);
    for (const Batch::StatePut& put : batch.states) check_start(put);
    for (const EndRecord& end : batch.ends) check_end(end);
    told_now_.clear();
    for (const MessageNote* note : batch.entered) {
      if (event_of(*note) != nullptr) arrive(*note);
    }
    for (const LogEntry& entry : batch.log) {
      if (entry.kind == LogEntry::Kind::kUnsent) ++unsent_[entry.id];
    }
  }

  void finished(const Finished& /*finished*/) override {
    for (const auto& [id, count] : owed_) {
      const auto unsent = unsent_.find(id);
      if (count > (unsent == unsent_.end() ? 0 : unsent->second))
        verdicts_.violation(22, "an event became no message: " + to_string(id));
    }
  }

 private:
  struct Story {
    std::uint32_t starts = 0;
    std::uint32_t ends = 0;
  };

  void note_told(const NestedRecord& nested) {
    const auto texts = decode_texts(nested.attributes);
    const auto event = texts ? read_event(*texts, nested.body) : std::nullopt;
    if (!event) return;
    if (!ids_.insert(event->id).second)
      verdicts_.violation(22, "two events have one id: " + event->id);
    ++owed_[nested.from];
    if (event->unsolicited) return;
    told_[nested.from].push_back(event->id);
    told_now_[nested.from].push_back(*event);
    Story& story = stories_[nested.from];
    const bool start = event->status == "SENT_TO_NS";
    ++(start ? story.starts : story.ends);
    if (story.starts > 1 || story.ends > 1)
      verdicts_.violation(22, "told twice (" + event->status + "): " + to_string(nested.from));
    if (start && story.ends > 0)
      verdicts_.violation(22, "a start was told behind the end: " + to_string(nested.from));
  }

  // Queues of a plugin all name its consumer.
  NamedTexts settings_of(std::string_view plugin) const {
    for (const DestinationConfig& destination : destinations_) {
      const std::string* const name = find_text(destination.settings, "plugin");
      if (name != nullptr && *name == plugin) return destination.settings;
    }
    return {};
  }

  // What came in and is for the consumer, whatever command there is, goes on in the same commit.
  void check_unsolicited(const Batch& batch) {
    std::size_t wanted = 0;
    for (const ArrivalRecord& arrival : batch.arrivals) {
      if (arrival.profile == kDevice.name)
        wanted += device::receive({arrival.source, settings_of(arrival.source.origin),
                                   arrival.bytes, arrival.at, arrival.at})
                      .submits.size();
    }
    const auto sent = static_cast<std::size_t>(
        std::count_if(batch.nested.begin(), batch.nested.end(),
                      [](const NestedRecord& nested) { return !nested.from.is_set(); }));
    if (wanted != sent)
      verdicts_.violation(22, std::to_string(wanted) + " arrivals were to be told, and " +
                                  std::to_string(sent) + " were");
  }

  const EventNote* told_now(MessageId id, bool start) const {
    const auto at = told_now_.find(id);
    if (at == told_now_.end()) return nullptr;
    for (const EventNote& event : at->second) {
      if ((event.status == "SENT_TO_NS") == start) return &event;
    }
    return nullptr;
  }

  void check_start(const Batch::StatePut& put) {
    const MessageNote& note = *put.note;
    if (!is_command(&note) || note.damaged || !command_of(note)->is_told) return;
    const bool first = put.state.attempts == 1 && (!put.before || put.before->attempts == 0);
    if (first && told_now(note.id, true) == nullptr && stories_[note.id].starts == 0)
      verdicts_.violation(22, "a first start was not told: " + to_string(note.id));
  }

  void check_end(const EndRecord& end) {
    const MessageNote* note = notebook_.find(end.id);
    if (!is_command(note) || note->damaged) return;
    const bool cancelled = end.phase == Phase::kCancelled;
    const bool wanted = cancelled ? command_of(*note)->cancel_is_told : command_of(*note)->is_told;
    const EventNote* told = told_now(end.id, false);
    if (wanted != (told != nullptr))
      return verdicts_.violation(
          21, std::string(wanted ? "an end was not told: " : "an end was told to nobody: ") +
                  to_string(end.id));
    if (told == nullptr) return;
    const device::Notes notes = device::decode_notes(end.notes);
    if (told->outcome != notes.outcome || told->may_have_run != notes.may_have_run)
      verdicts_.violation(22, "an end was told otherwise than it is: " + to_string(end.id));
  }

  void arrive(const MessageNote& note) {
    const MessageNote* redriven = note.origin.is_set() ? notebook_.find(note.origin) : nullptr;
    if (redriven != nullptr && event_of(*redriven) != nullptr)
      return;  // an operator sends it again
    const auto at = owed_.find(note.origin);
    if (at == owed_.end() || at->second == 0)
      return verdicts_.violation(22, "an event that nobody told of: " + to_string(note.id));
    if (--at->second == 0) owed_.erase(at);
    check_line(note);
  }

  // Those of one command come in the order in which they were told; one may be missing for which
  // there was no destination.
  void check_line(const MessageNote& note) {
    std::vector<std::string>& line = told_[note.origin];
    const auto place = std::find(line.begin(), line.end(), event_of(note)->id);
    if (place == line.end()) {
      if (!event_of(note)->unsolicited)
        verdicts_.violation(22, "an event came behind a later one: " + to_string(note.id));
      return;
    }
    line.erase(line.begin(), place + 1);
  }

  Verdicts& verdicts_;
  const std::vector<DestinationConfig>& destinations_;
  Notebook& notebook_;
  std::set<std::string> ids_;
  std::unordered_map<MessageId, Story> stories_;
  std::map<MessageId, std::vector<EventNote>> told_now_;  // by this batch
  std::map<MessageId, std::uint32_t> owed_;               // told, and no message yet
  std::map<MessageId, std::uint32_t> unsent_;
  std::unordered_map<MessageId, std::vector<std::string>> told_;  // ids of events, in order
};

}  // namespace

std::unique_ptr<Checker> make_event_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<EventChecker>(context, notebook);
}

}  // namespace postrider::sim
