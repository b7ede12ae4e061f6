// Operators: commands on messages, dead letters and destinations. Each is answered with what
// happened.
#include <algorithm>

#include "postrider/base/planted.h"
#include "postrider/core/engine_impl.h"

namespace postrider {
namespace {

constexpr std::uint32_t kEmptyRows = 8;  // read to see whether there are any

Answer answer_with(AnswerCode code, std::string detail = {}, MessageId id = {}) {
  Answer answer;
  answer.code = code;
  answer.id = id;
  answer.detail = std::move(detail);
  return answer;
}

Answer no_destination(const std::string& name) {
  return answer_with(AnswerCode::kNotFound, "there is no destination '" + name + "'");
}

DestinationConfig merged(DestinationConfig config, const NamedTexts& changes) {
  for (const NamedText& change : changes) {
    std::erase_if(config.settings,
                  [&](const NamedText& text) { return text.first == change.first; });
    if (!change.second.empty()) config.settings.push_back(change);
  }
  return config;
}

bool has_letter(const EndRecord& end) {
  return leaves_letter(end.phase) && end.content_bucket != 0;
}

Answer no_letter(MessageId id) {
  return answer_with(AnswerCode::kNotFound, "there is no dead letter of this message, or no longer",
                     id);
}

}  // namespace

Engine::Impl::Buried Engine::Impl::find_end(Step& step, MessageId id) {
  Buried out;
  for (const keys::Bucket bucket : receipts_.buckets(Kept::kEnds)) {
    const std::string key = keys::end(bucket, id.sequence());
    const auto* value = step.get(key);
    if (value == nullptr || !value->has_value() || out.end) continue;
    auto end = decode_end((*value)->view());
    if (!end) step.damaged.emplace_back(key, **value);
    if (end && end->id == id) out.end = std::move(*end);
  }
  out.known = !step.lacks();
  return out;
}

// The end says in which bucket its letter lies. Ends may be kept for less long than letters: then
// the letter says how it ended, and is looked for in each of the few buckets.
Engine::Impl::Buried Engine::Impl::find_letter(Step& step, MessageId id) {
  Buried out = find_end(step, id);
  if (!out.known || (out.end && !has_letter(*out.end))) return out;
  std::vector<keys::Bucket> where;
  if (out.end) where.push_back(out.end->content_bucket);
  if (!out.end) where = receipts_.buckets(Kept::kDead);
  for (const keys::Bucket bucket : where) {
    const auto* value = step.get(keys::dead(bucket, id));
    if (value == nullptr || !value->has_value()) continue;
    out.letter = **value;
    if (!out.end) out.end = end_of_letter(step, {keys::dead(bucket, id), **value}, bucket);
    if (!out.end) out.letter.reset();
  }
  out.known = !step.lacks();
  return out;
}

// The letter, or what is kept as history.
Engine::Impl::Buried Engine::Impl::find_content(Step& step, MessageId id) {
  Buried out = find_letter(step, id);
  if (!out.known || out.letter) return out;
  if (out.end && (out.end->content_bucket == 0 || leaves_letter(out.end->phase))) return out;
  std::vector<keys::Bucket> where;
  if (out.end) where.push_back(out.end->content_bucket);
  if (!out.end) where = receipts_.buckets(Kept::kHistory);
  for (const keys::Bucket bucket : where) {
    const std::string key = keys::history(bucket, id);
    const auto* value = step.get(key);
    if (value == nullptr || !value->has_value()) continue;
    out.letter = **value;
    if (!out.end) out.end = end_of_letter(step, {key, **value}, bucket);
    if (!out.end) out.letter.reset();
  }
  out.known = !step.lacks();
  return out;
}

std::optional<EndRecord> Engine::Impl::end_of_letter(Step& step, const Row& row,
                                                     keys::Bucket bucket) {
  const auto dead = decode_dead(row.second.view());
  const auto message = dead ? decode_message(Blob::copy_of(dead->message))
                            : Result<Message>(fail(ErrorCode::kCorrupt, {}));
  if (!message) {
    step.damaged.push_back(row);
    return std::nullopt;
  }
  EndRecord end;
  end.id = message->id;
  end.phase = dead->letter.phase;
  end.cause = dead->letter.cause;
  end.attempts = dead->letter.attempts;
  end.accepted = message->accepted;
  end.at = dead->letter.at;
  end.content_bucket = bucket;
  end.origin = message->origin;
  end.reason = dead->letter.reason;
  return end;
}

void Engine::Impl::take_letter(Step& step, const Buried& buried, bool moves) {
  const SharedBody shared = shared_of_letter(buried.letter->view());
  if (shared.id != 0) {
    step.out.writes.remove(
        keys::body_letter(buried.end->content_bucket, shared.id, buried.end->id));
    if (!moves) release_later(step, shared, buried.end->id);
  }
  receipts_.take_letter({.bucket = buried.end->content_bucket,
                         .id = buried.end->id,
                         .size = buried.letter->size() + shared.bytes,
                         .phase = buried.end->phase,
                         .cause = buried.end->cause},
                        step.now, step.out.writes);
}

Answer Engine::Impl::missing(Step& step, MessageId id) {
  const Buried buried = find_end(step, id);
  if (!buried.known || !buried.end)
    return answer_with(AnswerCode::kNotFound, "there is no such message, or no longer", id);
  return answer_with(AnswerCode::kEnded,
                     "the message has ended: " + std::string(name_of(buried.end->phase)), id);
}

// Only what changed something: a refusal and a repetition change nothing.
void Engine::Impl::audit(Step& step, const Caller& caller, const AuditLine& line,
                         const Answer& answer) {
  const bool changed = answer.code == AnswerCode::kDone || answer.code == AnswerCode::kAccepted ||
                       answer.code == AnswerCode::kPending;
  if (!changed || (planted(Bug::kAuditForgotten) && answer.code == AnswerCode::kPending)) return;
  AuditRecord record;
  record.at = step.now;
  record.actor = caller.actor.empty() ? "library" : caller.actor;
  record.action = line.action;
  record.target = line.target.empty() ? to_string(JobId(answer.id.low)) : line.target;
  record.reason = line.reason;
  record.effect = std::string(name_of(answer.code));
  if (!answer.detail.empty()) record.effect.append(": ").append(answer.detail);
  receipts_.audit(record, next_sequence(), step.out.writes);
}

void Engine::Impl::on(Step& step, const Cancel& cancel) {
  const AuditLine line{"cancel", ids_.text(cancel.id), {}};
  once(step, cancel.caller, canonical("cancel", cancel.id), line, [&]() -> std::optional<Answer> {
    const Located located = locate(step, cancel.id);
    if (!located.known) return std::nullopt;
    if (located.slot == kNoSlot) return missing(step, cancel.id);
    apply(step, located.slot, On::kCancelled, nullptr);
    const auto still = by_id_.find(cancel.id);
    if (still == by_id_.end())
      return answer_with(AnswerCode::kDone, std::string(name_of(last_end_)), cancel.id);
    if (!method_of(entries_[still->second]).cancels_later)
      return answer_with(AnswerCode::kNothing, "it is under way, and cannot be cancelled",
                         cancel.id);
    const bool sending = phase_of(entries_[still->second]) == Phase::kInFlight;
    return answer_with(
        AnswerCode::kPending,
        sending ? "an attempt is open; the message is cancelled unless that succeeds"
                : "the far side has it; the message is cancelled as soon as that is over",
        cancel.id);
  });
}

void Engine::Impl::on(Step& step, const RetryNow& retry) {
  const AuditLine line{"retry", ids_.text(retry.id), {}};
  once(step, retry.caller, canonical("retry-now", retry.id), line, [&]() -> std::optional<Answer> {
    const Located located = locate(step, retry.id);
    if (!located.known) return std::nullopt;
    if (located.slot == kNoSlot) return missing(step, retry.id);
    return retry_now(step, located.slot);
  });
}

Answer Engine::Impl::retry_now(Step& step, Slot slot) {
  Entry& entry = entries_[slot];
  const MessageId id = entry.message.id;
  const Phase phase = phase_of(entry);
  const bool scheduled = phase == Phase::kQueued && entry.state.due > step.now;
  if (phase != Phase::kBackoff && phase != Phase::kParked && !scheduled) {
    return answer_with(AnswerCode::kNothing,
                       "nothing to wait for: the message is " + std::string(state_of(entry).name),
                       id);
  }
  Resident& resident = residents_[entry.destination];
  const bool fifo = resident.bound->policy.lane_kind(id.lane()) == LaneKind::kFifo;
  if (phase != Phase::kParked && (scheduled || (entry.visitor && fifo))) {
    // It becomes due on disk; in a FIFO lane it must not overtake, so the refill brings it in its
    // place.
    entry.state.due = step.now;
    store_state(step, entry);
    if (entry.due_entry.is_set()) {
      step.out.writes.remove(
          keys::due(std::exchange(entry.due_entry, {}), keys::DueKind::kAttempt, id));
    }
    put_due(step, step.now, keys::DueKind::kAttempt, id);
    if (due_loaded_until_ <= step.now)
      step.out.chores.push_back(
          {.kind = Chore::Kind::kWakeMessage, .destination = id.destination(), .id = id});
    return answer_with(AnswerCode::kDone, "due now", id);
  }
  apply(step, slot, On::kDue, nullptr);
  return answer_with(AnswerCode::kDone, phase == Phase::kParked ? "revived" : "due now", id);
}

void Engine::Impl::on(Step& step, const Redrive& redrive) {
  const AuditLine line{
      "redrive", ids_.text(redrive.id),
      redrive.even_if_it_ran ? std::string_view("even if it ran") : std::string_view()};
  once(step, redrive.caller, canonical("redrive", redrive.id), line,
       [&]() -> std::optional<Answer> {
         const Located located = locate(step, redrive.id);
         if (!located.known) return std::nullopt;
         if (located.slot != kNoSlot) {
           if (phase_of(entries_[located.slot]) == Phase::kParked)
             return retry_now(step, located.slot);
           return answer_with(AnswerCode::kNothing, "the message is still live", redrive.id);
         }
         const Buried buried = find_letter(step, redrive.id);
         if (!buried.known) return std::nullopt;
         if (!buried.letter && buried.end && !has_letter(*buried.end)) {
           return answer_with(AnswerCode::kEnded,
                              "the message has ended: " + std::string(name_of(buried.end->phase)) +
                                  "; only dead letters are sent again",
                              redrive.id);
         }
         if (!buried.letter) return no_letter(redrive.id);
         const Destined destined = find_destination(step, redrive.id.destination());
         if (!destined.known) return std::nullopt;
         if (destined.slot == kNoSlot)
           return answer_with(AnswerCode::kNotFound, "its destination is gone", redrive.id);
         return redrive_letter(step, destined.slot, buried, redrive.even_if_it_ran);
       });
}

Answer Engine::Impl::redrive_letter(Step& step, Slot slot, const Buried& buried, bool regardless) {
  const MessageId old = buried.end->id;
  const std::optional<Answer> answer = send_content(step, slot, buried, regardless);
  if (!answer) return {};  // something must be read first
  if (answer->code != AnswerCode::kAccepted) return *answer;
  take_letter(step, buried, true);
  ++receipts_.counters().redriven;
  return answer_with(AnswerCode::kAccepted, "redrives " + ids_.text(old), answer->id);
}

// A new message linked to the old one: an end is an end.
std::optional<Answer> Engine::Impl::send_content(Step& step, Slot slot, const Buried& buried,
                                                 bool regardless) {
  const MessageId old = buried.end->id;
  if (const auto why = closed_to_new(residents_[slot]))
    return answer_with(AnswerCode::kDisabled, *why, old);
  const auto message = message_of_letter(step, buried.letter->view());
  if (step.lacks()) return std::nullopt;
  if (!message) {
    step.damaged.emplace_back(content_key(buried.end->content_bucket, old, buried.end->phase),
                              *buried.letter);
    return answer_with(AnswerCode::kNotFound, "its content cannot be read; it is in quarantine",
                       old);
  }
  const ProfileSpec& profile = *residents_[slot].bound->profile;
  auto parsed = read_message(profile, message->attributes, message->body).value_or(nullptr);
  auto refusal = refuse_rerun(step, profile,
                              {.former = old, .parsed = parsed.get(), .regardless = regardless});
  if (step.lacks() || refusal) return refusal;
  const auto accepted = take_message(step, {.resident = slot,
                                            .lane = old.lane(),
                                            .priority = old.priority(),
                                            .not_before = {},
                                            .expires = {},
                                            .origin = old,
                                            .attributes = message->attributes,
                                            .body = message->body,
                                            .shared = &message->shared,
                                            .parsed = std::move(parsed)});
  if (!accepted) return std::nullopt;
  const Result<MessageId>& id = *accepted;
  if (!id) return answer_with(AnswerCode::kInvalid, id.error().detail, old);
  note_run(step, profile, old, *id);
  return answer_with(AnswerCode::kAccepted, {}, *id);
}

void Engine::Impl::on(Step& step, const Drop& drop) {
  const AuditLine line{"drop", ids_.text(drop.id), {}};
  once(step, drop.caller, canonical("drop", drop.id), line, [&]() -> std::optional<Answer> {
    const Located located = locate(step, drop.id);
    if (!located.known) return std::nullopt;
    if (located.slot != kNoSlot) {
      if (phase_of(entries_[located.slot]) != Phase::kParked) {
        return answer_with(AnswerCode::kNothing, "the message is live; cancel it instead", drop.id);
      }
      apply(step, located.slot, On::kCancelled, nullptr);
      return answer_with(AnswerCode::kDone, "dropped", drop.id);
    }
    const Buried buried = find_letter(step, drop.id);
    if (!buried.known) return std::nullopt;
    if (!buried.letter) return no_letter(drop.id);
    take_letter(step, buried);
    ++receipts_.counters().dropped;
    return answer_with(AnswerCode::kDone, "dropped", drop.id);
  });
}

void Engine::Impl::on(Step& step, const Configure& configure) {
  const DestinationConfig& config = configure.config;
  const std::string_view verb = config.draining  ? "drain"
                                : config.removed ? "remove"
                                                 : (configure.merge ? "merge" : "configure");
  const std::string bytes =
      canonical(verb, config.name, config.profile + '\0' + encode_texts(config.settings));
  const AuditLine line{verb == "merge" ? "limits" : verb, config.name, {}};
  once(step, configure.caller, bytes, line, [&]() -> std::optional<Answer> {
    if (config.name.empty() || config.name.size() > limits_.name_bytes_max) {
      return answer_with(
          AnswerCode::kInvalid,
          "a destination's name has 1 to " + std::to_string(limits_.name_bytes_max) + " bytes");
    }
    const Destined destined = find_destination(step, config.name);
    if (!destined.known) return std::nullopt;
    if (config.removed) return remove_destination(step, destined.slot, config);
    if (!configure.merge) return put_destination(step, destined.slot, config);
    if (destined.slot == kNoSlot) return no_destination(config.name);
    return put_destination(step, destined.slot,
                           merged(residents_[destined.slot].bound->config, config.settings));
  });
}

std::optional<Answer> Engine::Impl::put_destination(Step& step, Slot slot,
                                                    const DestinationConfig& config) {
  if (encode_texts(config.settings).size() > limits_.settings_bytes_max) {
    return answer_with(
        AnswerCode::kTooLarge,
        "the settings have more than " + std::to_string(limits_.settings_bytes_max) + " bytes");
  }
  const ProfileSpec* profile = nullptr;
  for (const ProfileSpec* candidate : options_.profiles) {
    if (candidate->name == config.profile) profile = candidate;
  }
  if (profile == nullptr) {
    std::string names;
    for (const ProfileSpec* candidate : options_.profiles)
      names.append(names.empty() ? "" : ", ").append(candidate->name);
    return answer_with(AnswerCode::kInvalid,
                       "there is no profile '" + config.profile + "'; there are: " + names);
  }
  auto policy = profile->settings.configure(config.settings);
  if (!policy) return answer_with(AnswerCode::kInvalid, policy.error().detail);
  const auto bound = bound_to(config, *profile, *policy);
  if (slot == kNoSlot) {
    const auto id = free_probe(step, config.name);
    if (step.lacks()) return std::nullopt;
    if (!id)
      return answer_with(AnswerCode::kInvalid,
                         "too many destinations whose names hash alike; choose another name");
    step.out.writes.put(keys::config(*id), encode_config(config));
    Resident resident;
    resident.id = *id;
    resident.bound = bound;
    resident.activity.since = step.now;
    begin_throttle(resident);
    const Slot added = residents_.add(std::move(resident));
    by_destination_[id->value()] = added;
    note_for_holds(residents_[added]);
    touch(added);
    return answer_with(AnswerCode::kDone, "created");
  }
  Resident& resident = residents_[slot];
  if (resident.bound->config.profile != config.profile) {
    return answer_with(AnswerCode::kInvalid,
                       "a destination keeps its profile; remove it and make a new one");
  }
  if (resident.bound->config.settings == config.settings && !resident.bound->config.draining)
    return answer_with(AnswerCode::kNothing, "unchanged");
  step.out.writes.put(keys::config(resident.id), encode_config(config));
  const bool drained = resident.bound->config.draining;
  const bool widened = resident.bound->policy.route.in_use_max != bound->policy.route.in_use_max;
  resident.bound = bound;
  if (widened) begin_throttle(resident);
  note_for_holds(resident);
  if (drained) write_owed(step, slot);
  for (Lane& lane : resident.lanes) {
    if (bound->policy.lane_kind(lane.number) != LaneKind::kFifo) lane.asleep = false;
  }
  leave_lines(slot);
  ring(slot);
  maybe_refill(step, slot);
  touch(slot);
  return answer_with(AnswerCode::kDone, "changed");
}

std::optional<DestinationId> Engine::Impl::free_probe(Step& step, std::string_view name) {
  for (std::uint64_t probe = 0; probe < kProbes; ++probe) {
    const DestinationId id = destination_id(name, name, probe);
    if (by_destination_.contains(id.value())) continue;
    const auto* value = step.get(keys::config(id));
    if (value == nullptr) return std::nullopt;
    if (!value->has_value()) return id;
    const auto config = decode_config((*value)->view());
    if (!config || (config->removed && config->name == name)) return id;
  }
  return std::nullopt;
}

// Whether nothing of the destination lives; nothing when that must be read first.
std::optional<bool> Engine::Impl::is_empty(Step& step, Slot slot) {
  const Resident& resident = residents_[slot];
  if (resident.in_memory > 0 || resident.chores > 0 || restoring_hot_) return false;
  const std::optional<bool> bare = has_none_on_disk(step, resident.id);
  if (!bare) return std::nullopt;
  return *bare && !asleep_of_.contains(resident.id.value());
}

std::optional<bool> Engine::Impl::has_none_on_disk(Step& step, DestinationId id) {
  const std::string last = keys::cold({(id.value() + 1) << 20, 0}, keys::Part::kMessage);
  std::string first = keys::cold({id.value() << 20, 0}, keys::Part::kMessage);
  // A page whose rows are all being removed is empty and says nothing about those behind it.
  while (!first.empty()) {
    const Rows* rows = step.scan({first, last, kEmptyRows});
    if (rows == nullptr) return std::nullopt;
    // A state may outlive its message, when that went into quarantine.
    for (const Row& row : rows->rows) {
      const auto key = keys::parse_cold(row.first);
      if (!key || key->part == keys::Part::kMessage) return false;
    }
    first = rows->complete ? std::string() : rows->next;
  }
  return true;
}

std::optional<Answer> Engine::Impl::remove_destination(Step& step, Slot slot,
                                                       const DestinationConfig& config) {
  if (slot == kNoSlot) return no_destination(config.name);
  const std::optional<bool> empty = is_empty(step, slot);
  if (!empty) return std::nullopt;
  if (*empty) {
    take_away(step, slot);
    return answer_with(AnswerCode::kDone, "removed");
  }
  if (!config.draining)
    return answer_with(
        AnswerCode::kNotEmpty,
        "destination '" + config.name + "' still has messages; cancel them or let them end");
  Resident& resident = residents_[slot];
  Bound bound = *resident.bound;
  bound.config.draining = true;
  step.out.writes.put(keys::config(resident.id), encode_config(bound.config));
  resident.bound = std::make_shared<const Bound>(std::move(bound));
  write_owed(step, slot);
  touch(slot);
  return answer_with(AnswerCode::kPending, "it takes no new messages, and goes with its last one");
}

void Engine::Impl::take_away(Step& step, Slot slot) {
  const Resident& resident = residents_[slot];
  const DestinationId id = resident.id;
  DestinationConfig tombstone;
  tombstone.name = resident.bound->config.name;
  tombstone.removed = true;
  step.out.writes.put(keys::config(id), encode_config(tombstone));
  step.out.writes.remove(keys::route(id));
  step.out.writes.remove(keys::owed(id));
  if (resident.opening_entry.is_set()) {
    step.out.writes.remove(
        keys::due(resident.opening_entry, keys::DueKind::kOpening, {id.value() << 20, 0}));
  }
  if (resident.revive_entry.is_set()) {
    step.out.writes.remove(
        keys::due(resident.revive_entry, keys::DueKind::kOpening, {id.value() << 20, 0}));
  }
  forget_census(slot);
  forget_resident(slot);
}

// A draining destination has nothing in memory any more; perhaps it has nothing on disk either.
void Engine::Impl::remove_drained(Step& step, const Chore& chore) {
  // One that left memory comes back only to be taken away: else it would leave again, be looked at
  // again, and so on for ever.
  if (!by_destination_.contains(chore.destination.value()) &&
      !has_none_on_disk(step, chore.destination).value_or(false))
    return;
  const Destined destined = find_destination(step, chore.destination);
  // Looking at it may have brought it into memory, which is no reason to look once more.
  std::erase(drained_, chore.destination);
  if (!destined.known || destined.slot == kNoSlot) return;
  // Nobody can tell yet; when the hot ones are back, all that are being drained are looked at.
  if (restoring_hot_) return;
  if (!residents_[destined.slot].bound->config.draining) return;
  const std::optional<bool> empty = is_empty(step, destined.slot);
  if (!empty || !*empty) return;
  LogEntry notice;
  notice.kind = LogEntry::Kind::kRemoved;
  notice.at = step.now;
  notice.reason = "destination '" + residents_[destined.slot].bound->config.name +
                  "' went with its last message";
  receipts_.note(std::move(notice));
  take_away(step, destined.slot);
}

void Engine::Impl::on(Step& step, const Pause& pause) {
  const AuditLine line{"pause", pause.destination, pause.reason};
  once(step, pause.caller, canonical("pause", pause.destination, pause.reason), line,
       [&]() -> std::optional<Answer> {
         return change_health(step, pause.destination, HealthOn::kPause,
                              pause.reason.empty() ? "by the operator" : pause.reason);
       });
}

void Engine::Impl::on(Step& step, const Resume& resume) {
  const AuditLine line{"resume", resume.destination, {}};
  once(step, resume.caller, canonical("resume", resume.destination, {}), line,
       [&]() -> std::optional<Answer> {
         const Destined destined = find_destination(step, resume.destination);
         if (!destined.known) return std::nullopt;
         if (destined.slot != kNoSlot && is_held(residents_[destined.slot]))
           return answer_with(AnswerCode::kNothing,
                              residents_[destined.slot].route.reason + "; release the hold");
         // Whoever was disabled or paused by hand may be held as well.
         if (destined.slot != kNoSlot) note_for_holds(residents_[destined.slot]);
         return change_health(step, resume.destination, HealthOn::kResume,
                              "resumed by the operator");
       });
}

void Engine::Impl::on(Step& step, const Wake& wake) {
  const AuditLine line{"wake", wake.destination, {}};
  const std::string bytes = canonical("wake", wake.destination, {});
  once(step, wake.caller, bytes, line, [&]() -> std::optional<Answer> {
    const Destined destined = find_destination(step, wake.destination);
    if (!destined.known) return std::nullopt;
    if (destined.slot != kNoSlot) {
      Resident& resident = residents_[destined.slot];
      if (resident.route.health == Health::kNormal && resident.route.closed_until > step.now) {
        // The operator knows better than a far side that asked us to come back later.
        resident.route.closed_until = Timestamp();
        write_route(step, destined.slot);
        ring(destined.slot);
        maybe_refill(step, destined.slot);
        return answer_with(AnswerCode::kDone, "no longer held");
      }
    }
    return change_health(step, wake.destination, HealthOn::kSeen, "woken by the operator");
  });
}

std::optional<Answer> Engine::Impl::change_health(Step& step, const std::string& name,
                                                  std::optional<HealthOn> on,
                                                  std::string_view reason) {
  const Destined destined = find_destination(step, name);
  if (!destined.known) return std::nullopt;
  if (destined.slot == kNoSlot) return no_destination(name);
  const Health before = residents_[destined.slot].route.health;
  const HealthOn seen =
      planted(Bug::kContactClearsBackoff) ? HealthOn::kOk : contact(destined.slot);
  tell_health(step, destined.slot, on.value_or(seen), reason);
  const Health after = residents_[destined.slot].route.health;
  if (before == after)
    return answer_with(AnswerCode::kNothing, "the destination is " + std::string(name_of(after)));
  return answer_with(AnswerCode::kDone,
                     std::string(name_of(before)) + " to " + std::string(name_of(after)));
}

void Engine::Impl::on(Step& step, const PeerSeen& seen) {
  change_health(step, seen.destination, std::nullopt, "a sign of life");
}

}  // namespace postrider
