// Checker 38: history. Whoever keeps the content of what has ended has it from the commit of the
// end until its retention removes it, and nobody else has any. A job that sends it again sends what
// fits its filter, as it was, in the order of acceptance, and counts it.
#include <map>
#include <set>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class HistoryChecker final : public Checker {
 public:
  HistoryChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void batch(const Batch& batch) override {
    check_ends(batch);
    for (const Batch::KeptPut& put : batch.kept) kept_[put.end.id] = put;
    check_sent_again(batch);
    for (const Write& write : batch.applied.batch.writes()) {
      if (write.key[0] == keys::kHistory && write.kind != Write::Kind::kPut) forget(write);
    }
  }

  void damaged(const Moment& /*when*/, std::string_view key) override {
    if (key[0] == keys::kHistory) damaged_.emplace(key);
  }

 private:
  void complain(const std::string& what) { verdicts_.violation(38, what); }

  static bool keeps(const DestinationNote& note) {
    const std::string* text = find_text(note.config.settings, "history");
    return text != nullptr && (*text == "on" || *text == "1");
  }

  // Within the commit that changes a destination either may have come first.
  void check_ends(const Batch& batch) {
    const std::set<const DestinationNote*> changed(batch.configured.begin(),
                                                   batch.configured.end());
    std::map<MessageId, const Batch::KeptPut*> puts;
    for (const Batch::KeptPut& put : batch.kept) puts[put.end.id] = &put;
    for (const EndRecord& end : batch.ends) {
      const DestinationNote* destination = notebook_.find(end.id.destination());
      const MessageNote* note = notebook_.find(end.id);
      const auto put = puts.find(end.id);
      const bool letter = end.phase == Phase::kDead || end.phase == Phase::kExpired;
      if (put != puts.end() && (letter || put->second->end.phase != end.phase))
        complain("the history tells another end: " + to_string(end.id));
      if (put != puts.end() && note != nullptr && put->second->body_hash != note->body_hash)
        complain("the history has other content: " + to_string(end.id));
      if (destination == nullptr || changed.contains(destination) || letter) continue;
      if (keeps(*destination) != (put != puts.end()))
        complain((put == puts.end() ? "no history of " : "history that nobody wants of ") +
                 to_string(end.id));
    }
  }

  void forget(const Write& write) {
    if (write.kind == Write::Kind::kRemoveRange) {
      std::erase_if(kept_, [&](const auto& item) {
        const std::string key = keys::history(item.second.bucket, item.first);
        return key >= write.key && key < write.last;
      });
      return;
    }
    std::erase_if(kept_, [&](const auto& item) {
      return keys::history(item.second.bucket, item.first) == write.key;
    });
    if (!damaged_.contains(write.key)) complain("good history was removed");
  }

  // What a job sends again has the content of its origin. Whatever else follows from a message says
  // something of its own.
  void check_sent_again(const Batch& batch) {
    const Job* only = nullptr;
    std::uint64_t told = 0;
    std::size_t jobs = 0;
    for (const Batch::JobPut& put : batch.jobs) {
      const Job before = put.before.value_or(Job{});
      if (put.job.order.action != JobAction::kResend || put.job.done == before.done) continue;
      told += put.job.done - before.done;
      if (only == nullptr || only->id != put.job.id) ++jobs;
      only = &put.job;
    }
    std::uint64_t sent = 0;
    for (const MessageNote* note : batch.entered) {
      const auto origin = kept_.find(note->origin);
      if (origin == kept_.end() || origin->second.body_hash != note->body_hash) continue;
      ++sent;
      if (jobs == 1) check_one(*only, origin->second.end);
    }
    if (sent != told)
      complain("jobs sent " + std::to_string(told) + " again, and " + std::to_string(sent) +
               " came");
  }

  void check_one(const Job& job, const DeadLetter& end) {
    const JobFilter& filter = job.order.filter;
    if (end.phase != filter.phase.value_or(Phase::kDelivered))
      complain("a job sends again what ended otherwise: " + to_string(end.id));
    if (end.at < filter.since || (filter.until.is_set() && end.at >= filter.until))
      complain("a job sends again what ended at another time: " + to_string(end.id));
    const auto [last, is_new] = last_.try_emplace({job.id.value(), end.id.high}, end.id.low);
    if (!is_new && end.id.low <= last->second)
      complain("a job sends again out of order, or twice: " + to_string(end.id));
    last->second = end.id.low;
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  std::map<MessageId, Batch::KeptPut> kept_;
  std::set<std::string, std::less<>> damaged_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> last_;
};

}  // namespace

std::unique_ptr<Checker> make_history_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<HistoryChecker>(context, notebook);
}

}  // namespace postrider::sim
