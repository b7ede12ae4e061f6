#include "postrider/core/desk/settings.h"

#include <utility>

#include "postrider/base/planted.h"

namespace postrider::core {
namespace {

constexpr std::uint32_t kEmptyRows = 8;  // read to see whether there are any

Answer setting_answer(AnswerCode code, std::string detail = {}, MessageId id = {}) {
  Answer answer;
  answer.code = code;
  answer.id = id;
  answer.detail = std::move(detail);
  return answer;
}

Answer no_destination(const std::string& name) {
  return setting_answer(AnswerCode::kNotFound, "there is no destination '" + name + "'");
}

bool still_has(const NamedTexts& all, const NamedTexts& settings) {
  for (const auto& [name, value] : settings) {
    const std::string* now = find_text(all, name);
    if ((now == nullptr ? std::string_view() : std::string_view(*now)) != value) return false;
  }
  return true;
}

}  // namespace

void Settings::on(Step& step, const Configure& configure) {
  const DestinationConfig& config = configure.config;
  const std::string_view verb = config.draining  ? "drain"
                                : config.removed ? "remove"
                                                 : (configure.merge ? "merge" : "configure");
  std::string what = config.profile + '\0' + encode_texts(config.settings);
  if (!config.like.empty()) what.append(1, '\0').append(config.like);
  const std::string bytes = canonical(verb, config.name, what);
  const Operations::AuditLine line{verb == "merge" ? "limits" : verb, config.name, {}};
  operations_.once(step, configure.caller, bytes, line, [&]() -> std::optional<Answer> {
    if (config.name.empty() || config.name.size() > limits_.name_bytes_max) {
      return setting_answer(
          AnswerCode::kInvalid,
          "a destination's name has 1 to " + std::to_string(limits_.name_bytes_max) + " bytes");
    }
    if (config.name.find('*') != std::string::npos) return on_template(step, configure);
    const Destinations::Destined destined = destinations_.find_destination(step, config.name);
    if (!destined.known) return std::nullopt;
    if (config.removed) return remove_destination(step, destined.slot, config);
    if (!configure.merge) return put_destination(step, destined.slot, config);
    if (destined.slot == kNoSlot) return no_destination(config.name);
    // What holds counts, whether it is its own or its template's.
    if (!still_has(residents_[destined.slot].bound->settings, configure.made_from)) {
      return setting_answer(AnswerCode::kChanged,
                            "destination '" + config.name + "' was changed meanwhile");
    }
    DestinationConfig whole = residents_[destined.slot].config();
    whole.settings = merged(std::move(whole.settings), config.settings);
    return put_destination(step, destined.slot, whole);
  });
}

// The settings that would hold, or why they do not.
Result<std::shared_ptr<const Bound>> Settings::bind(const DestinationConfig& config) const {
  if (encode_texts(config.settings).size() > limits_.settings_bytes_max) {
    return fail(ErrorCode::kLimit, "the settings have more than " +
                                       std::to_string(limits_.settings_bytes_max) + " bytes");
  }
  const Templates::Template* wide = nullptr;
  if (!config.like.empty()) {
    wide = templates_.find(config.like);
    if (wide == nullptr || wide->bound == nullptr)
      return fail(ErrorCode::kInvalid, "there is no template '" + config.like + "'");
    if (!fits_template(config.like, config.name))
      return fail(ErrorCode::kInvalid,
                  "the name does not begin as that of the template '" + config.like + "'");
  }
  const std::string& named =
      wide != nullptr && config.profile.empty() ? wide->config.profile : config.profile;
  if (wide != nullptr && named != wide->config.profile)
    return fail(ErrorCode::kInvalid, "the template '" + config.like + "' has another profile");
  const ProfileSpec* profile = templates_.find_profile(named);
  if (profile == nullptr) {
    std::string names;
    for (const ProfileSpec* candidate : options_.profiles)
      names.append(names.empty() ? "" : ", ").append(candidate->name);
    return fail(ErrorCode::kInvalid, "there is no profile '" + named + "'; there are: " + names);
  }
  POSTRIDER_TRY(alone, templates_.bind_alone(*profile, templates_.in_full(config).settings));
  return wide == nullptr ? std::move(alone) : templates_.bind(config);
}

std::optional<Answer> Settings::put_destination(Step& step, Slot slot,
                                                const DestinationConfig& config) {
  const auto binding = bind(config);
  if (!binding) {
    const bool large = binding.error().code == ErrorCode::kLimit;
    return setting_answer(large ? AnswerCode::kTooLarge : AnswerCode::kInvalid,
                          binding.error().detail);
  }
  const std::shared_ptr<const Bound>& bound = *binding;
  if (slot == kNoSlot) {
    const auto id = destinations_.free_probe(step, config.name);
    if (step.lacks()) return std::nullopt;
    if (!id)
      return setting_answer(AnswerCode::kInvalid,
                            "too many destinations whose names hash alike; choose another name");
    Resident resident;
    resident.id = *id;
    resident.name = config.name;
    resident.bound = bound;
    resident.activity.since = step.now;
    destinations_.write_config(step, resident, {});
    residents_.begin_throttle(resident);
    const Slot added = residents_.add(std::move(resident));
    residents_.note_fresh(residents_[added].id);
    destinations_.note_use(step, added);
    step.look_at(added);
    return setting_answer(AnswerCode::kDone, "created");
  }
  Resident& resident = residents_[slot];
  if (resident.bound->profile != bound->profile) {
    return setting_answer(AnswerCode::kInvalid,
                          "a destination keeps its profile; remove it and make a new one");
  }
  const std::string before = resident.bound->like;
  if (resident.config().settings == config.settings && before == config.like && !resident.draining)
    return setting_answer(AnswerCode::kNothing, "unchanged");
  const bool drained = std::exchange(resident.draining, false);
  rebind(step, slot, bound);
  destinations_.write_config(step, resident, before);
  destinations_.note_use(step, slot);
  if (drained) destinations_.write_owed(step, slot);
  return setting_answer(AnswerCode::kDone, "changed");
}

// Other settings hold from now on.
void Settings::rebind(Step& step, Slot slot, std::shared_ptr<const Bound> bound) {
  Resident& resident = residents_[slot];
  const bool widened = resident.bound->policy.route.in_use_max != bound->policy.route.in_use_max;
  resident.bound = std::move(bound);
  if (widened) residents_.begin_throttle(resident);
  residents_.note_fresh(resident.id);
  for (Lane& lane : resident.lanes) {
    if (resident.bound->policy.lane_kind(lane.number) != LaneKind::kFifo) lane.asleep = false;
  }
  gates_.leave_lines(step, slot);
  step.look_at(slot);
}

std::optional<Answer> Settings::on_template(Step& step, const Configure& configure) {
  const DestinationConfig& config = configure.config;
  if (!is_template_name(config.name)) {
    return setting_answer(AnswerCode::kInvalid,
                          "'*' stands at the end of a template's name only, behind a beginning");
  }
  const Templates::Template* known = templates_.find(config.name);
  if (known == nullptr && (config.removed || configure.merge))
    return setting_answer(AnswerCode::kNotFound, "there is no template '" + config.name + "'");
  if (config.removed) return remove_template(step, config.name);
  if (!configure.merge) return put_template(step, config);
  if (!still_has(known->config.settings, configure.made_from))
    return setting_answer(AnswerCode::kChanged,
                          "template '" + config.name + "' was changed meanwhile");
  DestinationConfig whole = known->config;
  whole.settings = merged(std::move(whole.settings), config.settings);
  return put_template(step, whole);
}

std::optional<Answer> Settings::put_template(Step& step, const DestinationConfig& config) {
  if (!config.like.empty())
    return setting_answer(AnswerCode::kInvalid, "a template is like no other");
  auto bound = bind(config);
  if (!bound) {
    const bool large = bound.error().code == ErrorCode::kLimit;
    return setting_answer(large ? AnswerCode::kTooLarge : AnswerCode::kInvalid,
                          bound.error().detail);
  }
  const Templates::Template* known = templates_.find(config.name);
  if (known == nullptr && templates_.all().size() >= limits_.templates_max) {
    return setting_answer(AnswerCode::kTooLarge, "there are " +
                                                     std::to_string(limits_.templates_max) +
                                                     " templates already, the most there may be");
  }
  if (known != nullptr && known->config.profile != config.profile) {
    return setting_answer(AnswerCode::kInvalid,
                          "a template keeps its profile; remove it and make a new one");
  }
  if (known != nullptr && known->config.settings == config.settings)
    return setting_answer(AnswerCode::kNothing, "unchanged");
  const bool made = known == nullptr;
  DestinationConfig kept = config;
  const Duration life = (*bound)->policy.idle_life;
  const bool same_life = !made && known->bound && known->bound->policy.idle_life == life;
  kept.idle_since = life == Duration(0) ? Timestamp()
                    : same_life         ? known->config.idle_since
                                        : step.now;
  step.out.writes.put(keys::template_of(config.name), encode_config(kept));
  templates_.put(kept, std::move(*bound));
  // Destinations that are not in memory are bound anew when they come there.
  for (Slot slot = 0; slot < residents_.capacity() && !planted(Bug::kTemplateNotFollowed); ++slot) {
    const Resident& resident = residents_[slot];
    if (resident.bound && resident.bound->like == config.name)
      rebind(step, slot, templates_.bind(resident.config()));
  }
  return setting_answer(AnswerCode::kDone, made ? "created" : "changed");
}

std::optional<Answer> Settings::remove_template(Step& step, const std::string& name) {
  const std::string space = keys::like(name);
  const std::string last = keys::after_prefix(space);
  // A page whose rows are all being removed is empty and says nothing about those behind it.
  for (std::string first = space; !first.empty();) {
    const Rows* rows = step.scan({first, last, kEmptyRows});
    if (rows == nullptr) return std::nullopt;
    if (!rows->rows.empty()) {
      return setting_answer(AnswerCode::kNotEmpty,
                            "template '" + name +
                                "' is in use: destinations are like it; remove them first, or give "
                                "them settings of their own");
    }
    first = rows->complete ? std::string() : rows->next;
  }
  step.out.writes.remove(keys::template_of(name));
  templates_.remove(name);
  return setting_answer(AnswerCode::kDone, "removed");
}

std::optional<bool> Settings::is_empty(Step& step, Slot slot) {
  const Resident& resident = residents_[slot];
  if (resident.in_memory > 0 || resident.chores > 0 || window_.restoring()) return false;
  const std::optional<bool> bare = has_none_on_disk(step, resident.id);
  if (!bare) return std::nullopt;
  return *bare && !sleepers_.any_of(resident.id.value());
}

std::optional<bool> Settings::has_none_on_disk(Step& step, DestinationId id) {
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

std::optional<Answer> Settings::remove_destination(Step& step, Slot slot,
                                                   const DestinationConfig& config) {
  if (slot == kNoSlot) return no_destination(config.name);
  const std::optional<bool> empty = is_empty(step, slot);
  if (!empty) return std::nullopt;
  if (*empty) {
    take_away(step, slot);
    return setting_answer(AnswerCode::kDone, "removed");
  }
  if (!config.draining)
    return setting_answer(
        AnswerCode::kNotEmpty,
        "destination '" + config.name + "' still has messages; cancel them or let them end");
  Resident& resident = residents_[slot];
  resident.draining = true;
  destinations_.write_config(step, resident, resident.bound->like);
  destinations_.write_owed(step, slot);
  step.look_at(slot);
  return setting_answer(AnswerCode::kPending,
                        "it takes no new messages, and goes with its last one");
}

void Settings::take_away(Step& step, Slot slot) {
  const Resident& resident = residents_[slot];
  const DestinationId id = resident.id;
  DestinationConfig tombstone;
  tombstone.name = resident.name;
  tombstone.removed = true;
  step.out.writes.put(keys::config(id), encode_config(tombstone));
  if (!resident.bound->like.empty()) step.out.writes.remove(keys::like(resident.bound->like, id));
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
  census_.forget_census(slot);
  starts_.forget_resident(slot);
}

// A draining destination has nothing in memory any more; perhaps it has nothing on disk either.
void Settings::remove_drained(Step& step, const Chore& chore) {
  // One that left memory comes back only to be taken away: else it would leave again, be looked at
  // again, and so on for ever.
  if (!residents_.contains(chore.destination.value()) &&
      !has_none_on_disk(step, chore.destination).value_or(false))
    return;
  const Destinations::Destined destined = destinations_.find_destination(step, chore.destination);
  step.drained = chore.destination;
  if (!destined.known || destined.slot == kNoSlot) return;
  // That cannot be told yet; when the hot messages are back, all that are being drained are looked
  // at.
  if (window_.restoring()) return;
  if (!residents_[destined.slot].draining) return;
  const std::optional<bool> empty = is_empty(step, destined.slot);
  if (!empty || !*empty) return;
  LogEntry notice;
  notice.kind = LogEntry::Kind::kRemoved;
  notice.at = step.now;
  notice.reason = "destination '" + residents_[destined.slot].name + "' went with its last message";
  receipts_.note(std::move(notice));
  take_away(step, destined.slot);
}

void Settings::on(Step& step, const Pause& pause) {
  const Operations::AuditLine line{"pause", pause.destination, pause.reason};
  operations_.once(step, pause.caller, canonical("pause", pause.destination, pause.reason), line,
                   [&]() -> std::optional<Answer> {
                     return change_health(step, pause.destination, HealthOn::kPause,
                                          pause.reason.empty() ? "by the operator" : pause.reason);
                   });
}

void Settings::on(Step& step, const Resume& resume) {
  const Operations::AuditLine line{"resume", resume.destination, {}};
  operations_.once(step, resume.caller, canonical("resume", resume.destination, {}), line,
                   [&]() -> std::optional<Answer> {
                     const Destinations::Destined destined =
                         destinations_.find_destination(step, resume.destination);
                     if (!destined.known) return std::nullopt;
                     if (destined.slot != kNoSlot && holds_.is_held(residents_[destined.slot]))
                       return setting_answer(
                           AnswerCode::kNothing,
                           residents_[destined.slot].route.reason + "; release the hold");
                     // A destination that was disabled or paused by hand may be held as well.
                     if (destined.slot != kNoSlot)
                       residents_.note_fresh(residents_[destined.slot].id);
                     return change_health(step, resume.destination, HealthOn::kResume,
                                          "resumed by the operator");
                   });
}

void Settings::on(Step& step, const Wake& wake) {
  const Operations::AuditLine line{"wake", wake.destination, {}};
  const std::string bytes = canonical("wake", wake.destination, {});
  operations_.once(step, wake.caller, bytes, line, [&]() -> std::optional<Answer> {
    const Destinations::Destined destined = destinations_.find_destination(step, wake.destination);
    if (!destined.known) return std::nullopt;
    if (destined.slot != kNoSlot) {
      Resident& resident = residents_[destined.slot];
      if (resident.route.health == Health::kNormal && resident.route.closed_until > step.now) {
        // The operator knows better than a far side that asked us to come back later.
        resident.route.closed_until = Timestamp();
        routes_.write_route(step, destined.slot);
        step.look_at(destined.slot);
        return setting_answer(AnswerCode::kDone, "no longer held");
      }
    }
    return change_health(step, wake.destination, HealthOn::kSeen, "woken by the operator");
  });
}

std::optional<Answer> Settings::change_health(Step& step, const std::string& name, HealthOn on,
                                              std::string_view reason) {
  const Destinations::Destined destined = destinations_.find_destination(step, name);
  if (!destined.known) return std::nullopt;
  if (destined.slot == kNoSlot) return no_destination(name);
  const Health before = residents_[destined.slot].route.health;
  routes_.tell_health(step, destined.slot, on, reason);
  return tell_change(destined.slot, before);
}

Answer Settings::tell_change(Slot slot, Health before) const {
  const Health after = residents_[slot].route.health;
  if (before == after)
    return setting_answer(AnswerCode::kNothing,
                          "the destination is " + std::string(name_of(after)));
  return setting_answer(AnswerCode::kDone,
                        std::string(name_of(before)) + " to " + std::string(name_of(after)));
}

// Neither in the ledger nor in the audit: it is news of the network, and may come often.
void Settings::on(Step& step, const PeerSeen& seen) {
  const Destinations::Destined destined = destinations_.find_destination(step, seen.destination);
  if (!destined.known) return;
  if (destined.slot == kNoSlot) return step.reply(seen.ticket, no_destination(seen.destination));
  const Health before = residents_[destined.slot].route.health;
  rousing_.hear_sign_of_life(step, destined.slot, "a sign of life");
  step.reply(seen.ticket, tell_change(destined.slot, before));
}

}  // namespace postrider::core
