// Arrivals: what comes unasked, the names by which others call our messages, news that waits for
// its name, and submits that follow from other messages. A name, the news that waits for it and
// the message that has it are records; which of them came first does not matter.
#include <algorithm>
#include <set>

#include "postrider/base/codec.h"
#include "postrider/base/planted.h"
#include "postrider/core/engine_impl.h"

namespace postrider {
namespace {

// Names of different profiles never meet.
std::string scope_of(const ProfileSpec& profile, const ExternalName& name) {
  return std::string(profile.name) + '/' + name.scope;
}

// Scope and name as they stand in keys, behind the bucket.
std::string tail_of(std::string_view scope, std::string_view name) {
  std::string tail;
  Writer(tail).text(scope).raw(keys::short_name(name));
  return tail;
}

std::string key_at(char space, keys::Bucket bucket, std::string_view tail) {
  return keys::bucket(space, bucket).append(tail);
}

}  // namespace

std::string Engine::Impl::supersede_scope(DestinationId destination) {
  std::string scope = "supersede";
  Writer(scope).u64(destination.value());
  return scope;
}

// The newest holder of a name, or an entry without any. With a window, only names given within it
// matter, and those are mostly in memory.
NameEntry Engine::Impl::find_name(Step& step, std::string_view tail, Duration window) {
  if (const NameEntry* recent = recent_names_.find(tail)) return *recent;
  NameEntry found;
  if (window > Duration(0) && step.now - window >= recent_names_.complete_since()) return found;
  const auto look = [&](const std::string& key) {
    const auto* value = step.get(key);
    if (value == nullptr || !value->has_value() || !found.holders.empty()) return;
    auto entry = decode_name((*value)->view());
    if (entry) found = std::move(*entry);
    if (!entry) step.damaged.emplace_back(key, **value);
  };
  for (const keys::Bucket bucket : receipts_.buckets(Kept::kNames)) {
    look(key_at(keys::kName, bucket, tail));
  }
  return found;
}

NameEntry Engine::Impl::find_named(Step& step, std::string_view scope, std::string_view name) {
  return find_name(step, tail_of(scope, name));
}

void Engine::Impl::put_name(Step& step, std::string_view scope, std::string_view name,
                            const NameEntry& entry) {
  const std::string tail = tail_of(scope, name);
  receipts_.put_kept(Kept::kNames, key_at(keys::kName, receipts_.running(Kept::kNames), tail),
                     encode_name(entry), step.out.writes);
  if (planted(Bug::kNameGoesStale) && recent_names_.find(tail) != nullptr) return;
  recent_names_.put(tail, entry);
}

Engine::Impl::Waiting Engine::Impl::find_pending_news(Step& step, std::string_view tail) {
  Waiting found;
  if (!receipts_.may_have_pending_news()) return found;
  const auto look = [&](keys::Bucket bucket, const std::string& key) {
    const auto* value = step.get(key);
    if (value == nullptr || !value->has_value()) return;
    auto entry = decode_pending_news((*value)->view());
    if (!entry) step.damaged.emplace_back(key, **value);
    if (entry && found.key.empty()) found = {bucket, key, std::move(*entry)};
  };
  for (const keys::Bucket bucket : receipts_.buckets(Kept::kPendingNews)) {
    look(bucket, key_at(keys::kPendingNews, bucket, tail));
  }
  return found;
}

std::string Engine::Impl::tail_in(std::string_view key) {
  return std::string(key.substr(5));  // behind space and bucket
}

// Gives names to an attempt of a message; news that waits for one is looked at afterwards, by a
// chore or, should that get lost, by the next restore.
void Engine::Impl::give_names(Step& step, const ProfileSpec& profile, NameEntry::Holder holder,
                              const std::vector<ExternalName>& names, Timestamp at) {
  std::size_t given = 0;
  for (const ExternalName& name : names) {
    const std::string scope = scope_of(profile, name);
    if (++given > kNamesMax || scope.size() + name.name.size() > limits_.key_bytes_max) {
      ++tallies_.refused_readings;
      continue;
    }
    put_name(step, scope, name.name, {at, {holder}});
    if (!receipts_.may_have_pending_news()) continue;
    step.out.chores.push_back({.kind = Chore::Kind::kClaim,
                               .destination = holder.id.destination(),
                               .cursor = tail_of(scope, name.name)});
  }
}

// News that is not about a transition: notes, and whether the open send can still arrive.
void Engine::Impl::absorb(Step& step, Entry& entry, const Reading& reading, bool answers_send) {
  tallies_.mismatched += reading.mismatched ? 1 : 0;
  tallies_.adopted += reading.adopted ? 1 : 0;
  if (reading.alarm) {
    ++tallies_.alarms;
    receipts_.note({.position = {},
                    .kind = LogEntry::Kind::kAlarm,
                    .at = step.now,
                    .id = entry.message.id,
                    .attempts = entry.state.attempts,
                    .reason = reading.outcome.reason.substr(0, limits_.reason_bytes_max)});
  }
  if (reading.notes && reading.notes->size() > kNotesMax) {
    ++tallies_.refused_readings;
  } else if (reading.notes && *reading.notes != entry.notes()) {
    entry.more().notes = *reading.notes;
    entry.dirty = true;
  }
  const bool closes =
      reading.closes || (answers_send && reading.outcome.certainty != Certainty::kUnknown);
  if (closes && entry.details && entry.details->intent.open) {
    entry.details->intent.open = false;
    entry.dirty = true;
  }
}

// All that a reading says about a message in memory, in one commit.
void Engine::Impl::apply_reading(Step& step, Slot slot, const Reading& reading,
                                 std::uint16_t attempt, Timestamp at) {
  const MessageId id = entries_[slot].message.id;
  const ProfileSpec& profile = *residents_[entries_[slot].destination].bound->profile;
  apply(step, slot, reading.signal, &reading);
  if (reading.then) {
    const auto same = by_id_.find(id);
    if (same != by_id_.end()) apply(step, same->second, *reading.then, &reading);
  }
  if (!reading.names.empty()) give_names(step, profile, {id, attempt}, reading.names, at);
  if (!reading.submits.empty()) write_nested(step, profile, id, reading.submits);
}

// News about a message by another way than its attempt.
void Engine::Impl::tell(Step& step, Slot slot, const Reading& reading, std::uint16_t attempt,
                        Timestamp at) {
  Entry& entry = entries_[slot];
  const bool legal = reading.silent || may_come_from_outside(reading.signal);
  const bool then_legal = !reading.then || may_come_from_outside(*reading.then);
  if (!legal || !then_legal) {
    ++tallies_.ignored_signals;
    return;
  }
  absorb(step, entry, reading, false);
  if (reading.silent) {
    const ProfileSpec& profile = *residents_[entry.destination].bound->profile;
    give_names(step, profile, {entry.message.id, attempt}, reading.names, at);
    if (entry.dirty) store_dirty(step, entry);
    return;
  }
  const Transition* row = find_row(method_of(entry).rows, entry.state.state, reading.signal);
  if (row != nullptr && row->verb != Do::kIgnore) {
    entry.state.failure = reading.outcome.failure;
    entry.state.certainty = reading.outcome.certainty;
    if (!reading.outcome.reason.empty()) set_reason(entry, reading.outcome.reason);
    if (has_gates(entry.message)) strike_gates(step, slot);
  }
  apply_reading(step, slot, reading, attempt, at);
}

void Engine::Impl::note_late(Step& step, MessageId id, std::string_view source) {
  ++tallies_.late_receipts;
  LogEntry late;
  late.kind = LogEntry::Kind::kLate;
  late.at = step.now;
  late.id = id;
  late.reason = source.substr(0, limits_.reason_bytes_max);
  receipts_.note(std::move(late));
}

// Everybody whom a subject could be about, the likeliest first.
std::vector<Engine::Impl::Candidate> Engine::Impl::candidates_for(Step& step,
                                                                  const ProfileSpec& profile,
                                                                  const Subject& subject) {
  std::vector<Candidate> candidates;
  if (subject.message.is_set()) candidates.push_back({{subject.message, 0}});
  bool second = false;
  for (const ExternalName& name : subject.names) {
    const NameEntry entry =
        find_name(step, tail_of(scope_of(profile, name), name.name), subject.window);
    const bool apart = subject.window > Duration(0) &&
                       step.now - receipts_.wall().meant(entry.at) >= subject.window;
    if (!apart || planted(Bug::kWindowOpenTooLong)) {
      for (const NameEntry::Holder& holder : entry.holders)
        candidates.push_back({holder, false, second});
    }
    second = true;
  }
  const auto gate = subject.gate == 0 ? gates_.end() : gates_.find(subject.gate);
  // A name that was given to another message is too old to pair them, but it tells that the news is
  // not of this one.
  const auto names_another = [&](MessageId id) {
    if (subject.window <= Duration(0)) return false;
    for (const ExternalName& name : subject.names) {
      const NameEntry entry = find_name(step, tail_of(scope_of(profile, name), name.name));
      for (const NameEntry::Holder& holder : entry.holders) {
        if (holder.id != id) return true;
      }
    }
    return false;
  };
  if (gate != gates_.end() && gate->second.holder.is_set()) {
    if (!names_another(gate->second.holder))
      candidates.push_back({{gate->second.holder, 0}, true, true});
  } else if (!subject.idle.name.empty() && !restoring() &&
             (gate == gates_.end() || gate->second.state.in_use() == 0)) {
    const NameEntry entry =
        find_name(step, tail_of(scope_of(profile, subject.idle), subject.idle.name));
    if (!entry.holders.empty() && !names_another(entry.holders.back().id))
      candidates.push_back({entry.holders.back(), false, true, true});
  }
  return candidates;
}

// When the first name was given last that the open attempt will leave behind.
Timestamp Engine::Impl::debt_before(Step& step, const ProfileSpec& profile, const Entry& entry) {
  if (profile.after == nullptr || intent_of(entry) == nullptr) return {};
  const std::vector<ExternalName> names =
      profile.after(facts_of(step, entry), {.kind = Moment::Kind::kAbandoned}).names;
  if (names.empty()) return {};
  return find_name(step, tail_of(scope_of(profile, names.front()), names.front().name)).at;
}

// When the first name was given last that the open attempt would leave behind, unless it is set.
class Engine::Impl::Witness final : public TimeLookup {
 public:
  Witness(Impl& engine, Step& step, const Entry& entry)
      : engine_(engine), turn_(step), entry_(entry) {}

