// Checker 43: imports. A dead letter that is carried in comes once within the window of its key,
// however often it is brought, and with the content that was carried out.
#include <map>

#include "postrider/base/hash.h"
#include "postrider/model/message.h"
#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class ImportsChecker final : public Checker {
 public:
  ImportsChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts),
        notebook_(notebook),
        window_(context.shard.engine.key_window) {}

  void asked(const Asked& asked) override {
    const auto* submit = std::get_if<Submit>(&asked.event);
    if (submit != nullptr && submit->origin.is_set()) asked_[asked.ticket.value()] = submit->origin;
  }

  void told(const Told& told) override {
    if (const auto* letters = std::get_if<DeadLetters>(&told.answer.view)) note_exported(*letters);
    const auto at = asked_.find(told.ticket.value());
    if (at == asked_.end()) return;
    const MessageId origin = at->second;
    asked_.erase(at);
    if (told.answer.code != AnswerCode::kAccepted || told.answer.replayed || blind_) return;
    const MessageNote* made = notebook_.find(told.answer.id);
    if (made == nullptr) return;
    const auto exported = exported_.find(origin);
    if (exported != exported_.end() && made->body_hash != exported->second)
      verdicts_.violation(43, "imported with other content: " + to_string(made->id));
    if (made->origin != origin)
      verdicts_.violation(43, "imported, and not told from where: " + to_string(made->id));
    const auto [last, is_new] = last_.try_emplace(origin, made->accepted);
    if (!is_new && made->accepted - last->second < window_)
      verdicts_.violation(43, "imported twice: " + to_string(origin));
    last->second = made->accepted;
  }

  void damaged(const Moment& /*when*/, std::string_view key) override {
    if (key[0] == keys::kLedger) blind_ = true;
  }

 private:
  // What was carried out is what must come in; letters may have rotted before that.
  void note_exported(const DeadLetters& letters) {
    for (std::size_t i = 0; i < letters.letters.size() && i < letters.contents.size(); ++i) {
      if (const auto message = decode_message(letters.contents[i].message))
        exported_[letters.letters[i].id] = hash64(message->body);
    }
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  Duration window_;
  std::map<std::uint64_t, MessageId> asked_;     // by ticket
  std::map<MessageId, Timestamp> last_;          // engine time
  std::map<MessageId, std::uint64_t> exported_;  // hash of the body
  bool blind_ = false;
};

}  // namespace

std::unique_ptr<Checker> make_imports_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<ImportsChecker>(context, notebook);
}

}  // namespace postrider::sim
