#include "postrider/core/news/arrivals.h"

#include <algorithm>
#include <set>

#include "postrider/base/codec.h"
#include "postrider/base/planted.h"

namespace postrider::core {
void Arrivals::on(Step& step, const Arrived& arrived) {
  const auto refuse = [&](AnswerCode code, std::string detail) {
    Answer answer;
    answer.code = code;
    answer.detail = std::move(detail);
    step.reply(arrived.caller.ticket, std::move(answer));
  };
  if (arrived.bytes.size() > limits_.arrival_bytes_max)
    return refuse(AnswerCode::kTooLarge,
                  "at most " + std::to_string(limits_.arrival_bytes_max) + " bytes are taken");
  const ProfileSpec* profile = nullptr;
  for (const ProfileSpec* candidate : options_.profiles) {
    if (candidate->name == arrived.profile) profile = candidate;
  }
  if (profile == nullptr || profile->news.receive == nullptr || profile->news.notice == nullptr)
    return refuse(AnswerCode::kNotFound, "the profile '" + arrived.profile + "' takes no news");
  const std::string bytes = canonical("arrived", to_string(arrived.source), arrived.bytes);
  bool taken = false;
  operations_.once(step, arrived.caller, bytes, [&] {
    taken = true;
    return take_arrival(step, *profile, arrived);
  });
  if (!taken && !step.lacks()) ++tallies_.repeated_arrivals;
}

// Why none of it is done; nothing: it may be, or something must be read first.
std::optional<Answer> Arrivals::refuse_whole(Step& step, const ProfileSpec& profile,
                                             const Received& received,
                                             std::span<const Target> targets, Wants& wants) {
  std::vector<Card> all;
  std::span<const Card> changes = received.cards;
  for (const Target& target : targets) {
    if (target.reading.cards.empty()) continue;
    if (all.empty()) all = received.cards;
    all.insert(all.end(), target.reading.cards.begin(), target.reading.cards.end());
    changes = all;
  }
  if (!changes.empty()) {
    if (auto refusal = cards_.judge(step, profile, changes)) {
      Answer answer;
      answer.code = refusal->code;
      answer.detail = std::move(refusal->detail);
      return answer;
    }
  }
  if (received.firm) return acceptance_.judge_firm(step, received.submits, wants.firm);
  return std::nullopt;
}

Answer Arrivals::answer_to(const Received& received) const {
  Answer answer;
  const std::size_t subjects = received.subjects.size();
  answer.detail = std::to_string(subjects) + (subjects == 1 ? " subject" : " subjects");
  if (received.reply.size() <= kReplyMax) answer.reply = received.reply;
  return answer;
}

std::optional<Answer> Arrivals::take_arrival(Step& step, const ProfileSpec& profile,
                                             const Arrived& arrived) {
  OpenCabinet cabinet(cards_, step, profile.name, OpenCabinet::Reads::kMay);
  Received received = profile.news.receive(
      {arrived.source, arrived.settings, arrived.bytes, step.now, step.wall, &cabinet});
  if (step.lacks()) return std::nullopt;
  std::vector<Subject>& subjects = received.subjects;
  Wants wants;
  if (subjects.size() > kSubjectsMax) {
    wants.refused += subjects.size() - kSubjectsMax;
    subjects.resize(kSubjectsMax);
  }
  wants.refused +=
      std::erase_if(subjects, [this](const Subject& subject) { return !fits(subject); });
  std::vector<Target> targets;
  targets.reserve(subjects.size());
  for (const Subject& subject : subjects) targets.push_back(find_target(step, profile, subject));
  std::vector<std::string>& alive = received.alive_destinations;
  if (alive.size() > kAliveMax) {
    wants.refused += alive.size() - kAliveMax;
    alive.resize(kAliveMax);
  }
  for (const std::string& name : alive) destinations_.find_destination(step, name);
  if (step.lacks()) return std::nullopt;
  auto refusal = refuse_whole(step, profile, received, targets, wants);
  if (step.lacks()) return std::nullopt;
  if (refusal) return refusal;

  ++tallies_.arrivals;
  tallies_.refused_readings += wants.refused + (received.reply.size() > kReplyMax ? 1 : 0);
  if (profile.keeps_arrivals)
    receipts_.put_kept(Kept::kArrivals,
                       keys::arrival(receipts_.running(Kept::kArrivals), sequences_.next()),
                       encode_arrival({step.now, arrived.profile, arrived.source, arrived.bytes},
                                      profile.dictionary),
                       step.out.writes);
  cards_.write(step, profile, received.cards);
  std::set<MessageId> told;
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    const Target& target = targets[i];
    // What it means was asked before anything changed, so one arrival speaks of a message once; the
    // subject before may also have moved it out of memory.
    if (target.slot != kNoSlot && !told.insert(target.id).second) {
      ++tallies_.refused_readings;
      continue;
    }
    if (target.overheard.id.is_set() && told.insert(target.overheard.id).second)
      overhear(step, target.overheard);
    tell_target(step, subjects[i], target, arrived.source);
  }
  for (const std::string& name : alive) {
    const Destinations::Destined destined = destinations_.find_destination(step, name);
    if (destined.slot != kNoSlot) rousing_.hear_sign_of_life(step, destined.slot, "a sign of life");
  }
  Answer answer = answer_to(received);
  if (received.submits.empty() || planted(Bug::kArrivalSendsNothing)) return answer;
  if (received.firm) {
    answer.id = acceptance_.take_firm(step, received.submits, wants.firm);
  } else {
    nested_.write_nested(step, profile, MessageId(), received.submits);
  }
  return answer;
}

