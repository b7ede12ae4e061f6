// Checker 45: a wall that is more than a day ahead at a start, and that the kernel does not vouch
// for, is not believed before it has stood for ten minutes: until then engine time goes on from
// where the former process left it, so that nothing can expire or be forgotten.
#include <optional>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

constexpr Duration kBelieved{24h};
constexpr Duration kMustStand{10min};
constexpr Duration kSlack{2s};  // small errors are corrected at once when the wall is

class ClockChecker final : public Checker {
 public:
  ClockChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook), clock_(context.clock) {}

  void began(const Moment& when, Epoch /*epoch*/) override {
    const Meta& meta = notebook_.meta();
    const Instant now = clock_.read();
    doubt_.reset();
    if (!meta.clock_floor.is_set() || now.synchronised) return;
    if (now.wall + meta.wall.bias - meta.clock_floor > kBelieved)
      doubt_ = {meta.clock_floor, when.truth};
  }

  void batch(const Batch& batch) override {
    if (!doubt_ || !batch.meta) return;
    const Duration passed = batch.when.truth - doubt_->began;
    const Instant now = clock_.read();
    const Timestamp by_wall = now.wall + batch.meta->wall.bias;
    if (passed >= kMustStand || now.synchronised || by_wall - doubt_->floor <= kBelieved + passed) {
      doubt_.reset();
      return;
    }
    if (batch.meta->clock_floor > doubt_->floor + passed + kSlack)
      verdicts_.violation(45, "a wall that nobody vouches for was believed at once");
  }

 private:
  struct Doubt {
    Timestamp floor;  // engine time that the former process left
    Timestamp began;  // truth
  };

  Verdicts& verdicts_;
  Notebook& notebook_;
  const SimClock& clock_;
  std::optional<Doubt> doubt_;
};

}  // namespace

std::unique_ptr<Checker> make_clock_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<ClockChecker>(context, notebook);
}

}  // namespace postrider::sim
