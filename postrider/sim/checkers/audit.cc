// Checker 33: the audit. Whoever was told that something was done finds it in the audit, with their
// name and what they did, and it was durable before they were told.
#include <map>
#include <set>
#include <string>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

// The action and the target of an operator's command; nothing of what operators do not ask for.
struct DeedOf {
  const IdCodec& ids;
  using AuditLine = std::optional<std::string>;
  static AuditLine of(std::string_view action, const std::string& target) {
    return std::string(action) + " " + target;
  }
  AuditLine operator()(const Cancel& e) const { return of("cancel", ids.text(e.id)); }
  AuditLine operator()(const RetryNow& e) const { return of("retry", ids.text(e.id)); }
  AuditLine operator()(const Redrive& e) const { return of("redrive", ids.text(e.id)); }
  AuditLine operator()(const Drop& e) const { return of("drop", ids.text(e.id)); }
  AuditLine operator()(const Configure& e) const {
    return of(e.config.draining  ? "drain"
              : e.config.removed ? "remove"
              : e.merge          ? "limits"
                                 : "configure",
              e.config.name);
  }
  AuditLine operator()(const Pause& e) const { return of("pause", e.destination); }
  AuditLine operator()(const Resume& e) const { return of("resume", e.destination); }
  AuditLine operator()(const Wake& e) const { return of("wake", e.destination); }
  AuditLine operator()(const PutHold& e) const { return of("hold", e.rule.name); }
  AuditLine operator()(const ChangeGroup& e) const {
    switch (e.what) {
      case ChangeGroup::What::kPut: return of("group-put", e.group.name);
      case ChangeGroup::What::kAdd: return of("group-add", e.group.name);
      case ChangeGroup::What::kRemove: return of("group-remove", e.group.name);
      case ChangeGroup::What::kDrop: return of("group-drop", e.group.name);
    }
    return std::nullopt;
  }
  AuditLine operator()(const DropHold& e) const { return of("release", e.name); }
  AuditLine operator()(const CancelJob& e) const { return of("job-cancel", to_string(e.job)); }
  template <class Other>
  AuditLine operator()(const Other& /*other*/) const {
    return std::nullopt;
  }
};

class AuditChecker final : public Checker {
 public:
  AuditChecker(const CheckerContext& context, Notebook& /*notebook*/)
      : verdicts_(context.verdicts), ids_(context.shard.engine.id_key) {}

  void asked(const Asked& asked) override {
    if (const auto line = std::visit(DeedOf{ids_}, asked.event))
      deeds_[asked.ticket.value()] = *line;
  }

  void told(const Told& told) override {
    const auto line = deeds_.find(told.ticket.value());
    if (line == deeds_.end()) return;
    const AnswerCode code = told.answer.code;
    const bool changed =
        code == AnswerCode::kDone || code == AnswerCode::kAccepted || code == AnswerCode::kPending;
    if (changed && !told.answer.replayed && !told_.contains(line->second))
      verdicts_.violation(33, "an operator's action is not in the audit: " + line->second);
    deeds_.erase(line);
  }

  void batch(const Batch& batch) override {
    for (const AuditRecord& audit : batch.audits) {
      if (audit.actor.empty()) verdicts_.violation(33, "an action of nobody is in the audit");
      told_.insert(audit.action + " " + audit.target);
    }
  }

 private:
  Verdicts& verdicts_;
  const IdCodec ids_;  // the audit tells of messages as operators know them
  std::map<std::uint64_t, std::string> deeds_;  // by ticket
  std::set<std::string> told_;
};

}  // namespace

std::unique_ptr<Checker> make_audit_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<AuditChecker>(context, notebook);
}

}  // namespace postrider::sim