void Arrivals::tell_target(Step& step, const Subject& subject, const Target& target,
                           const ArrivalSource& source) {
  const Slot slot = window_.find(target.id);
  if (subject.alive) gates_.hear_alive(step, subject.gate);
  if (target.slot != kNoSlot && slot != kNoSlot) {
    if (planted(Bug::kOlderNameIgnored) && target.attempt != 0 &&
        target.attempt < window_[slot].state.attempts)
      return;
    delivery_.tell(step, slot, target.reading, target.attempt, step.now);
  } else if (target.late.is_set()) {
    delivery_.note_late(step, target.late, to_string(source));
  } else {
    if (!subject.names.empty()) ++tallies_.unknown_names;
    if (!target.tail.empty()) names_.keep_pending_news(step, target.tail, subject);
  }
}

// It is not about this message, which notes it all the same.
void Arrivals::overhear(Step& step, const Overheard& overheard) {
  const Slot slot = window_.find(overheard.id);
  if (slot == kNoSlot) return;
  Reading reading;
  reading.silent = true;
  reading.notes = overheard.notes;
  delivery_.tell(step, slot, reading, 0, step.now);
}

// The messages that a subject could be about, the likeliest first.
std::vector<Arrivals::Candidate> Arrivals::candidates_for(Step& step, const ProfileSpec& profile,
                                                          const Subject& subject) {
  std::vector<Candidate> candidates;
  if (subject.message.is_set()) candidates.push_back({{subject.message, 0}});
  bool second = false;
  for (const ExternalName& name : subject.names) {
    const NameEntry entry = names_.find_name(step, Names::tail_of(profile, name), subject.window);
    const bool apart = subject.window > Duration(0) &&
                       step.now - receipts_.wall().meant(entry.at) >= subject.window;
    if (!apart || planted(Bug::kWindowOpenTooLong)) {
      for (const NameEntry::Holder& holder : entry.holders)
        candidates.push_back({holder, false, second});
    }
    second = true;
  }
  const SharedGate* gate = gates_.find(subject.gate);
  // A name that was given to another message is too old to pair them, but it tells that the news is
  // not of this one.
  const auto names_another = [&](MessageId id) {
    if (subject.window <= Duration(0)) return false;
    for (const ExternalName& name : subject.names) {
      const NameEntry entry = names_.find_name(step, Names::tail_of(profile, name));
      for (const NameEntry::Holder& holder : entry.holders) {
        if (holder.id != id) return true;
      }
    }
    return false;
  };
  if (gate != nullptr && gate->holder.is_set()) {
    if (!names_another(gate->holder)) candidates.push_back({{gate->holder, 0}, true, true});
  } else if (!subject.idle.name.empty() && !restore_.restoring() &&
             (gate == nullptr || gate->state.in_use() == 0)) {
    const NameEntry entry = names_.find_name(step, Names::tail_of(profile, subject.idle));
    if (!entry.holders.empty() && !names_another(entry.holders.back().id))
      candidates.push_back({entry.holders.back(), false, true, true});
  }
  return candidates;
}

