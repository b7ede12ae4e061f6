// Destinations: put, look, list, hold, limit, remove, test.
#include <array>

#include "postrider/api/routes.h"
#include "postrider/base/nearest.h"

namespace postrider {
namespace {

constexpr std::size_t kReasonBytesMax = 200;
constexpr Duration kTestLife{3'600'000};

// A setting is a text in the end; numbers and truths may be written as such.
Checked<std::string> setting_text(const JsonValue& value, const std::string& field) {
  switch (value.kind()) {
    case JsonKind::kString: return value.text();
    case JsonKind::kNumber:
    case JsonKind::kTrue:
    case JsonKind::kFalse: return std::string(value.raw());
    case JsonKind::kNull:
    case JsonKind::kArray:
    case JsonKind::kObject: break;
  }
  return api::refuse(ProblemType::kInvalidField, "a setting is a text, a number, true or false",
                     field);
}

std::optional<Problem> add_setting(const std::string& name, const JsonValue& value,
                                   NamedTexts& settings) {
  auto text = setting_text(value, "settings." + name);
  if (!text) return text.error();
  if (*text == api::kHidden) {
    return api::complaint(ProblemType::kInvalidField,
                          "'***' stands for a secret that is never shown; give the secret itself",
                          "settings." + name);
  }
  settings.emplace_back(name, std::move(*text));
  return std::nullopt;
}

// "headers": {"x": "y"} is the same as "headers.x": "y".
Checked<NamedTexts> read_settings(const JsonValue& object) {
  NamedTexts settings;
  std::optional<Problem> problem;
  if (object.kind() != JsonKind::kObject)
    return api::refuse(ProblemType::kInvalidField, "settings is an object", "settings");
  object.for_members([&](const JsonValue& name, const JsonValue& value) {
    const std::string outer = name.text();
    if (value.kind() != JsonKind::kObject) {
      problem = add_setting(outer, value, settings);
      return !problem;
    }
    value.for_members([&](const JsonValue& inner, const JsonValue& inside) {
      problem = add_setting(outer + "." + inner.text(), inside, settings);
      return !problem;
    });
    return !problem;
  });
  if (problem) return tl::unexpected<Problem>(std::move(*problem));
  return settings;
}

Checked<DestinationConfig> read_config(const JsonValue& root, const std::string& name) {
  constexpr auto kNames = std::to_array<std::string_view>({"profile", "settings", "like"});
  std::array<MaybeValue, kNames.size()> found;
  if (auto problem = api::read_members(root, kNames, found))
    return tl::unexpected<Problem>(std::move(*problem));
  DestinationConfig config;
  config.name = name;
  if (found[2]) {
    auto like = api::read_text(*found[2], "like");
    if (!like) return tl::unexpected<Problem>(std::move(like.error()));
    if (!is_template_name(*like))
      return api::refuse(ProblemType::kInvalidField, "like is the name of a template: BEGINNING*",
                         "like");
    config.like = std::move(*like);
  }
  if (!found[0] && !found[2])
    return api::refuse(ProblemType::kMissingField,
                       "profile is missing: GET /v1/profiles lists them", "profile");
  if (!found[1] && !found[2])
    return api::refuse(ProblemType::kMissingField,
                       "settings is missing: GET /v1/profiles/{name} lists them", "settings");
  if (found[0]) {
    auto profile = api::read_text(*found[0], "profile");
    if (!profile) return tl::unexpected<Problem>(std::move(profile.error()));
    config.profile = std::move(*profile);
  }
  if (!found[1]) return config;
  auto settings = read_settings(*found[1]);
  if (!settings) return tl::unexpected<Problem>(std::move(settings.error()));
  config.settings = std::move(*settings);
  return config;
}

// null goes back to the default.
Checked<NamedTexts> read_limits(const JsonValue& root) {
  constexpr auto kLimits = std::to_array<std::string_view>(
      {"in_flight_max", "rate", "burst", "time_out", "ladder", "jitter_percent", "budget",
       "retry_after_max", "strikes_max", "wait_base", "wait_max", "disable_after"});
  std::array<MaybeValue, kLimits.size()> found;
  if (auto problem = api::read_members(root, kLimits, found))
    return tl::unexpected<Problem>(std::move(*problem));
  NamedTexts settings;
  for (std::size_t i = 0; i < kLimits.size(); ++i) {
    if (!found[i]) continue;
    const std::string name(kLimits[i]);
    if (found[i]->kind() == JsonKind::kNull) {
      settings.emplace_back(name, "");
      continue;
    }
    auto text = setting_text(*found[i], name);
    if (text && text->empty())
      text = api::refuse(ProblemType::kInvalidField, "say null to go back to the default", name);
    if (!text) return tl::unexpected<Problem>(std::move(text.error()));
    settings.emplace_back(name, std::move(*text));
  }
  if (settings.empty())
    return api::refuse(ProblemType::kMissingField, "name at least one limit to change");
  return settings;
}

Checked<std::string> read_reason(const JsonValue& root) {
  constexpr auto kNames = std::to_array<std::string_view>({"reason"});
  std::array<MaybeValue, kNames.size()> found;
  if (auto problem = api::read_members(root, kNames, found))
    return tl::unexpected<Problem>(std::move(*problem));
  if (!found[0]) return std::string();
  auto reason = api::read_text(*found[0], "reason");
  if (reason && (reason->size() > kReasonBytesMax || !api::is_line(*reason))) {
    return api::refuse(ProblemType::kInvalidField, "a reason is one line of at most 200 bytes",
                       "reason");
  }
  return reason;
}

Checked<std::optional<Health>> read_health(const api::UrlQuery& query) {
  const std::string* text = query.find("health");
  if (text == nullptr) return std::nullopt;
  std::array<std::string_view, kHealths> names{};
  for (std::size_t i = 0; i < kHealths; ++i) {
    names[i] = name_of(static_cast<Health>(i));
    if (*text == names[i]) return static_cast<Health>(i);
  }
  Problem problem = api::unknown_word(ProblemType::kInvalidParameter, "health", *text, names);
  problem.field = "health";
  return tl::unexpected<Problem>(std::move(problem));
}

bool is_degraded(const DestinationView& view) { return view.activity && view.activity->degraded; }

// Somebody should look at it: it has or had something to do, or is not well.
bool is_busy(const DestinationView& view) {
  const bool lately =
      view.activity && view.activity->delivered_last_minute + view.activity->failed_last_minute > 0;
  return view.in_window > 0 || view.open_attempts > 0 || view.owed || lately ||
         view.route.health != Health::kNormal || is_degraded(view);
}

HttpResponse done(const Answer& answer, const std::string& name) {
  HttpResponse response;
  api::write_done(response.body, answer, "destination", name);
  return response;
}

}  // namespace

void HttpApi::Impl::put_destination(Call& call) {
  if (!is_destination_name(call.capture) && !is_template_name(call.capture)) {
    return refuse(call.waiting, api::complaint(ProblemType::kInvalidParameter,
                                               std::string(api::kDestinationNameRule), "name"));
  }
  const auto root = root_of(call);
  if (!root) return refuse(call.waiting, root.error());
  auto config = read_config(*root, call.capture);
  if (!config) return refuse(call.waiting, config.error());
  Configure configure;
  configure.caller = call.caller();
  configure.config = std::move(*config);
  post(call, std::move(configure),
       [name = call.capture](Answer& answer) { return done(answer, name); });
}

void HttpApi::Impl::get_destination(Call& call) {
  Query query;
  query.what = Query::What::kDestination;
  query.destination = call.capture;
  post(call, std::move(query), [](Answer& answer) {
    HttpResponse response;
    JsonWriter json(response.body);
    api::write_destination(json, std::get<DestinationView>(answer.view));
    return response;
  });
}

void HttpApi::Impl::list_destinations(Call& call) {
  const auto health = read_health(call.query);
  if (!health) return refuse(call.waiting, health.error());
  const auto busy = call.query.flag("busy");
  if (!busy) return refuse(call.waiting, busy.error());
  const auto degraded = call.query.flag("degraded");
  if (!degraded) return refuse(call.waiting, degraded.error());
  auto listing = std::make_shared<Listing>();
  listing->name = "destinations";
  listing->query.what = Query::What::kDestinations;
  const std::string* prefix = call.query.find("prefix");
  listing->take = [health = *health, busy = *busy, degraded = *degraded,
                   prefix = prefix == nullptr ? std::string() : *prefix](
                      JsonWriter& json, const Answer& answer, std::string& next) {
    const auto& page = std::get<DestinationPage>(answer.view);
    std::uint32_t taken = 0;
    for (const DestinationView& view : page.destinations) {
      if (health && view.route.health != *health) continue;
      if (!view.config.name.starts_with(prefix)) continue;
      if (busy && !is_busy(view)) continue;
      if (degraded && !is_degraded(view)) continue;
      api::write_destination(json, view);
      ++taken;
    }
    next = page.next;
    return taken;
  };
  begin_listing(call, std::move(listing));
}

void HttpApi::Impl::delete_destination(Call& call) {
  const auto drain = call.query.flag("drain");
  if (!drain) return refuse(call.waiting, drain.error());
  Configure configure;
  configure.caller = call.caller();
  configure.config.name = call.capture;
  configure.config.removed = true;
  configure.config.draining = *drain;
  post(call, std::move(configure), [name = call.capture](Answer& answer) {
    HttpResponse response = done(answer, name);
    if (answer.code == AnswerCode::kPending) response.status = 202;
    return response;
  });
}

void HttpApi::Impl::pause_destination(Call& call) {
  Pause pause;
  if (!call.request.body.empty()) {
    const auto root = root_of(call);
    if (!root) return refuse(call.waiting, root.error());
    auto reason = read_reason(*root);
    if (!reason) return refuse(call.waiting, reason.error());
    pause.reason = std::move(*reason);
  }
  pause.caller = call.caller();
  pause.destination = call.capture;
  post(call, std::move(pause),
       [name = call.capture](Answer& answer) { return done(answer, name); });
}

void HttpApi::Impl::resume_destination(Call& call) {
  Resume resume;
  resume.caller = call.caller();
  resume.destination = call.capture;
  post(call, std::move(resume),
       [name = call.capture](Answer& answer) { return done(answer, name); });
}

void HttpApi::Impl::wake_destination(Call& call) {
  Wake wake;
  wake.caller = call.caller();
  wake.destination = call.capture;
  post(call, std::move(wake), [name = call.capture](Answer& answer) { return done(answer, name); });
}

void HttpApi::Impl::see_destination(Call& call) {
  PeerSeen seen;
  seen.destination = call.capture;
  post(call, std::move(seen), [name = call.capture](Answer& answer) { return done(answer, name); });
}

void HttpApi::Impl::patch_limits(Call& call) {
  const auto root = root_of(call);
  if (!root) return refuse(call.waiting, root.error());
  auto settings = read_limits(*root);
  if (!settings) return refuse(call.waiting, settings.error());
  Configure configure;
  configure.caller = call.caller();
  configure.config.name = call.capture;
  configure.config.settings = std::move(*settings);
  configure.merge = true;
  post(call, std::move(configure),
       [name = call.capture](Answer& answer) { return done(answer, name); });
}

// Always the same bytes, so that a repeat with the same key is the same message.
void HttpApi::Impl::test_destination(Call& call) {
  Submit submit;
  submit.caller = call.caller();
  submit.caller.said = "test " + call.capture;
  submit.destination = call.capture;
  submit.expires = clock_.read().wall + kTestLife;
  NamedTexts attributes;
  for (const api::MessageWords* words : words_) {
    if (words->add_json != nullptr) words->add_json(attributes);
  }
  if (!attributes.empty()) submit.attributes = encode_texts(attributes);
  JsonWriter json(submit.body);
  json.open_object().field("type", "postrider.test").name("data").open_object();
  json.field("destination", call.capture).close_object().close_object();
  post(call, std::move(submit), [this, name = call.capture](Answer& answer) {
    HttpResponse response;
    response.status = 202;
    api::write_accepted(response.body, host_.ids(), answer.id, name);
    return response;
  });
}

}  // namespace postrider
