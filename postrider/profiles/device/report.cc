#include "postrider/profiles/device/report.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "postrider/profiles/device/events.h"
#include "postrider/profiles/device/notes.h"
#include "postrider/profiles/device/rules.h"
#include "postrider/profiles/device/table.h"
#include "postrider/protocols/device/mint.h"
#include "postrider/protocols/device/text.h"
#include "postrider/protocols/device/ulid.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::device {
namespace {

bool is_failure(StateIndex state) {
  return state == kToRetry || state == kFailed || state == kExpired || state == kUnknown;
}

std::string_view status_of(StateIndex state) {
  const std::string_view word = shown(state);
  return word.empty() ? std::string_view("CANCELLED") : word;
}

// Newest first, as the contract has it.
void write_failures(JsonText& out, const Trail& trail) {
  out.begin_array("failureHistory");
  std::size_t written = 0;
  for (std::size_t i = trail.size(); i > 0 && written < kFailuresShown; --i) {
    const TrailStep& step = trail[i - 1];
    if (!is_failure(step.state)) continue;
    const StateIndex before = i >= 2 ? trail[i - 2].state : StateIndex{kQueued};
    JsonText entry;
    entry.begin_object();
    entry.text("timestamp", to_rfc3339(step.at));
    entry.text("status", status_of(before));
    entry.text("reason",
               step.reason.empty() ? std::string(postrider::name_of(step.on)) : step.reason);
    entry.raw("isFinal", step.state == kToRetry ? "false" : "true");
    entry.end_object();
    out.item(entry.take());
    ++written;
  }
  out.end_array();
}

bool has_failures(const Trail& trail) {
  return std::any_of(trail.begin(), trail.end(),
                     [](const TrailStep& step) { return is_failure(step.state); });
}

std::size_t retries_in(const Trail& trail) {
  std::size_t retries = 0;
  for (const TrailStep& step : trail) retries += step.state == kToRetry ? step.times : 0U;
  return retries;
}

void write_device(JsonText& out, const DeviceMessage& command) {
  out.begin_object("device");
  out.text("type", command.device_type);
  out.text("externalReference", command.request.meter);
  if (command.relay) {
    out.begin_object("relayNode");
    out.text("id", command.relay->id);
    out.text("externalReference", command.relay->reference);
    if (command.relay->snr) out.raw("snr", to_text(*command.relay->snr));
    if (command.relay->rssi) out.raw("rssi", to_text(*command.relay->rssi));
    out.end_object();
  }
  out.end_object();
}

void write_payload(JsonText& out, const Request& request) {
  if (request.token.empty() && !request.date && !request.time) return;
  out.begin_object("requestData");
  if (!request.token.empty()) out.text("token", request.token);
  if (request.date || request.time) out.begin_object("payload");
  if (request.date) {
    out.raw("year", std::to_string(request.date->year));
    out.raw("month", std::to_string(request.date->month));
    out.raw("day", std::to_string(request.date->day));
  }
  if (request.time) {
    out.raw("hour", std::to_string(request.time->hour));
    out.raw("minute", std::to_string(request.time->minute));
    out.raw("second", std::to_string(request.time->second));
  }
  if (request.date || request.time) out.end_object();
  out.end_object();
}

void write_end(JsonText& out, const Told& told) {
  if (!told.response.empty()) out.raw("response", told.response);
  if (told.outcome.empty()) return;
  out.text("outcome", told.outcome);
  if (told.state == kDone && told.outcome == "unknown") out.text("reason", "token_maybe_applied");
  out.raw("mayHaveRun", told.may_have_run ? "true" : "false");
}

void write_message(JsonText& out, const Told& told, std::string_view queue) {
  const DeviceMessage& command = told.command;
  out.text("id", to_ulid(told.id.high, told.id.low));
  out.text("commandType", name_of(command.request.command));
  if (told.makes_token) out.raw("makesToken", "true");
  out.raw("priority", std::to_string(command.priority));
  out.text("pluginId", command.plugin);
  out.raw("networkId", command.network ? std::to_string(*command.network) : "null");
  if (!command.correlation.empty()) out.text("correlationId", command.correlation);
  if (command.request.phase != MeterPhase::kNone) out.text("phase", name_of(command.request.phase));
  write_payload(out, command.request);
  write_device(out, command);
  if (command.expires_at) out.text("expiresAt", to_rfc3339(*command.expires_at));
  if (!command.supersede.empty()) out.text("supersedeKey", command.supersede);
  out.text("deliveryQueueId", queue);
  if (!shown(told.state).empty()) out.text("deliveryStatus", shown(told.state));
  out.raw("retryCount", std::to_string(retries_in(told.trail)));
  write_failures(out, told.trail);
  write_end(out, told);
}

// The making of a token, told as a command of its kind.
Result<DeviceMessage> command_of_mint(std::string_view text) {
  POSTRIDER_TRY(mint, parse_mint(text));
  DeviceMessage out;
  out.request.command = mint.type;
  out.request.meter = mint.meter;
  out.plugin = mint.plugin;
  out.correlation = mint.correlation;
  return out;
}

std::string response_of_mint(const Notes& notes) {
  if (!notes.executed || notes.item.empty()) return {};
  JsonText out;
  out.begin_object();
  out.text("status", "EXECUTION_SUCCESS");
  out.begin_object("data");
  out.text("token", masked_token(notes.item));
  out.end_object();
  out.end_object();
  return out.take();
}

Result<Told> told_by(const MessageView& view, const IdCodec& ids) {
  Notes notes = decode_notes(view.notes);
  const std::string& text = notes.summary.empty() ? view.body : notes.summary;
  auto command = parse_device_message(text);
  const bool made = !command;
  if (made) command = command_of_mint(text);
  if (!command) return fail(ErrorCode::kNotFound, "nothing is known of its command");
  if (made) notes.response = response_of_mint(notes);
  mask_token(*command);
  // Of an ended message the last step is its end.
  std::optional<StateIndex> state = parse_state(view.explanation.state);
  if (!notes.outcome.empty() && !view.trail.empty()) state = view.trail.back().state;
  if (!state) return fail(ErrorCode::kNotFound, "nothing is known of its state");
  return Told{.id = ids.outside(view.explanation.id),
              .state = *state,
              .command = std::move(*command),
              .trail = view.trail,
              .response = notes.response,
              .outcome = notes.outcome,
              .may_have_run = notes.may_have_run,
              .makes_token = made};
}

void write_transitions(JsonText& out, Timestamp accepted, const Trail& trail) {
  out.begin_array("transitions");
  JsonText first;  // the trail begins with what led out of it
  first.begin_object();
  first.text("at", to_rfc3339(accepted));
  first.text("state", kStates[kQueued].name);
  first.text("deliveryStatus", status_of(kQueued));
  first.end_object();
  out.item(first.take());
  for (const TrailStep& step : trail) {
    JsonText entry;
    entry.begin_object();
    entry.text("at", to_rfc3339(step.at));
    entry.text("state", kStates[step.state].name);
    entry.text("deliveryStatus", status_of(step.state));
    entry.text("on", postrider::name_of(step.on));
    if (step.times > 1) entry.raw("times", std::to_string(step.times));
    if (!step.reason.empty()) entry.text("reason", step.reason);
    entry.end_object();
    out.item(entry.take());
  }
  out.end_array();
}

// What a retry left behind without a proof is superseded: it may run yet, and nobody minds. The one
// that was answered can no longer run either: it did, or was refused.
std::string_view closing_of(const Notes& notes, std::uint16_t number, bool left_behind,
                            bool answered) {
  const Proof proof = notes.proof(number);
  if (proof != Proof::kNone) return name_of(proof);
  if (left_behind) return "superseded";
  return answered ? std::string_view("answered") : name_of(proof);
}

void write_attempts(JsonText& out, const Trail& trail, const Notes& notes) {
  out.begin_array("attempts");
  std::uint16_t number = 0;
  for (std::size_t i = 0; i < trail.size(); ++i) {
    const TrailStep& step = trail[i];
    if (step.state != kSending) continue;
    ++number;
    const bool left_behind =
        std::any_of(trail.begin() + static_cast<std::ptrdiff_t>(i), trail.end(),
                    [](const TrailStep& later) { return later.state == kToRetry; });
    JsonText entry;
    entry.begin_object();
    entry.raw("number", std::to_string(number));
    entry.text("startedAt", to_rfc3339(step.at));
    entry.text("closed", closing_of(notes, number, left_behind, trail.back().state == kDone));
    if (notes.attempt == number && !notes.item.empty()) entry.text("item", notes.item);
    entry.end_object();
    out.item(entry.take());
  }
  out.end_array();
}

// The same command, as often as it was sent: each time with what became of it.
void write_runs(JsonText& out, const DeviceView& view, const Told& shown) {
  std::vector<Told> all;
  std::vector<Timestamp> accepted;
  for (const MessageView* run : view.runs) {
    auto told = told_by(*run, view.ids);
    if (!told || told->command.request.phase != shown.command.request.phase) continue;
    all.push_back(std::move(*told));
    accepted.push_back(run->explanation.accepted);
  }
  if (all.size() < 2) return;
  out.begin_array("runs");
  for (std::size_t i = 0; i < all.size(); ++i) {
    JsonText entry;
    entry.begin_object();
    entry.text("id", to_ulid(all[i].id.high, all[i].id.low));
    entry.text("acceptedAt", to_rfc3339(accepted[i]));
    entry.text("deliveryStatus", status_of(all[i].state));
    write_end(entry, all[i]);
    entry.end_object();
    out.item(entry.take());
  }
  out.end_array();
}

// What came in about it, and what its consumer was told.
void write_events(JsonText& out, const Told& told, const Notes& notes) {
  out.begin_array("events");
  for (const Happened& one : notes.happened) {
    const bool ours = is_ours(one.what);
    JsonText entry;
    entry.begin_object();
    entry.text("at", to_rfc3339(one.wall));
    entry.text("direction", ours ? "out" : "in");
    entry.text("event", name_of(one.what));
    if (ours) {
      const StateIndex state = one.what == Happening::kToldEnd ? told.state : StateIndex{kSending};
      entry.text("eventId", event_id(one.wall, told.id, state));
      entry.text("deliveryStatus", status_of(state));
    }
    entry.end_object();
    out.item(entry.take());
  }
  out.end_array();
}

}  // namespace

