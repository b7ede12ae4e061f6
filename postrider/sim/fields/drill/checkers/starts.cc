// Checker 19, of the drill: a first start that sends a message on does so in its own commit, once.
#include <set>

#include "postrider/sim/fields/drill/checkers/all.h"

namespace postrider::sim {
namespace {

class StartsChecker final : public Checker {
 public:
  explicit StartsChecker(const CheckerContext& context) : verdicts_(context.verdicts) {}

  void batch(const Batch& batch) override {
    std::set<MessageId> told;
    for (const NestedRecord& nested : batch.nested) {
      const auto texts = decode_texts(nested.attributes);
      if (!texts || find_text(*texts, "began") == nullptr) continue;
      if (!told.insert(nested.from).second || begun_.contains(nested.from))
        verdicts_.violation(19, "a start was told twice: " + to_string(nested.from));
    }
    for (const auto& [note, state] : batch.steps) {
      if (note->begins.empty() || state.attempts == 0 || note->damaged ||
          note->destination == nullptr || !begun_.insert(note->id).second)
        continue;
      if (!told.contains(note->id))
        verdicts_.violation(19, "a start was not told in its commit: " + to_string(note->id));
    }
  }

 private:
  Verdicts& verdicts_;
  std::set<MessageId> begun_;  // those with a start that is told
};

}  // namespace

std::unique_ptr<Checker> make_starts_checker(const CheckerContext& context,
                                             Notebook& /*notebook*/) {
  return std::make_unique<StartsChecker>(context);
}

}  // namespace postrider::sim
