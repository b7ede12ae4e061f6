// Jobs, groups of dead letters, and the audit: what operators do to many at once, and what they
// did.
#include <array>

#include "postrider/api/letters.h"
#include "postrider/api/routes.h"
#include "postrider/model/records/keys.h"

namespace postrider {
namespace {

constexpr std::string_view kJobIdRule = "a job's id has 16 hexadecimal digits";
constexpr std::uint32_t kRateMax = 100'000;
constexpr std::size_t kJobReasonBytesMax = 200;

// One of the words of an enumeration.
template <class Enum, std::size_t kCount>
Checked<Enum> read_word(const JsonValue& value, const std::string& field) {
  auto text = api::read_text(value, field);
  if (!text) return tl::unexpected<Problem>(std::move(text.error()));
  std::array<std::string_view, kCount> names{};
  for (std::size_t i = 0; i < kCount; ++i) {
    names[i] = name_of(static_cast<Enum>(i));
    if (*text == names[i]) return static_cast<Enum>(i);
  }
  Problem problem = api::unknown_word(ProblemType::kInvalidField, field, *text, names);
  problem.field = field;
  return tl::unexpected<Problem>(std::move(problem));
}

// Puts what was read into its place; the problem, if there is one.
template <class T, class Place>
std::optional<Problem> store(Checked<T> read, Place& place) {
  if (!read) return std::move(read.error());
  place = std::move(*read);
  return std::nullopt;
}

Checked<std::string> read_line(const JsonValue& value, const std::string& field) {
  auto text = api::read_text(value, field);
  if (text && !api::is_line(*text))
    return api::refuse(ProblemType::kInvalidField, "this is one line", field);
  return text;
}

std::optional<Problem> read_filter(const JsonValue& value, JobFilter& filter) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"destination", "destination_prefix", "phase", "cause", "since", "until", "reason_prefix"});
  if (value.kind() != JsonKind::kObject)
    return api::complaint(ProblemType::kInvalidField, "filter is an object", "filter");
  std::array<MaybeValue, kNames.size()> found;
  if (auto problem = api::read_members(value, kNames, found)) return problem;
  std::optional<Problem> problem;
  const auto at = [&](std::size_t i) { return "filter." + std::string(kNames[i]); };
  if (found[0]) problem = store(read_line(*found[0], at(0)), filter.destination);
  if (found[1] && !problem) problem = store(read_line(*found[1], at(1)), filter.destination_prefix);
  if (found[2] && !problem)
    problem = store(read_word<Phase, kPhases>(*found[2], at(2)), filter.phase);
  if (found[3] && !problem)
    problem = store(read_word<FailureClass, kFailureClasses>(*found[3], at(3)), filter.cause);
  if (found[4] && !problem) problem = store(api::read_time(*found[4], at(4)), filter.since);
  if (found[5] && !problem) problem = store(api::read_time(*found[5], at(5)), filter.until);
  if (found[6] && !problem) problem = store(read_line(*found[6], at(6)), filter.reason_prefix);
  return problem;
}

Checked<bool> read_flag(const JsonValue& value, const std::string& field) {
  if (value.kind() == JsonKind::kTrue) return true;
  if (value.kind() == JsonKind::kFalse) return false;
  return api::refuse(ProblemType::kInvalidField, field + " is true or false", field);
}

// A filter that was forgotten, or whose value came out empty, must not become everything.
std::optional<Problem> check_extent(const StartJob& start, bool all) {
  const bool filtered = start.order.filter != JobFilter();
  if (filtered && all)
    return api::complaint(ProblemType::kInvalidField, "say all or a filter, not both", "all");
  if (filtered || all || start.dry_run) return std::nullopt;
  return api::complaint(ProblemType::kMissingField,
                        "filter is missing: say what it is about, or \"all\": true", "filter");
}