// When the first name was given last that the open attempt will leave behind.
Timestamp Arrivals::debt_before(Step& step, const ProfileSpec& profile, const Entry& entry) {
  if (profile.after == nullptr || window_.intent_of(entry) == nullptr) return {};
  OpenCabinet cabinet(cards_, step, profile.name, OpenCabinet::Reads::kMayNot);
  const Facts facts = delivery_.facts_of(step, entry, &cabinet);
  const std::vector<ExternalName> names =
      profile.after(facts, {.kind = Moment::Kind::kAbandoned}).names;
  if (names.empty()) return {};
  return names_.find_name(step, Names::tail_of(profile, names.front())).at;
}

// When the first name was given last that the open attempt would leave behind, unless it is set.
class Arrivals::Witness final : public TimeLookup {
 public:
  Witness(Arrivals& arrivals, Step& step, const Entry& entry)
      : arrivals_(arrivals), step_(step), entry_(entry) {}

  void set(Timestamp at) { known_ = at; }
  Timestamp find() const override {
    const ProfileSpec& profile = *arrivals_.residents_[entry_.destination].bound->profile;
    return arrivals_.receipts_.wall().meant(known_ ? *known_
                                                   : arrivals_.debt_before(step_, profile, entry_));
  }

 private:
  Arrivals& arrivals_;
  Step& step_;
  const Entry& entry_;
  std::optional<Timestamp> known_;
};

// Whom a subject is about. Everything is read before anything is changed.
Arrivals::Target Arrivals::find_target(Step& step, const ProfileSpec& profile,
                                       const Subject& subject) {
  Target target;
  for (const Candidate& candidate : candidates_for(step, profile, subject)) {
    const Lookup::Located located = lookup_.locate(step, candidate.holder.id);
    if (!located.known || target.slot != kNoSlot) continue;
    // It is known whose news this is, and that its message has ended: no other message may take it
    // for its own.
    if ((candidate.by_gate || candidate.idle) && target.late.is_set()) continue;
    if (located.slot == kNoSlot) {
      if (!target.late.is_set() && !candidate.second) target.late = candidate.holder.id;
      continue;
    }
    const Entry& entry = window_[located.slot];
    if (residents_[entry.destination].bound->profile != &profile) continue;
    const std::uint16_t attempt =
        candidate.by_gate ? entry.state.attempts : candidate.holder.attempt;
    Witness witness(*this, step, entry);
    if (candidate.by_gate) {
      const ExternalName& name = subject.witness;
      witness.set(name.name.empty() ? Timestamp()
                                    : names_.find_name(step, Names::tail_of(profile, name)).at);
    }
    OpenCabinet cabinet(cards_, step, profile.name, OpenCabinet::Reads::kMay);
    Reading reading = profile.news.notice(delivery_.facts_of(step, entry, &cabinet),
                                          {.detail = subject.detail,
                                           .at = step.now,
                                           .attempt = attempt,
                                           .by_gate = candidate.by_gate,
                                           .witness = &witness,
                                           .idle = candidate.idle});
    if (reading.declines) {
      if (reading.notes) target.overheard = {candidate.holder.id, std::move(*reading.notes)};
      continue;
    }
    target.reading = std::move(reading);
    target.slot = located.slot;
    target.id = candidate.holder.id;
    target.attempt = attempt;
    target.late = MessageId();
  }
  if (!step.lacks() && target.slot == kNoSlot && !target.late.is_set() && subject.waits &&
      !subject.names.empty()) {
    const ExternalName& name = subject.names.front();
    target.tail = Names::tail_of(profile, name);
    names_.find_pending_news(step, target.tail);
  }
  return target;
}

bool Arrivals::fits(const Subject& subject) const {
  if (subject.detail.size() > kNotesMax || subject.names.size() > kNamesMax) return false;
  return std::all_of(subject.names.begin(), subject.names.end(), [this](const ExternalName& name) {
    return name.scope.size() + name.name.size() + 64 <= limits_.key_bytes_max;
  });
}

// What news that waited means to the message that has its name.
Reading Arrivals::hear(Step& step, const Claim& claim, const PendingNews::News& news,
                       OpenCabinet& cabinet) {
  const Entry& entry = window_[claim.slot];
  Witness witness(*this, step, entry);
  witness.set(claim.owed);
  return residents_[entry.destination].bound->profile->news.notice(
      delivery_.facts_of(step, entry, &cabinet), {.detail = news.detail,
                                                  .at = receipts_.wall().meant(news.at),
                                                  .attempt = claim.holder.attempt,
                                                  .witness = &witness});
}

