// Checker 4: one key, one answer. Within the window the same key with the same content gets the
// same answer, and with other content a conflict; what a client asked once is accepted once, also
// when nobody heard the answer.
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "postrider/base/hash.h"
#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

const OperationKey* key_of(const Event& event) {
  return std::visit(
      [](const auto& one) -> const OperationKey* {
        if constexpr (requires { one.caller.key; }) {
          return one.caller.key.kind == OperationKey::Kind::kNone ? nullptr : &one.caller.key;
        } else {
          return nullptr;
        }
      },
      event);
}

// What is asked for, without who asks: two events with the same text are the same wish.
struct ContentOf {
  static std::string of(std::string_view verb, MessageId id) {
    return std::string(verb) + to_string(id);
  }
  std::string operator()(const Submit& e) const {
    if (!e.caller.said.empty()) return "submit " + e.caller.said;
    return "submit " + e.destination + " " + std::to_string(e.lane) + " " +
           std::to_string(e.priority) + " " + std::to_string(e.not_before.ms()) + " " +
           std::to_string(e.expires.ms()) + " " + e.attributes + " " + e.body;
  }
  std::string operator()(const Cancel& e) const { return of("cancel", e.id); }
  std::string operator()(const RetryNow& e) const { return of("retry", e.id); }
  std::string operator()(const Redrive& e) const { return of("redrive", e.id); }
  std::string operator()(const Drop& e) const { return of("drop", e.id); }
  std::string operator()(const Configure& e) const {
    return "configure " + e.config.name + " " + e.config.profile + " " +
           (e.config.draining  ? "="
            : e.config.removed ? "-"
            : e.merge          ? "&"
                               : "+") +
           encode_texts(e.config.settings);
  }
  std::string operator()(const Pause& e) const { return "pause " + e.destination + " " + e.reason; }
  std::string operator()(const Resume& e) const { return "resume " + e.destination; }
  std::string operator()(const Arrived& e) const {
    return "arrived " +
           (e.caller.said.empty() ? to_string(e.source) + " " + e.bytes : e.caller.said);
  }
  std::string operator()(const Wake& e) const { return "wake " + e.destination; }
  std::string operator()(const StartJob& e) const { return "job " + encode_order(e.order); }
  std::string operator()(const CancelJob& e) const { return "cancel-job " + to_string(e.job); }
  std::string operator()(const PutHold& e) const { return "hold " + encode_hold({e.rule, {}, {}}); }
  std::string operator()(const FanOut& e) const {
    std::string names;
    for (const std::string& name : e.destinations) names += name + ",";
    return "fan-out " + e.group + names + (e.skip_closed ? "?" : "") + " " + e.type + " " +
           std::to_string(e.lane) + " " + std::to_string(e.priority) + " " +
           std::to_string(e.not_before.ms()) + " " + std::to_string(e.expires.ms()) + " " +
           e.attributes + " " + e.body;
  }
  std::string operator()(const ChangeGroup& e) const {
    return "group " + std::to_string(static_cast<int>(e.what)) + encode_fanout_group(e.group);
  }
  std::string operator()(const DropHold& e) const { return "release " + e.name; }
  template <class Other>
  std::string operator()(const Other& /*other*/) const {
    return {};
  }
};

bool happened(AnswerCode code) {
  return code == AnswerCode::kAccepted || code == AnswerCode::kDone ||
         code == AnswerCode::kPending || code == AnswerCode::kNothing;
}

