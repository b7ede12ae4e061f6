// What the daemon says about itself: events, stats, metrics, health, profiles, the API's own
// description.
#include <algorithm>

#include "postrider/api/http_api_impl.h"
#include "postrider/api/listing.h"
#include "postrider/api/openapi.h"
#include "postrider/api/render.h"
#include "postrider/api/texts.h"
#include "postrider/base/nearest.h"
#include "postrider/core/rules/health.h"
#include "postrider/profiles/render.h"

namespace postrider {
namespace {

using api::JsonWriter;
using api::Problem;
using api::ProblemType;

HttpResponse state_response(int status, std::string_view state, Duration clock_doubt = {}) {
  HttpResponse response;
  response.status = status;
  JsonWriter json(response.body);
  json.open_object().field("state", state);
  if (clock_doubt > Duration(0))
    json.count("clock_doubt_s", static_cast<std::uint64_t>(clock_doubt / Duration(1s)));
  json.close_object();
  return response;
}

std::optional<Door> door_of(Host::State state) {
  switch (state) {
    case Host::State::kRunning: return std::nullopt;
    case Host::State::kStarting:
    case Host::State::kRestarting: return Door::kRestarting;
    case Host::State::kStopped: return Door::kStopping;
  }
  return std::nullopt;
}

// kind=dead,parked: kinds of events, or phases of ends.
api::Checked<api::TailWish> read_wish(const api::UrlQuery& query) {
  api::TailWish wish;
  if (const std::string* until = query.find("until")) {
    if (*until != "now")
      return api::refuse(ProblemType::kInvalidParameter, "until is now, or left out", "until");
    wish.until_now = true;
  }
  const std::string* kinds = query.find("kind");
  if (kinds == nullptr) return wish;
  const std::vector<std::string_view> known = api::event_words();
  for (std::string_view rest = *kinds;;) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      Problem problem = api::unknown_word(ProblemType::kInvalidParameter, "kind", word, known);
      problem.field = "kind";
      return tl::unexpected<Problem>(std::move(problem));
    }
    wish.kinds.emplace_back(word);
    if (end == rest.size()) return wish;
    rest.remove_prefix(end + 1);
  }
}

// Many who read "tenant" expect a wall.
constexpr std::string_view kTenantIs =
    "a share of the door and a space of operation keys, and no wall: every token reads the "
    "messages of all tenants";

}  // namespace

void HttpApi::Impl::get_events(Call& call) {
  if (call.request.method == "HEAD") {
    Problem problem = api::complaint(ProblemType::kMethodNotAllowed, "this path has: GET");
    problem.allow = "GET";
    return refuse(call.waiting, problem);
  }
  const std::string* from = call.query.find("from");
  if (from != nullptr && *from != "start" && *from != "now") {
    return refuse(call.waiting,
                  api::complaint(ProblemType::kInvalidParameter, "from is start or now", "from"));
  }
  std::optional<LogPosition> position;
  if (from != nullptr && *from == "start") position = LogPosition();
  if (const std::string_view last = call.request.header("last-event-id"); !last.empty()) {
    position = api::parse_position(last);
    if (!position) {
      return refuse(
          call.waiting,
          api::complaint(ProblemType::kInvalidParameter,
                         "this is no event of ours; begin without Last-Event-ID", "Last-Event-ID"));
    }
  }
  auto wish = read_wish(call.query);
  if (!wish) return refuse(call.waiting, wish.error());
  const std::string* destination = call.query.find("destination");
  if (destination == nullptr) return begin_events(call.waiting, position, std::move(*wish));
  // Its number, by which events know it; a name that is not there is refused.
  Query query;
  query.what = Query::What::kDestination;
  query.destination = *destination;
  const Door door = host_.post(call.tenant, std::move(query),
                               [weak = weak_from_this(), waiting = call.waiting, position,
                                wish = std::move(*wish)](const Answer& answer) mutable {
                                 const auto self = weak.lock();
                                 if (!self) return;
                                 if (const auto problem = api::problem_of(answer))
                                   return self->refuse(waiting, *problem);
                                 wish.destination = std::get<DestinationView>(answer.view).id;
                                 self->begin_events(waiting, position, std::move(wish));
                               });
  if (door != Door::kOpen) refuse(call.waiting, api::problem_of(door));
}

void HttpApi::Impl::begin_events(const Waiting& waiting, std::optional<LogPosition> position,
                                 api::TailWish wish) {
  if (tails_.full()) {
    Problem problem = api::complaint(
        ProblemType::kTooManyReaders,
        "at most " + std::to_string(options_.tails_max) + " clients follow the events; close one");
    problem.retry_after_s = 5;
    return refuse(waiting, problem);
  }
  counts_.count(waiting.route, 200);
  HttpResponse head;
  head.content_type = "text/event-stream";
  add_usual_headers(head);
  waiting.exchange->begin(std::move(head));
  tails_.add(waiting.exchange, position, std::move(wish), clock_.read().boot);
}