std::optional<Problem> read_job(const JsonValue& root, StartJob& start) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"action", "filter", "rate", "dry_run", "reason", "every", "all", "even_if_it_ran"});
  std::array<MaybeValue, kNames.size()> found;
  if (auto problem = api::read_members(root, kNames, found)) return problem;
  if (!found[0])
    return api::complaint(ProblemType::kMissingField,
                          "action is missing: redrive, drop, retry, cancel or resend", "action");
  JobOrder& order = start.order;
  std::optional<Problem> problem =
      store(read_word<JobAction, kJobActions>(*found[0], "action"), order.action);
  if (found[1] && !problem) problem = read_filter(*found[1], order.filter);
  if (found[2] && !problem) {
    problem = store(api::read_number(*found[2], "rate", kRateMax), order.rate);
    if (!problem && order.rate == 0)
      problem =
          api::complaint(ProblemType::kInvalidField, "the rate is at least 1 per second", "rate");
  }
  if (found[3] && !problem) problem = store(read_flag(*found[3], "dry_run"), start.dry_run);
  if (found[4] && !problem) problem = store(read_line(*found[4], "reason"), order.reason);
  if (found[5] && !problem)
    problem = store(api::read_duration(*found[5], "every", Duration(60'000)), order.every);
  bool all = false;
  if (found[6] && !problem) problem = store(read_flag(*found[6], "all"), all);
  if (found[7] && !problem)
    problem = store(read_flag(*found[7], "even_if_it_ran"), order.even_if_it_ran);
  if (!problem) problem = check_extent(start, all);
  return problem;
}

std::optional<Problem> read_hold(const JsonValue& root, HoldRule& rule) {
  constexpr auto kNames =
      std::to_array<std::string_view>({"reason", "destination_prefix", "profile", "tenant"});
  std::array<MaybeValue, kNames.size()> found;
  if (auto problem = api::read_members(root, kNames, found)) return problem;
  std::optional<Problem> problem;
  const std::array<std::string*, kNames.size()> places = {&rule.reason, &rule.destination_prefix,
                                                          &rule.profile, &rule.tenant};
  for (std::size_t i = 0; i < kNames.size() && !problem; ++i) {
    if (found[i]) problem = store(read_line(*found[i], std::string(kNames[i])), *places[i]);
  }
  if (!problem && rule.reason.size() > kJobReasonBytesMax)
    return api::complaint(ProblemType::kInvalidField, "a reason is one line of at most 200 bytes",
                          "reason");
  return problem;
}

}  // namespace

void HttpApi::Impl::list_dead_groups(Call& call) {
  const auto limit = call.query.number("limit", Listing::kLimitDefault, 1, Listing::kLimitMax);
  if (!limit) return refuse(call.waiting, limit.error());
  Query query;
  query.what = Query::What::kDeadGroups;
  query.limit = *limit;
  if (const std::string* destination = call.query.find("destination"))
    query.destination = *destination;
  post(call, std::move(query), [this](Answer& answer) {
    HttpResponse response;
    JsonWriter json(response.body);
    api::write_dead_groups(json, host_.ids(), std::get<DeadGroupList>(answer.view));
    return response;
  });
}

// As NDJSON it is a stream and does not come here.
void HttpApi::Impl::import_dead_letters(Call& call) {
  refuse(call.waiting,
         api::complaint(ProblemType::kUnsupportedMediaType,
                        "say Content-Type: application/x-ndjson, and send one letter per line"));
}

void HttpApi::Impl::post_job(Call& call) {
  const auto root = root_of(call);
  if (!root) return refuse(call.waiting, root.error());
  StartJob start;
  if (const auto problem = read_job(*root, start)) return refuse(call.waiting, *problem);
  start.caller = call.caller();
  JobOrder order = start.order;
  post(call, std::move(start), [order = std::move(order)](Answer& answer) {
    HttpResponse response;
    JsonWriter json(response.body);
    if (const auto* run = std::get_if<DryRun>(&answer.view)) {
      api::write_dry_run(json, *run, order.action);
      return response;
    }
    response.status = 202;
    json.open_object().field("id", to_string(JobId(answer.id.low)));
    json.field("action", name_of(order.action)).field("durability", "synced").close_object();
    return response;
  });
}

void HttpApi::Impl::list_jobs(Call& call) {
  const auto limit = call.query.number("limit", Listing::kLimitDefault, 1, Listing::kLimitMax);
  if (!limit) return refuse(call.waiting, limit.error());
  Query query;
  query.what = Query::What::kJobs;
  query.limit = *limit;
  post(call, std::move(query), [](Answer& answer) {
    HttpResponse response;
    JsonWriter json(response.body);
    json.open_object().name("jobs").open_array();
    for (const Job& job : std::get<JobList>(answer.view).jobs) api::write_job(json, job);
    json.close_array().close_object();
    return response;
  });
}

void HttpApi::Impl::get_job(Call& call) {
  const auto id = parse_job_id(call.capture);
  if (!id)
    return refuse(call.waiting,
                  api::complaint(ProblemType::kNotFound, std::string(kJobIdRule), "id"));
  Query query;
  query.what = Query::What::kJob;
  query.job = *id;
  post(call, std::move(query), [](Answer& answer) {
    HttpResponse response;
    JsonWriter json(response.body);
    api::write_job(json, std::get<JobList>(answer.view).jobs.front());
    return response;
  });
}

void HttpApi::Impl::cancel_job(Call& call) {
  const auto id = parse_job_id(call.capture);
  if (!id)
    return refuse(call.waiting,
                  api::complaint(ProblemType::kNotFound, std::string(kJobIdRule), "id"));
  CancelJob cancel;
  cancel.caller = call.caller();
  cancel.job = *id;
  post(call, std::move(cancel), [id = *id](Answer& answer) {
    HttpResponse response;
    api::write_done(response.body, answer, "id", to_string(id));
    return response;
  });
}

void HttpApi::Impl::put_hold(Call& call) {
  const auto root = root_of(call);
  if (!root) return refuse(call.waiting, root.error());
  PutHold put;
  put.rule.name = call.capture;
  if (!api::is_destination_name(call.capture))
    return refuse(call.waiting, api::complaint(ProblemType::kInvalidField,
                                               "a hold is named like a destination", "name"));
  if (const auto problem = read_hold(*root, put.rule)) return refuse(call.waiting, *problem);
  put.caller = call.caller();
  post(call, std::move(put), [name = call.capture](Answer& answer) {
    HttpResponse response;
    api::write_done(response.body, answer, "name", name);
    return response;
  });
}

void HttpApi::Impl::delete_hold(Call& call) {
  DropHold drop;
  drop.caller = call.caller();
  drop.name = call.capture;
  post(call, std::move(drop), [name = call.capture](Answer& answer) {
    HttpResponse response;
    api::write_done(response.body, answer, "name", name);
    return response;
  });
}

void HttpApi::Impl::list_holds(Call& call) {
  Query query;
  query.what = Query::What::kHolds;
  post(call, std::move(query), [](Answer& answer) {
    HttpResponse response;
    JsonWriter json(response.body);
    json.open_object().name("holds").open_array();
    for (const Hold& hold : std::get<HoldList>(answer.view).holds) api::write_hold(json, hold);
    json.close_array().close_object();
    return response;
  });
}

void HttpApi::Impl::list_audit(Call& call) {
  auto listing = std::make_shared<Listing>();
  listing->name = "audit";
  listing->query.what = Query::What::kAudit;
  if (const std::string* order = call.query.find("order")) {
    listing->query.newest_first = *order == "newest";
    if (*order != "newest" && *order != "oldest") {
      return refuse(call.waiting,
                    api::complaint(ProblemType::kInvalidParameter,
                                   "order is oldest or newest: which comes first", "order"));
    }
  }
  listing->take = [](JsonWriter& json, const Answer& answer, std::string& next) {
    const auto& page = std::get<AuditPage>(answer.view);
    for (const AuditPage::Line& line : page.lines) api::write_audit(json, line);
    next = page.next;
    return static_cast<std::uint32_t>(page.lines.size());
  };
  begin_listing(call, std::move(listing));
}

}  // namespace postrider
