// Checker 17: news that was acknowledged is durable, as it came.
#include <map>
#include <set>
#include <string>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class NewsChecker final : public Checker {
 public:
  explicit NewsChecker(const CheckerContext& context) : verdicts_(context.verdicts) {}

  void damaged(const Moment& /*when*/, std::string_view key) override {
    if (key[0] == keys::kName || key[0] == keys::kPendingNews || key[0] == keys::kArrival)
      blind_ = true;
  }

  void asked(const Asked& asked) override {
    if (const auto* arrived = std::get_if<Arrived>(&asked.event))
      brought_[asked.ticket.value()] = arrived->bytes;
  }
  void told(const Told& told) override {
    const auto at = brought_.find(told.ticket.value());
    if (at == brought_.end()) return;
    // A repeat need not be the same bytes, when its caller says what makes it a repeat.
    const bool done = told.answer.code == AnswerCode::kDone && !told.answer.replayed;
    if (done && !durable_.contains(at->second) && !blind_)
      verdicts_.violation(17, "news was acknowledged that is not durable: " + at->second);
    brought_.erase(at);
  }

  void batch(const Batch& batch) override {
    for (const ArrivalRecord& arrival : batch.arrivals) durable_.insert(arrival.bytes);
  }

 private:
  Verdicts& verdicts_;
  bool blind_ = false;  // records that this goes by were damaged
  std::map<std::uint64_t, std::string> brought_;
  std::set<std::string> durable_;
};

}  // namespace

std::unique_ptr<Checker> make_news_checker(const CheckerContext& context, Notebook& /*notebook*/) {
  return std::make_unique<NewsChecker>(context);
}

}  // namespace postrider::sim
