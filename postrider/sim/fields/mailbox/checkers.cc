#include "postrider/sim/fields/mailbox/checkers.h"

#include <map>
#include <set>
#include <string>

namespace postrider::sim {
namespace {

// Checker 52: a reading has everything that waited all the time behind its cursor, in the order of
// acceptance, and nothing that was confirmed before it was asked for. Nothing is sent, and a quota
// holds.
class MailboxChecker final : public Checker {
 public:
  MailboxChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void began(const Moment& when, Epoch /*epoch*/) override {
    newest_ = when.incarnation;
    readings_.clear();
    confirms_.clear();
  }
  void damaged(const Moment& /*when*/, std::string_view /*key*/) override { damaged_ = true; }

  void left(const Left& left) override {
    verdicts_.violation(52, "something left a mailbox: " + to_string(left.start.message));
  }

  void batch(const Batch& batch) override {
    for (const DestinationNote* note : batch.configured) {
      if (!configured_.insert(note->id.value()).second) changed_.insert(note->id.value());
    }
    std::set<std::uint64_t> grown;
    for (const MessageNote* note : batch.entered) {
      waiting_[note->id.destination().value()].insert(note->id);
      grown.insert(note->id.destination().value());
    }
    for (const MessageNote* note : batch.left)
      waiting_[note->id.destination().value()].erase(note->id);
    for (const std::uint64_t number : grown) check_quota(number);
  }

  void asked(const Asked& asked) override {
    if (const auto* query = std::get_if<Query>(&asked.event);
        query != nullptr && query->what == Query::What::kReadMailbox) {
      const DestinationId id = destination_id(query->destination, query->destination, 0);
      readings_[asked.ticket.value()] = {query->id, waiting_[id.value()], ended_};
    }
    if (const auto* confirm = std::get_if<Confirm>(&asked.event))
      confirms_[asked.ticket.value()] = {confirm->ids.begin(), confirm->ids.end()};
  }

  void told(const Told& told) override {
    if (told.when.incarnation != newest_) return;
    if (const auto found = confirms_.find(told.ticket.value()); found != confirms_.end()) {
      if (std::holds_alternative<Confirmed>(told.answer.view))
        ended_.insert(found->second.begin(), found->second.end());
      confirms_.erase(found);
    }
    const auto found = readings_.find(told.ticket.value());
    if (found == readings_.end()) return;
    if (const auto* page = std::get_if<MailboxPage>(&told.answer.view)) check(found->second, *page);
    readings_.erase(found);
  }

 private:
  struct Reading {
    MessageId after;
    std::set<MessageId> waiting;    // when it was asked for
    std::set<MessageId> confirmed;  // before it was asked for
  };

  void check(const Reading& reading, const MailboxPage& page) {
    std::set<MessageId> seen;
    MessageId last = reading.after;
    for (const MailboxPage::Item& item : page.items) {
      if (last.is_set() && item.id <= last)
        verdicts_.violation(52, "a reading is not in order: " + to_string(item.id));
      if (reading.confirmed.contains(item.id))
        verdicts_.violation(52, "read though it was confirmed: " + to_string(item.id));
      last = item.id;
      seen.insert(item.id);
    }
    if (damaged_) return;
    for (const MessageId& id : reading.waiting) {
      const auto& waiting = waiting_[id.destination().value()];
      if (seen.contains(id) || !waiting.contains(id)) continue;
      const bool behind = !reading.after.is_set() || reading.after < id;
      if (behind && (!page.more || id < last))
        verdicts_.violation(52, "left out of a reading: " + to_string(id));
    }
  }

  void check_quota(std::uint64_t number) {
    const std::set<MessageId>& waiting = waiting_[number];
    if (waiting.empty() || damaged_ || changed_.contains(number)) return;
    const MessageNote* note = notebook_.find(*waiting.begin());
    if (note == nullptr || note->destination == nullptr) return;
    const std::uint64_t most = note->destination->policy.kept_max;
    if (most != 0 && waiting.size() > most)
      verdicts_.violation(52, "a mailbox holds more than it may: " + to_string(note->id));
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  Incarnation newest_ = 0;
  bool damaged_ = false;
  std::map<std::uint64_t, std::set<MessageId>> waiting_;  // by mailbox
  std::set<std::uint64_t> configured_;
  std::set<std::uint64_t> changed_;  // again, so that an old quota may have let more in
  std::set<MessageId> ended_;        // told to a reader as confirmed
  std::map<std::uint64_t, Reading> readings_;
  std::map<std::uint64_t, std::set<MessageId>> confirms_;
};

// Checker 53: who waits for a message is told of its end, and of nothing else.
class AwaitChecker final : public Checker {
 public:
  AwaitChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void began(const Moment& when, Epoch /*epoch*/) override {
    newest_ = when.incarnation;
    awaits_.clear();
  }
  void batch(const Batch& batch) override {
    ++serial_;
    for (const EndRecord& end : batch.ends) ended_.emplace(end.id, serial_);
  }
  void asked(const Asked& asked) override {
    if (const auto* await = std::get_if<Await>(&asked.event);
        await != nullptr && await->id.is_set())
      awaits_[asked.ticket.value()] = await->id;
  }
  void told(const Told& told) override {
    const auto found = awaits_.find(told.ticket.value());
    if (found == awaits_.end()) return;
    const MessageId id = found->second;
    awaits_.erase(found);
    const MessageNote* note = notebook_.find(id);
    if (told.when.incarnation != newest_ || note == nullptr || note->damaged) return;
    const auto end = ended_.find(id);
    if (told.answer.code == AnswerCode::kPending && end != ended_.end() && end->second < serial_)
      verdicts_.violation(53, "who waited was not told of the end of " + to_string(id));
    if (told.answer.code == AnswerCode::kDone && end == ended_.end())
      verdicts_.violation(53,
                          "who waited was told of the end of " + to_string(id) + ", which lives");
  }

 private:
  Verdicts& verdicts_;
  Notebook& notebook_;
  Incarnation newest_ = 0;
  std::uint64_t serial_ = 0;
  std::map<MessageId, std::uint64_t> ended_;  // in which commit
  std::map<std::uint64_t, MessageId> awaits_;
};

}  // namespace

std::unique_ptr<Checker> make_mailbox_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<MailboxChecker>(context, notebook);
}

std::unique_ptr<Checker> make_await_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<AwaitChecker>(context, notebook);
}

}  // namespace postrider::sim
