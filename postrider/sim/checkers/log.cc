// Checker 2, for the log: a reader gets every entry once, in order, over restarts; an entry never
// changes; a reader that fell behind is told so; and the end of the log is the end.
#include <iterator>
#include <map>
#include <unordered_map>

#include "postrider/base/hash.h"
#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

std::uint64_t hash_of(const LogEntry& entry) {
  std::string text = to_string(entry.id) + entry.reason;
  text += static_cast<char>(entry.kind);
  text += static_cast<char>(entry.phase);
  text += static_cast<char>(entry.cause);
  return hash64(text, static_cast<std::uint64_t>(entry.at.ms()) ^ entry.attempts);
}

class LogChecker final : public Checker {
 public:
  LogChecker(const CheckerContext& context, Notebook& /*notebook*/) : verdicts_(context.verdicts) {}

  void batch(const Batch& batch) override {
    for (const Write& write : batch.applied.batch.writes()) {
      if (write.kind != Write::Kind::kRemoveRange || write.key[0] != keys::kLog) continue;
      const auto first = keys::parse_bucketed(write.last + std::string(8, '\0'));
      if (first) removed_before_ = std::max(removed_before_, first->bucket);
      const auto kept = entries_.lower_bound(LogPosition{removed_before_, 0, 0});
      if (kept != entries_.begin()) last_removed_ = std::prev(kept)->first;
      entries_.erase(entries_.begin(), kept);
    }
    for (const LogEntry& entry : batch.log) {
      if (!entries_.empty() && entry.position < entries_.rbegin()->first)
        verdicts_.violation(2, "the log was written out of order");
      entries_.emplace(entry.position, hash_of(entry));
    }
  }

  void asked(const Asked& asked) override {
    const auto* query = std::get_if<Query>(&asked.event);
    if (query == nullptr || query->what != Query::What::kLog) return;
    const bool any = !entries_.empty();
    questions_[asked.ticket.value()] = {query->from, any ? entries_.rbegin()->first : LogPosition(),
                                        any,
                                        query->from.bucket != 0 && query->from <= last_removed_};
  }

  void told(const Told& told) override {
    const auto question = questions_.find(told.ticket.value());
    if (question == questions_.end()) return;
    if (const auto* page = std::get_if<LogPage>(&told.answer.view)) check(question->second, *page);
    questions_.erase(question);
  }

 private:
  struct Question {
    LogPosition from;
    LogPosition last;  // durable when it was asked
    bool any = false;
    bool behind = false;  // what it asks for was removed by then
  };

  void check(const Question& question, const LogPage& page) {
    const bool behind = question.from.bucket != 0 && question.from <= last_removed_;
    if (page.fell_behind && !behind)
      verdicts_.violation(2, "a reader was told to have fallen behind and had not");
    if (!page.fell_behind && question.behind)
      verdicts_.violation(2, "a reader fell behind and was not told");
    LogPosition expected = question.from;
    for (const LogEntry& entry : page.entries) {
      if (entry.position.bucket < removed_before_) continue;  // gone since
      const auto at = entries_.lower_bound(expected);
      if (at == entries_.end())
        return verdicts_.violation(2, "a log entry was told that is not durable");
      if (at->first != entry.position && at->first.bucket >= removed_before_ &&
          expected.bucket >= removed_before_) {
        return verdicts_.violation(2, "a reader of the log missed an entry");
      }
      const auto same = entries_.find(entry.position);
      if (same == entries_.end() || same->second != hash_of(entry))
        return verdicts_.violation(2, "a log entry changed");
      expected = {entry.position.bucket, entry.position.page, entry.position.index + 1};
    }
    // Whoever goes on from `next` must not miss what was durable when the question was asked.
    const auto skipped = entries_.lower_bound(expected);
    const bool known = question.any && skipped != entries_.end() && skipped->first <= question.last;
    if (known && skipped->first < page.next)
      verdicts_.violation(2, "a reader of the log is led past an entry");
    if (known && page.at_end) verdicts_.violation(2, "the end of the log was told before its end");
  }

  Verdicts& verdicts_;
  std::map<LogPosition, std::uint64_t> entries_;
  std::unordered_map<std::uint64_t, Question> questions_;
  keys::Bucket removed_before_ = 0;
  LogPosition last_removed_;  // the newest entry that retention took
};

}  // namespace

std::unique_ptr<Checker> make_log_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<LogChecker>(context, notebook);
}

}  // namespace postrider::sim
