// Checker 51, of the drill: a send to a sealed destination bears the seal of the key file that the
// destination names.
#include "postrider/sim/fields/drill/checkers/all.h"
#include "postrider/sim/fields/drill/drill.h"

namespace postrider::sim {
namespace {

class SealChecker final : public Checker {
 public:
  SealChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), secrets_(context.shard.engine.secrets), notebook_(notebook) {}

  void left(const Left& left) override {
    const MessageNote* note = notebook_.find(left.start.message);
    if (!left.call.sends || note == nullptr || note->destination == nullptr) return;
    const DestinationNote& destination = *note->destination;
    if (destination.damaged || destination.configured >= left.decided_after) return;
    const std::string* seal = find_text(destination.config.settings, "seal");
    const std::string_view said = left.start.request.headers.find("drill-seal");
    const std::string right =
        seal == nullptr
            ? std::string()
            : std::to_string(drill_seal(secrets_->find(*seal), left.start.request.body));
    if (said != right) verdicts_.violation(51, "a send bears another seal than it should");
  }

 private:
  Verdicts& verdicts_;
  std::shared_ptr<const Secrets> secrets_;
  Notebook& notebook_;
};

}  // namespace

std::unique_ptr<Checker> make_seal_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<SealChecker>(context, notebook);
}

}  // namespace postrider::sim
