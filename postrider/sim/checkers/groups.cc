// Checker 31: groups of dead letters. What the groups of a bucket count is what lies in it, in
// their own groups as far as there are any, after every commit.
#include <map>
#include <set>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class GroupsChecker final : public Checker {
 public:
  GroupsChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts),
        notebook_(notebook),
        groups_max_(context.shard.engine.limits.dead_groups_max) {}

  void damaged(const Moment& /*when*/, std::string_view key) override {
    if (key[0] == keys::kDead) unreadable_.insert(bucket_in(key));
    // Whoever cannot be read may be parked, and nobody knows.
    if (key[0] == keys::kCold || key[0] == keys::kHot) parked_blind_ = true;
  }

  void batch(const Batch& batch) override {
    std::set<keys::Bucket> touched;
    for (const GroupName& name : batch.regrouped) touched.insert(name.bucket);
    for (const MessageId& id : batch.buried) {
      const LetterNote* letter = notebook_.letter(id);
      if (letter != nullptr) add(id, *letter), touched.insert(letter->bucket);
    }
    for (const MessageId& id : batch.exhumed) touched.insert(leave(id));
    for (const keys::Bucket bucket : touched) {
      if (bucket != 0) check_bucket(bucket);
    }
    if (touched.contains(0)) check_parked();
    if (notebook_.groups().size() > groups_max_ + kOthersMost)
      verdicts_.violation(31, "more groups than allowed");
  }

  void told(const Told& told) override {
    const auto* list = std::get_if<DeadGroupList>(&told.answer.view);
    if (list == nullptr) return;
    std::uint64_t sum = list->others;
    for (const DeadGroup& group : list->groups) sum += group.count;
    if (list->unlisted == 0 && sum != list->letters)
      verdicts_.violation(31, "a list of groups does not add up");
  }

  void finished(const Finished& /*finished*/) override {
    for (const auto& [bucket, groups] : there_) {
      if (has_bucket(bucket)) check_bucket(bucket);
    }
  }

 private:
  static constexpr std::size_t kOthersMost = 16;  // one for each bucket

  bool has_bucket(keys::Bucket bucket) const {
    for (const auto& [id, letter] : notebook_.all_letters()) {
      if (letter.bucket == bucket) return true;
    }
    return false;
  }

  static GroupName name_of(MessageId id, const LetterNote& letter) {
    return {letter.bucket, id.destination(), letter.letter.phase, letter.letter.cause};
  }
  void add(MessageId id, const LetterNote& letter) {
    const GroupName name = name_of(id, letter);
    ++there_[letter.bucket][name];
    names_[id] = name;
  }
  keys::Bucket leave(MessageId id) {
    const auto name = names_.find(id);
    if (name == names_.end()) return 0;
    const keys::Bucket bucket = name->second.bucket;
    --there_[bucket][name->second];
    names_.erase(name);
    return bucket;
  }

  void check_bucket(keys::Bucket bucket) {
    std::uint64_t counted = 0;
    std::uint64_t there = 0;
    bool dropped = true;
    for (const auto& [name, group] : notebook_.groups()) {
      if (name.bucket != bucket) continue;
      dropped = false;
      if (name.phase == Phase::kIndeterminate) {
        counted -= group.count;
        continue;
      }
      counted += group.count;
      const bool exact = name.destination.is_set() && !unreadable_.contains(bucket);
      if (exact && group.count != there_[bucket][name])
        return verdicts_.violation(31, "a group counts " + std::to_string(group.count) +
                                           " dead letters, and there are " +
                                           std::to_string(there_[bucket][name]));
    }
    for (const auto& [name, count] : there_[bucket]) there += count;
    if (dropped && !has_bucket(bucket)) return;  // retention took it as a whole
    if (counted != there)
      verdicts_.violation(31, "the groups of a bucket count " + std::to_string(counted) +
                                  " dead letters, and there are " + std::to_string(there));
  }

  void check_parked() {
    if (parked_blind_) return;
    std::uint64_t counted = 0;
    std::uint64_t there = 0;
    for (const auto& [name, group] : notebook_.groups()) {
      if (name.bucket != 0) break;
      counted += group.count;
      const auto parked = notebook_.parked().find(name.destination.value());
      const bool right = parked != notebook_.parked().end() && parked->second == group.count;
      if (name.destination.is_set() && !right)
        return verdicts_.violation(31, "parked messages of a destination are not counted rightly");
    }
    for (const auto& [destination, parked] : notebook_.parked()) there += parked;
    if (counted != there)
      verdicts_.violation(31, std::to_string(counted) + " messages are counted as parked, and " +
                                  std::to_string(there) + " are");
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  std::size_t groups_max_;
  std::map<keys::Bucket, std::map<GroupName, std::uint64_t>> there_;
  std::map<MessageId, GroupName> names_;
  std::set<keys::Bucket> unreadable_;
  bool parked_blind_ = false;
};

}  // namespace

std::unique_ptr<Checker> make_groups_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<GroupsChecker>(context, notebook);
}

}  // namespace postrider::sim
