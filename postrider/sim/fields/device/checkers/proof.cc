// Checker 23: proofs. A command of a careful class is sent again only when its last attempt is
// closed: it was not taken, the network server or the device said that it failed, two looks at the
// queue that succeeded were without it, or its expiry is long past. What went by a broker may lie
// there, so looks without it prove something only when it was at the server before. What a vendor
// accepted is never created again. Written from what was asked and answered, without the profile's
// own reading.
#include <unordered_map>

#include "postrider/protocols/chirpstack/chirpstack.h"
#include "postrider/protocols/chirpstack/events.h"
#include "postrider/sim/checkers/all.h"
#include "postrider/sim/fields/device/checkers/all.h"
#include "postrider/sim/fields/device/checkers/arrivals.h"
#include "postrider/sim/fields/device/checkers/notes.h"

namespace postrider::sim {
namespace {

constexpr Duration kApart{4'900};  // 5 s, by a clock that may be corrected meanwhile
constexpr Duration kMargin{60'000};

bool was_not_sent(WireEnd end) {
  return end == WireEnd::kRefused || end == WireEnd::kNoName || end == WireEnd::kNoTls ||
         end == WireEnd::kForbidden || end == WireEnd::kNoLogin || end == WireEnd::kHeldBack;
}

class ProofChecker final : public Checker {
 public:
  ProofChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook), clock_(context.clock) {}

  void began(const Moment& when, Epoch /*epoch*/) override { newest_ = when.incarnation; }

  void left(const Left& left) override {
    const MessageNote* note = notebook_.find(left.start.message);
    if (!is_command(note) || note->damaged || left.when.incarnation != newest_) return;
    Story& story = stories_[note->id];
    message_of_[{left.when.incarnation, left.start.attempt.value()}] = {note->id, left.call.sends,
                                                                        story.sends};
    if (!left.call.sends) return;
    if (story.task)
      verdicts_.violation(23, "created again although the vendor had it: " + to_string(note->id));
    if (story.sends > 0 && is_careful(*note) && !is_closed(story))
      verdicts_.violation(
          22, "sent again although the last attempt may still run: " + to_string(note->id));
    const std::uint16_t number = note->state ? note->state->attempts : std::uint16_t{0};
    story = {.sends = story.sends + 1, .number = number, .begun = left.when.truth};
    message_of_[{left.when.incarnation, left.start.attempt.value()}].attempt = story.sends;
    read_item(left.start.request, story);
    if (story.by_broker) published_[story.id] = note->id;
  }

  void outcome(const Outcomed& outcome) override {
    const auto at = message_of_.find({outcome.when.incarnation, outcome.attempt.value()});
    if (at == message_of_.end()) return;
    const Asked asked = at->second;
    message_of_.erase(at);
    Story& story = stories_[asked.id];
    const MessageNote* note = notebook_.find(asked.id);
    if (story.sends != asked.attempt || !is_command(note)) return;
    if (asked.sends) {
      story.not_taken = outcome.reply.of_first || is_refusal(*note, outcome.reply);
    } else if (command_of(*note)->is_push) {
      look(story, outcome);
    }
  }

  void batch(const Batch& batch) override {
    for (const Batch::NamePut& put : batch.names) {
      const auto item = item_in(put.tail);
      if (!item || put.entry.holders.empty()) continue;
      const NameEntry::Holder& holder = put.entry.holders.back();
      const auto at = stories_.find(holder.id);
      if (at == stories_.end() || at->second.number != holder.attempt) continue;
      Story& story = at->second;
      story.id = *item;
      story.absent = Timestamp();  // looks went by other marks before
      story.is_absent = false;
    }
    for (const ArrivalRecord& arrival : batch.arrivals) {
      const auto event = event_in(arrival);
      if (event && !event->queue_item_id.empty()) see(event->queue_item_id);
      if (event && (is_nack(*event) || says_discarded(*event)))
        closing_[event->dev_eui] = batch.when.truth;
    }
    for (const Batch::StatePut& put : batch.states) {
      if (is_command(put.note) && put.state.state == device::kAwaitTask)
        stories_[put.note->id].task = true;
    }
    for (const EndRecord& end : batch.ends) stories_.erase(end.id);
  }

 private:
  struct Story {
    std::uint32_t sends = 0;
    std::uint16_t number = 0;  // of the last attempt, as it is recorded
    Timestamp begun;           // true time of the last send
    std::string device;
    std::string data;
    std::string id;  // of the item, when somebody told
    std::optional<Timestamp> expires;
    bool not_taken = false;
    bool task = false;  // a vendor has accepted it
    Timestamp absent;   // true time of the first look without it since it was last seen
    bool is_absent = false;
    bool by_broker = false;
    bool seen = false;  // at the server: in its queue, or an event named it
  };
  struct Asked {
    MessageId id;
    bool sends = false;
    std::uint32_t attempt = 0;
  };
  struct AttemptHash {
    std::size_t operator()(const std::pair<Incarnation, std::uint64_t>& key) const {
      return key.first * 1'000'003 + key.second;
    }
  };

  static void read_item(const WireRequest& request, Story& story) {
    if (request.verb == "CALL") {
      if (const auto read = chirpstack::decode_enqueue(request.body)) keep(read->item, story);
    } else if (request.verb == "PUBLISH") {
      story.by_broker = true;
      if (const auto item = chirpstack::decode_downlink_command(request.body)) keep(*item, story);
    }
  }
  static void keep(const chirpstack::QueueItem& item, Story& story) {
    story.device = item.dev_eui;
    story.data = item.data;
    story.id = item.id;
    story.expires = item.expires_at;
  }

  // The words of the specification: what says surely that nothing was taken.
  static bool is_refusal(const MessageNote& note, const WireReply& reply) {
    if (reply.end != WireEnd::kAnswered) return was_not_sent(reply.end);
    if (command_of(note)->is_push)
      return reply.status == 16 || reply.status == 7 || reply.status == 8;
    const std::string* type = find_text(reply.headers, "content-type");
    const bool page = type != nullptr && type->find("html") != std::string::npos;
    return (reply.status >= 400 && reply.status < 500) || (reply.status == 200 && !page);
  }

  static bool expires_apart(const chirpstack::QueueItem& item, const Story& story) {
    return item.expires_at && story.expires && *item.expires_at != *story.expires;
  }

  void look(Story& story, const Outcomed& outcome) const {
    if (outcome.reply.end != WireEnd::kAnswered || outcome.reply.status != 0) return;
    const auto queue = chirpstack::decode_get_queue_response(outcome.reply.body);
    if (!queue) return;
    bool there = false;
    for (const chirpstack::QueueItem& item : queue->items) {
      const bool same = story.id.empty() ? item.data == story.data && !expires_apart(item, story)
                                         : item.id == story.id;
      there = there || same;
    }
    if (there) {
      story.seen = true;
      story.absent = Timestamp();
      story.is_absent = false;
    } else if (!story.absent.is_set()) {
      story.absent = outcome.when.truth;
    } else if (outcome.when.truth - story.absent >= kApart ||
               clock_.worst_error_since(story.absent) > Duration(1'000)) {
      story.is_absent = true;
    }
  }

  bool is_closed(const Story& story) const {
    const bool gone = story.is_absent && (!story.by_broker || story.seen);
    if (story.not_taken || gone) return true;
    // The wall may have been set back since that was seen.
    const Timestamp wall = clock_.read().wall + 2 * clock_.worst_error_since(story.begun);
    if (story.expires && wall >= *story.expires + kMargin) return true;
    const auto closing = closing_.find(story.device);
    return closing != closing_.end() && closing->second >= story.begun;
  }

  void see(const std::string& item) {
    const auto at = published_.find(item);
    const auto story = at == published_.end() ? stories_.end() : stories_.find(at->second);
    if (story != stories_.end() && story->second.id == item) story->second.seen = true;
  }

  static bool is_nack(const chirpstack::Event& event) {
    return event.kind == chirpstack::EventKind::kAck && !event.acknowledged;
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  const SimClock& clock_;
  Incarnation newest_ = 0;
  std::unordered_map<MessageId, Story> stories_;
  std::unordered_map<std::pair<Incarnation, std::uint64_t>, Asked, AttemptHash> message_of_;
  std::unordered_map<std::string, MessageId> published_;  // by the id that we chose
  std::unordered_map<std::string, Timestamp> closing_;    // last news of the kind, by device
};

}  // namespace

std::unique_ptr<Checker> make_proof_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<ProofChecker>(context, notebook);
}

}  // namespace postrider::sim