class KeysChecker final : public Checker {
 public:
  KeysChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts),
        notebook_(notebook),
        window_(context.shard.engine.key_window),
        forgotten_(context.shard.engine.ledger.age + context.shard.engine.ledger.age / 2 +
                   context.shard.engine.key_ahead) {}

  void asked(const Asked& asked) override {
    if (const auto* query = std::get_if<Query>(&asked.event);
        query != nullptr && query->what == Query::What::kOperation) {
      lookups_[asked.ticket.value()] = {name_of_key(query->key), 0, asked.when, query->key};
      return;
    }
    const OperationKey* key = key_of(asked.event);
    if (key == nullptr) return;
    const std::uint64_t content = hash64(std::visit(ContentOf{}, asked.event));
    const std::string name = name_of_key(*key);
    Known& known = keys_[name];
    known.contents.insert(content);
    if (!known.unheard.is_set()) known.unheard = asked.when.engine;
    questions_[asked.ticket.value()] = {name, content, asked.when, *key};
    if (key->kind == OperationKey::Kind::kSequenced) {
      std::uint64_t& highest = sessions_[key->scope + '\n' + key->key];
      highest = std::max(highest, key->sequence);
    }
  }

  void told(const Told& told) override {
    check_lookup(told);
    const auto at = questions_.find(told.ticket.value());
    if (at == questions_.end()) return;
    const Question question = at->second;
    questions_.erase(at);
    Known& known = keys_[question.name];
    if (ledger_damaged_) return;
    if (happened(told.answer.code)) {
      check_answer(question, known, told);
    } else {
      check_refusal(question, known, told);
    }
  }

  // A damaged entry may be answered with "expired", or be new again; which key it was of is not
  // told.
  void damaged(const Moment& /*when*/, std::string_view key) override {
    if (key[0] == keys::kLedger || key[0] == keys::kSession) ledger_damaged_ = true;
  }

  void batch(const Batch& batch) override {
    for (const MessageNote* note : batch.entered) {
      if (note->operation == 0 || note->origin.is_set() || ledger_damaged_) continue;
      const auto [at, is_new] = admitted_.try_emplace(note->operation, note->accepted);
      if (is_new) continue;
      if (note->accepted - meant(at->second) < window_)
        verdicts_.violation(4, "one wish was accepted twice: " + to_string(note->id));
      at->second = note->accepted;
    }
  }

 private:
  struct Question {
    std::string name;
    std::uint64_t content = 0;
    Moment when;
    OperationKey key;
  };
  struct Known {
    std::set<std::uint64_t> contents;  // everything that was ever asked under this key
    bool sealed = false;
    std::uint64_t content = 0;
    AnswerCode code = AnswerCode::kDone;
    MessageId id;
    Timestamp asked;  // it was decided between these two
    Timestamp told;
    Timestamp unheard;  // the first question since the last answer that was heard
  };

  static std::string name_of_key(const OperationKey& key) {
    std::string name = key.scope + '\n' + key.key;
    if (key.kind == OperationKey::Kind::kSequenced) name += '\n' + std::to_string(key.sequence);
    return name;
  }

  void check_answer(const Question& question, Known& known, const Told& told) {
    const Timestamp unheard = std::exchange(known.unheard, {});
    const bool surely_kept = known.sealed && told.when.engine - meant(known.asked) < window_;
    if (surely_kept) {
      if (known.content != question.content)
        return verdicts_.violation(
            4, "a key was answered for content it was not used with: " + told_text(told));
      if (known.code != told.answer.code || known.id != told.answer.id) {
        return verdicts_.violation(4, "the same key got another answer: " + told_text(told));
      }
      return;
    }
    const bool surely_gone = known.sealed && question.when.engine.is_set() &&
                             question.when.engine - meant(known.told) > forgotten_;
    if (surely_gone && told.answer.replayed && known.id == told.answer.id) {
      return verdicts_.violation(4, "a key was remembered for too long");
    }
    if (known.sealed && known.id == told.answer.id && told.answer.replayed) return;
    // A replay was decided when an earlier question came whose answer was not heard.
    const bool earlier = told.answer.replayed && unheard.is_set();
    const Timestamp asked = earlier ? unheard : question.when.engine;
    known = {.contents = std::move(known.contents),
             .sealed = true,
             .content = question.content,
             .code = told.answer.code,
             .id = told.answer.id,
             .asked = asked.is_set() ? asked : told.when.engine,
             .told = told.when.engine,
             .unheard = {}};
  }

  void check_refusal(const Question& question, Known& known, const Told& told) {
    const bool surely_kept = known.sealed && told.when.engine - meant(known.asked) < window_;
    if (surely_kept && known.content == question.content) {
      return verdicts_.violation(4, "a key that was answered is refused: " + told_text(told));
    }
    if (told.answer.code == AnswerCode::kConflict && known.contents.size() < 2) {
      return verdicts_.violation(4, "a conflict where only one content was ever asked");
    }
    if (told.answer.code != AnswerCode::kKeyExpired) return;
    const Timestamp latest = told.when.engine;
    switch (question.key.kind) {
      case OperationKey::Kind::kNone:
      case OperationKey::Kind::kOpaque:
        return verdicts_.violation(4, "an opaque key was called expired");
      case OperationKey::Kind::kTimed:
        if (question.key.made + window_ >= latest)
          verdicts_.violation(4, "a key was called expired that is young");
        return;
      case OperationKey::Kind::kSequenced: {
        const bool passed =
            sessions_[question.key.scope + '\n' + question.key.key] >= question.key.sequence;
        if (!passed && question.key.made + window_ >= latest)
          verdicts_.violation(4, "a session's key was called expired without reason");
        return;
      }
    }
  }

  // Asked about only: the answer is the one that was given, and nothing is done. Whether a lookup
  // did something shows by itself: its key has no content here, so an answer to it is a violation.
  void check_lookup(const Told& told) {
    const auto at = lookups_.find(told.ticket.value());
    if (at == lookups_.end()) return;
    const Question question = at->second;
    lookups_.erase(at);
    if (ledger_damaged_) return;
    const auto found = keys_.find(question.name);
    const bool used = found != keys_.end();
    if (!happened(told.answer.code)) {
      const bool kept =
          used && found->second.sealed && told.when.engine - meant(found->second.asked) < window_;
      if (kept) verdicts_.violation(4, "a used key is said to be unknown: " + told_text(told));
      return;
    }
    if (!used) return verdicts_.violation(4, "a key that nobody used has an answer");
    const Known& known = found->second;
    const bool surely_kept = known.sealed && told.when.engine - meant(known.asked) < window_;
    if (surely_kept && (known.code != told.answer.code || known.id != told.answer.id))
      verdicts_.violation(4, "a key is said to have another answer: " + told_text(told));
    if (!told.answer.replayed) verdicts_.violation(4, "a question about a key acted");
  }

  static std::string told_text(const Told& told) {
    return std::string(name_of(told.answer.code)) + " " + to_string(told.answer.id);
  }

  // Engine times of a doubt are later ones when the wall is believed.
  Timestamp meant(Timestamp engine) const { return notebook_.meta().wall.meant(engine); }

  Verdicts& verdicts_;
  Notebook& notebook_;
  Duration window_;
  Duration forgotten_;
  std::unordered_map<std::string, Known> keys_;
  std::unordered_map<std::uint64_t, Question> questions_;
  std::unordered_map<std::uint64_t, Question> lookups_;  // of keys, by ticket
  std::unordered_map<std::string, std::uint64_t> sessions_;
  std::unordered_map<std::uint64_t, Timestamp> admitted_;  // operation: when it was accepted
  bool ledger_damaged_ = false;
};

}  // namespace

std::unique_ptr<Checker> make_keys_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<KeysChecker>(context, notebook);
}

}  // namespace postrider::sim