  void set(Timestamp at) { known_ = at; }
  Timestamp find() const override {
    if (known_) return *known_;
    const ProfileSpec& profile = *engine_.residents_[entry_.destination].bound->profile;
    return engine_.debt_before(turn_, profile, entry_);
  }

 private:
  Impl& engine_;
  Step& turn_;
  const Entry& entry_;
  std::optional<Timestamp> known_;
};

// Whom a subject is about. Everything is read before anything is changed.
Engine::Impl::Target Engine::Impl::find_target(Step& step, const ProfileSpec& profile,
                                               const Subject& subject) {
  Target target;
  for (const Candidate& candidate : candidates_for(step, profile, subject)) {
    const Located located = locate(step, candidate.holder.id);
    if (!located.known || target.slot != kNoSlot) continue;
    // It is known whose news this is, and that its message has ended: no other message may take it
    // for its own.
    if ((candidate.by_gate || candidate.idle) && target.late.is_set()) continue;
    if (located.slot == kNoSlot) {
      if (!target.late.is_set() && !candidate.second) target.late = candidate.holder.id;
      continue;
    }
    const Entry& entry = entries_[located.slot];
    if (residents_[entry.destination].bound->profile != &profile) continue;
    const std::uint16_t attempt =
        candidate.by_gate ? entry.state.attempts : candidate.holder.attempt;
    Witness witness(*this, step, entry);
    if (candidate.by_gate) {
      const ExternalName& name = subject.witness;
      witness.set(name.name.empty()
                      ? Timestamp()
                      : find_name(step, tail_of(scope_of(profile, name), name.name)).at);
    }
    Reading reading = profile.news.notice(facts_of(step, entry), {.detail = subject.detail,
                                                                  .at = step.now,
                                                                  .attempt = attempt,
                                                                  .by_gate = candidate.by_gate,
                                                                  .witness = &witness,
                                                                  .idle = candidate.idle});
    if (reading.declines) continue;
    target.reading = std::move(reading);
    target.slot = located.slot;
    target.id = candidate.holder.id;
    target.attempt = attempt;
    target.late = MessageId();
  }
  if (!step.lacks() && target.slot == kNoSlot && !target.late.is_set() && subject.waits &&
      !subject.names.empty()) {
    const ExternalName& name = subject.names.front();
    target.tail = tail_of(scope_of(profile, name), name.name);
    find_pending_news(step, target.tail);
  }
  return target;
}

void Engine::Impl::keep_pending_news(Step& step, const std::string& tail, const Subject& subject) {
  Waiting waiting = find_pending_news(step, tail);
  if (planted(Bug::kHalfForgotten)) return;
  std::vector<PendingNews::News>& news = waiting.entry.news;
  news.push_back({step.now, subject.window, subject.detail});
  if (news.size() > limits_.news_per_name_max) news.erase(news.begin());
  // In the running bucket, so that the newest is kept for its full time.
  if (!waiting.key.empty())
    receipts_.take_pending_news(waiting.bucket, waiting.key, step.out.writes);
  receipts_.put_kept(Kept::kPendingNews,
                     key_at(keys::kPendingNews, receipts_.running(Kept::kPendingNews), tail),
                     encode_pending_news(waiting.entry), step.out.writes);
}

void Engine::Impl::on(Step& step, const Arrived& arrived) {
  const auto refuse = [&](AnswerCode code, std::string detail) {
    Answer answer;
    answer.code = code;
    answer.detail = std::move(detail);
    reply(step, arrived.caller.ticket, std::move(answer));
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
  once(step, arrived.caller, bytes, [&] {
    taken = true;
    return take_arrival(step, *profile, arrived);
  });
  if (!taken && !step.lacks()) ++tallies_.repeated_arrivals;
}

std::optional<Answer> Engine::Impl::take_arrival(Step& step, const ProfileSpec& profile,
                                                 const Arrived& arrived) {
  Received received =
      profile.news.receive({arrived.source, arrived.settings, arrived.bytes, step.now, step.wall});
  std::vector<Subject>& subjects = received.subjects;
  std::uint64_t refused = 0;
  if (subjects.size() > kSubjectsMax) {
    refused += subjects.size() - kSubjectsMax;
    subjects.resize(kSubjectsMax);
  }
  refused += std::erase_if(subjects, [this](const Subject& subject) { return !fits(subject); });
  std::vector<Target> targets;
  targets.reserve(subjects.size());
  for (const Subject& subject : subjects) targets.push_back(find_target(step, profile, subject));
  if (step.lacks()) return std::nullopt;

  ++tallies_.arrivals;
  tallies_.refused_readings += refused;
  receipts_.put_kept(Kept::kArrivals,
                     keys::arrival(receipts_.running(Kept::kArrivals), next_sequence()),
                     encode_arrival({step.now, arrived.profile, arrived.source, arrived.bytes},
                                    profile.dictionary),
                     step.out.writes);
  std::set<MessageId> told;
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    const Target& target = targets[i];
    // What it means was asked before anything changed, so one arrival speaks of a message once; the
    // subject before may also have moved it out of memory.
    if (target.slot != kNoSlot && !told.insert(target.id).second) {
      ++tallies_.refused_readings;
      continue;
    }
    const auto same = by_id_.find(target.id);
    if (subjects[i].alive) hear_alive(step, subjects[i].gate);
    if (target.slot != kNoSlot && same != by_id_.end()) {
      const Slot slot = same->second;
      if (planted(Bug::kOlderNameIgnored) && target.attempt != 0 &&
          target.attempt < entries_[slot].state.attempts)
        continue;
      tell(step, slot, target.reading, target.attempt, step.now);
    } else if (target.late.is_set()) {
      note_late(step, target.late, to_string(arrived.source));
    } else {
      if (!subjects[i].names.empty()) ++tallies_.unknown_names;
      if (!target.tail.empty()) keep_pending_news(step, target.tail, subjects[i]);
    }
  }
  if (!received.submits.empty() && !planted(Bug::kArrivalSendsNothing))
    write_nested(step, profile, MessageId(), received.submits);
  Answer answer;
  answer.detail =
      std::to_string(subjects.size()) + (subjects.size() == 1 ? " subject" : " subjects");
  return answer;
}

bool Engine::Impl::fits(const Subject& subject) const {
  if (subject.detail.size() > kNotesMax || subject.names.size() > kNamesMax) return false;
  return std::all_of(subject.names.begin(), subject.names.end(), [this](const ExternalName& name) {
    return name.scope.size() + name.name.size() + 64 <= limits_.key_bytes_max;
  });
}

// An attempt that is given up may leave names behind, by which others know of it.
void Engine::Impl::abandon(Step& step, const Entry& entry) {
  const ProfileSpec& profile = *residents_[entry.destination].bound->profile;
  if (profile.after == nullptr || intent_of(entry) == nullptr) return;
  give_names(step, profile, {entry.message.id, entry.state.attempts},
             profile.after(facts_of(step, entry), {.kind = Moment::Kind::kAbandoned}).names,
             step.now);
}

// News and its name are both there: whichever came second, they were less than the window apart.
void Engine::Impl::claim(Step& step, const Chore& chore) {
  Waiting waiting = find_pending_news(step, chore.cursor);
  const NameEntry name = find_name(step, chore.cursor);
  if (step.lacks()) return;
  const bool nothing = waiting.key.empty() || name.holders.empty();
  const NameEntry::Holder holder = nothing ? NameEntry::Holder() : name.holders.back();
  const Located located = nothing ? Located{.known = true} : locate(step, holder.id);
  if (!located.known || step.lacks()) return;
  Timestamp owed;
  if (located.slot != kNoSlot) {
    const Entry& entry = entries_[located.slot];
    owed = debt_before(step, *residents_[entry.destination].bound->profile, entry);
  }
  if (step.lacks()) return;
  if (chore.all && --old_claims_ == 0 && all_old_claims_known_) receipts_.hold_news(false);
  if (nothing) return;
  std::vector<PendingNews::News>& news = waiting.entry.news;
  Slot slot = located.slot;
  while (!news.empty()) {
    const PendingNews::News first = std::move(news.front());
    news.erase(news.begin());
    const Duration apart = name.at < first.at ? first.at - name.at : name.at - first.at;
    if (first.window > Duration(0) && apart >= first.window) continue;
    if (slot == kNoSlot) {
      note_late(step, holder.id, "news that waited for its name");
      continue;
    }
    const Bound& bound = *residents_[entries_[slot].destination].bound;
    if (bound.profile->news.notice == nullptr) break;
    Witness witness(*this, step, entries_[slot]);
    witness.set(owed);
    const Reading reading = bound.profile->news.notice(
        facts_of(step, entries_[slot]),
        {.detail = first.detail, .at = first.at, .attempt = holder.attempt, .witness = &witness});
    if (!reading.declines) tell(step, slot, reading, holder.attempt, first.at);
    const auto same = by_id_.find(holder.id);
    slot = same == by_id_.end() ? kNoSlot : same->second;
    // It may have ended or gone to sleep: the next look tells.
    if (slot == kNoSlot) break;
  }
  if (news.empty())
    return receipts_.take_pending_news(waiting.bucket, waiting.key, step.out.writes);
  step.out.writes.put(waiting.key, encode_pending_news(waiting.entry));
  step.out.chores.push_back({.kind = Chore::Kind::kClaim,
                             .destination = holder.id.destination(),
                             .cursor = chore.cursor});
}

// Those of a key that may still wait; the others are forgotten.
NameEntry Engine::Impl::find_older(Step& step, std::string_view scope, std::string_view key) {
  NameEntry entry = find_name(step, tail_of(scope, key));
  if (step.lacks()) return entry;
  std::vector<NameEntry::Holder> live;
  for (const NameEntry::Holder& holder : entry.holders) {
    const Located located = locate(step, holder.id);
    if (located.known && located.slot != kNoSlot) live.push_back(holder);
  }
  entry.holders = std::move(live);
  return entry;
}

// Older messages of one key end as cancelled while they wait; what is under way stays.
void Engine::Impl::supersede(Step& step, NameEntry& older) {
  std::vector<NameEntry::Holder> left;
  for (const NameEntry::Holder& holder : older.holders) {
    const auto found = by_id_.find(holder.id);
    if (found == by_id_.end()) continue;
    Entry& entry = entries_[found->second];
    const Phase phase = phase_of(entry);
    const Transition* row = find_row(method_of(entry).rows, entry.state.state, On::kCancelled);
    const bool waits = phase == Phase::kQueued || phase == Phase::kBackoff;
    if (waits && row != nullptr && row->verb != Do::kIgnore) {
      set_reason(entry, "superseded");
      apply(step, found->second, On::kCancelled, nullptr);
    } else if (planted(Bug::kSupersedesWhatIsOut)) {
      set_reason(entry, "superseded");
      const std::span<const StateRow> states = residents_[entry.destination].bound->profile->states;
      StateIndex cancelled = 0;
      while (states[cancelled].phase != Phase::kCancelled) ++cancelled;
      end(step, found->second, cancelled);
    } else {
      left.push_back(holder);
    }
  }
  older.holders = std::move(left);
}

// Submits that follow from a message are records until they are messages: their destinations may
// have to be read first, and the commit that they belong to does not wait for that.
void Engine::Impl::write_nested(Step& step, const ProfileSpec& profile, MessageId from,
                                const std::vector<NestedSubmit>& submits) {
  std::size_t written = 0;
  for (const NestedSubmit& submit : submits) {
    const bool fits = submit.body.size() <= limits_.body_bytes_max && submit.lane < kLanes &&
                      submit.attributes.size() <= limits_.attributes_bytes_max;
    if (++written > kNestedMax || !fits) {
      ++tallies_.refused_readings;
      continue;
    }
    std::string key = keys::nested(next_sequence());
    if (!planted(Bug::kNestedAfterCommit)) {
      step.out.writes.put(key, encode_nested({from, submit.destination, submit.lane,
                                              submit.priority, submit.attributes, submit.body},
                                             profile.dictionary));
    }
    // Those of the former life come first: the scan of restore finds this one behind them.
    if (!nested_restored_) continue;
    // Those for one destination must not overtake each other while something is read.
    const DestinationId to = destination_id(submit.destination, submit.destination, 0);
    step.out.chores.push_back(
        {.kind = Chore::Kind::kNested, .destination = to, .cursor = std::move(key)});
  }
}

void Engine::Impl::submit_nested(Step& step, const Chore& chore) {
  const auto* value = step.get(chore.cursor);
  if (value == nullptr || !value->has_value()) return;
  const auto nested = decode_nested((*value)->view(), dictionaries_);
  const Dictionary* const dictionary =
      nested ? find_dictionary(dictionaries_, nested->dictionary) : nullptr;
  if (!nested || (nested->dictionary != 0 && dictionary == nullptr)) {
    step.damaged.emplace_back(chore.cursor, **value);
    return;
  }
  const Destined destined = find_destination(step, nested->destination);
  if (!destined.known) return;
  std::optional<std::string> refusal;
  if (destined.slot == kNoSlot) {
    refusal = "there is no destination '" + nested->destination + "'";
  } else {
    refusal = closed_to_new(residents_[destined.slot]);
  }
  if (!refusal) {
    const auto accepted = take_message(step, {.resident = destined.slot,
                                              .lane = nested->lane,
                                              .priority = nested->priority,
                                              .not_before = {},
                                              .expires = {},
                                              .origin = nested->from,
                                              .attributes = nested->attributes,
                                              .body = nested->body,
                                              .dictionary = dictionary});
    if (!accepted) return;
    if (!*accepted) refusal = accepted->error().detail;
  }
  step.out.writes.remove(chore.cursor);
  if (!refusal) return;
  LogEntry unsent;
  unsent.kind = LogEntry::Kind::kUnsent;
  unsent.at = step.now;
  unsent.id = nested->from;
  unsent.reason = refusal->substr(0, limits_.reason_bytes_max);
  receipts_.note(std::move(unsent));
}

}  // namespace postrider
