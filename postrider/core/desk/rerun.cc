#include "postrider/core/desk/rerun.h"

#include <algorithm>

#include "postrider/base/planted.h"
#include "postrider/model/id_address.h"

namespace postrider::core {
namespace {

constexpr std::string_view kScope = "again";  // no profile's scope: those have a slash
constexpr std::size_t kRunsMax = 32;          // that are remembered, or told, of one message

}  // namespace

// Everything that `why_not_again` will ask for.
void Reruns::look_at_runs(Step& step, const ProfileSpec& profile, MessageId former) {
  if (profile.door.why_not_again == nullptr) return;
  lookup_.locate(step, former);
  letters_.find_content(step, former);
  names_.find_named(step, kScope, to_string(former));
}

// Asked twice: what is told of a message from elsewhere, and what is known here under its id. Ids
// of two stores may be the same, so neither may speak for the other.
std::string Reruns::why_not_again(Step& step, const ProfileSpec& profile, const RerunOrder& order) {
  const Lookup::Located located = lookup_.locate(step, order.former);
  const Letters::Buried buried = letters_.find_content(step, order.former);
  const NameEntry runs = names_.find_named(step, kScope, to_string(order.former));
  if (step.lacks()) return {};
  Rerun rerun{.values = {.parsed = order.parsed}};
  rerun.attempts = order.told_ran ? 1 : 0;
  std::string why = profile.door.why_not_again(rerun);
  if (!why.empty()) return why;
  rerun.live = located.slot != kNoSlot;
  rerun.repeated = !runs.holders.empty();
  if (rerun.live) rerun.attempts = window_[located.slot].state.attempts;
  if (!rerun.live && buried.end) {
    rerun.attempts = buried.end->attempts;
    rerun.notes = buried.end->notes;
  }
  return profile.door.why_not_again(rerun);
}

// Nothing when it may be sent, or when something must be read first.
std::optional<Answer> Reruns::refuse_rerun(Step& step, const ProfileSpec& profile,
                                           const RerunOrder& order) {
  if (profile.door.why_not_again == nullptr) return std::nullopt;
  const std::string why = why_not_again(step, profile, order);
  if (step.lacks() || order.regardless || why.empty()) return std::nullopt;
  if (planted(Bug::kSentAgainBlindly)) return std::nullopt;
  Answer answer;
  answer.code = AnswerCode::kMayHaveRun;
  answer.id = order.former;
  answer.detail = why + "; look first, and if it is to be sent again say even_if_it_ran";
  return answer;
}

// What is written here was looked at before anything was changed.
void Reruns::note_run(Step& step, const ProfileSpec& profile, MessageId former, MessageId id) {
  if (profile.door.why_not_again == nullptr) return;
  NameEntry runs = names_.find_named(step, kScope, to_string(former));
  runs.at = step.now;
  runs.holders.push_back({id, 0});
  if (runs.holders.size() > kRunsMax) runs.holders.erase(runs.holders.begin());
  names_.put_name(step, kScope, to_string(former), runs);
}

DeadLetter::Rerun Reruns::rerun_of_letter(Step& step, MessageId id, const Blob& content) {
  const auto* record = step.get(keys::config(id.destination()));
  if (record == nullptr || !record->has_value()) return DeadLetter::Rerun::kNotAsked;
  const auto config = decode_config((*record)->view());
  const auto message = decode_message(content, dictionaries_);
  if (!config || !message || message->is_closed()) return DeadLetter::Rerun::kNotAsked;
  const std::string its_profile = templates_.in_full(*config).profile;
  for (const ProfileSpec* profile : options_.profiles) {
    if (profile->name != its_profile || profile->door.why_not_again == nullptr) continue;
    const ParsedMessage parsed =
        parse_message(*profile, message->attributes, message->body).value_or(nullptr);
    const std::string why = why_not_again(step, *profile, {.former = id, .parsed = parsed.get()});
    return why.empty() ? DeadLetter::Rerun::kMay : DeadLetter::Rerun::kMustNot;
  }
  return DeadLetter::Rerun::kNotAsked;
}

std::optional<Phase> Reruns::end_of(Step& step, MessageId id) {
  const Lookup::Located located = lookup_.locate(step, id);
  if (!located.known || located.slot != kNoSlot) return std::nullopt;
  const Letters::Buried buried = letters_.find_end(step, id);
  if (!buried.known || !buried.end) return std::nullopt;
  return buried.end->phase;
}

std::vector<MessageId> Reruns::runs_of(Step& step, MessageId first) {
  std::vector<MessageId> ids = {first};
  for (std::size_t i = 0; i < ids.size() && ids.size() < kRunsMax; ++i) {
    const NameEntry runs = names_.find_named(step, kScope, to_string(ids[i]));
    if (step.lacks()) return ids;
    for (const NameEntry::Holder& holder : runs.holders) {
      if (std::find(ids.begin(), ids.end(), holder.id) == ids.end()) ids.push_back(holder.id);
    }
  }
  std::sort(ids.begin() + 1, ids.end(),
            [](MessageId a, MessageId b) { return a.sequence() < b.sequence(); });
  return ids;
}

}  // namespace postrider::core
