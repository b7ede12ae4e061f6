// Checker 37: fan-out. Every fan-out is whole or absent: all who subscribe, or whom the list names,
// have a message in the commit that brings the body, and a refused one leaves nothing. A body is
// there as long as a message or a dead letter refers to it, its count is right after every commit,
// and it goes with the last of them.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "postrider/base/hash.h"
#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class FanoutChecker final : public Checker {
 public:
  FanoutChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  // Whoever cannot be read keeps its reference, and nobody can tell which.
  void damaged(const Moment& /*when*/, std::string_view key) override {
    if (key[0] == keys::kHot || key[0] == keys::kCold || key[0] == keys::kDead) blind_ = true;
    const auto body = keys::parse_body(key);
    if (!body) return;
    damaged_.insert(body->id);
    if (body->part == keys::BodyPart::kCount) size_lost_ = true;
  }

  void asked(const Asked& asked) override {
    const auto* fanout = std::get_if<FanOut>(&asked.event);
    if (fanout != nullptr)
      questions_[asked.ticket.value()] = {
          fanout->group,        fanout->type,        hash64(fanout->body),
          fanout->destinations, fanout->skip_closed, contents_.contains(hash64(fanout->body))};
  }

  void told(const Told& told) override {
    const auto at = questions_.find(told.ticket.value());
    if (at == questions_.end()) return;
    const Question question = at->second;
    questions_.erase(at);
    const auto* view = std::get_if<FanoutView>(&told.answer.view);
    if (view != nullptr) return check_accepted(question, *view, told.answer.replayed);
    // A repeat whose key is forgotten is a request of its own, and may be refused.
    if (is_refusal(told.answer.code) && !question.repeats && contents_.contains(question.content))
      complain("a fan-out was refused, and is there");
  }

  void batch(const Batch& batch) override {
    std::set<std::uint64_t> touched;
    for (const Write& write : batch.applied.batch.writes()) read(write, touched);
    std::map<std::uint64_t, std::uint32_t> entered;
    for (const MessageNote* note : batch.entered) {
      if (note->shared == 0) continue;
      ++live_[note->shared];
      if (!note->origin.is_set()) ++entered[note->shared];
      touched.insert(note->shared);
    }
    for (const MessageNote* note : batch.left) {
      if (note->shared == 0) continue;
      --live_[note->shared];
      touched.insert(note->shared);
    }
    for (const std::uint64_t id : new_bodies_) {
      if (!counts_.contains(id) && entered[id] == 0) continue;
      if (entered[id] != first_counts_[id])
        complain("a fan-out is torn: " + std::to_string(entered[id]) + " of " +
                 std::to_string(first_counts_[id]) + " messages");
    }
    new_bodies_.clear();
    for (const std::uint64_t id : touched) check_body(id);
    check_sums(batch);
  }

  void finished(const Finished& /*finished*/) override {
    if (blind_) return;
    for (const auto& [id, letters] : letters_) {
      for (const auto& [letter, bucket] : letters) {
        const LetterNote* note = notebook_.letter(letter);
        if (note == nullptr || note->bucket != bucket)
          complain("a reference is left of a letter that is gone: " + to_string(letter));
      }
    }
    for (const auto& [id, bytes] : bodies_) check_body(id);
  }

 private:
  struct Question {
    std::string group;
    std::string type;
    std::uint64_t content = 0;
    std::vector<std::string> list;  // instead of a group
    bool skips = false;
    bool repeats = false;  // its content was there when it was asked
  };

  void complain(const std::string& what) { verdicts_.violation(37, what); }

  static bool is_refusal(AnswerCode code) {
    return code == AnswerCode::kNotFound || code == AnswerCode::kDisabled ||
           code == AnswerCode::kInvalid || code == AnswerCode::kTooLarge ||
           code == AnswerCode::kFull;
  }

  void read(const Write& write, std::set<std::uint64_t>& touched) {
    const bool puts = write.kind == Write::Kind::kPut || write.kind == Write::Kind::kPutOnce;
    if (write.kind == Write::Kind::kRemoveRange) return;
    if (const auto body = keys::parse_body(write.key)) {
      touched.insert(body->id);
      if (body->part == keys::BodyPart::kBytes) return read_body(body->id, puts, write);
      const auto count = puts ? decode_body_count(write.value.view())
                              : Result<BodyCount>(fail(ErrorCode::kNotFound, {}));
      if (count) counts_[body->id] = count->references;
      if (count) first_counts_.try_emplace(body->id, count->references);
      if (!count) counts_.erase(body->id);
      if (puts && !count) complain("the count of a body cannot be read");
      return;
    }
    if (const auto letter = keys::parse_body_letter(write.key)) {
      touched.insert(letter->body);
      if (puts) letters_[letter->body][letter->id] = letter->bucket;
      // It was moved to another bucket, or is gone.
      auto& all = letters_[letter->body];
      const auto at = all.find(letter->id);
      if (!puts && at != all.end() && at->second == letter->bucket) all.erase(at);
      return;
    }
    if (write.key[0] != keys::kFanout) return;
    const auto group = puts ? decode_fanout_group(write.value.view())
                            : Result<FanoutGroup>(fail(ErrorCode::kNotFound, {}));
    if (group) groups_[group->name] = *group;
    if (puts && !group) complain("a group cannot be read");
    if (!puts) groups_.erase(write.key.substr(1));
  }

  void read_body(std::uint64_t id, bool puts, const Write& write) {
    if (!puts) {
      const auto at = bodies_.find(id);
      if (at == bodies_.end()) return complain("a body was removed that was not there");
      bytes_ -= at->second;
      bodies_.erase(at);
      return;
    }
    const auto bytes = decode_body(write.value.view());
    if (!bytes) return complain("a body cannot be read");
    bodies_[id] = bytes->size();
    bytes_ += bytes->size();
    contents_.insert(hash64(*bytes));
    new_bodies_.push_back(id);
    began_[id] = groups_;  // a batch is in the order in which things were decided
  }

  void check_body(std::uint64_t id) {
    if (damaged_.contains(id)) return;
    const std::uint64_t references = live_[id] + letters_[id].size();
    const bool there = bodies_.contains(id);
    if (references > 0 && !there) return complain("a body is gone that is referred to");
    if (there != counts_.contains(id)) return complain("a body without a count, or a count alone");
    if (blind_) return;
    if (there && references == 0) return complain("a body is left that nobody refers to");
    if (there && counts_[id] != references)
      complain("a body counts " + std::to_string(counts_[id]) + " references, and there are " +
               std::to_string(references));
  }

  void check_sums(const Batch& batch) {
    if (!batch.meta) return;
    const Counters& counters = batch.meta->counters;
    const bool right_size = counters.shared_bytes == bytes_ || size_lost_;
    if (counters.shared_bodies != bodies_.size() || !right_size)
      complain("shared bodies are not counted rightly");
  }

  // Naive on purpose, and not the engine's.
  static bool wants(const FanoutMember& member, const std::string& type) {
    if (member.types.empty()) return true;
    for (const std::string& one : member.types) {
      if (type.empty()) return false;
      if (one == "*" || one == type) return true;
      const bool wide = one.size() > 2 && one.substr(one.size() - 2) == ".*";
      if (wide && type.substr(0, one.size() - 1) == one.substr(0, one.size() - 1)) return true;
    }
    return false;
  }

  void check_accepted(const Question& question, const FanoutView& view, bool replayed) {
    for (const FanoutView::Member& member : view.members) {
      const MessageNote* note = notebook_.find(member.message);
      if (note == nullptr) return complain("a member's message is not durable");
      if (note->destination == nullptr || note->destination->config.name != member.destination)
        complain("a member's message goes to somebody else");
      if (note->body_hash != question.content) complain("a member's message has another body");
    }
    const auto began = began_.find(view.id.value());
    if (view.members.empty() || replayed || began == began_.end()) return;
    std::set<std::string> served(view.skipped.begin(), view.skipped.end());
    for (const FanoutView::Member& member : view.members) served.insert(member.destination);
    if (!question.list.empty()) {
      const std::set<std::string> named(question.list.begin(), question.list.end());
      if (named != served) complain("a list did not go to those whom it names");
      if (!view.skipped.empty() && !question.skips) complain("a list left somebody out");
      began_.erase(began);
      return;
    }
    const auto group = began->second.find(question.group);
    if (group == began->second.end()) return complain("a fan-out to a group that is not there");
    std::set<std::string> wanted;
    for (const FanoutMember& member : group->second.members) {
      if (wants(member, question.type)) wanted.insert(member.destination);
    }
    if (wanted != served) complain("a fan-out did not go to those who subscribe");
    if (!view.skipped.empty() && !group->second.skip_closed)
      complain("a member was left out of a group that leaves nobody out");
    began_.erase(began);
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  std::map<std::uint64_t, Question> questions_;
  std::map<std::uint64_t, std::uint64_t> bodies_;  // their bytes
  std::uint64_t bytes_ = 0;
  std::map<std::uint64_t, std::uint32_t> counts_;
  std::map<std::uint64_t, std::uint32_t> first_counts_;
  std::map<std::uint64_t, std::uint64_t> live_;
  std::map<std::uint64_t, std::map<MessageId, keys::Bucket>> letters_;  // that refer to a body
  std::set<std::uint64_t> contents_;                                    // that ever were a body
  std::vector<std::uint64_t> new_bodies_;                               // of this batch
  std::map<std::string, FanoutGroup> groups_;
  std::map<std::uint64_t, std::map<std::string, FanoutGroup>> began_;  // … when a body came
  std::set<std::uint64_t> damaged_;                                    // bodies, or their counts
  bool size_lost_ = false;  // should the body of a lost count be lost, too
  bool blind_ = false;
};

}  // namespace

std::unique_ptr<Checker> make_fanout_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<FanoutChecker>(context, notebook);
}

}  // namespace postrider::sim
