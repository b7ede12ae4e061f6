#include "postrider/api/render.h"

#include <algorithm>
#include <array>
#include <span>

#include "postrider/api/json_names.h"
#include "postrider/api/texts.h"
#include "postrider/base/check.h"
#include "postrider/model/attributes.h"
#include "postrider/protocols/web/base64.h"
#include "postrider/protocols/web/http_text.h"
#include "postrider/protocols/web/standard_webhooks.h"

namespace postrider::api {
namespace {

void failure_field(JsonWriter& json, std::string_view name, FailureClass failure) {
  if (failure != FailureClass::kNone) json.field(name, name_of(failure));
}

std::size_t count_words(std::string_view text) {
  std::size_t count = 0;
  bool inside = false;
  for (const char c : text) {
    if (c != ' ' && !inside) ++count;
    inside = c != ' ';
  }
  return count;
}

// Of secrets that have an end the last one. Unset: none has, or the text is no list of secrets.
Timestamp last_end_of(std::string_view secrets) {
  Timestamp last;
  const auto list = parse_webhook_secrets(secrets);
  if (!list) return last;
  for (const WebhookSecret& secret : *list) last = std::max(last, secret.until);
  return last;
}

void write_attempts(JsonWriter& json, const AttemptList& list) {
  if (list.empty()) return;
  if (list.earlier > 0) json.count("earlier_attempts", list.earlier);
  json.name("last_attempts").open_array();
  for (const AttemptNote& note : list.notes) {
    json.open_object();
    time_field(json, "at", note.at);
    if (note.took) json.count("took_ms", static_cast<std::uint64_t>(note.took->count()));
    json.field("outcome", name_of(note.end));
    failure_field(json, "failure", note.failure);
    text_field(json, "reason", note.reason);
    json.close_object();
  }
  json.close_array();
}

void write_batch(JsonWriter& json, const IdCodec& ids, const BatchView& batch) {
  json.name("batch").open_object();
  json.field("leader", ids.text(batch.members.front())).count("number", batch.number);
  json.count("attempts", batch.attempts);
  json.name("members").open_array();
  for (const MessageId member : batch.members) json.text(ids.text(member));
  json.close_array().close_object();
}

void write_explanation_fields(JsonWriter& json, const IdCodec& ids, const Explanation& it) {
  json.field("id", ids.text(it.id));
  text_field(json, "destination", it.destination);
  json.field("phase", name_of(it.phase)).field("state", it.state);
  json.field("place", name_of(it.place)).field("why", it.why).field("next", name_of(it.next));
  time_field(json, "next_at", it.next_at);
  time_field(json, "accepted_at", it.accepted);
  time_field(json, "since", it.since);
  time_field(json, "expires_at", it.expires);
  json.count("attempts", it.attempts);
  failure_field(json, "last_failure", it.failure);
  text_field(json, "last_outcome", it.reason);
  json.field("health", name_of(it.health));
  if (it.cancel_wanted) json.flag("cancel_wanted", true);
  if (it.origin.is_set()) json.field("redrives", ids.text(it.origin));
  if (it.fanout.is_set()) json.field("fanout", to_string(it.fanout));
  if (it.gap.is_set()) json.field("gap", ids.text(it.gap));
  if (it.batch) write_batch(json, ids, *it.batch);
  write_attempts(json, it.attempt_list);
}

void write_doings(JsonWriter& json, const DestinationView::Activity& it) {
  json.count("in_flight_max", it.in_flight_max).count("in_flight_now", it.in_flight_now);
  time_field(json, "counted_since", it.since);
  json.count("delivered", it.delivered).count("failed", it.failed);
  json.count("delivered_last_minute", it.delivered_last_minute);
  json.count("failed_last_minute", it.failed_last_minute);
  json.count("delivered_last_ten_minutes", it.delivered_lately);
  json.count("failed_last_ten_minutes", it.failed_lately);
  // Rounded down: 100 means that none failed.
  if (const std::uint64_t all = it.delivered_lately + it.failed_lately; all > 0)
    json.count("success_percent", it.delivered_lately * 100 / all);
  json.flag("degraded", it.degraded);
  failure_field(json, "last_failure", it.last_failure);
  time_field(json, "last_failure_at", it.failed_at);
  text_field(json, "last_error", it.last_error);
  time_field(json, "next_at", it.next_at);
}

void write_entry(JsonWriter& json, Timestamp at, std::string_view what, std::string_view detail) {
  json.open_object();
  time_field(json, "at", at);
  json.field("what", what);
  text_field(json, "detail", detail);
  json.close_object();
}

// "after 120 ms: server: HTTP 503"
std::string attempt_text(const AttemptNote& note) {
  std::string out;
  if (note.took) {
    const std::int64_t ms = note.took->count();
    out = ms < 10'000 ? "after " + std::to_string(ms) + " ms"
                      : "after " + std::to_string((ms + 500) / 1000) + " s";
  } else if (note.end == AttemptEnd::kGivenUp) {
    out = "a restart forgot how it ended";
  }
  if (note.failure != FailureClass::kNone) out += ": " + std::string(name_of(note.failure));
  if (!note.reason.empty()) out += ": " + note.reason;
  return out;
}

// One by one, as far as they are kept; else the first and the last are what is known.
void write_attempt_entries(JsonWriter& json, const MessageView& view, bool ended) {
  const Explanation& it = view.explanation;
  const AttemptList& list = it.attempt_list;
  if (view.first_attempt.is_set() && (list.empty() || list.earlier > 0))
    write_entry(json, view.first_attempt, "first-attempt", "");
  if (list.earlier > 0) {
    write_entry(json, {}, "earlier-attempts",
                std::to_string(list.earlier) + " of them, counted only");
  }
  for (const AttemptNote& note : list.notes)
    write_entry(json, note.at, "attempt-" + std::string(name_of(note.end)), attempt_text(note));
  if (!list.empty() || ended || it.failure == FailureClass::kNone) return;
  const bool since = it.phase == Phase::kBackoff || it.phase == Phase::kParked;
  write_entry(json, since ? it.since : Timestamp(), "last-failure",
              std::string(name_of(it.failure)) + (it.reason.empty() ? "" : ": " + it.reason));
}

}  // namespace

void write_body(JsonWriter& json, std::string_view body) {
  if (is_utf8(body)) {
    json.field("body", body);
    return;
  }
  json.field("body_base64", base64_encode(std::span(
                                reinterpret_cast<const std::uint8_t*>(body.data()), body.size())));
}

void time_field(JsonWriter& json, std::string_view name, Timestamp time) {
  if (time.is_set()) json.field(name, to_text(time));
}

void text_field(JsonWriter& json, std::string_view name, std::string_view text) {
  if (!text.empty()) json.field(name, text);
}

bool is_secret_name(std::string_view name) {
  constexpr auto kWords = std::to_array<std::string_view>(
      {"secret", "auth", "cookie", "token", "password", "signature", "credential"});
  // One chooses a way of signing, and one names a key file: they say nothing.
  if (name == "signature" || name == "secret_name") return false;
  const std::string lower = to_lower(name);
  return lower.ends_with("key") ||
         std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

std::string_view name_of(Explanation::Place place) {
  using Place = Explanation::Place;
  switch (place) {
    case Place::kWindow: return "window";
    case Place::kDisk: return "disk";
    case Place::kOnTheWire: return "on-the-wire";
    case Place::kAtPeer: return "at-peer";
    case Place::kSleeping: return "sleeping";
    case Place::kParked: return "parked";
    case Place::kEnded: return "ended";
    case Place::kQuarantine: return "quarantine";
  }
  POSTRIDER_CHECK(false);
  return {};
}

std::string_view name_of(Explanation::Next next) {
  using Next = Explanation::Next;
  switch (next) {
    case Next::kAttempt: return "attempt";
    case Next::kOutcome: return "outcome";
    case Next::kNews: return "news";
    case Next::kOperator: return "operator";
    case Next::kNothing: return "nothing";
  }
  POSTRIDER_CHECK(false);
  return {};
}

std::string_view name_of(LogEntry::Kind kind) {
  using Kind = LogEntry::Kind;
  switch (kind) {
    case Kind::kEnd: return "end";
    case Kind::kDestinationClosed: return "destination-closed";
    case Kind::kDestinationDisabled: return "destination-disabled";
    case Kind::kDestinationOpen: return "destination-open";
    case Kind::kParked: return "parked";
    case Kind::kRemoved: return "removed";
    case Kind::kQuarantined: return "quarantined";
    case Kind::kLate: return "late";
    case Kind::kAltered: return "altered";
    case Kind::kUnsent: return "unsent";
    case Kind::kAlarm: return "alarm";
    case Kind::kGap: return "gap";
  }
  POSTRIDER_CHECK(false);
  return {};
}

void write_accepted(std::string& out, const IdCodec& ids, MessageId id,
                    std::string_view destination) {
  JsonWriter json(out);
  json.open_object().field("id", ids.text(id));
  json.field("destination", destination).field("durability", "synced").close_object();
}

void write_done(std::string& out, const Answer& answer, std::string_view about,
                std::string_view subject) {
  JsonWriter json(out);
  json.open_object().field(about, subject).field("answer", name_of(answer.code));
  text_field(json, "detail", answer.detail);
  json.close_object();
}

void write_explanation(JsonWriter& json, const IdCodec& ids, const Explanation& explanation) {
  json.open_object();
  write_explanation_fields(json, ids, explanation);
  json.close_object();
}

void write_explanation(JsonWriter& json, const MessageLook& look, const MessageView& view) {
  json.open_object();
  write_explanation_fields(json, look.ids, view.explanation);
  const NamedTexts texts = decode_texts(view.attributes).value_or(NamedTexts());
  for (const MessageWords* words : look.words) {
    if (words->show_explained != nullptr) words->show_explained(json, texts);
  }
  json.close_object();
}

void write_message(JsonWriter& json, const MessageLook& look, const MessageView& view,
                   bool with_body) {
  json.open_object();
  write_explanation_fields(json, look.ids, view.explanation);
  json.count("lane", view.lane).count("priority", view.priority);
  time_field(json, "not_before", view.not_before);
  time_field(json, "first_attempt_at", view.first_attempt);
  const NamedTexts texts = decode_texts(view.attributes).value_or(NamedTexts());
  for (const MessageWords* words : look.words) {
    if (words->show != nullptr && !texts.empty()) words->show(json, texts);
  }
  json.flag("has_body", view.has_body);
  if (view.has_body) json.count("body_bytes", view.body.size());
  if (view.has_body && with_body) write_body(json, view.body);
  json.close_object();
}

void write_timeline(JsonWriter& json, const IdCodec& ids, const MessageView& view) {
  const Explanation& it = view.explanation;
  const bool ended = it.place == Explanation::Place::kEnded;
  json.open_object().field("id", ids.text(it.id));
  text_field(json, "destination", it.destination);
  json.count("attempts", it.attempts);
  json.name("entries").open_array();
  if (it.accepted.is_set()) {
    write_entry(json, it.accepted, "accepted",
                it.origin.is_set() ? "redrives " + ids.text(it.origin) : std::string());
  }
  if (view.not_before.is_set()) write_entry(json, view.not_before, "not-before", "");
  write_attempt_entries(json, view, ended);
  if (ended) {
    write_entry(json, it.since, name_of(it.phase), it.reason);
  } else {
    write_entry(json, it.next_at, "waits-for-" + std::string(name_of(it.next)), it.why);
    if (it.expires.is_set()) write_entry(json, it.expires, "expires", "");
  }
  json.close_array().close_object();
}

void write_shape(JsonWriter& json, const ShapeRow& row) {
  std::uint64_t total = 0;
  json.open_object();
  // A destination that was removed under our eyes has no name any more.
  text_field(json, "name", row.name);
  text_field(json, "profile", row.profile);
  json.field("destination_id", to_string(row.id)).name("counts").open_array();
  for (const std::uint64_t count : row.ages) {
    json.number(count);
    total += count;
  }
  json.close_array().count("total", total).name("phases").open_object();
  for (std::size_t i = 0; i < kPhases; ++i) {
    if (const auto phase = static_cast<Phase>(i); !is_end(phase))
      json.count(name_of(phase), row.phases[i]);
  }
  json.close_object().name("states").open_object();
  for (const auto& [state, count] : row.states) json.text_name(state).number(count);
  json.close_object();
  if (!row.methods.empty()) {
    json.name("methods").open_object();
    for (const auto& [method, states] : row.methods) {
      json.text_name(method).open_object();
      for (const auto& [state, count] : states) json.text_name(state).number(count);
      json.close_object();
    }
    json.close_object();
  }
  time_field(json, "oldest_at", row.oldest);
  time_field(json, "next_at", row.next_at);
  json.close_object();
}

void write_queue(JsonWriter& json, const QueueRow& row) {
  json.open_object();
  text_field(json, "destination", row.destination);
  json.field("destination_id", to_string(row.id)).count("live", row.messages);
  json.flag("on_disk", row.more);
  time_field(json, "oldest_at", row.oldest);
  json.count("in_use", row.slots).field("health", name_of(row.health)).close_object();
}

void write_destination(JsonWriter& json, const DestinationView& view) {
  json.open_object().field("name", view.config.name);
  // A template has no id, and no message ever names one.
  if (view.id.is_set()) json.field("destination_id", to_string(view.id));
  json.field("profile", view.config.profile);
  text_field(json, "like", view.config.like);
  if (is_template_name(view.config.name)) json.flag("template", true);
  json.name("settings").open_object();
  std::size_t hidden = 0;
  for (const auto& [name, value] : view.config.settings) {
    const bool secret = is_secret_name(name);
    hidden += secret ? 1 : 0;
    json.text_name(name).text(secret ? kHidden : std::string_view(value));
  }
  json.close_object();
  // How many, so that somebody who rotates them sees how far he is.
  const std::string* secrets = find_text(view.config.settings, "secret");
  json.count("secrets", secrets == nullptr ? 0 : count_words(*secrets));
  if (secrets != nullptr) time_field(json, "old_secret_until", last_end_of(*secrets));
  json.count("hidden_settings", hidden);
  const Route& route = view.route;
  json.field("health", name_of(route.health));
  time_field(json, "health_since", route.health_since);
  text_field(json, "reason", route.reason);
  json.count("strikes", route.strikes);
  time_field(json, "closed_until", route.closed_until);
  time_field(json, "failing_since", route.failing_since);
  time_field(json, "seen_at", route.seen_at);
  json.count("in_window", view.in_window).count("open_attempts", view.open_attempts);
  json.flag("owed", view.owed).flag("draining", view.config.draining);
  if (view.activity) write_doings(json, *view.activity);
  json.close_object();
}

void write_dead_letter(JsonWriter& json, const IdCodec& ids, const DeadLetter& letter) {
  json.open_object().field("id", ids.text(letter.id));
  json.field("destination_id", to_string(letter.id.destination()));
  json.field("phase", name_of(letter.phase));
  time_field(json, "at", letter.at);
  json.field("cause", name_of(letter.cause)).count("attempts", letter.attempts);
  text_field(json, "reason", letter.reason);
  json.close_object();
}

void write_log_entry(JsonWriter& json, const IdCodec& ids, const LogEntry& entry,
                     std::string_view event) {
  const bool about_message =
      entry.kind == LogEntry::Kind::kEnd || entry.kind == LogEntry::Kind::kParked ||
      entry.kind == LogEntry::Kind::kQuarantined || entry.kind == LogEntry::Kind::kLate ||
      entry.kind == LogEntry::Kind::kAltered || entry.kind == LogEntry::Kind::kUnsent ||
      entry.kind == LogEntry::Kind::kGap;
  json.open_object().field("kind", name_of(entry.kind)).field("event", event);
  time_field(json, "at", entry.at);
  text_field(json, "destination", entry.destination);
  if (entry.id.is_set()) {
    json.field("destination_id", to_string(entry.id.destination()));
    if (about_message) json.field("id", ids.text(entry.id));
  }
  if (about_message) {
    json.field("phase", name_of(entry.phase)).count("attempts", entry.attempts);
    failure_field(json, "cause", entry.cause);
  }
  // The wall may have been set back meanwhile.
  if (entry.accepted.is_set())
    json.count("latency_ms", static_cast<std::uint64_t>(
                                 std::max(entry.at - entry.accepted, Duration(0)).count()));
  text_field(json, "reason", entry.reason);
  json.close_object();
}

void write_operation(JsonWriter& json, const IdCodec& ids, const Answer& answer,
                     std::string_view key) {
  json.open_object().field("key", key).field("answer", name_of(answer.code));
  if (const auto* fanout = std::get_if<FanoutView>(&answer.view)) {
    write_fanout_fields(json, ids, *fanout);
  } else if (answer.id.is_set()) {
    json.field("id", ids.text(answer.id));
  }
  text_field(json, "detail", answer.detail);
  json.close_object();
}

void write_fanout_fields(JsonWriter& json, const IdCodec& ids, const FanoutView& fanout) {
  json.field("id", to_string(fanout.id)).name("members").open_array();
  for (const FanoutView::Member& member : fanout.members) {
    json.open_object().field("destination", member.destination);
    json.field("message", ids.text(member.message)).close_object();
  }
  json.close_array().name("skipped").open_array();
  for (const std::string& name : fanout.skipped) json.text(name);
  json.close_array();
}

namespace {

// By profile and state, everything that lives; absent while that is not known.
void write_states(JsonWriter& json, const Stats& stats) {
  if (!stats.all_counted) return;
  json.name("states").open_object();
  for (std::size_t i = 0; i < stats.in_states.size(); ++i) {
    const Stats::InState& one = stats.in_states[i];
    if (i == 0 || stats.in_states[i - 1].profile != one.profile) {
      if (i != 0) json.close_object();
      json.name(one.profile).open_object();
    }
    json.count(one.state, one.messages);
  }
  if (!stats.in_states.empty()) json.close_object();
  json.close_object();
}

}  // namespace

void write_stats(JsonWriter& json, const Stats& stats, const ProcessFigures& figures) {
  const Counters& it = stats.counters;
  json.open_object().name("conservation").open_object();
  json.count("accepted", it.accepted).count("delivered", it.delivered).count("dead", it.dead);
  json.count("expired", it.expired).count("cancelled", it.cancelled);
  json.count("indeterminate", it.indeterminate).count("live", it.live()).close_object();
  json.name("dead_letters").open_object().count("redriven", it.redriven);
  std::uint64_t letters = stats.dead_letters_ungrouped;
  for (const std::uint64_t count : stats.dead_letters) letters += count;
  json.count("dropped", it.dropped).count("there", letters).count("parked", stats.parked);
  json.close_object().count("jobs_running", stats.jobs_running);
  json.name("history").open_object().count("messages", stats.history);
  json.count("bytes", stats.history_bytes).close_object();
  json.name("fanout").open_object().count("accepted", it.fanouts);
  json.count("shared_bodies", it.shared_bodies).count("shared_bytes", it.shared_bytes);
  json.close_object().count("quarantined", it.quarantined);
  json.name("removed_by_retention").open_object().count("ends", it.removed_ends);
  json.count("dead_letters", it.removed_dead).count("operations", it.removed_ledger).close_object();
  json.count("in_window", stats.in_window).count("open_attempts", stats.open_attempts);
  json.count("destinations_in_memory", stats.residents).flag("restoring", stats.restoring);
  json.count("clock_doubt_s", static_cast<std::uint64_t>(stats.clock_doubt / Duration(1s)));
  write_states(json, stats);
  const Tallies& tallies = stats.tallies;
  json.name("since_start").open_object().count("attempts", tallies.attempts);
  json.count("ignored_signals", tallies.ignored_signals);
  json.count("late_outcomes", tallies.late_outcomes).count("late_receipts", tallies.late_receipts);
  json.count("stray_timers", tallies.stray_timers).count("needs", tallies.needs);
  json.count("steps", tallies.steps).close_object();
  json.name("process").open_object().count("resident_bytes", figures.resident_bytes);
  json.count("cpu_ms", figures.cpu_ms).count("free_bytes", figures.free_bytes);
  json.count("open_files", figures.open_files).count("connections_in", figures.connections_in);
  json.count("connections_out", figures.connections_out).close_object().close_object();
}

}  // namespace postrider::api