void mask_token(DeviceMessage& message) {
  std::string& token = message.request.token;
  // What is kept of an ended message is masked already.
  if (!token.empty() && !token.starts_with("…")) token = masked_token(token);
}

std::optional<StateIndex> parse_state(std::string_view name) {
  for (std::size_t i = 0; i < kStates.size(); ++i) {
    if (kStates[i].name == name) return static_cast<StateIndex>(i);
  }
  return std::nullopt;
}

std::string event_message(const Told& told) {
  const DeviceMessage& command = told.command;
  JsonText out;
  out.begin_object();
  out.text("deliveryStatus", status_of(told.state));
  write_device(out, command);
  out.text("id", to_ulid(told.id.high, told.id.low));
  if (!command.correlation.empty()) out.text("correlationId", command.correlation);
  out.text("commandType", name_of(command.request.command));
  if (command.request.phase != MeterPhase::kNone) out.text("phase", name_of(command.request.phase));
  if (has_failures(told.trail)) write_failures(out, told.trail);
  write_end(out, told);
  out.end_object();
  return out.take();
}

Result<std::string> report_message(const DeviceView& view) {
  POSTRIDER_TRY(told, told_by(view.message, view.ids));
  JsonText out;
  out.begin_object();
  write_message(out, told, view.queue);
  out.end_object();
  return out.take();
}

Result<std::string> report_history(const DeviceView& view) {
  POSTRIDER_TRY(told, told_by(view.message, view.ids));
  Notes notes = decode_notes(view.message.notes);
  if (told.makes_token) notes.item.clear();
  JsonText out;
  out.begin_object();
  write_message(out, told, view.queue);
  out.text("acceptedAt", to_rfc3339(view.message.explanation.accepted));
  write_attempts(out, told.trail, notes);
  write_transitions(out, view.message.explanation.accepted, told.trail);
  write_events(out, told, notes);
  write_runs(out, view, told);
  out.end_object();
  return out.take();
}

}  // namespace postrider::device
