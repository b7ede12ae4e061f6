#include "postrider/sim/fields/device/plan.h"

#include <algorithm>
#include <array>

#include "postrider/sim/world/settings_draws.h"

namespace postrider::sim {
namespace {

using device::Command;
using device::DeviceMessage;
using device::Wire;

constexpr std::uint32_t kConsumerEvery = 8;
constexpr std::uint32_t kPluginsMax = 12;
constexpr std::uint32_t kSharedTokens = 4;

std::uint32_t queues_of(const SimOptions& options) {
  return options.destinations - (options.destinations + kConsumerEvery - 1) / kConsumerEvery;
}

// The queues are counted without the consumers between them.
std::uint32_t queue_number(std::uint32_t destination) {
  return destination - destination / kConsumerEvery - 1;
}

std::uint32_t destination_of(std::uint32_t queue) {
  return queue + 1 + queue / (kConsumerEvery - 1);
}

Rng rng_of(const SimOptions& options, std::uint32_t plugin) {
  return Rng(options.seed * 0xA24BAED4963EE407ULL + plugin);
}

Wire draw_wire(std::uint32_t plugin, Rng& rng) {
  const bool second = rng.chance(1, 3);
  // The first two make sure that there are both ways.
  const bool push = plugin == 0 || (plugin != 1 && rng.chance(1, 2));
  if (push) return second ? Wire::kChirpstackMqtt : Wire::kChirpstack;
  return second ? Wire::kCalinV2 : Wire::kCalinV1;
}

std::string_view name_of(Wire wire) {
  constexpr std::array<std::string_view, 4> kNames = {"chirpstack", "chirpstack-mqtt", "calin-v1",
                                                      "calin-v2"};
  return kNames[static_cast<std::size_t>(wire)];
}

// What all queues of a plugin share: the gates of a device and of a vendor are the same for all of
// them, and so are the limits.
NamedTexts shared_settings(const SimOptions& options, std::uint32_t plugin) {
  const DevicePlugin its = device_plugin(options, plugin);
  Rng rng = rng_of(options, plugin).fork(1);
  const std::string peer = "peer-" + std::to_string(its.peer);
  NamedTexts settings{{"plugin", its.name},
                      {"way", std::string(name_of(its.wire))},
                      {"url", "http://" + peer + ".example:8080"}};
  if (its.wire == Wire::kChirpstackMqtt) {
    settings.emplace_back("application", std::string(kDeviceApplication));
    settings.emplace_back("broker", peer);
  }
  if (device::way_of(its.wire) == device::Way::kPull) {
    for (const char* name : {"company", "user", "password", "customer"})
      settings.emplace_back(name, name);
  }
  if (!its.events.empty()) settings.emplace_back("events", its.events);
  maybe(settings, "events_cancelled", 3, {"true", "true", "false"}, rng);
  maybe(settings, "server_expiry", 4, {"false", "false", "true"}, rng);
  maybe(settings, "expires_after", 3, {"1m", "20m", "5h"}, rng);
  maybe(settings, "strikes_max", 3, {"1", "3", "5"}, rng);
  maybe(settings, "closed_base", 4, {"1s", "10s", "60s"}, rng);
  settings.emplace_back("closed_max", rng.chance(1, 2) ? "60s" : "15m");
  return settings;
}

void draw_numbers(NamedTexts& settings, bool push, Rng& rng) {
  maybe(settings, "retries", 3, {"0", "2", "5"}, rng);
  maybe(settings, "retry_base", 3, {"100ms", "10s", "1m"}, rng);
  maybe(settings, "retry_cap", 4, {"1s", "1m", "10m"}, rng);
  maybe(settings, "jitter_percent", 4, {"0", "1", "100"}, rng);
  maybe(settings, "tick", 6, {"1s", "2s", "5s"}, rng);
  maybe(settings, "life_max", 3, {"10m", "5h", "40h"}, rng);
  maybe(settings, "repeat", 6, {"document", "document", "class"}, rng);
  maybe(settings, "repeat.TURN_ON", 4, {"never", "closed", "free"}, rng);
  maybe(settings, "repeat.TOP_UP_KWH", 4, {"never", "never", "document"}, rng);
  maybe(settings, "repeat.READ_CREDIT", 6, {"closed", "never", "free"}, rng);
  if (push) {
    maybe(settings, "spacing", 2, {"0", "100ms", "5s"}, rng);
    maybe(settings, "in_flight_max", 6, {"1", "2", "20"}, rng);
    maybe(settings, "call_time_out", 3, {"2s", "8s", "1m"}, rng);
    maybe(settings, "probe_time_out", 3, {"500ms", "3s", "30s"}, rng);
    maybe(settings, "server_time_out", 2, {"30s", "3m", "2h"}, rng);
    maybe(settings, "air_time_out", 3, {"3s", "6s", "1m"}, rng);
  } else {
    maybe(settings, "spacing", 5, {"100ms", "1s", "5s"}, rng);
    maybe(settings, "in_flight_max", 2, {"1", "2", "3"}, rng);
    maybe(settings, "call_time_out", 3, {"5s", "20s", "37s"}, rng);
    maybe(settings, "poll_time_out", 3, {"2s", "10s", "60s"}, rng);
    maybe(settings, "poll_first", 3, {"1s", "5s", "2m"}, rng);
    maybe(settings, "poll_waits", 4, {"1s,2s,3s,4s", "30s,1m,2m,5m", "10s,10s,10s,10s"}, rng);
    maybe(settings, "poll_ages", 4, {"1s,2s,3s", "1m,2m,3m", "20s,20s,90s"}, rng);
  }
}

// Of two queues that lead to one meter one repeats freely, so that a copy of its command is left
// behind when it has ended; and the other one must not take that for its own.
void make_alike(NamedTexts& settings, std::uint32_t queue) {
  std::erase_if(settings, [](const NamedText& setting) {
    return setting.first.starts_with("repeat") || setting.first == "call_time_out" ||
           setting.first == "server_expiry" || setting.first == "expires_after" ||
           setting.first.starts_with("retr") || setting.first == "tick";
  });
  settings.emplace_back("repeat.TURN_ON", queue % 2 == 0 ? "free" : "closed");
  settings.emplace_back("call_time_out", "2s");
  settings.emplace_back("expires_after", "5h");
}

Command draw_verb(Rng& rng) {
  constexpr std::array<Command, 3> kOften = {Command::kTurnOn, Command::kTurnOff,
                                             Command::kTopUpKwh};
  if (rng.chance(1, 3)) return kOften[rng.below(kOften.size())];
  if (rng.chance(1, 3)) return Command::kReadCredit;
  return static_cast<Command>(rng.below(device::kSubmitCommands));
}

// Data as the command needs it, and now and then not.
void draw_data(device::Request& request, std::uint64_t serial, Rng& rng) {
  if (rng.chance(1, 40)) return;
  if (request.command == Command::kSetDate)
    request.date = device::Date{2026, 1 + static_cast<int>(rng.below(12)),
                                1 + static_cast<int>(rng.below(rng.chance(1, 20) ? 31 : 28))};
  if (request.command == Command::kSetTime)
    request.time = device::TimeOfDay{static_cast<int>(rng.below(24)), static_cast<int>(serial % 60),
                                     static_cast<int>(rng.below(60))};
  if (!device::is_token(request.command)) return;
  // Mostly one of its own; a used one is refused by the meter.
  std::string digits = std::to_string(rng.chance(1, 8) ? rng.below(kSharedTokens) : serial + 100);
  request.token = std::string(20 - digits.size(), '1') + digits;
}

}  // namespace

bool is_consumer(std::uint32_t destination) { return destination % kConsumerEvery == 0; }

std::uint32_t device_plugins(const SimOptions& options) {
  const std::uint32_t queues = queues_of(options);
  return std::min(queues, std::clamp(queues / 3, 2U, kPluginsMax));
}

std::uint32_t plugin_of(const SimOptions& options, std::uint32_t destination) {
  return queue_number(destination) % device_plugins(options);
}

DevicePlugin device_plugin(const SimOptions& options, std::uint32_t plugin) {
  Rng rng = rng_of(options, plugin);
  DevicePlugin its;
  its.wire = draw_wire(plugin, rng);
  // Where we choose the names ourselves, nobody can be taken for another.
  if (is_alike(options) && its.wire == Wire::kChirpstackMqtt) its.wire = Wire::kChirpstack;
  its.name = std::string(device::way_of(its.wire) == device::Way::kPush ? "lora" : "calin") +
             std::to_string(plugin);
  its.peer = destination_of(plugin);
  const auto consumers = (options.destinations + kConsumerEvery - 1) / kConsumerEvery;
  const std::uint64_t consumer = kConsumerEvery * rng.below(consumers);
  if (rng.chance(4, 5)) its.events = "destination-" + std::to_string(consumer);
  return its;
}

DestinationConfig draw_device_queue(const SimOptions& options, std::uint32_t destination,
                                    Rng& rng) {
  const std::uint32_t plugin = plugin_of(options, destination);
  const DevicePlugin its = device_plugin(options, plugin);
  const bool push = device::way_of(its.wire) == device::Way::kPush;
  const std::uint32_t queue = queue_number(destination);
  DestinationConfig config;
  config.profile = kDeviceProfile;
  if (push) {
    config.name = its.name + ".network:" +
                  (queue < device_plugins(options) ? "unassigned" : std::to_string(queue));
  } else {
    config.name = its.name + ".gateway:g" + std::to_string(queue);
  }
  config.settings = shared_settings(options, plugin);
  draw_numbers(config.settings, push, rng);
  if (push && is_alike(options)) make_alike(config.settings, queue / device_plugins(options));
  return config;
}

bool is_alike(const SimOptions& options) { return rng_of(options, 1001).chance(1, 12); }

std::uint32_t meters_of(const SimOptions& options) {
  if (is_alike(options)) return 1;
  const std::array<std::uint32_t, 4> choices = {2, 8, 40, options.messages / 3 + 2};
  return choices[rng_of(options, 1000).below(choices.size())];
}

std::string meter_number(std::uint32_t plugin, std::uint32_t meter) {
  return std::to_string(47'000'000'000 + std::uint64_t{plugin} * 1'000'000 + meter);
}

DeviceMessage draw_command(const SimOptions& options, std::uint32_t destination,
                           std::uint64_t serial, Rng& rng) {
  const std::uint32_t plugin = plugin_of(options, destination);
  const std::uint32_t queue = queue_number(destination);
  DeviceMessage command;
  command.plugin = device_plugin(options, plugin).name;
  command.request.command = draw_verb(rng);
  command.request.meter =
      meter_number(plugin, static_cast<std::uint32_t>(rng.below(meters_of(options))));
  if (rng.chance(1, 8)) command.request.meter.insert(0, 1, '0');
  if (rng.chance(1, 100)) command.request.meter = "no-meter";
  if (rng.chance(1, 6)) command.request.phase = static_cast<device::MeterPhase>(1 + rng.below(3));
  draw_data(command.request, serial, rng);
  if (is_alike(options) && rng.chance(3, 4))
    command.request = {.command = Command::kTurnOn, .meter = command.request.meter};
  if (queue >= device_plugins(options)) command.network = queue;
  command.relay = DeviceMessage::Relay{
      .id = "g" + std::to_string(queue), .reference = "relay", .snr = {}, .rssi = {}};
  if (rng.chance(1, 4)) command.priority = static_cast<std::uint16_t>(rng.below(4));
  command.correlation = "corr-" + std::to_string(serial);
  if (rng.chance(1, 8)) command.supersede = "key-" + std::to_string(rng.below(2));
  return command;
}

std::string correlation_key(const DeviceMessage& command) {
  return command.correlation + '\n' + std::string(device::name_of(command.request.phase));
}

}  // namespace postrider::sim
