// postrider job run | ls | show | cancel, and the jobs that dlq makes: one action for everything
// that a filter names. postrider audit: what operators did.
#include "apps/postrider/job.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "apps/postrider/commands.h"
#include "postrider/api/texts.h"
#include "postrider/base/durations.h"
#include "postrider/base/nearest.h"
#include "postrider/cli/messages.h"
#include "postrider/cli/output.h"
#include "postrider/cli/session.h"
#include "postrider/json/json_writer.h"
#include "postrider/model/jobs.h"

namespace postrider {
namespace {

constexpr auto kRunOptions = std::to_array<OptionRow>(
    {kJobDestination, kJobPrefix, kJobPhase, kJobCause, kJobSince, kJobUntil, kJobReasonPrefix,
     kJobAll, kJobRate, kJobEvery, kJobDryRun, kJobReason, kEvenIfItRan, kKeyRow});
constexpr auto kFilters = std::to_array<OptionRow>(
    {kJobDestination, kJobPrefix, kJobPhase, kJobCause, kJobSince, kJobUntil, kJobReasonPrefix});
constexpr auto kListOptions = std::to_array<OptionRow>({kLimitRow, kWatchRow});
constexpr auto kShowOptions = std::to_array<OptionRow>({kWatchRow});
constexpr auto kCommandOptions = std::to_array<OptionRow>({kKeyRow});
constexpr auto kAuditOptions = std::to_array<OptionRow>({
    {"--oldest", "", "the oldest first"},
    kLimitRow,
    kCursorRow,
    kAllRow,
    kWatchRow,
});

std::string span_text(const std::string& ms) {
  if (ms.empty()) return "";
  std::uint64_t seconds = std::strtoull(ms.c_str(), nullptr, 10) / 1000;
  if (seconds == 0) return "less than a second";
  std::string out;
  for (const auto& [unit, size] : {std::pair{"d", 86'400U}, {"h", 3600U}, {"m", 60U}, {"s", 1U}}) {
    if (seconds >= size) out += std::to_string(seconds / size) + unit;
    seconds %= size;
  }
  return out;
}

std::string progress_of(const Json& job) {
  std::string out = job.at("done");
  if (!job.at("expected").empty()) out += " of " + job.at("expected");
  if (job.at("refused") != "0") out += ", " + job.at("refused") + " refused";
  return out;
}

std::string filter_of(const Json& job) {
  const Json* filter = job.find("filter");
  std::string out;
  for (std::size_t i = 0; filter != nullptr && i < filter->names.size(); ++i)
    out += (out.empty() ? "" : " ") + filter->names[i] + "=" + shown(filter->items[i].text);
  return out.empty() ? "everything" : out;
}

std::vector<Table::Cell> row_of(const Json& job, Timestamp now) {
  return {{shown(job.at("id"))},
          {shown(job.at("action"))},
          {shown(job.at("state"))},
          {progress_of(job)},
          {job.at("rate") + "/s"},
          {span_text(job.at("every_ms"))},
          {moment_text(job.at("created_at"), now)},
          {filter_of(job), Colour::kFaint}};
}

void add_option(json::JsonWriter& json, const Parsed& parsed, std::string_view option,
                std::string_view field) {
  if (const std::string* value = parsed.find(option)) json.field(field, *value);
}

// "2h" is two hours ago; anything else is for the daemon to read.
void add_time(json::JsonWriter& json, const Parsed& parsed, std::string_view option,
              std::string_view field) {
  const std::string* value = parsed.find(option);
  if (value == nullptr) return;
  const Result<Duration> ago = parse_duration(*value);
  json.field(field, ago ? api::to_text(wall_now() - *ago) : *value);
}

void add_job_key(const Parsed& parsed, std::string_view suffix, ClientRequest& request) {
  add_key(parsed, request);
  if (!request.headers.empty()) request.headers.back().second.append(suffix);
}

int list(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  Table table({"ID", "ACTION", "STATE", "DONE", "RATE", "EVERY", "MADE", "FILTER"});
  return session->list(parsed, "/v1/jobs", "jobs", std::move(table), row_of);
}

std::string describe(const Json& job, Timestamp now) {
  FactList facts;
  facts.add("id", shown(job.at("id")), Colour::kStrong);
  facts.add("action", shown(job.at("action")));
  facts.add("filter", filter_of(job));
  facts.add("state", shown(job.at("state")));
  facts.add("done", progress_of(job));
  facts.add("looked at", job.at("looked"));
  facts.add("last refusal", shown(job.at("last_refusal")));
  facts.add("rate", job.at("rate") + " per second");
  facts.add("every", span_text(job.at("every_ms")));
  facts.add("rounds", job.at("rounds"));
  facts.add("next round", moment_long(job.at("next_at"), now));
  facts.add("remaining", span_text(job.at("remaining_ms")));
  facts.add("made", moment_long(job.at("created_at"), now));
  facts.add("ended", moment_long(job.at("finished_at"), now));
  facts.add("by", shown(job.at("actor")));
  facts.add("reason", shown(job.at("reason")));
  return facts.text();
}

int show_job(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.path = "/v1/jobs/" + percent_encode(parsed.operands[0]);
  return show(parsed, *session, [&request](const Session& asked, std::string& text) {
    const std::optional<Json> job = asked.ask(request);
    if (!job) return kExitFailure;
    if (!asked.json()) text = describe(*job, wall_now());
    return kExitOk;
  });
}

int cancel(const Parsed& parsed) { return command_each(parsed, "POST", "/v1/jobs/", "cancel"); }

int run(const Parsed& parsed) {
  std::array<std::string_view, kJobActions> names{};
  for (std::size_t i = 0; i < kJobActions; ++i) names[i] = name_of(static_cast<JobAction>(i));
  const std::string& action = parsed.operands[0];
  if (std::find(names.begin(), names.end(), action) == names.end())
    return usage_error(parsed.command,
                       "unknown action '" + action + "'" + did_you_mean(action, names));
  return start_job(parsed, {.action = action});
}

// What was forgotten must not become everything.
Result<void> check_filter(const Parsed& parsed, const JobWish& wish) {
  const bool filtered =
      !wish.destination.empty() ||
      std::any_of(kFilters.begin(), kFilters.end(),
                  [&parsed](const OptionRow& row) { return !parsed.text(row.name).empty(); });
  const bool all = parsed.has("--all");
  if (filtered && all) return fail(ErrorCode::kInvalid, "give --all or a filter, not both");
  if (filtered || all || parsed.has("--dry-run")) return {};
  return fail(ErrorCode::kInvalid,
              "say which: a filter like --destination NAME, or --all; "
              "--dry-run counts them first");
}

std::vector<Table::Cell> audit_row(const Json& line, Timestamp now) {
  return {{moment_text(line.at("at"), now)}, {shown(line.at("actor"))},
          {shown(line.at("action"))},        {shown(line.at("target"))},
          {shown(line.at("effect"), 60)},    {shown(line.at("reason"), 100), Colour::kFaint}};
}

int audit(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  Table table({"WHEN", "WHO", "ACTION", "TARGET", "EFFECT", "REASON"});
  const std::string_view path =
      parsed.has("--oldest") ? "/v1/audit?order=oldest" : "/v1/audit?order=newest";
  return session->list(parsed, path, "audit", std::move(table), audit_row);
}

// clang-format off
constexpr auto kVerbTable = std::to_array<Command>({
    {"run", {"ACTION", 1, 1}, "Does one thing to everything that the options name: redrive, drop, retry, cancel or resend.", kRunOptions, true, run},
    {"ls", {}, "Lists jobs, the newest first.", kListOptions, true, list},
    {"show", {"ID", 1, 1}, "Shows how far a job is.", kShowOptions, true, show_job},
    {"cancel", {"ID…", 1, kOperandsMax}, "Stops jobs; what they did stays.", kCommandOptions, true, cancel},
});
constexpr Command kAudit = {"audit", {}, "Lists what operators did, the newest first.", kAuditOptions, true, audit};
// clang-format on

}  // namespace

int start_job(const Parsed& parsed, const JobWish& wish) {
  const Result<std::uint64_t> rate = parsed.number("--rate", 0, 1, 100'000);
  if (!rate) return complain(parsed, rate.error());
  if (const auto every = parsed.duration("--every", Duration(0)); !every)
    return complain(parsed, every.error());
  if (const auto good = check_filter(parsed, wish); !good) return complain(parsed, good.error());
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.method = "POST";
  request.path = "/v1/jobs";
  add_job_key(parsed, wish.key_suffix, request);
  json::JsonWriter json(request.body);
  json.open_object().field("action", wish.action).name("filter").open_object();
  if (!wish.destination.empty()) json.field("destination", wish.destination);
  add_option(json, parsed, "--destination", "destination");
  add_option(json, parsed, "--prefix", "destination_prefix");
  add_option(json, parsed, "--phase", "phase");
  add_option(json, parsed, "--cause", "cause");
  add_time(json, parsed, "--since", "since");
  add_time(json, parsed, "--until", "until");
  add_option(json, parsed, "--reason-prefix", "reason_prefix");
  json.close_object();
  if (parsed.has("--all")) json.flag("all", true);
  if (*rate > 0) json.count("rate", *rate);
  add_option(json, parsed, "--every", "every");
  if (parsed.has("--dry-run")) json.flag("dry_run", true);
  if (parsed.has(kEvenIfItRan.name)) json.flag("even_if_it_ran", true);
  add_option(json, parsed, "--reason", "reason");
  json.close_object();
  const std::optional<Json> answer = session->ask(request);
  if (!answer) return kExitFailure;
  if (session->json()) return kExitOk;
  if (answer->at("dry_run") != "true") {
    print("job " + shown(answer->at("id")) + " runs; 'postrider job show " +
          shown(answer->at("id")) + "' says how far it is\n");
    return kExitOk;
  }
  const bool whole = answer->at("complete") == "true";
  print(std::string(whole ? "" : "at least ") + answer->at("matched") + " to " +
        std::string(wish.action) + "; at " + answer->at("rate") + " per second that takes " +
        (whole ? "" : "at least ") + span_text(answer->at("forecast_ms")) + "\n");
  return kExitOk;
}

int run_job(Arguments arguments) { return run_verbs("job", kVerbTable, arguments); }
int run_audit(Arguments arguments) { return run_command("", kAudit, arguments); }

}  // namespace postrider
