// Checker 40: what is counted by state is everything that lives. Goes by the figures that anybody
// may ask for.
#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class CensusChecker final : public Checker {
 public:
  CensusChecker(const CheckerContext& context, Notebook& /*notebook*/)
      : verdicts_(context.verdicts) {}

  // What nobody can read is in quarantine, and lives on without a state.
  void damaged(const Moment& /*when*/, std::string_view /*key*/) override { blind_ = true; }

  void told(const Told& told) override {
    const auto* stats = std::get_if<Stats>(&told.answer.view);
    if (stats == nullptr || !stats->all_counted || blind_) return;
    std::uint64_t counted = 0;
    for (const Stats::InState& one : stats->in_states) counted += one.messages;
    if (counted != stats->counters.live())
      verdicts_.violation(40, std::to_string(counted) + " messages are counted by state, and " +
                                  std::to_string(stats->counters.live()) + " live");
  }

 private:
  Verdicts& verdicts_;
  bool blind_ = false;
};

}  // namespace

std::unique_ptr<Checker> make_census_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<CensusChecker>(context, notebook);
}

}  // namespace postrider::sim
