// Operations: what makes asking twice the same as asking once, and what is written down of an
// operator's command.
//
// Invariants
//   - A command that changed something and its ledger entry are one commit, so a repetition is
//     answered as the command was. The same holds for the line of the audit.
//   - Refusals change nothing, are not remembered, and may be asked again.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/core/books/receipts.h"
#include "postrider/core/books/sequences.h"
#include "postrider/core/engine.h"
#include "postrider/core/rules/ledger.h"
#include "postrider/core/step.h"
#include "postrider/model/event.h"

namespace postrider::core {

class Operations {
 public:
  struct Remembered {  // what the ledger holds of a key
    std::optional<LedgerEntry> entry;
    std::optional<SessionEntry> session;
    bool damaged = false;  // there was an entry, and it cannot be read
  };
  // What an operator's command changed; it is in the audit of the same commit.
  struct AuditLine {
    std::string_view action;
    std::string target;  // empty: the job that was made
    std::string_view reason;
  };
  Operations(const EngineOptions& options, Receipts& receipts, Sequences& sequences)
      : options_(options), receipts_(receipts), sequences_(sequences) {}
  Operations(const Operations&) = delete;
  Operations& operator=(const Operations&) = delete;

  Remembered recall(Step& step, const OperationKey& key);

  LedgerRule ledger_rule(const Step& step) const {
    return {options_.key_window, options_.key_ahead, step.doubt};
  }
  // Runs `act` under the caller's key: replay, conflict, or act and seal. `again` says whether a
  // repetition of what was answered so is to act once more.
  template <class Act, class Again>
  void once_unless(Step& step, const Caller& caller, const std::string& canonical_bytes, Act&& act,
                   Again&& again) {
    const bool keyed = caller.key.kind != OperationKey::Kind::kNone;
    Fingerprint print{};
    if (keyed) {
      print = fingerprint(caller.said.empty() ? canonical_bytes : caller.said);
      auto answer = consult_ledger(step, caller.key, print);
      if (step.lacks()) return;
      const bool readmitted = answer && answer->readmits && again(*answer);
      if (step.lacks()) return;
      if (answer && !readmitted) return step.reply(caller.ticket, std::move(*answer));
    }
    std::optional<Answer> answer = act();
    if (step.lacks()) return;
    POSTRIDER_CHECK(answer.has_value());
    if (keyed) seal(step, caller.key, print, *answer);
    step.reply(caller.ticket, std::move(*answer));
  }
  template <class Act>
  void once(Step& step, const Caller& caller, const std::string& canonical_bytes, Act&& act) {
    once_unless(step, caller, canonical_bytes, std::forward<Act>(act),
                [](const Answer&) { return false; });
  }
  template <class Act>
  void once(Step& step, const Caller& caller, const std::string& canonical_bytes,
            const AuditLine& line, Act&& act) {
    once(step, caller, canonical_bytes, [&]() -> std::optional<Answer> {
      std::optional<Answer> answer = act();
      if (answer && !step.lacks()) audit(step, caller, line, *answer);
      return answer;
    });
  }

 private:
  std::optional<Answer> consult_ledger(Step& step, const OperationKey& key,
                                       const Fingerprint& fingerprint);
  void seal(Step& step, const OperationKey& key, const Fingerprint& fingerprint,
            const Answer& answer);
  std::uint64_t highest_number(Step& step, const OperationKey& key);
  void audit(Step& step, const Caller& caller, const AuditLine& line, const Answer& answer);

  const EngineOptions& options_;
  Receipts& receipts_;
  Sequences& sequences_;
};

}  // namespace postrider::core
