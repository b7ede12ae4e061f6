// Groups of destinations, and messages to all who subscribe.
#include <array>

#include "postrider/api/routes.h"

namespace postrider {
namespace {

Problem bad(std::string detail, std::string field) {
  return api::complaint(ProblemType::kInvalidField, std::move(detail), std::move(field));
}

// Each element of an array, until one is a problem.
template <class Each>
std::optional<Problem> for_items(const JsonValue& array, Each&& each) {
  std::size_t left = array.size();
  if (left == 0) return std::nullopt;
  for (JsonValue item = array.first();; item = item.next()) {
    if (auto problem = each(item)) return problem;
    if (--left == 0) return std::nullopt;
  }
}

std::optional<Problem> read_types(const JsonValue& value, FanoutMember& member) {
  constexpr std::string_view kField = "members.types";
  if (value.kind() != JsonKind::kArray) return bad("types is a list of texts", std::string(kField));
  return for_items(value, [&](const JsonValue& item) -> std::optional<Problem> {
    auto text = api::read_text(item, kField);
    if (!text) return std::move(text.error());
    member.types.push_back(std::move(*text));
    return std::nullopt;
  });
}

std::optional<Problem> read_member(const JsonValue& value, FanoutMember& member) {
  constexpr auto kNames = std::to_array<std::string_view>({"destination", "types"});
  if (value.kind() != JsonKind::kObject)
    return bad("a member is an object with a destination", "members");
  std::array<MaybeValue, kNames.size()> found;
  if (auto problem = api::read_members(value, kNames, found)) return problem;
  if (!found[0])
    return api::complaint(ProblemType::kMissingField, "a member has a destination",
                          "members.destination");
  auto name = api::read_text(*found[0], "members.destination");
  if (!name) return std::move(name.error());
  if (!api::is_destination_name(*name))
    return bad(std::string(api::kDestinationNameRule), "members.destination");
  member.destination = std::move(*name);
  if (found[1]) return read_types(*found[1], member);
  return std::nullopt;
}

std::optional<Problem> read_group(const JsonValue& root, bool settings, FanoutGroup& group) {
  constexpr auto kNames = std::to_array<std::string_view>({"members", "skip_closed"});
  std::array<MaybeValue, kNames.size()> found;
  const std::size_t count = settings ? 2 : 1;
  if (auto problem = api::read_members(root, std::span(kNames).first(count),
                                       std::span<MaybeValue>(found).first(count)))
    return problem;
  if (!found[0])
    return api::complaint(ProblemType::kMissingField, "members is missing: a list, perhaps empty",
                          "members");
  if (found[0]->kind() != JsonKind::kArray) return bad("members is a list", "members");
  if (found[1]) {
    const JsonKind kind = found[1]->kind();
    if (kind != JsonKind::kTrue && kind != JsonKind::kFalse)
      return bad("skip_closed is true or false", "skip_closed");
    group.skip_closed = kind == JsonKind::kTrue;
  }
  return for_items(*found[0], [&](const JsonValue& item) {
    return read_member(item, group.members.emplace_back());
  });
}

void write_group(JsonWriter& json, const FanoutGroup& group) {
  json.open_object().field("name", group.name).flag("skip_closed", group.skip_closed);
  json.field("changed_at", api::to_text(group.changed)).name("members").open_array();
  for (const FanoutMember& member : group.members) {
    json.open_object().field("destination", member.destination).name("types").open_array();
    for (const std::string& type : member.types) json.text(type);
    json.close_array().close_object();
  }
  json.close_array().close_object();
}

}  // namespace

void HttpApi::Impl::change_group(Call& call, ChangeGroup change) {
  if (!api::is_destination_name(call.capture))
    return refuse(call.waiting, bad("a group is named like a destination", "name"));
  change.group.name = call.capture;
  change.caller = call.caller();
  post(call, std::move(change), [name = call.capture](Answer& answer) {
    HttpResponse response;
    api::write_done(response.body, answer, "name", name);
    return response;
  });
}

void HttpApi::Impl::put_group(Call& call) {
  const auto root = root_of(call);
  if (!root) return refuse(call.waiting, root.error());
  ChangeGroup change;
  if (const auto problem = read_group(*root, true, change.group))
    return refuse(call.waiting, *problem);
  change_group(call, std::move(change));
}

void HttpApi::Impl::add_members(Call& call) {
  const auto root = root_of(call);
  if (!root) return refuse(call.waiting, root.error());
  ChangeGroup change;
  change.what = ChangeGroup::What::kAdd;
  if (const auto problem = read_group(*root, false, change.group))
    return refuse(call.waiting, *problem);
  change_group(call, std::move(change));
}

void HttpApi::Impl::remove_member(Call& call) {
  const std::string* destination = call.query.find("destination");
  if (destination == nullptr)
    return refuse(call.waiting, api::complaint(ProblemType::kInvalidParameter,
                                               "say which: ?destination=NAME", "destination"));
  ChangeGroup change;
  change.what = ChangeGroup::What::kRemove;
  change.group.members.push_back({*destination, {}});
  change_group(call, std::move(change));
}

void HttpApi::Impl::delete_group(Call& call) {
  ChangeGroup change;
  change.what = ChangeGroup::What::kDrop;
  change_group(call, std::move(change));
}

void HttpApi::Impl::get_group(Call& call) {
  Query query;
  query.what = Query::What::kFanoutGroup;
  query.group = call.capture;
  post(call, std::move(query), [](Answer& answer) {
    HttpResponse response;
    JsonWriter json(response.body);
    write_group(json, std::get<FanoutGroupPage>(answer.view).groups.front());
    return response;
  });
}

void HttpApi::Impl::list_groups(Call& call) {
  auto listing = std::make_shared<Listing>();
  listing->name = "groups";
  listing->query.what = Query::What::kFanoutGroups;
  listing->take = [](JsonWriter& json, const Answer& answer, std::string& next) {
    const auto& page = std::get<FanoutGroupPage>(answer.view);
    for (const FanoutGroup& group : page.groups) write_group(json, group);
    next = page.next;
    return static_cast<std::uint32_t>(page.groups.size());
  };
  begin_listing(call, std::move(listing));
}

void HttpApi::Impl::post_fanout(Call& call) {
  const NamedTexts head = api::head_texts(words_, call.request);
  api::SubmitDefaults defaults;
  defaults.tenant = call.tenant;
  defaults.head = &head;
  defaults.key = std::move(call.key);
  defaults.wall = clock_.read().wall;
  auto fanout = submit_reader_.read_fanout(call.request.body, call.capture, std::move(defaults));
  if (!fanout) return refuse(call.waiting, fanout.error());
  fanout->caller.actor = call.actor;
  post(call, std::move(*fanout), [this, name = call.capture](Answer& answer) {
    HttpResponse response;
    response.status = 202;
    JsonWriter json(response.body);
    json.open_object();
    api::write_fanout_fields(json, host_.ids(), std::get<FanoutView>(answer.view));
    json.field("group", name).field("durability", "synced").close_object();
    return response;
  });
}

}  // namespace postrider
