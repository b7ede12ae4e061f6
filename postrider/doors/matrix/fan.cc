#include "postrider/doors/matrix/fan.h"

#include <algorithm>
#include <set>

#include "postrider/doors/matrix/host_fields.h"
#include "postrider/protocols/matrix/event.h"
#include "postrider/protocols/matrix/server_name.h"

namespace postrider::matrix_door {
namespace {

using json::JsonKind;
using json::JsonValue;

Result<void> put_event(HostEvent& event, JsonValue value) {
  POSTRIDER_TRY(facts, matrix::read_event(value.raw()));
  event.body = value.raw();
  event.event_id = facts.event_id.empty() ? matrix::event_ids(value.raw()).front() : facts.event_id;
  event.room_id = facts.room_id;
  event.sender = facts.sender;
  event.has_previous = facts.has_previous;
  return {};
}

Result<void> put_member(HostEvent& event, const std::string& name, JsonValue value) {
  if (name == "event") return put_event(event, value);
  if (name == "servers") {
    POSTRIDER_TRY(servers, servers_in(name, value));
    event.servers = std::move(servers);
  } else if (name == "partial_state_servers") {
    POSTRIDER_TRY(servers, servers_in(name, value));
    event.partial_servers = std::move(servers);
  } else if (name == "send_on_behalf_of") {
    POSTRIDER_TRY(text, text_in(name, value));
    event.on_behalf_of = std::move(text);
  } else if (name == "rescinded_invitee") {
    POSTRIDER_TRY(text, text_in(name, value));
    event.rescinded_invitee = std::move(text);
  } else if (name == "out_of_band") {
    POSTRIDER_TRY(flag, flag_in(name, value));
    event.out_of_band = flag;
  } else if (name == "proactively_send") {
    POSTRIDER_TRY(flag, flag_in(name, value));
    event.proactively_send = flag;
  } else if (name == "position") {
    const std::string digits(value.raw());
    if (value.kind() != JsonKind::kNumber || digits.size() > 19 ||
        digits.find_first_not_of("0123456789") != std::string::npos || digits == "0")
      return bad("position must be a whole number above 0");
    event.position = std::stoull(digits);
  } else {
    return bad("there is no member '" + name + "'");
  }
  return {};
}

}  // namespace

Result<HostEvent> read_host_event(JsonValue value) {
  if (value.kind() != JsonKind::kObject) return bad("an element of events must be an object");
  HostEvent event;
  Result<void> put;
  value.for_members([&](JsonValue name, JsonValue member) {
    put = put_member(event, name.text(), member);
    return put.has_value();
  });
  if (!put) return tl::unexpected<Error>(put.error());
  if (event.body.empty()) return bad("event is missing");
  return event;
}

Result<Fan> fan_of(const HostEvent& event, const FanRules& rules) {
  Fan fan;
  const auto none = [&fan](std::string_view why) {
    fan.why = why;
    return fan;
  };
  if (event.out_of_band) return none("it is out of band");
  if (!event.proactively_send) return none("it is not to be sent");
  const bool ours = matrix::domain_of(event.sender) == rules.origin;
  if (!ours && event.on_behalf_of.empty()) return none("its sender is of another server");
  if (!event.has_previous) return none("it has no predecessors");
  std::vector<std::string> wanted = event.partial_servers.value_or(event.servers);
  if (!event.rescinded_invitee.empty()) {
    const std::string invited(matrix::domain_of(event.rescinded_invitee));
    if (!matrix::parse_server_name(invited))
      return bad("rescinded_invitee: '" + event.rescinded_invitee + "' is no user");
    wanted.push_back(invited);
  }
  std::set<std::string_view> taken;
  const auto allowed = [&rules](const std::string& server) {
    return rules.allow_servers.empty() ||
           std::find(rules.allow_servers.begin(), rules.allow_servers.end(), server) !=
               rules.allow_servers.end();
  };
  for (const std::string& server : wanted) {
    if (server == rules.origin || server == event.on_behalf_of || !allowed(server)) continue;
    if (taken.insert(server).second) fan.servers.push_back(server);
  }
  if (fan.servers.empty()) fan.why = "no other server is in the room";
  return fan;
}

}  // namespace postrider::matrix_door