ProcessFigures HttpApi::Impl::figures() const {
  return options_.figures ? options_.figures() : ProcessFigures();
}

void HttpApi::Impl::get_stats(Call& call) {
  Query query;
  query.what = Query::What::kStats;
  post(call, std::move(query), [this](Answer& answer) {
    HttpResponse response;
    JsonWriter json(response.body);
    api::write_stats(json, std::get<Stats>(answer.view), figures());
    return response;
  });
}

// How deep each queue is and how old its oldest message, wherever they are.
void HttpApi::Impl::list_queues(Call& call) {
  auto listing = std::make_shared<Listing>();
  listing->name = "queues";
  listing->query.what = Query::What::kQueues;
  listing->take = [](JsonWriter& json, const Answer& answer, std::string& next) {
    const auto& page = std::get<QueuePage>(answer.view);
    for (const QueueRow& row : page.rows) api::write_queue(json, row);
    next = page.next;
    return static_cast<std::uint32_t>(page.rows.size());
  };
  begin_listing(call, std::move(listing));
}

void HttpApi::Impl::get_livez(Call& call) { finish(call.waiting, state_response(200, "alive")); }

// Asks the engine, because only an answer shows that there will be answers.
void HttpApi::Impl::get_readyz(Call& call) {
  if (const auto closed = door_of(host_.state()))
    return refuse(call.waiting, api::problem_of(*closed));
  Query query;
  query.what = Query::What::kStats;
  const Door door = host_.post(
      kProbeTenant, std::move(query),
      [weak = weak_from_this(), waiting = call.waiting](const Answer& answer) {
        const std::shared_ptr<Impl> self = weak.lock();
        if (!self) return;
        if (const auto problem = api::problem_of(answer)) return self->refuse(waiting, *problem);
        const Stats& stats = std::get<Stats>(answer.view);
        self->finish(waiting, state_response(200, self->host_.restoring() ? "restoring" : "ready",
                                             stats.clock_doubt));
      });
  if (door == Door::kBusy || door == Door::kTenantBusy)
    return finish(call.waiting, state_response(200, "busy"));
  if (door != Door::kOpen) refuse(call.waiting, api::problem_of(door));
}

std::vector<api::OpenapiPart> HttpApi::Impl::openapi_parts() const {
  std::vector<api::OpenapiPart> parts;
  for (const auto& door : options_.doors) parts.push_back(door->openapi());
  return parts;
}

void HttpApi::Impl::get_openapi(Call& call) {
  HttpResponse response;
  response.body = api::openapi_document(options_.version, openapi_parts());
  finish(call.waiting, std::move(response));
}

// For whoever shows what can be done, and wants to leave out what will be refused.
void HttpApi::Impl::get_whoami(Call& call) {
  const api::Scopes scopes = access_.scopes_of(call.request);
  HttpResponse response;
  JsonWriter json(response.body);
  json.open_object().field("tenant", call.tenant).field("tenant_is", kTenantIs);
  json.name("scopes").open_array();
  if ((scopes & api::kSubmit) != 0) json.text("submit");
  if ((scopes & api::kRead) != 0) json.text("read");
  if ((scopes & api::kOperate) != 0) json.text("operate");
  if ((scopes & api::kReceive) != 0) json.text("receive");
  json.close_array().field("version", options_.version).close_object();
  finish(call.waiting, std::move(response));
}

void HttpApi::Impl::list_profiles(Call& call) {
  HttpResponse response;
  response.body = "{\"profiles\":";
  response.body.append(render_profile_list(options_.profiles, RenderFormat::kJson)).append("}");
  finish(call.waiting, std::move(response));
}

void HttpApi::Impl::get_profile(Call& call) {
  std::vector<std::string_view> names;
  const ProfileSpec* found = nullptr;
  for (const ProfileSpec* profile : options_.profiles) {
    names.push_back(profile->name);
    if (profile->name == call.capture) found = profile;
  }
  if (found == nullptr) {
    return refuse(call.waiting,
                  api::unknown_word(ProblemType::kNotFound, "profile", call.capture, names));
  }
  std::vector<HealthWords> health;
  for (const HealthRow& row : health_table())
    health.push_back({name_of(row.from), name_of(row.on), name_of(row.to), row.why});
  HttpResponse response;
  response.body =
      render_profile({.profile = *found, .health = health, .method = {}}, RenderFormat::kJson);
  finish(call.waiting, std::move(response));
}

}  // namespace postrider
