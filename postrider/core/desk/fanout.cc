// Fan-out: one message for each member of a group that subscribes to its type, all in one step and
// so in one commit, or none. First every member is asked whether it takes the message, then all of
// them get it; nothing is changed before the last has agreed. Also the groups themselves, and the
// way in which a shared body is read and goes.
#include <algorithm>
#include <utility>

#include "postrider/base/planted.h"
#include "postrider/core/engine_impl.h"

namespace postrider {
namespace {

Answer fanout_answer(AnswerCode code, std::string detail) {
  Answer answer;
  answer.code = code;
  answer.detail = std::move(detail);
  return answer;
}

Answer no_group(const std::string& name) {
  return fanout_answer(AnswerCode::kNotFound, "there is no group '" + name + "'");
}

Answer of_member(AnswerCode code, const std::string& member, std::string_view why) {
  return fanout_answer(
      code, "member '" + member + "': " + std::string(why) + "; nothing was accepted for anybody");
}

std::string_view verb_of(ChangeGroup::What what) {
  switch (what) {
    case ChangeGroup::What::kPut: return "group-put";
    case ChangeGroup::What::kAdd: return "group-add";
    case ChangeGroup::What::kRemove: return "group-remove";
    case ChangeGroup::What::kDrop: return "group-drop";
  }
  POSTRIDER_CHECK(false);
  return {};
}

}  // namespace

std::optional<FanoutGroup> Engine::Impl::find_group(Step& step, const std::string& name) {
  const std::string key = keys::fanout_group(name);
  const auto* record = step.get(key);
  if (record == nullptr || !record->has_value()) return std::nullopt;
  auto group = decode_fanout_group((*record)->view());
  if (group && group->name == name) return std::move(*group);
  step.damaged.emplace_back(key, **record);
  return std::nullopt;
}

void Engine::Impl::on(Step& step, const FanOut& fanout) {
  if (auto refusal = invalid(fanout.caller, fanout.lane, fanout.attributes, fanout.body))
    return reply(step, fanout.caller.ticket, std::move(*refusal));
  if (!fanout.type.empty() && !is_event_type(fanout.type)) {
    return reply(step, fanout.caller.ticket,
                 fanout_answer(AnswerCode::kInvalid,
                               "an event type has 1 to " + std::to_string(kEventTypeBytesMax) +
                                   " letters, digits, dots, hyphens and underscores"));
  }
  const bool keyed = fanout.caller.key.kind != OperationKey::Kind::kNone;
  once(step, fanout.caller, keyed ? canonical(fanout) : std::string(),
       [&]() -> std::optional<Answer> { return fan_out(step, fanout); });
}

std::optional<Answer> Engine::Impl::fan_out(Step& step, const FanOut& fanout) {
  const auto group = find_group(step, fanout.group);
  if (step.lacks()) return std::nullopt;
  if (!group) return no_group(fanout.group);
  if (auto refusal = refuse_expired(step, fanout.expires)) return refusal;
  Fanning fanning;
  if (auto refusal = choose_members(step, fanout, *group, fanning)) return refusal;
  if (step.lacks()) return std::nullopt;
  if (auto refusal = ask_members(step, fanout, fanning)) return refusal;
  if (step.lacks()) return std::nullopt;
  Answer answer;
  answer.code = AnswerCode::kAccepted;
  FanoutView view = take_all(step, fanout, fanning);
  answer.id.low = view.id.value();
  answer.view = std::move(view);
  return answer;
}

// Who subscribes, and whether they take new messages at all. All are looked up before any is
// judged, so that one read brings them.
std::optional<Answer> Engine::Impl::choose_members(Step& step, const FanOut& fanout,
                                                   const FanoutGroup& group, Fanning& fanning) {
  std::vector<std::pair<const FanoutMember*, Destined>> subscribed;
  for (const FanoutMember& member : group.members) {
    if (subscribes(member, fanout.type))
      subscribed.emplace_back(&member, find_destination(step, member.destination));
  }
  if (step.lacks()) return std::nullopt;
  if (subscribed.size() > limits_.group_members_max) {
    return fanout_answer(AnswerCode::kTooLarge,
                         std::to_string(subscribed.size()) + " members subscribe, at most " +
                             std::to_string(limits_.group_members_max) + " are served at once");
  }
  std::uint64_t bounded = 0;
  for (const auto& [member, destined] : subscribed) {
    std::optional<std::string> why;
    if (destined.slot == kNoSlot) {
      why = "there is no such destination";
    } else {
      why = closed_to_new(residents_[destined.slot]);
    }
    if (why && group.skip_closed) {
      fanning.skipped.push_back(member->destination);
      continue;
    }
    if (why) {
      if (planted(Bug::kFanoutTorn) && !ask_members(step, fanout, fanning) && !step.lacks())
        take_all(step, fanout, fanning);
      return of_member(destined.slot == kNoSlot ? AnswerCode::kNotFound : AnswerCode::kDisabled,
                       member->destination, *why);
    }
    bounded += residents_[destined.slot].bound->profile->bounded ? 1U : 0U;
    if (bounded > 0 && receipts_.counters().live() + bounded > limits_.live_max)
      return of_member(AnswerCode::kFull, member->destination,
                       "too many messages are alive already");
    fanning.members.push_back({.name = member->destination, .resident = destined.slot});
  }
  return std::nullopt;
}

Engine::Impl::Draft Engine::Impl::draft_for(const FanOut& fanout, Slot resident) {
  return {.resident = resident,
          .lane = fanout.lane,
          .priority = fanout.priority,
          .not_before = fanout.not_before,
          .expires = fanout.expires,
          .origin = {},
          .attributes = fanout.attributes,
          .body = fanout.body};
}

// What each member's profile says to the message, and whom it supersedes.
std::optional<Answer> Engine::Impl::ask_members(Step& step, const FanOut& fanout,
                                                Fanning& fanning) {
  for (Fanning::Member& member : fanning.members) {
    const Bound& bound = *residents_[member.resident].bound;
    auto parsed = read_message(*bound.profile, fanout.attributes, fanout.body);
    if (!parsed) return of_member(AnswerCode::kInvalid, member.name, parsed.error().detail);
    member.parsed = std::move(*parsed);
    auto admission = bound.profile->door.admit({bound.config,
                                                bound.policy,
                                                fanout.lane,
                                                fanout.attributes,
                                                fanout.body,
                                                {bound.prepared.get(), member.parsed.get()}});
    if (!admission) return of_member(AnswerCode::kInvalid, member.name, admission.error().detail);
    POSTRIDER_CHECK(admission->method < bound.profile->methods.size());
    member.admission = std::move(*admission);
    if (member.admission.supersedes.empty()) continue;
    if (member.admission.supersedes.size() > limits_.key_bytes_max)
      return of_member(AnswerCode::kInvalid, member.name,
                       "the key by which messages supersede each other is too long");
    member.older = find_older(step, supersede_scope(residents_[member.resident].id),
                              member.admission.supersedes);
  }
  return std::nullopt;
}

FanoutView Engine::Impl::take_all(Step& step, const FanOut& fanout, Fanning& fanning) {
  FanoutView view;
  view.id = FanoutId(next_sequence().value());
  view.skipped = std::move(fanning.skipped);
  // Then nothing is written, perhaps not even the answer, and so nothing is counted.
  if (fanning.members.empty()) return view;
  ++receipts_.counters().fanouts;
  const auto members = static_cast<std::uint32_t>(fanning.members.size());
  const SharedBody shared{view.id.value(), static_cast<std::uint32_t>(fanout.body.size()),
                          encode_body(fanout.body)};
  step.out.writes.put_once(keys::body(shared.id, keys::BodyPart::kBytes), shared.record);
  step.out.writes.put(keys::body(shared.id, keys::BodyPart::kCount),
                      encode_body_count({members, shared.bytes}));
  ++receipts_.counters().shared_bodies;
  receipts_.counters().shared_bytes += shared.bytes;
  bodies_.add(shared.id, {.record = shared.record, .bytes = shared.bytes, .references = members});
  for (Fanning::Member& member : fanning.members) {
    Draft draft = draft_for(fanout, member.resident);
    draft.body = body_in(shared.record);
    draft.shared = &shared;
    draft.parsed = std::move(member.parsed);
    const MessageId id =
        member.admission.supersedes.empty()
            ? admit(step, std::move(draft), member.admission)
            : admit_instead(step, std::move(draft), member.admission, member.older);
    view.members.push_back({std::move(member.name), id});
  }
  return view;
}

void Engine::Impl::on(Step& step, const ChangeGroup& change) {
  const std::string_view verb = verb_of(change.what);
  const std::string bytes = canonical(verb, change.group.name, encode_fanout_group(change.group));
  const AuditLine line{verb, change.group.name, {}};
  once(step, change.caller, bytes, line, [&]() -> std::optional<Answer> {
    if (auto refusal = invalid(change)) return refusal;
    return change_group(step, change);
  });
}

std::optional<Answer> Engine::Impl::invalid(const ChangeGroup& change) const {
  const FanoutGroup& group = change.group;
  if (group.name.empty() || group.name.size() > limits_.name_bytes_max) {
    return fanout_answer(
        AnswerCode::kInvalid,
        "a group's name has 1 to " + std::to_string(limits_.name_bytes_max) + " bytes");
  }
  const bool names_only = change.what == ChangeGroup::What::kRemove;
  std::vector<std::string_view> seen;
  for (const FanoutMember& member : group.members) {
    seen.emplace_back(member.destination);
    if (names_only) continue;
    if (member.types.size() > limits_.member_types_max) {
      return fanout_answer(AnswerCode::kTooLarge,
                           "member '" + member.destination + "' subscribes to more than " +
                               std::to_string(limits_.member_types_max) + " types");
    }
    for (const std::string& type : member.types) {
      if (is_subscription(type)) continue;
      return fanout_answer(
          AnswerCode::kInvalid,
          "'" + type + "' is no event type, and no beginning of one such as 'a.*'");
    }
  }
  std::sort(seen.begin(), seen.end());
  const auto twice = std::adjacent_find(seen.begin(), seen.end());
  if (twice == seen.end()) return std::nullopt;
  return fanout_answer(AnswerCode::kInvalid, "member '" + std::string(*twice) + "' is given twice");
}

std::optional<Answer> Engine::Impl::change_group(Step& step, const ChangeGroup& change) {
  using What = ChangeGroup::What;
  const std::string& name = change.group.name;
  const auto before = find_group(step, name);
  const bool adds = change.what == What::kPut || change.what == What::kAdd;
  std::string missing;
  for (const FanoutMember& member : change.group.members) {
    if (!adds) continue;
    const Destined destined = find_destination(step, member.destination);
    if (destined.known && destined.slot == kNoSlot && missing.empty()) missing = member.destination;
  }
  if (step.lacks()) return std::nullopt;
  if (!missing.empty())
    return fanout_answer(AnswerCode::kNotFound, "there is no destination '" + missing + "'");
  if (change.what == What::kDrop || change.what == What::kRemove) {
    if (!before) return no_group(name);
  }
  if (change.what == What::kDrop) {
    step.out.writes.remove(keys::fanout_group(name));
    return fanout_answer(AnswerCode::kDone, {});
  }
  FanoutGroup after = change.what == What::kPut || !before ? FanoutGroup{} : *before;
  after.name = name;
  if (change.what == What::kPut) after.skip_closed = change.group.skip_closed;
  for (const FanoutMember& member : change.group.members) {
    std::erase_if(after.members,
                  [&](const FanoutMember& one) { return one.destination == member.destination; });
    if (adds) after.members.push_back(member);
  }
  std::sort(
      after.members.begin(), after.members.end(),
      [](const FanoutMember& a, const FanoutMember& b) { return a.destination < b.destination; });
  if (before && before->members == after.members && before->skip_closed == after.skip_closed)
    return fanout_answer(AnswerCode::kNothing, "it is so already");
  if (after.members.size() > limits_.group_members_max) {
    return fanout_answer(
        AnswerCode::kTooLarge,
        "a group has at most " + std::to_string(limits_.group_members_max) + " members");
  }
  after.changed = step.now;
  const std::string record = encode_fanout_group(after);
  if (record.size() > limits_.group_bytes_max) {
    return fanout_answer(AnswerCode::kTooLarge, "the group has more than " +
                                                    std::to_string(limits_.group_bytes_max) +
                                                    " bytes of names and types");
  }
  step.out.writes.put(keys::fanout_group(name), record);
  return fanout_answer(AnswerCode::kDone, {});
}

std::optional<Answer> Engine::Impl::show_group(Step& step, const Query& query) {
  auto group = find_group(step, query.group);
  if (step.lacks()) return std::nullopt;
  if (!group) return no_group(query.group);
  Answer answer;
  answer.view = FanoutGroupPage{{std::move(*group)}, {}};
  return answer;
}

std::optional<Answer> Engine::Impl::list_fanout_groups(Step& step, const Query& query) {
  const std::string first = query.cursor.empty() ? keys::space(keys::kFanout) : query.cursor;
  if (first[0] != keys::kFanout)
    return fanout_answer(AnswerCode::kInvalid, "this cursor does not belong to groups");
  const std::uint32_t limit = std::clamp<std::uint32_t>(query.limit, 1, limits_.answer_rows_max);
  const Rows* rows = step.scan({first, keys::after_prefix(keys::space(keys::kFanout)), limit});
  if (rows == nullptr) return std::nullopt;
  FanoutGroupPage page;
  for (const Row& row : rows->rows) {
    auto group = decode_fanout_group(row.second.view());
    if (group && row.first == keys::fanout_group(group->name)) {
      page.groups.push_back(std::move(*group));
    } else {
      step.damaged.push_back(row);
    }
  }
  if (!rows->complete) page.next = rows->next;
  Answer answer;
  answer.view = std::move(page);
  return answer;
}

// True when everything was read that there is to read of it: then it is in memory, or lost. What
// cannot be read goes into quarantine, a body together with its count.
bool Engine::Impl::load_body(Step& step, std::uint64_t id, bool with_bytes) {
  const Bodies::Body* known = bodies_.find(id);
  if (known != nullptr && (known->record || !with_bytes)) return true;
  const std::string bytes_key = keys::body(id, keys::BodyPart::kBytes);
  const std::string count_key = keys::body(id, keys::BodyPart::kCount);
  const auto* bytes = with_bytes ? step.get(bytes_key) : nullptr;
  const auto* count = step.get(count_key);
  if (count == nullptr || (with_bytes && bytes == nullptr)) return false;
  Bodies::Body body;
  if (with_bytes) {
    const auto decoded = bytes->has_value()
                             ? decode_body((*bytes)->view())
                             : Result<std::string_view>(fail(ErrorCode::kNotFound, {}));
    if (!decoded) {
      if (bytes->has_value()) step.damaged.emplace_back(bytes_key, **bytes);
      if (count->has_value() && bytes->has_value()) step.damaged.emplace_back(count_key, **count);
      return true;
    }
    body.record = **bytes;
    body.bytes = static_cast<std::uint32_t>(decoded->size());
  }
  if (known != nullptr) {
    bodies_.fill(id, body.record);
    return true;
  }
  const auto counted = count->has_value() ? decode_body_count((*count)->view())
                                          : Result<BodyCount>(fail(ErrorCode::kNotFound, {}));
  if (!counted && count->has_value()) step.damaged.emplace_back(count_key, **count);
  body.counted = counted.has_value();
  if (counted) body.references = counted->references;
  if (counted && !with_bytes) body.bytes = counted->bytes;
  bodies_.add(id, std::move(body));
  return true;
}

void Engine::Impl::need_body(Step& step, const Row& row) {
  const SharedBody shared = shares_body(row.second.view());
  if (shared.id != 0) load_body(step, shared.id, true);
}

bool Engine::Impl::give_body(Message& message) const {
  if (message.shared.id == 0) return true;
  const Bodies::Body* body = bodies_.find(message.shared.id);
  return body != nullptr && body->record && attach_body(message, body->record);
}

// A reference whose count is perhaps not in memory: a record until it is counted down.
void Engine::Impl::release_later(Step& step, const SharedBody& shared, MessageId id) {
  step.out.writes.put(keys::body_letter(0, shared.id, id), std::string_view());
  bodies_wait_ = true;
}

// References of letters whose buckets are gone, and others that went without their counts.
void Engine::Impl::count_down(Step& step) {
  const Rows* rows = step.scan({keys::space(keys::kBodyLetter),
                                keys::bucket(keys::kBodyLetter, receipts_.oldest(Kept::kDead)),
                                std::max<std::uint32_t>(1, limits_.body_rows_max)});
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) {
    if (const auto key = keys::parse_body_letter(row.first)) load_body(step, key->body, false);
  }
  if (step.lacks()) return;
  counting_down_ = false;
  bodies_wait_ = bodies_wait_ || !rows->complete;
  for (const Row& row : rows->rows) {
    const auto key = keys::parse_body_letter(row.first);
    step.out.writes.remove(row.first);
    if (key && bodies_.find(key->body) != nullptr && !planted(Bug::kBodyLeaked))
      bodies_.release(key->body);
  }
}

