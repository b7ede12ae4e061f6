#include "postrider/profiles/device/events.h"

#include <algorithm>
#include <utility>

#include "postrider/base/hash.h"
#include "postrider/profiles/device/mint.h"
#include "postrider/profiles/device/news.h"
#include "postrider/profiles/device/notes.h"
#include "postrider/profiles/device/report.h"
#include "postrider/profiles/device/rules.h"
#include "postrider/profiles/device/settings.h"
#include "postrider/profiles/device/table.h"
#include "postrider/profiles/device/wire.h"
#include "postrider/protocols/chirpstack/chirpstack.h"
#include "postrider/protocols/device/text.h"
#include "postrider/protocols/device/ulid.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::device {
namespace {

// A ULID that follows from what the event is about: the same however often it is made.
std::string make_event_id(Timestamp wall, std::string_view about, std::string_view what) {
  const std::string seed = std::string(about).append("/").append(what);
  const std::uint64_t high =
      static_cast<std::uint64_t>(wall.ms()) << 16 | (hash64(seed, 3) & 0xFFFF);
  return to_ulid(high, hash64(seed, 4));
}

struct Envelope {
  std::string id;
  Timestamp wall;
  std::string plugin;
};

std::string event_body(const Envelope& envelope, std::string_view message) {
  JsonText out;
  out.begin_object();
  out.text("eventId", envelope.id);
  out.text("occurredAt", to_rfc3339(envelope.wall));
  out.text("pluginId", envelope.plugin);
  out.raw("message", message);
  out.end_object();
  return out.take();
}

NestedSubmit submit_of(std::string_view destination, const Envelope& envelope,
                       std::string_view order, std::string_view message) {
  NestedSubmit submit;
  submit.destination = destination;
  submit.attributes = encode_texts({{"event-id", envelope.id}, {"order-key", std::string(order)}});
  submit.body = event_body(envelope, message);
  return submit;
}

NestedSubmit event_of(const Facts& facts, StateIndex state, std::string_view message) {
  const PublicId about = facts.id();
  const std::string id = to_ulid(about.high, about.low);
  const Envelope envelope{.id = event_id(facts.wall, about, state),
                          .wall = facts.wall,
                          .plugin = std::string(setting(facts.destination, "plugin"))};
  return submit_of(setting(facts.destination, "events"), envelope, id, message);
}

// What is known of the attempts when a message ends.
Ending ending_of(const Facts& facts, StateIndex end, const Notes& notes, Command command) {
  const std::uint16_t attempts = facts.state.attempts;
  Ending out;
  out.end = end;
  out.command = command;
  out.executed = notes.executed;
  out.refused = notes.refused;
  out.earlier_may_have_run = notes.earlier_ran_perhaps(attempts);
  out.any_may_have_run =
      out.earlier_may_have_run || (attempts > 0 && ran_perhaps(notes.proof(attempts)));
  return out;
}

// The server may have the last attempt, under an id that nobody told us. By MQTT we choose the id.
bool is_nameless(const Facts& facts, Notes notes) {
  const std::uint16_t attempt = facts.state.attempts;
  notes.turn_to(attempt);
  return attempt > 0 && notes.item.empty() && ran_perhaps(notes.proof(attempt)) &&
         wire_of(facts.destination) == Wire::kChirpstack;
}

// The answer that may still come when nobody waits for it any more.
void leave_debt(const Facts& facts, const Ending& ending, const Request& request, Aftermath& out) {
  const bool owed = ending.end == kDone ? ending.earlier_may_have_run : ending.any_may_have_run;
  const auto eui = chirpstack::dev_eui_of(request.meter);
  if (!is_push(facts) || !eui) return;
  if (owed) out.names.push_back(owed_answer(*eui, answer_kind(request)));
  if (is_nameless(facts, decode_notes(facts.notes))) out.names.push_back(nameless_item(*eui));
}

std::string unsolicited_message(const Unsolicited& from, const chirpstack::Event& event,
                                Command command, std::string_view response) {
  JsonText out;
  out.begin_object();
  out.text("deliveryStatus", "DELIVERY_SUCCESSFUL");
  out.begin_object("device");
  out.text("type", kElectricityMeter);
  out.text("externalReference", from.meter);
  if (event.heard) {
    out.begin_object("relayNode");
    out.text("externalReference", event.heard->gateway_id);
    out.raw("snr", to_text(make_decimal(event.heard->snr_milli, 3)));
    out.raw("rssi", std::to_string(event.heard->rssi));
    out.end_object();
  }
  out.end_object();
  out.text("commandType", name_of(command));
  if (!response.empty()) out.raw("response", response);
  out.raw("unsolicited", "true");
  out.end_object();
  return out.take();
}

NestedSubmit unsolicited(const Unsolicited& from, const chirpstack::Event& event, Command command,
                         std::string_view response) {
  const std::string about = event.dev_eui + '/' + event.deduplication_id;
  const Envelope envelope{.id = make_event_id(from.wall, about, name_of(command)),
                          .wall = from.wall,
                          .plugin = from.plugin};
  return submit_of(from.events, envelope, from.meter,
                   unsolicited_message(from, event, command, response));
}

std::string report_json(const Report& report) {
  JsonText out;
  out.begin_object();
  out.text("status", report.readable ? "EXECUTION_SUCCESS" : "EXECUTION_FAILURE");
  if (!report.readable) {
    out.text("reason", kUndecodable);
    out.end_object();
    return out.take();
  }
  out.begin_object("data");
  out.text("frozenAt", to_text(report.frozen_on) + "T" + to_text(report.frozen_at));
  out.raw("consumption", to_text(report.consumption));
  out.raw("credit", to_text(report.credit));
  out.raw("secondConsumption", to_text(report.second_consumption));
  out.raw("secondCredit", to_text(report.second_credit));
  out.raw("demand", std::to_string(report.demand));
  out.raw("voltage", to_text(report.voltage));
  out.raw("current", to_text(report.current));
  out.raw("status", std::to_string(report.status));
  out.end_object();
  out.end_object();
  return out.take();
}

// The name by which the server will know the item, where that is ours to choose.
std::vector<ExternalName> names_of_send(const Facts& facts) {
  if (wire_of(facts.destination) != Wire::kChirpstackMqtt) return {};
  return {{"item", uuid_of(facts.id(), facts.now)}};
}

Aftermath started(const Facts& facts) {
  Aftermath out;
  out.names = names_of_send(facts);
  Notes notes = decode_notes(facts.notes);
  if (is_push(facts)) notes.expires = std::max(expiry_of(facts).value_or(Timestamp()), Timestamp());
  if (facts.state.attempts != 1 || setting(facts.destination, "events").empty()) {
    if (is_push(facts)) out.notes = encode_notes(notes);
    return out;
  }
  const Told told{.id = facts.id(),
                  .state = kSending,
                  .command = command_of(facts),
                  .trail = {},
                  .response = {},
                  .outcome = {},
                  .may_have_run = false};
  notes.add(Happening::kToldSent, facts.wall);
  out.submits.push_back(event_of(facts, kSending, event_message(told)));
  out.notes = encode_notes(notes);
  return out;
}

Aftermath abandoned(const Facts& facts) {
  Aftermath out;
  if (!is_push(facts)) return out;
  const Request& request = command_of(facts).request;
  const auto eui = chirpstack::dev_eui_of(request.meter);
  Notes notes = decode_notes(facts.notes);
  if (!eui || !ran_perhaps(notes.proof(facts.state.attempts))) return out;
  out.names.push_back(owed_answer(*eui, answer_kind(request)));
  if (is_nameless(facts, std::move(notes))) out.names.push_back(nameless_item(*eui));
  return out;
}

Aftermath ended(const Facts& facts, StateIndex end) {
  Notes notes = decode_notes(facts.notes);
  DeviceMessage command = command_of(facts);
  const Ending ending = ending_of(facts, end, notes, command.request.command);
  const Outcome outcome = outcome_of(ending);
  notes.outcome = name_of(outcome);
  notes.may_have_run = may_have_run(ending);
  Aftermath out;
  out.outcome = name_of(outcome);
  leave_debt(facts, ending, command.request, out);
  mask_token(command);
  const bool told = end != kCancelled || setting(facts.destination, "events_cancelled") == "true";
  if (told && !setting(facts.destination, "events").empty()) {
    const Told all{.id = facts.id(),
                   .state = end,
                   .command = command,
                   .trail = facts.trail == nullptr ? Trail() : *facts.trail,
                   .response = notes.response,
                   .outcome = notes.outcome,
                   .may_have_run = notes.may_have_run};
    out.submits.push_back(event_of(facts, end, event_message(all)));
    notes.add(Happening::kToldEnd, facts.wall);
  }
  notes.summary = encode_device_message(command);
  out.notes = encode_notes(notes);
  return out;
}

}  // namespace

