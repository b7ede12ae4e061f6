// Sending again: a message that is made of one that was there before. Whether that may be is for
// the profile to say, where it minds; which message was made of which is kept under the id of the
// former one, so that whoever knows the first finds the last.
#include <algorithm>

#include "postrider/base/planted.h"
#include "postrider/core/engine_impl.h"
#include "postrider/model/id_address.h"

namespace postrider {
namespace {

constexpr std::string_view kScope = "again";  // no profile's scope: those have a slash
constexpr std::size_t kRunsMax = 32;          // that are remembered, or told, of one message

}  // namespace

// Everything that `why_not_again` will ask for.
void Engine::Impl::look_at_runs(Step& step, const ProfileSpec& profile, MessageId former) {
  if (profile.door.why_not_again == nullptr) return;
  locate(step, former);
  find_content(step, former);
  find_named(step, kScope, to_string(former));
}

// Asked twice: what is told of a message from elsewhere, and what is known here under its id. Ids
// of two stores may be the same, so neither may speak for the other.
std::string Engine::Impl::why_not_again(Step& step, const ProfileSpec& profile,
                                        const RerunOrder& order) {
  const Located located = locate(step, order.former);
  const Buried buried = find_content(step, order.former);
  const NameEntry runs = find_named(step, kScope, to_string(order.former));
  if (step.lacks()) return {};
  Rerun rerun{.values = {.parsed = order.parsed}};
  rerun.attempts = order.told_ran ? 1 : 0;
  std::string why = profile.door.why_not_again(rerun);
  if (!why.empty()) return why;
  rerun.live = located.slot != kNoSlot;
  rerun.repeated = !runs.holders.empty();
  if (rerun.live) rerun.attempts = entries_[located.slot].state.attempts;
  if (!rerun.live && buried.end) {
    rerun.attempts = buried.end->attempts;
    rerun.notes = buried.end->notes;
  }
  return profile.door.why_not_again(rerun);
}

// Nothing when it may be sent, or when something must be read first.
std::optional<Answer> Engine::Impl::refuse_rerun(Step& step, const ProfileSpec& profile,
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
void Engine::Impl::note_run(Step& step, const ProfileSpec& profile, MessageId former,
                            MessageId id) {
  if (profile.door.why_not_again == nullptr) return;
  NameEntry runs = find_named(step, kScope, to_string(former));
  runs.at = step.now;
  runs.holders.push_back({id, 0});
  if (runs.holders.size() > kRunsMax) runs.holders.erase(runs.holders.begin());
  put_name(step, kScope, to_string(former), runs);
}

DeadLetter::Rerun Engine::Impl::rerun_of_letter(Step& step, MessageId id, const Blob& content) {
  const auto* record = step.get(keys::config(id.destination()));
  if (record == nullptr || !record->has_value()) return DeadLetter::Rerun::kNotAsked;
  const auto config = decode_config((*record)->view());
  const auto message = decode_message(content, dictionaries_);
  if (!config || !message || message->is_closed()) return DeadLetter::Rerun::kNotAsked;
  for (const ProfileSpec* profile : options_.profiles) {
    if (profile->name != config->profile || profile->door.why_not_again == nullptr) continue;
    const ParsedMessage parsed =
        read_message(*profile, message->attributes, message->body).value_or(nullptr);
    const std::string why = why_not_again(step, *profile, {.former = id, .parsed = parsed.get()});
    return why.empty() ? DeadLetter::Rerun::kMay : DeadLetter::Rerun::kMustNot;
  }
  return DeadLetter::Rerun::kNotAsked;
}

// In the order of acceptance. One whose end is forgotten is told by its id alone.
std::optional<Answer> Engine::Impl::list_runs(Step& step, MessageId first) {
  std::vector<MessageId> ids = {first};
  for (std::size_t i = 0; i < ids.size() && ids.size() < kRunsMax; ++i) {
    const NameEntry runs = find_named(step, kScope, to_string(ids[i]));
    if (step.lacks()) return std::nullopt;
    for (const NameEntry::Holder& holder : runs.holders) {
      if (std::find(ids.begin(), ids.end(), holder.id) == ids.end()) ids.push_back(holder.id);
    }
  }
  std::sort(ids.begin() + 1, ids.end(),
            [](MessageId a, MessageId b) { return a.sequence() < b.sequence(); });
  MessagePage page;
  for (const MessageId id : ids) {
    const std::optional<Answer> told = explain(step, id);
    if (!told) continue;
    const auto* explained = std::get_if<Explanation>(&told->view);
    page.messages.push_back(explained != nullptr ? *explained : Explanation());
    page.messages.back().id = id;
  }
  if (step.lacks()) return std::nullopt;
  Answer answer;
  answer.id = first;
  answer.view = std::move(page);
  return answer;
}

}  // namespace postrider
