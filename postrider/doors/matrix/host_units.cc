#include "postrider/doors/matrix/host_units.h"

#include <algorithm>
#include <set>
#include <utility>

#include "postrider/api/ask_all.h"
#include "postrider/base/durations.h"
#include "postrider/doors/matrix/host_fields.h"
#include "postrider/doors/matrix/items.h"
#include "postrider/json/json_writer.h"
#include "postrider/model/attributes.h"
#include "postrider/profiles/matrix/types.h"
#include "postrider/protocols/matrix/edu.h"
#include "postrider/protocols/matrix/event.h"
#include "postrider/protocols/matrix/json_fields.h"
#include "postrider/protocols/matrix/server_name.h"

namespace postrider::matrix_door {

using json::JsonValue;

struct HostUnits::Unit {
  std::string_view body;  // the unit, as it came
  std::vector<std::string> servers;
  std::string key;  // instead of the one that its content has
  bool urgent = false;
  Duration life{0};  // 0: as its type has it
};

struct HostUnits::Job {
  api::Waiting waiting;
  std::string actor;
  std::vector<Event> orders;
  std::vector<Told> told;
};

namespace {

Result<Duration> life_in(JsonValue value) {
  POSTRIDER_TRY(text, text_in("expires_in", value));
  const auto life = parse_duration(text);
  if (!life) return bad("expires_in: " + life.error().detail);
  if (*life <= Duration(0) || *life > kHostUnitLifeMax)
    return bad("expires_in: it must be above 0 and at most " + to_string(kHostUnitLifeMax));
  return *life;
}

// Messages to devices are for users of one server each, so the unit is looked at for every server.
Result<std::vector<matrix::EduPart>> parts_of(std::string_view body, std::string_view origin,
                                              const std::vector<std::string>& servers) {
  std::vector<matrix::EduPart> parts;
  for (const std::string& server : servers) {
    auto apart = matrix::take_apart(body, {.origin = origin, .destination = server});
    if (!apart) return bad(apart.error().detail);
    if (!apart->refused.empty()) return bad("for " + server + ": " + apart->refused[0].reason);
    parts = std::move(apart->parts);
    const bool same_for_all = std::none_of(parts.begin(), parts.end(), [](const auto& part) {
      return part.kind == matrix::EduKind::kToDevice;
    });
    if (same_for_all) break;
  }
  return parts;
}

}  // namespace

HostUnits::HostUnits(HostEventsOptions options, api::Desk& desk)
    : options_(std::move(options)), desk_(desk) {}

void HostUnits::take(api::Call& call) {
  const auto root = desk_.root_of(call);
  if (!root) return desk_.refuse(call.waiting, root.error());
  const auto units = matrix::array_of(*root, "edus");
  const auto refuse = [&](std::string what) {
    desk_.refuse(call.waiting,
                 api::complaint(api::ProblemType::kInvalidField, std::move(what), "edus"));
  };
  if (!units || root->size() != 1) return refuse("the body must be {\"edus\": […]}");
  if (units->size() == 0 || units->size() > kHostUnitsMax)
    return refuse("there must be 1 to " + std::to_string(kHostUnitsMax) + " units");
  auto job = std::make_shared<Job>();
  job->waiting = call.waiting;
  job->actor = call.actor;
  if (const auto planned = plan(*job, *units); !planned) return refuse(planned.error().detail);
  if (job->orders.empty()) return finish(*job);
  api::ask_all(desk_.host(), call.tenant, std::exchange(job->orders, {}),
               [weak = weak_from_this(), job](const std::vector<api::Told>& all) {
                 const auto self = weak.lock();
                 if (!self) return;
                 for (const api::Told& told : all) {
                   if (told.door != Door::kOpen)
                     return self->desk_.refuse(job->waiting, api::problem_of(told.door));
                   if (const auto problem = api::problem_of(told.answer))
                     return self->desk_.refuse(job->waiting, *problem);
                 }
                 self->finish(*job);
               });
}

Result<HostUnits::Unit> HostUnits::read(JsonValue value) {
  if (!matrix::is_object(value)) return bad("an element of edus must be an object");
  Unit unit;
  const auto put = [&unit](const std::string& name, JsonValue member) -> Result<void> {
    if (name == "edu") {
      if (!matrix::is_object(member)) return bad("edu must be an object");
      unit.body = member.raw();
    } else if (name == "servers") {
      POSTRIDER_TRY(servers, servers_in(name, member));
      unit.servers = std::move(servers);
    } else if (name == "key") {
      POSTRIDER_TRY(key, text_in(name, member));
      if (key.empty() || key.size() > matrix::kEduKeyBytesMax)
        return bad("key must have 1 to " + std::to_string(matrix::kEduKeyBytesMax) + " bytes");
      unit.key = std::move(key);
    } else if (name == "urgent") {
      POSTRIDER_TRY(urgent, flag_in(name, member));
      unit.urgent = urgent;
    } else if (name == "expires_in") {
      POSTRIDER_TRY(life, life_in(member));
      unit.life = life;
    } else {
      return bad("there is no member '" + name + "'");
    }
    return {};
  };
  Result<void> good;
  value.for_members([&](JsonValue name, JsonValue member) {
    good = put(name.text(), member);
    return good.has_value();
  });
  if (!good) return tl::unexpected<Error>(good.error());
  if (unit.body.empty()) return bad("edu is missing");
  if (unit.body.size() > matrix::kEventBytesMax)
    return bad("edu has more than " + std::to_string(matrix::kEventBytesMax) + " bytes");
  return unit;
}

Result<std::vector<std::string>> HostUnits::servers_of(const Unit& unit) const {
  const auto& allowed = options_.allow_servers;
  std::vector<std::string> servers;
  std::set<std::string_view> taken;
  for (const std::string& server : unit.servers) {
    if (server == options_.server_name) continue;
    if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), server) == allowed.end())
      continue;
    if (taken.insert(server).second) servers.push_back(server);
  }
  return servers;
}

