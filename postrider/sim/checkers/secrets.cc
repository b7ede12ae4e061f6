// Checker 51: secrets. No byte of a key file is in a record of the store, nor in what clients are
// told of destinations, messages and ends.
#include <string>
#include <string_view>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class SecretsChecker final : public Checker {
 public:
  SecretsChecker(const CheckerContext& context, Notebook& /*notebook*/)
      : verdicts_(context.verdicts), shard_(context.shard) {}

  void batch(const Batch& batch) override {
    for (const Write& write : batch.applied.batch.writes()) {
      look(write.key, "a key of the store");
      look(write.value.view(), "a record of the store");
    }
  }

  void told(const Told& told) override {
    look(told.answer.detail, "an answer");
    if (const auto* view = std::get_if<DestinationView>(&told.answer.view))
      look(encode_texts(view->config.settings), "a destination that was shown");
    if (const auto* view = std::get_if<MessageView>(&told.answer.view)) {
      look(view->attributes, "a message that was shown");
      look(view->explanation.reason, "the reason of a message");
    }
    if (const auto* page = std::get_if<LogPage>(&told.answer.view)) {
      for (const LogEntry& entry : page->entries) look(entry.reason, "the log");
    }
  }

 private:
  void look(std::string_view text, const char* where) {
    const Secrets* secrets = shard_.engine.secrets.get();
    if (secrets == nullptr) return;
    for (const std::string_view name : secrets->names()) {
      if (text.find(secrets->find(name)) != std::string_view::npos)
        verdicts_.violation(51, std::string("a secret is in ") + where);
    }
  }

  Verdicts& verdicts_;
  const ShardOptions& shard_;
};

}  // namespace

std::unique_ptr<Checker> make_secrets_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<SecretsChecker>(context, notebook);
}

}  // namespace postrider::sim
