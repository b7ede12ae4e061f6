// Groups, jobs and the audit as JSON.
#include "postrider/api/render.h"
#include "postrider/api/texts.h"

namespace postrider::api {
namespace {

void write_filter(JsonWriter& json, const JobFilter& filter) {
  json.open_object();
  text_field(json, "destination", filter.destination);
  text_field(json, "destination_prefix", filter.destination_prefix);
  if (filter.phase) json.field("phase", name_of(*filter.phase));
  if (filter.cause) json.field("cause", name_of(*filter.cause));
  time_field(json, "since", filter.since);
  time_field(json, "until", filter.until);
  text_field(json, "reason_prefix", filter.reason_prefix);
  json.close_object();
}

std::uint64_t ms_for(std::uint64_t actions, std::uint32_t rate) {
  return rate == 0 ? 0 : actions * 1000 / rate;
}

}  // namespace

void write_dead_groups(JsonWriter& json, const IdCodec& ids, const DeadGroupList& list) {
  json.open_object().name("groups").open_array();
  for (const DeadGroup& group : list.groups) {
    json.open_object();
    text_field(json, "destination", group.destination);
    json.field("destination_id", to_string(group.id)).field("phase", name_of(group.phase));
    if (group.phase != Phase::kParked) json.field("cause", name_of(group.cause));
    json.count("count", group.count);
    time_field(json, "first_at", group.first);
    time_field(json, "last_at", group.last);
    text_field(json, "reason", group.reason);
    json.field("example", ids.text(group.example)).close_object();
  }
  json.close_array().count("letters", list.letters).count("unlisted_groups", list.unlisted);
  json.count("others", list.others).count("unreadable", list.unreadable).close_object();
}

void write_job(JsonWriter& json, const Job& job) {
  json.open_object().field("id", to_string(job.id)).field("action", name_of(job.order.action));
  json.name("filter");
  write_filter(json, job.order.filter);
  json.field("state", name_of(job.state)).count("rate", job.order.rate);
  time_field(json, "created_at", job.created);
  time_field(json, "finished_at", job.finished);
  text_field(json, "actor", job.actor);
  text_field(json, "reason", job.order.reason);
  if (job.order.even_if_it_ran) json.flag("even_if_it_ran", true);
  if (job.order.every > Duration(0)) {
    json.count("every_ms", static_cast<std::uint64_t>(job.order.every.count()));
    json.count("rounds", job.rounds);
  }
  time_field(json, "next_at", job.next_at);
  if (job.expected > 0) json.count("expected", job.expected);
  json.count("looked", job.looked).count("done", job.done).count("refused", job.refused);
  text_field(json, "last_refusal", job.refusal);
  const std::uint64_t treated = job.done + job.refused;
  if (job.state == JobState::kRunning && job.expected > treated)
    json.count("remaining_ms", ms_for(job.expected - treated, job.order.rate));
  json.close_object();
}

void write_dry_run(JsonWriter& json, const DryRun& run, JobAction action) {
  json.open_object().flag("dry_run", true).field("action", name_of(action));
  json.count("matched", run.matched).count("looked", run.looked).flag("complete", run.complete);
  json.count("rate", run.rate);
  json.count("forecast_ms", static_cast<std::uint64_t>(run.forecast.count())).close_object();
}

void write_hold(JsonWriter& json, const Hold& hold) {
  json.open_object().field("name", hold.rule.name);
  text_field(json, "reason", hold.rule.reason);
  text_field(json, "destination_prefix", hold.rule.destination_prefix);
  text_field(json, "profile", hold.rule.profile);
  text_field(json, "tenant", hold.rule.tenant);
  text_field(json, "actor", hold.actor);
  time_field(json, "since", hold.since);
  json.close_object();
}

void write_audit(JsonWriter& json, const AuditPage::Line& line) {
  json.open_object();
  time_field(json, "at", line.record.at);
  json.field("actor", line.record.actor).field("action", line.record.action);
  json.field("target", line.record.target);
  text_field(json, "reason", line.record.reason);
  text_field(json, "effect", line.record.effect);
  json.close_object();
}

}  // namespace postrider::api
