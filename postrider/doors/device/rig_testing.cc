#include "postrider/doors/device/rig_testing.h"

#include <array>

#include "postrider/profiles/all.h"
#include "postrider/profiles/device/notes.h"
#include "postrider/profiles/device/table.h"

namespace postrider::device_door {
namespace {

Result<Policy> configure(const NamedTexts& settings) {
  if (setting_of(settings, "plugin").empty())
    return fail(ErrorCode::kInvalid, "plugin: is missing");
  if (setting_of(settings, "url").empty()) return fail(ErrorCode::kInvalid, "url: is missing");
  Policy policy;
  for (RetryRule& rule : policy.retry) {
    rule.base = 2s;
    rule.attempts_max = 12;
  }
  policy.time_outs.fill(20s);
  policy.route.spacing = 2s;
  return policy;
}

Result<Admission> admit(const Offer& offer) {
  const auto message = device::parse_device_message(offer.body);
  if (!message) return tl::unexpected<Error>(message.error());
  return Admission{};
}

WireRequest encode(const Facts& /*facts*/, AttemptKind /*kind*/) {
  WireRequest request;
  request.verb = "POST";
  return request;
}

// What the profile keeps of a message that has ended.
std::string notes_of(const Facts& facts) {
  device::Notes notes;
  notes.summary = facts.message.body;
  notes.outcome = "executed";
  return encode_notes(notes);
}

Reading classify(const Facts& facts, AttemptKind /*kind*/, const WireReply& reply) {
  Reading reading;
  reading.outcome.certainty = Certainty::kAnswered;
  reading.signal = reply.status == 200 ? On::kAccepted : On::kRejected;
  if (reply.status == 204) {
    reading.signal = On::kAnswered;
    reading.notes = notes_of(facts);
  }
  if (reply.status == 500) reading.signal = On::kFailed;
  return reading;
}

NamedTexts& last_settings() {
  static NamedTexts settings;
  return settings;
}

Received receive(const Inbound& inbound) {
  last_settings() = inbound.settings;
  return {};
}

Reading notice(const Facts& /*facts*/, const Notice& /*notice*/) {
  Reading reading;
  reading.declines = true;
  return reading;
}

constexpr ProfileSpec kProfile = {
    .name = "device",
    .states = device::kStates,
    .methods = device::kMethods,
    .settings = {.configure = configure},
    .door = {.admit = admit},
    .wire = {.judge = judge_due, .encode = encode, .classify = classify},
    .news = {.receive = receive, .notice = notice},
    .bounded = true,
};

}  // namespace

const ProfileSpec& rig_device_profile() { return kProfile; }

NamedTexts DeviceRig::settings_received() { return last_settings(); }

DeviceRig::DeviceRig() {
  for (const ProfileSpec* profile : all_profiles()) {
    if (profile->name != kDeviceProfile) profiles.push_back(profile);
  }
  profiles.push_back(&kProfile);
  host_options.shard.engine.profiles = profiles;
  options.profiles = profiles;
  door_options.plugins = {plugin("lorawan", "chirpstack", "open sesame"),
                          plugin("calin", "calin-v1")};
  door_options.warn = [this](std::string_view what, std::string_view queue) {
    warnings.push_back(std::string(queue) + ": " + std::string(what));
  };
  make_doors = [this] {
    auto door = std::make_shared<DeviceRoutes>(door_options);
    routes = door.get();
    return std::vector<std::shared_ptr<api::HttpDoor>>{std::move(door)};
  };
}

DevicePlugin DeviceRig::plugin(const std::string& name, const std::string& way,
                               const std::string& secret) {
  DevicePlugin plugin;
  plugin.name = name;
  plugin.secret = secret;
  plugin.settings = {{"way", way}, {"url", "http://far.example:8080"}};
  return plugin;
}

std::string DeviceRig::command(const std::map<std::string, std::string>& members) {
  std::map<std::string, std::string> all = {
      {"commandType", R"("READ_CREDIT")"},
      {"priority", "1"},
      {"pluginId", R"("lorawan")"},
      {"networkId", "7"},
      {"device", R"({"type":"ELECTRICITY_METER","externalReference":"47003333623"})"}};
  for (const auto& [name, value] : members) all[name] = value;
  std::string body = "{";
  for (const auto& [name, value] : all) {
    if (value.empty()) continue;
    body.append(body.size() > 1 ? ",\"" : "\"").append(name).append("\":").append(value);
  }
  return body + "}";
}

Reply DeviceRig::enqueue(const std::map<std::string, std::string>& members) {
  return post("/message/enqueue", command(members));
}

std::string DeviceRig::result_of_cancel(const std::string& correlation) {
  const Reply reply = post("/message/cancel", R"({"correlationId":")" + correlation + "\"}");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.text("correlationId"), correlation);
  return reply.text("result");
}

std::string DeviceRig::error(int status, const Reply& reply) {
  EXPECT_EQ(reply.status, status) << reply.body;
  EXPECT_EQ(reply.content_type, "application/json");
  return reply.text("error");
}

void DeviceRig::answer(std::size_t index, int status) {
  ASSERT_LT(index, transport.started.size());
  WireReply reply;
  reply.status = status;
  host->attempt_ended(transport.started[index].attempt, std::move(reply));
  settle();
}

DestinationView DeviceRig::queue(const std::string& name) {
  DestinationView view;
  Query query;
  query.what = Query::What::kDestination;
  query.destination = name;
  const Door door = host->post({}, std::move(query), [&](Answer answer) {
    if (auto* found = std::get_if<DestinationView>(&answer.view)) view = std::move(*found);
  });
  EXPECT_EQ(door, Door::kOpen);
  settle();
  return view;
}

}  // namespace postrider::device_door