// Name and news are less than the window of the news apart.
bool Arrivals::is_near(const Claim& claim, const PendingNews::News& news) const {
  const Timestamp came = receipts_.wall().meant(news.at);
  const Duration apart = claim.named < came ? came - claim.named : claim.named - came;
  return news.window <= Duration(0) || apart < news.window;
}

// The first news that is about the message, while nothing has changed and it may be read for it. Of
// the others of a step only what needs no cards; the next claim begins with them.
std::optional<Reading> Arrivals::hear_first(Step& step, const Claim& claim,
                                            const std::vector<PendingNews::News>& news) {
  if (claim.slot == kNoSlot) return std::nullopt;
  const ProfileSpec& profile = *residents_[window_[claim.slot].destination].bound->profile;
  const auto first = std::find_if(
      news.begin(), news.end(), [&](const PendingNews::News& one) { return is_near(claim, one); });
  if (profile.news.notice == nullptr || first == news.end()) return std::nullopt;
  OpenCabinet cabinet(cards_, step, profile.name, OpenCabinet::Reads::kMay);
  Reading reading = hear(step, claim, *first, cabinet);
  if (step.lacks() || reading.cards.empty()) return reading;
  if (!cards_.judge(step, profile, reading.cards)) return reading;
  ++tallies_.refused_readings;
  reading.cards.clear();
  reading.declines = true;
  return reading;
}

// News and its name are both there: whichever came second, they were less than the window apart.
void Arrivals::claim(Step& step, const Chore& chore) {
  Names::Waiting waiting = names_.find_pending_news(step, chore.cursor);
  const NameEntry name = names_.find_name(step, chore.cursor);
  if (step.lacks()) return;
  const bool nothing = waiting.key.empty() || name.holders.empty();
  Claim claim;
  if (!nothing) claim.holder = name.holders.back();
  const Lookup::Located located =
      nothing ? Lookup::Located{.known = true} : lookup_.locate(step, claim.holder.id);
  if (!located.known || step.lacks()) return;
  claim.slot = located.slot;
  claim.named = receipts_.wall().meant(name.at);
  if (claim.slot != kNoSlot) {
    const Entry& entry = window_[claim.slot];
    claim.owed = debt_before(step, *residents_[entry.destination].bound->profile, entry);
  }
  if (step.lacks()) return;
  std::vector<PendingNews::News>& news = waiting.entry.news;
  std::optional<Reading> heard = hear_first(step, claim, news);
  if (step.lacks()) return;
  if (chore.all) names_.old_claim_seen();
  if (nothing) return;
  while (!news.empty()) {
    const PendingNews::News first = std::move(news.front());
    news.erase(news.begin());
    if (!is_near(claim, first)) continue;
    if (claim.slot == kNoSlot) {
      delivery_.note_late(step, claim.holder.id, "news that waited for its name");
      continue;
    }
    const ProfileSpec& profile = *residents_[window_[claim.slot].destination].bound->profile;
    if (profile.news.notice == nullptr) break;
    OpenCabinet cabinet(cards_, step, profile.name, OpenCabinet::Reads::kLater);
    const bool is_first = heard.has_value();
    const Reading reading = is_first ? std::move(*heard) : hear(step, claim, first, cabinet);
    heard.reset();
    if (!is_first && (cabinet.lacks() || !reading.cards.empty())) {
      news.insert(news.begin(), first);
      break;
    }
    if (!reading.declines)
      delivery_.tell(step, claim.slot, reading, claim.holder.attempt, first.at);
    claim.slot = window_.find(claim.holder.id);
    // It may have ended or gone to sleep: the next look tells.
    if (claim.slot == kNoSlot) break;
  }
  if (news.empty())
    return receipts_.take_pending_news(waiting.bucket, waiting.key, step.out.writes);
  step.out.writes.put(waiting.key, encode_pending_news(waiting.entry));
  step.out.chores.push_back({.kind = Chore::Kind::kClaim,
                             .destination = claim.holder.id.destination(),
                             .cursor = chore.cursor});
}

}  // namespace postrider::core
