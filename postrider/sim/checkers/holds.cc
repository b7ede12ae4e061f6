// Checker 34: holds. Once somebody was told that everything of a kind is held, nothing of it is
// started until somebody asks to release it.
#include <map>
#include <string>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class HoldsChecker final : public Checker {
 public:
  HoldsChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void began(const Moment& when, Epoch /*epoch*/) override { newest_ = when.incarnation; }

  void asked(const Asked& asked) override {
    if (const auto* put = std::get_if<PutHold>(&asked.event)) {
      standing_.erase(put->rule.name);  // it may change at any time from now on
      puts_[asked.ticket.value()] = put->rule;
      ++changes_[put->rule.name];
      asked_at_[asked.ticket.value()] = changes_[put->rule.name];
    }
    if (const auto* drop = std::get_if<DropHold>(&asked.event)) {
      standing_.erase(drop->name);
      ++changes_[drop->name];
    }
  }

  void told(const Told& told) override {
    const auto put = puts_.find(told.ticket.value());
    if (put == puts_.end()) return;
    const bool holds = !told.answer.replayed && (told.answer.code == AnswerCode::kDone ||
                                                 told.answer.code == AnswerCode::kNothing);
    // Nobody asked for anything else meanwhile, and it is the owner who says it.
    if (holds && asked_at_[told.ticket.value()] == changes_[put->second.name] &&
        told.when.incarnation == newest_)
      standing_[put->second.name] = {put->second, told.when.engine};
    puts_.erase(put);
  }

  void left(const Left& left) override {
    if (left.when.incarnation != newest_ || !is_send(left.call)) return;
    const MessageNote* note = notebook_.find(left.start.message);
    if (note == nullptr || note->destination == nullptr || note->destination->damaged) return;
    const DestinationConfig& config = note->destination->config;
    for (const auto& [name, standing] : standing_) {
      if (left.decided_after <= standing.told || note->destination->configured > standing.told)
        continue;
      if (fits(standing.rule, config))
        verdicts_.violation(34, "an attempt was started though it is held by " + name + ": " +
                                    to_string(left.start.message));
    }
  }

 private:
  struct Standing {
    HoldRule rule;
    Timestamp told;  // engine time
  };

  static bool fits(const HoldRule& rule, const DestinationConfig& config) {
    const std::string* tenant = find_text(config.settings, "tenant");
    if (!rule.tenant.empty() && (tenant == nullptr || *tenant != rule.tenant)) return false;
    return config.name.starts_with(rule.destination_prefix) &&
           (rule.profile.empty() || rule.profile == config.profile);
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  Incarnation newest_ = 0;
  std::map<std::uint64_t, HoldRule> puts_;  // by ticket
  std::map<std::uint64_t, std::uint64_t> asked_at_;
  std::map<std::string, std::uint64_t> changes_;
  std::map<std::string, Standing> standing_;
};

}  // namespace

std::unique_ptr<Checker> make_holds_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<HoldsChecker>(context, notebook);
}

}  // namespace postrider::sim