// Something went into quarantine: a body is no longer one of those that there are, and a message or
// a letter that could be read, but for something else, refers to nothing any more. What could not
// be read keeps its reference: a letter until its bucket goes, a message for good.
void Engine::Impl::lose_body(Step& step, const Row& row) {
  if (const auto body = keys::parse_body(row.first)) {
    Counters& counters = receipts_.counters();
    if (body->part == keys::BodyPart::kBytes) {
      counters.shared_bodies -= std::min<std::uint64_t>(counters.shared_bodies, 1);
    } else if (const auto count = decode_body_count(row.second.view())) {
      // It goes together with its body, and only it says how large that was.
      counters.shared_bytes -= std::min<std::uint64_t>(counters.shared_bytes, count->bytes);
    }
    return;
  }
  const bool is_letter = row.first[0] == keys::kDead;
  const auto dead = is_letter ? decode_dead(row.second.view())
                              : Result<DeadRecord>(fail(ErrorCode::kNotFound, {}));
  if (is_letter && !dead) return;
  const auto message = decode_message(is_letter ? Blob::copy_of(dead->message) : row.second);
  if (!message || message->shared.id == 0) return;
  const auto letter = is_letter ? keys::parse_bucketed(row.first) : std::nullopt;
  if (letter)
    step.out.writes.remove(keys::body_letter(letter->bucket, message->shared.id, message->id));
  release_later(step, message->shared, message->id);
}

SharedBody Engine::Impl::shared_of_letter(std::string_view letter) {
  const auto dead = decode_dead(letter);
  return dead ? shares_body(dead->message) : SharedBody();
}

// The message of a dead letter, with its body. Nothing: it cannot be read, or (then something
// lacks) must be.
std::optional<Message> Engine::Impl::message_of_letter(Step& step, std::string_view letter) {
  const auto dead = decode_dead(letter);
  if (!dead) return std::nullopt;
  auto message = decode_message(Blob::copy_of(dead->message), dictionaries_);
  if (!message || message->is_closed()) return std::nullopt;
  if (message->shared.id != 0 && !load_body(step, message->shared.id, true)) return std::nullopt;
  if (!give_body(*message)) return std::nullopt;
  return std::move(*message);
}

}  // namespace postrider
