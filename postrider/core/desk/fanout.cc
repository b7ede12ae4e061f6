#include "postrider/core/desk/fanout.h"

#include <algorithm>

#include "postrider/base/check.h"
#include "postrider/base/planted.h"

namespace postrider::core {
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

bool is_list(const FanOut& fanout) { return fanout.group.empty(); }

// A list is a group for once, whose members want everything.
FanoutGroup group_of_list(const FanOut& fanout) {
  FanoutGroup group;
  group.skip_closed = fanout.skip_closed;
  for (const std::string& name : fanout.destinations) group.members.push_back({name, {}});
  return group;
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

std::optional<FanoutGroup> Fanouts::find_group(Step& step, const std::string& name) {
  const std::string key = keys::fanout_group(name);
  const auto* record = step.get(key);
  if (record == nullptr || !record->has_value()) return std::nullopt;
  auto group = decode_fanout_group((*record)->view());
  if (group && group->name == name) return std::move(*group);
  step.damaged.emplace_back(key, **record);
  return std::nullopt;
}

std::optional<Answer> Fanouts::invalid(const FanOut& fanout) const {
  if (auto refusal =
          acceptance_.invalid(fanout.caller, fanout.lane, fanout.attributes, fanout.body))
    return refusal;
  if (!fanout.type.empty() && !is_event_type(fanout.type)) {
    return fanout_answer(AnswerCode::kInvalid,
                         "an event type has 1 to " + std::to_string(kEventTypeBytesMax) +
                             " letters, digits, dots, hyphens and underscores");
  }
  if (is_list(fanout)) return invalid_list(fanout);
  if (fanout.destinations.empty()) return std::nullopt;
  return fanout_answer(AnswerCode::kInvalid, "name a group or a list of destinations, not both");
}

std::optional<Answer> Fanouts::invalid_list(const FanOut& fanout) const {
  if (!fanout.type.empty())
    return fanout_answer(AnswerCode::kInvalid, "event types are for groups, which subscribe");
  if (fanout.destinations.empty())
    return fanout_answer(AnswerCode::kInvalid, "name a group or a list of destinations");
  if (fanout.destinations.size() > limits_.list_destinations_max) {
    return fanout_answer(AnswerCode::kTooLarge,
                         "the list has " + std::to_string(fanout.destinations.size()) +
                             " destinations, at most " +
                             std::to_string(limits_.list_destinations_max) + " are served at once");
  }
  std::size_t bytes = 0;
  std::vector<std::string_view> seen;
  for (const std::string& name : fanout.destinations) {
    bytes += name.size();
    seen.emplace_back(name);
  }
  if (bytes > limits_.group_bytes_max) {
    return fanout_answer(
        AnswerCode::kTooLarge,
        "the list has more than " + std::to_string(limits_.group_bytes_max) + " bytes of names");
  }
  std::sort(seen.begin(), seen.end());
  const auto twice = std::adjacent_find(seen.begin(), seen.end());
  if (twice == seen.end()) return std::nullopt;
  return fanout_answer(AnswerCode::kInvalid,
                       "destination '" + std::string(*twice) + "' is given twice");
}

void Fanouts::on(Step& step, const FanOut& fanout) {
  if (auto refusal = invalid(fanout)) return step.reply(fanout.caller.ticket, std::move(*refusal));
  const bool keyed = fanout.caller.key.kind != OperationKey::Kind::kNone;
  operations_.once(step, fanout.caller, keyed ? canonical(fanout) : std::string(),
                   [&]() -> std::optional<Answer> { return fan_out(step, fanout); });
}

std::optional<Answer> Fanouts::fan_out(Step& step, const FanOut& fanout) {
  const auto group = is_list(fanout) ? group_of_list(fanout) : find_group(step, fanout.group);
  if (step.lacks()) return std::nullopt;
  if (!group) return no_group(fanout.group);
  if (auto refusal = acceptance_.refuse_expired(step, fanout.expires)) return refusal;
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

// The members that subscribe, and whether they take new messages. All are looked up before any is
// judged, so that one read brings them.
std::optional<Answer> Fanouts::choose_members(Step& step, const FanOut& fanout,
                                              const FanoutGroup& group, Fanning& fanning) {
  std::vector<std::pair<const FanoutMember*, Destinations::Destined>> subscribed;
  for (const FanoutMember& member : group.members) {
    if (is_list(fanout)) {
      subscribed.emplace_back(&member, destinations_.find_or_make(step, member.destination));
    } else if (subscribes(member, fanout.type)) {
      subscribed.emplace_back(&member, destinations_.find_destination(step, member.destination));
    }
  }
  if (step.lacks()) return std::nullopt;
  if (!is_list(fanout) && subscribed.size() > limits_.group_members_max) {
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
      why = acceptance_.closed_to_new(residents_[destined.slot]);
      if (!why && Acceptance::is_full(residents_[destined.slot],
                                      fanout.attributes.size() + fanout.body.size()))
        why = Acceptance::no_room(residents_[destined.slot]).detail;
    }
    if (why && group.skip_closed) {
      fanning.skipped.push_back(member->destination);
      continue;
    }
    if (why) {
      const Bug torn = is_list(fanout) ? Bug::kListTorn : Bug::kFanoutTorn;
      if (planted(torn) && !ask_members(step, fanout, fanning) && !step.lacks())
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

Acceptance::Draft Fanouts::draft_for(const FanOut& fanout, Slot resident) {
  return {.resident = resident,
          .lane = fanout.lane,
          .priority = fanout.priority,
          .not_before = fanout.not_before,
          .expires = fanout.expires,
          .origin = {},
          .attributes = fanout.attributes,
          .body = fanout.body};
}

// What each member's profile says to the message, and which messages it supersedes.
std::optional<Answer> Fanouts::ask_members(Step& step, const FanOut& fanout, Fanning& fanning) {
  for (Fanning::Member& member : fanning.members) {
    const Resident& resident = residents_[member.resident];
    const Bound& bound = *resident.bound;
    auto parsed = parse_message(*bound.profile, fanout.attributes, fanout.body);
    if (!parsed) return of_member(AnswerCode::kInvalid, member.name, parsed.error().detail);
    member.parsed = std::move(*parsed);
    Acceptance::Draft draft = draft_for(fanout, member.resident);
    draft.parsed = std::move(member.parsed);
    auto admission = acceptance_.ask(step, draft);
    member.parsed = std::move(draft.parsed);
    if (!admission) return of_member(AnswerCode::kInvalid, member.name, admission.error().detail);
    member.admission = std::move(*admission);
    if (!member.admission.key.empty())
      acceptance_.locate_values(step, member.resident, fanout.lane, member.admission.key);
    if (member.admission.supersedes.empty()) continue;
    if (member.admission.supersedes.size() > limits_.key_bytes_max)
      return of_member(AnswerCode::kInvalid, member.name,
                       "the key by which messages supersede each other is too long");
    member.older = acceptance_.find_older(
        step, names_.supersede_scope(residents_[member.resident].id), member.admission.supersedes);
  }
  return std::nullopt;
}

void Fanouts::share(Step& step, const SharedBody& shared, std::uint32_t members) {
  step.out.writes.put_once(keys::body(shared.id, keys::BodyPart::kBytes), shared.record);
  step.out.writes.put(keys::body(shared.id, keys::BodyPart::kCount),
                      encode_body_count({members, shared.bytes}));
  ++receipts_.counters().shared_bodies;
  receipts_.counters().shared_bytes += shared.bytes;
  bodies_.add(shared.id, {.record = shared.record, .bytes = shared.bytes, .references = members});
}

FanoutView Fanouts::take_all(Step& step, const FanOut& fanout, Fanning& fanning) {
  FanoutView view;
  view.id = FanoutId(sequences_.next().value());
  view.skipped = std::move(fanning.skipped);
  // Then nothing is written, perhaps not even the answer, and so nothing is counted.
  if (fanning.members.empty()) return view;
  ++receipts_.counters().fanouts;
  // A message for which its profile made a body has that one, and refers to no other.
  const auto members = static_cast<std::uint32_t>(
      std::count_if(fanning.members.begin(), fanning.members.end(),
                    [](const Fanning::Member& member) { return !member.admission.body; }));
  const SharedBody shared{view.id.value(), static_cast<std::uint32_t>(fanout.body.size()),
                          encode_body(fanout.body)};
  if (members > 0) share(step, shared, members);
  for (Fanning::Member& member : fanning.members) {
    Acceptance::Draft draft = draft_for(fanout, member.resident);
    draft.body = body_in(shared.record);
    draft.shared = &shared;
    draft.parsed = std::move(member.parsed);
    const MessageId id =
        member.admission.supersedes.empty()
            ? acceptance_.admit(step, std::move(draft), member.admission)
            : acceptance_.admit_instead(step, std::move(draft), member.admission, member.older);
    view.members.push_back({std::move(member.name), id});
  }
  return view;
}

void Fanouts::on(Step& step, const ChangeGroup& change) {
  const std::string_view verb = verb_of(change.what);
  const std::string bytes = canonical(verb, change.group.name, encode_fanout_group(change.group));
  const Operations::AuditLine line{verb, change.group.name, {}};
  operations_.once(step, change.caller, bytes, line, [&]() -> std::optional<Answer> {
    if (auto refusal = invalid(change)) return refusal;
    return change_group(step, change);
  });
}

std::optional<Answer> Fanouts::invalid(const ChangeGroup& change) const {
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

std::optional<Answer> Fanouts::change_group(Step& step, const ChangeGroup& change) {
  using What = ChangeGroup::What;
  const std::string& name = change.group.name;
  const auto before = find_group(step, name);
  const bool adds = change.what == What::kPut || change.what == What::kAdd;
  std::string missing;
  for (const FanoutMember& member : change.group.members) {
    if (!adds) continue;
    const Destinations::Destined destined =
        destinations_.find_destination(step, member.destination);
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

}  // namespace postrider::core
