#include "postrider/core/desk/acceptance.h"

#include "postrider/base/check.h"
#include "postrider/base/codec.h"
#include "postrider/base/planted.h"

namespace postrider::core {
namespace {

constexpr Sequence kNewest(UINT64_MAX);

// Scope and name as they stand in keys, behind the bucket.
std::string tail_of(std::string_view scope, std::string_view name) {
  std::string tail;
  Writer(tail).text(scope).raw(keys::short_name(name));
  return tail;
}

}  // namespace

Answer Acceptance::no_destination(const std::string& name) {
  Answer answer;
  const bool wide = is_template_name(name);
  answer.code = wide ? AnswerCode::kInvalid : AnswerCode::kNotFound;
  answer.detail = wide ? "'" + name + "' is the name of a template, which takes no messages"
                       : "there is no destination '" + name + "'";
  return answer;
}

std::optional<Answer> Acceptance::invalid(const Caller& caller, std::uint8_t lane,
                                          std::string_view attributes,
                                          std::string_view body) const {
  const auto refuse = [](AnswerCode code, std::string detail) {
    Answer answer;
    answer.code = code;
    answer.detail = std::move(detail);
    return answer;
  };
  if (body.size() > limits_.body_bytes_max) {
    return refuse(AnswerCode::kTooLarge, "the body has " + std::to_string(body.size()) +
                                             " bytes, at most " +
                                             std::to_string(limits_.body_bytes_max) + " are taken");
  }
  if (attributes.size() > limits_.attributes_bytes_max) {
    return refuse(
        AnswerCode::kTooLarge,
        "the attributes have more than " + std::to_string(limits_.attributes_bytes_max) + " bytes");
  }
  if (caller.key.key.size() > limits_.key_bytes_max ||
      caller.key.scope.size() > limits_.key_bytes_max) {
    return refuse(AnswerCode::kTooLarge, "the operation key has more than " +
                                             std::to_string(limits_.key_bytes_max) + " bytes");
  }
  if (lane >= kLanes) return refuse(AnswerCode::kInvalid, "lanes are 0 to 15");
  if (!decode_texts(attributes))
    return refuse(AnswerCode::kInvalid, "the attributes are not a list of named texts");
  return std::nullopt;
}

void Acceptance::on(Step& step, const Submit& submit) {
  if (auto refusal = invalid(submit.caller, submit.lane, submit.attributes, submit.body))
    return step.reply(submit.caller.ticket, std::move(*refusal));
  const bool keyed = submit.caller.key.kind != OperationKey::Kind::kNone;
  operations_.once_unless(
      step, submit.caller, keyed ? canonical(submit) : std::string(),
      [&]() { return accept(step, submit); },
      [&](const Answer& former) {
        const std::optional<Phase> end = reruns_.end_of(step, former.id);
        if (planted(Bug::kNeverReadmits)) return false;
        if (planted(Bug::kReadmitsBlindly)) return end.has_value();
        return end == Phase::kCancelled || end == Phase::kIndeterminate;
      });
  if (!step.lacks()) expect_more(step, submit);
}

std::optional<Answer> Acceptance::accept(Step& step, const Submit& submit) {
  const Destinations::Destined destined = destinations_.find_or_make(step, submit.destination);
  if (!destined.known) return std::nullopt;
  Answer answer;
  if (destined.slot == kNoSlot) return no_destination(submit.destination);
  if (const auto why = closed_to_new(residents_[destined.slot])) {
    answer.code = AnswerCode::kDisabled;
    answer.detail = *why;
    return answer;
  }
  if (is_full(residents_[destined.slot], submit.attributes.size() + submit.body.size()))
    return no_room(residents_[destined.slot]);
  const ProfileSpec& profile = *residents_[destined.slot].bound->profile;
  if (auto refusal = refuse_full(receipts_, limits_, cards_, profile)) return refusal;
  if (auto refusal = refuse_expired(step, submit.expires)) return refusal;
  ParsedMessage parsed;
  if (submit.origin.is_set()) {
    auto read = parse_message(profile, submit.attributes, submit.body);
    if (read) parsed = std::move(*read);
    auto refusal = reruns_.refuse_rerun(step, profile,
                                        {.former = submit.origin,
                                         .parsed = parsed.get(),
                                         .told_ran = submit.origin_ran,
                                         .regardless = submit.even_if_it_ran});
    if (step.lacks() || refusal) return refusal;
  }
  auto accepted = take_message(step, {.resident = destined.slot,
                                      .lane = submit.lane,
                                      .priority = submit.priority,
                                      .not_before = submit.not_before,
                                      .expires = submit.expires,
                                      .origin = submit.origin,
                                      .attributes = submit.attributes,
                                      .body = submit.body,
                                      .parsed = std::move(parsed)});
  if (!accepted) return std::nullopt;
  const Result<Taken>& taken = *accepted;
  if (!taken) {
    const bool unknown = taken.error().code == ErrorCode::kNotFound;
    answer.code = unknown ? AnswerCode::kNotFound : AnswerCode::kInvalid;
    answer.detail = taken.error().detail;
    return answer;
  }
  if (submit.origin.is_set()) reruns_.note_run(step, profile, submit.origin, taken->id);
  answer.code = AnswerCode::kAccepted;
  answer.id = taken->id;
  answer.readmits = taken->readmits;
  return answer;
}

// An outcome must find room when its message ends, so that is looked at before it is accepted.
std::optional<Answer> Acceptance::refuse_full(const Receipts& receipts, const EngineLimits& limits,
                                              const Cards& cards, const ProfileSpec& profile) {
  const bool live = profile.bounded && receipts.counters().live() >= limits.live_max;
  if (!live && !(profile.keeps_outcomes && cards.is_full(profile))) return std::nullopt;
  Answer answer;
  answer.code = AnswerCode::kFull;
  answer.detail = live ? "too many messages are alive already; nothing was done, and nothing was "
                         "thrown out for it"
                       : "as many outcomes are kept as may; nothing was done, and nothing was "
                         "thrown out for it";
  return answer;
}

// Messages that are handed in together are all in line before the first of them starts, so that the
// highest priority goes first. Should the last of them not come, the others do not wait for long.
void Acceptance::expect_more(Step& step, const Submit& submit) {
  constexpr Duration kPatience = 1s;
  expected_more_ = expected_more_ || submit.more;
  if (!expected_more_) return;
  const DestinationId id = destination_id(submit.destination, submit.destination, 0);
  const Slot found = residents_.find(id.value());
  if (found == kNoSlot) return;
  Resident& resident = residents_[found];
  if (submit.more) {
    resident.more_until = step.now + kPatience;
  } else if (resident.more_until.is_set()) {
    resident.more_until = Timestamp();
    step.look_at(found);
  }
}

// Callers go by the wall. What has expired only by a wall that is in doubt is told so: perhaps it
// is the wall that is wrong.
std::optional<Answer> Acceptance::refuse_expired(const Step& step, Timestamp expires) {
  if (!expires.is_set() || expires - step.doubt > step.now) return std::nullopt;
  Answer answer;
  const bool expired = expires <= step.now;
  answer.code = expired ? AnswerCode::kInvalid : AnswerCode::kBusy;
  answer.detail = expired ? "the message has expired already"
                          : "the message has expired, unless the clock of this machine is wrong, "
                            "which is in doubt since the start; ask again later";
  return answer;
}

std::optional<std::string> Acceptance::closed_to_new(const Resident& resident) {
  const std::string& name = resident.name;
  if (resident.draining)
    return "destination '" + name + "' is being taken away and takes no new messages";
  if (resident.route.health == Health::kDisabled && resident.bound->policy.refuse_when_disabled)
    return "destination '" + name + "' is disabled: " + resident.route.reason;
  return std::nullopt;
}

// A full mailbox refuses every sender, and removes nothing to make room.
bool Acceptance::is_full(const Resident& resident, std::size_t bytes, std::uint64_t ahead) {
  const Policy& policy = resident.bound->policy;
  if (!policy.pulled) return false;
  if (policy.kept_max != 0 && resident.cold_messages + ahead >= policy.kept_max &&
      !planted(Bug::kQuotaIgnored))
    return true;
  return policy.kept_bytes_max != 0 && resident.kept_bytes + bytes > policy.kept_bytes_max;
}

Answer Acceptance::no_room(const Resident& resident) {
  Answer answer;
  answer.code = AnswerCode::kNoRoom;
  answer.detail = "mailbox '" + resident.name +
                  "' is full: " + std::to_string(resident.cold_messages) + " messages with " +
                  std::to_string(resident.kept_bytes) +
                  " bytes wait for its reader; nothing was thrown out";
  return answer;
}

Result<Admission> Acceptance::ask(Step& step, const Draft& draft) {
  const Resident& resident = residents_[draft.resident];
  const Bound& bound = *resident.bound;
  OpenCabinet cabinet(cards_, step, bound.profile->name, OpenCabinet::Reads::kMayNot);
  auto admission = bound.profile->door.admit({resident.facts(),
                                              bound.policy,
                                              draft.lane,
                                              draft.attributes,
                                              draft.body,
                                              {bound.prepared.get(), draft.parsed.get()},
                                              &cabinet,
                                              step.wall});
  POSTRIDER_CHECK(!admission || admission->method < bound.profile->methods.size());
  if (admission && admission->key.size() > kLaneKeyMax) {
    admission =
        Result<Admission>(fail(ErrorCode::kInvalid, "the key of which it is the value has more than " +
                                                        std::to_string(kLaneKeyMax) + " bytes"));
  }
  if (admission && (admission->body || admission->attributes)) {
    const auto made = [](const std::optional<std::string>& text) {
      return text ? std::string_view(*text) : std::string_view();
    };
    const auto refusal =
        invalid({}, draft.lane, made(admission->attributes), made(admission->body));
    if (refusal) {
      admission = Result<Admission>(
          fail(ErrorCode::kInvalid, "made ready for sending, " + refusal->detail));
    }
  }
  return admission;
}

// Nothing when something must be read first.
std::optional<Result<Acceptance::Taken>> Acceptance::take_message(Step& step, Draft&& draft) {
  const Resident& resident = residents_[draft.resident];
  const Bound& bound = *resident.bound;
  if (bound.policy.pulled && draft.not_before.is_set())
    return Result<Taken>(
        fail(ErrorCode::kInvalid, "a mailbox takes its messages at once: leave out the delay"));
  if (!draft.parsed) {
    auto read = parse_message(*bound.profile, draft.attributes, draft.body);
    if (!read) return Result<Taken>(fail(read.error().code, read.error().detail));
    draft.parsed = std::move(*read);
  }
  auto admission = ask(step, draft);
  if (!admission) return Result<Taken>(fail(admission.error().code, admission.error().detail));
  const bool readmits = bound.profile->methods[admission->method].readmits;
  if (!admission->key.empty()) {
    locate_values(step, draft.resident, draft.lane, admission->key);
    if (step.lacks()) return std::nullopt;
  }
  if (admission->supersedes.empty())
    return Result<Taken>(Taken{admit(step, std::move(draft), *admission), readmits});
  if (admission->supersedes.size() > limits_.key_bytes_max)
    return Result<Taken>(
        fail(ErrorCode::kInvalid, "the key by which messages supersede each other is too long"));
  NameEntry older = find_older(step, names_.supersede_scope(residents_[draft.resident].id),
                               admission->supersedes);
  if (step.lacks()) return std::nullopt;
  return Result<Taken>(Taken{admit_instead(step, std::move(draft), *admission, older), readmits});
}

// In place of older ones that wait.
MessageId Acceptance::admit_instead(Step& step, Draft&& draft, const Admission& admission,
                                    NameEntry& older) {
  supersede(step, older);
  const Slot resident = draft.resident;
  const MessageId id = admit(step, std::move(draft), admission);
  older.at = step.now;
  older.holders.push_back({id, 0});
  if (older.holders.size() > limits_.superseded_max) older.holders.erase(older.holders.begin());
  names_.put_name(step, names_.supersede_scope(residents_[resident].id), admission.supersedes,
                  older);
  return id;
}

MessageId Acceptance::admit(Step& step, Draft&& draft, const Admission& admission) {
  // Times that callers give are by the wall, and are kept as far ahead as they were meant: right
  // now, and when the wall is believed or taken back.
  const Timestamp start = draft.not_before - step.doubt;
  const bool scheduled = draft.not_before.is_set() && start > step.now;
  const std::string_view key = scheduled ? std::string_view() : std::string_view(admission.key);
  if (!key.empty()) delivery_.supersede(step, draft.resident, draft.lane, key, kNewest);
  destinations_.keep_made(step, draft.resident);
  Resident& resident = residents_[draft.resident];
  const Bound& bound = *resident.bound;
  Message fields;
  fields.ordered = admission.gates[0].ordered;
  // A message that waited at another gate would be overtaken.
  POSTRIDER_CHECK(!fields.ordered || (admission.gates[0].lasting && admission.gates[1].name == 0));
  // A FIFO lane has no priorities, and neither has an order: they would break it.
  const bool plain = fields.ordered || bound.policy.lane_kind(draft.lane) == LaneKind::kFifo;
  fields.id = MessageId::make(resident.id, draft.lane, plain ? std::uint16_t{0} : draft.priority,
                              sequences_.next());
  fields.accepted = step.now;
  fields.not_before = scheduled ? start : Timestamp();
  fields.expires = draft.expires.is_set() ? draft.expires - step.doubt : Timestamp();
  if (const Duration life = bound.policy.life_max; life > Duration(0)) {
    const Timestamp over = step.now + life;
    if (!fields.expires.is_set() || over < fields.expires) fields.expires = over;
  }
  fields.origin = draft.origin;
  fields.method = admission.method;
  for (std::size_t i = 0; i < kGatesMax; ++i) {
    fields.gates[i] = admission.gates[i].name;
    if (admission.gates[i].name != 0 && admission.gates[i].lasting)
      fields.lasting = static_cast<std::uint8_t>(fields.lasting | 1U << i);
  }
  if (draft.shared != nullptr && !admission.body) fields.shared = *draft.shared;
  if (admission.body || admission.attributes) draft.parsed = {};  // it was of what was handed in
  const Dictionary* dictionary = draft.dictionary != nullptr && !admission.body
                                     ? draft.dictionary
                                     : bound.profile->dictionary;
  Message message = encode_message(
      fields, admission.attributes ? std::string_view(*admission.attributes) : draft.attributes,
      admission.body ? std::string_view(*admission.body) : draft.body, dictionary, key);
  ++receipts_.counters().accepted;
  const MessageId id = message.id;
  const Lane* lane = resident.lane(draft.lane);
  destinations_.note_use(step, draft.resident);
  if (!scheduled && fits_window(resident, lane, message.bytes(), step.now)) {
    accept_hot(step, draft.resident, std::move(message), std::move(draft.parsed));
  } else {
    accept_cold(step, draft.resident, message);
  }
  step.look_at(draft.resident);
  return id;
}

bool Acceptance::fits_window(const Resident& resident, const Lane* lane, std::size_t bytes,
                             Timestamp now) const {
  if (window_.restoring() || !residents_.awake(resident, now)) return false;
  if (window_.bytes() + bytes > limits_.window_bytes_max) return false;
  if (lane == nullptr) return true;
  // A lane with messages on disk takes new ones to the disk too, else they would overtake.
  if ((lane->cold_ahead || lane->asleep) && !planted(Bug::kColdOvertakesHot)) return false;
  return lane->in_window(limits_.lane_waiters_max) < resident.bound->policy.window_max;
}

void Acceptance::accept_hot(Step& step, Slot resident, Message&& message, ParsedMessage parsed) {
  step.out.writes.put_once(keys::hot(message.id.sequence(), keys::Part::kMessage), message.record);
  const Timestamp expires = message.expires;
  const MessageId id = message.id;
  const Slot slot = window_.add_entry(step, resident, std::move(message), true);
  window_[slot].parsed = std::move(parsed);
  if (expires.is_set())
    window_[slot].expiry_timer = due_.put_due(step, expires, keys::DueKind::kExpiry, id);
  window_.make_ready(step, slot);
}

void Acceptance::accept_cold(Step& step, Slot slot, const Message& message) {
  Resident& resident = residents_[slot];
  step.out.writes.put_once(keys::cold(message.id, keys::Part::kMessage), message.record);
  if (message.expires.is_set())
    due_.put_due(step, message.expires, keys::DueKind::kExpiry, message.id);
  census_.count_cold(slot, resident.bound->profile->methods[message.method].initial, true);
  if (resident.bound->policy.pulled) {
    census_.count_kept(slot, message, true);
    waiters_.tell(step, Waiters::mailbox(resident.id));
    return;  // no lane is owed anything: its reader finds it
  }
  Lane& lane = resident.lane_or_new(message.id.lane());
  if (message.not_before.is_set()) {
    // It sleeps on disk until then; its due entry wakes it.
    State state;
    state.state = resident.bound->profile->methods[message.method].initial;
    state.method = message.method;
    state.since = step.now;
    state.due = message.not_before;
    step.out.writes.put(keys::cold(message.id, keys::Part::kState), encode_state(state, {}));
    due_.put_due(step, message.not_before, keys::DueKind::kAttempt, message.id);
    // A FIFO lane waits for it: it keeps its place in front of later messages.
    if (resident.bound->policy.lane_kind(lane.number) != LaneKind::kFifo) return;
  }
  lane.gains(message.id);
  destinations_.cover(step, slot, lane, message.id);
  if (message.key_size != 0) delivery_.note_cold_value(step, slot, message.id.lane());
}

// The messages of a key that may still wait; ended ones are forgotten.
NameEntry Acceptance::find_older(Step& step, std::string_view scope, std::string_view key) {
  NameEntry entry = names_.find_name(step, tail_of(scope, key));
  if (step.lacks()) return entry;
  std::vector<NameEntry::Holder> live;
  for (const NameEntry::Holder& holder : entry.holders) {
    const Lookup::Located located = lookup_.locate(step, holder.id);
    if (located.known && located.slot != kNoSlot) live.push_back(holder);
  }
  entry.holders = std::move(live);
  return entry;
}

// Older messages of one key end as cancelled while they wait; what is under way stays.
void Acceptance::supersede(Step& step, NameEntry& older) {
  std::vector<NameEntry::Holder> left;
  for (const NameEntry::Holder& holder : older.holders) {
    const Slot found = window_.find(holder.id);
    if (found == kNoSlot) continue;
    Entry& entry = window_[found];
    const Phase phase = window_.phase_of(entry);
    const Transition* row =
        find_row(window_.method_of(entry).rows, entry.state.state, On::kCancelled);
    const bool waits = phase == Phase::kQueued || phase == Phase::kBackoff;
    if (waits && row != nullptr && row->verb != Do::kIgnore) {
      window_.set_reason(entry, "superseded");
      delivery_.apply(step, found, On::kCancelled, nullptr);
    } else if (planted(Bug::kSupersedesWhatIsOut)) {
      window_.set_reason(entry, "superseded");
      const std::span<const StateRow> states = residents_[entry.destination].bound->profile->states;
      StateIndex cancelled = 0;
      while (states[cancelled].phase != Phase::kCancelled) ++cancelled;
      delivery_.end(step, found, cancelled);
    } else {
      left.push_back(holder);
    }
  }
  older.holders = std::move(left);
}

void Acceptance::submit_nested(Step& step, const Chore& chore) {
  const auto* value = step.get(chore.cursor);
  if (value == nullptr || !value->has_value()) return;
  const auto nested = decode_nested((*value)->view(), dictionaries_);
  const Dictionary* const dictionary =
      nested ? find_dictionary(dictionaries_, nested->dictionary) : nullptr;
  if (!nested || (nested->dictionary != 0 && dictionary == nullptr)) {
    step.damaged.emplace_back(chore.cursor, **value);
    return;
  }
  const Destinations::Destined destined = destinations_.find_or_make(step, nested->destination);
  if (!destined.known) return;
  std::optional<std::string> refusal;
  if (destined.slot == kNoSlot) {
    refusal = no_destination(nested->destination).detail;
  } else {
    refusal = closed_to_new(residents_[destined.slot]);
    if (!refusal &&
        is_full(residents_[destined.slot], nested->attributes.size() + nested->body.size()))
      refusal = no_room(residents_[destined.slot]).detail;
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

}  // namespace postrider::core