// Everything is read before anything is kept.
Result<void> HostUnits::plan(Job& job, JsonValue units) const {
  Result<void> good;
  matrix::for_elements(units, [&](JsonValue value) {
    auto unit = read(value);
    good = unit ? plan_one(job, *unit) : Result<void>(tl::unexpected<Error>(unit.error()));
    if (!good)
      good = fail(good.error().code,
                  "edu " + std::to_string(job.told.size()) + ": " + good.error().detail);
    return good.has_value();
  });
  return good;
}

Result<void> HostUnits::plan_one(Job& job, const Unit& unit) const {
  POSTRIDER_TRY(servers, servers_of(unit));
  // Also what goes nowhere must make sense.
  const std::vector<std::string> looked_at =
      servers.empty() ? std::vector<std::string>{options_.server_name} : servers;
  POSTRIDER_TRY(parts, parts_of(unit.body, options_.server_name, looked_at));
  if (!unit.key.empty() && parts.size() != 1)
    return bad("a key is for a unit of one value, and this one has " +
               std::to_string(parts.size()));
  Told told{servers.size(), parts.size(), servers.empty() ? "no other server is named" : ""};
  job.told.push_back(std::move(told));
  const Timestamp wall = desk_.clock().read().wall;
  for (const matrix::EduPart& part : parts) {
    FanOut order;
    order.caller.actor = job.actor;
    order.skip_closed = true;
    order.lane = matrix::lane_of(part.kind);
    const Duration usual = part.kind == matrix::EduKind::kTyping ? kTypingLife : Duration(0);
    const Duration life = unit.life > Duration(0) ? unit.life : usual;
    if (life > Duration(0)) order.expires = wall + life;
    NamedTexts texts;
    const std::string& key = unit.key.empty() ? part.key : unit.key;
    if (!key.empty()) texts.emplace_back(matrix::kKeyAttribute, key);
    if (unit.urgent) texts.emplace_back(matrix::kUrgentAttribute, "yes");
    order.attributes = encode_texts(texts);
    order.body = part.bytes;
    for (std::size_t from = 0; from < servers.size(); from += options_.part_max) {
      FanOut some = order;
      const std::size_t end = std::min(from + options_.part_max, servers.size());
      for (std::size_t i = from; i < end; ++i)
        some.destinations.push_back(matrix::destination_name(servers[i]));
      job.orders.emplace_back(std::move(some));
    }
  }
  return {};
}

void HostUnits::finish(const Job& job) {
  HttpResponse response;
  response.status = 202;
  json::JsonWriter json(response.body);
  json.open_object().name("edus").open_array();
  for (const Told& told : job.told) {
    json.open_object().count("servers", told.servers).count("values", told.values);
    if (!told.why.empty()) json.field("why", told.why);
    json.close_object();
  }
  json.close_array().field("durability", "synced").close_object();
  desk_.finish(job.waiting, std::move(response));
}

}  // namespace postrider::matrix_door