std::string event_id(Timestamp wall, PublicId about, StateIndex state) {
  return make_event_id(wall, to_ulid(about.high, about.low), shown(state));
}

Aftermath after(const Facts& facts, const Moment& moment) {
  const bool mint = is_mint(facts);
  switch (moment.kind) {
    case Moment::Kind::kStarted: return mint ? Aftermath() : started(facts);
    // The making of a token owes no answer of a device.
    case Moment::Kind::kAbandoned: return mint ? Aftermath() : abandoned(facts);
    case Moment::Kind::kEnded:
      return mint ? ended_mint(facts, moment.end) : ended(facts, moment.end);
  }
  return {};
}

NestedSubmit join_event(const Unsolicited& from, const chirpstack::Event& event) {
  return unsolicited(from, event, Command::kJoinNetwork, {});
}

NestedSubmit report_event(const Unsolicited& from, const chirpstack::Event& event,
                          const Report& report) {
  return unsolicited(from, event, Command::kReadReport, report_json(report));
}

std::string answer_kind(std::string_view frame) {
  const auto read = decode_frame(frame);
  if (!read) return frame.starts_with('\0') ? "limit" : "";
  switch (static_cast<Control>(read->control)) {
    case Control::kTokenOk:
    case Control::kTokenRefused: return "token";
    case Control::kWriteOk:
    case Control::kWriteRefused: return "write";
    case Control::kReadOk: return "read" + read->body.substr(0, 2);
    case Control::kReadRefused:
    case Control::kToken:
    case Control::kRead:
    case Control::kWrite: break;
  }
  return "";
}

std::string answer_kind(const Request& request) {
  if (is_token(request.command)) return "token";
  if (is_act(request.command)) return "write";
  if (request.command == Command::kReadPowerLimit) return "limit";
  const auto frame = encode_request(request);
  const auto read = frame ? decode_frame(*frame) : Result<Frame>(fail(ErrorCode::kInvalid, ""));
  return read ? "read" + read->body.substr(0, 2) : std::string();
}

}  // namespace postrider::device
