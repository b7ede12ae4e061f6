// postrider sink chirpstack | calin: the far sides of the device profile as processes, with meters
// that count how often each command really ran.
#include "postrider/sinks/device/commands.h"

#include <array>
#include <charconv>

#include "postrider/sinks/device/calin_sink.h"
#include "postrider/sinks/device/chirpstack_sink.h"

namespace postrider {
namespace {

constexpr auto kChirpstackOptions = std::to_array<OptionRow>({
    {"--grpc", "PORT", "where commands come in, also ADDRESS:PORT (8080); 0 is any"},
    {"--control", "PORT", "where the ledger is read and faults are set (8471); 0 is any"},
    {"--events", "URL", "where events are POSTed", true},
    {"--events-header", "NAME=VALUE", "a header of every event: the shared secret"},
    {"--mqtt", "HOST:PORT", "a broker, for events and commands"},
    {"--application", "ID", "of all devices; part of the topics"},
    {"--api-key", "KEY", "refuse calls with another key, or none"},
    {"--tenant-key", "", "the key is a tenant's: it may not know which devices exist"},
    {"--sqlite", "", "name no constraint when a device is unknown"},
    {"--protobuf", "", "tell events as protobuf, not as JSON"},
    {"--class", "A|C", "of the devices (C)"},
    {"--answer-max", "DURATION", "class C: negative ack when no answer comes for so long (5s)"},
    {"--uplink-period", "DURATION", "class A: how often a device with commands speaks (10m)"},
    {"--radio-percent", "P", "the radio takes so much of its usual time, 1 to 100 (100)"},
    {"--fault", "NAME=N", "what goes wrong, see below", true},
    {"--seed", "N", "of chance (1)"},
});

constexpr auto kCalinOptions = std::to_array<OptionRow>({
    {"--listen", "PORT", "also ADDRESS:PORT (8472); 0 is any"},
    {"--version", "1|2", "of the vendor's API (1)"},
    {"--company", "NAME", "refuse others"},
    {"--user", "NAME", "refuse others"},
    {"--password", "WORD", "refuse others"},
    {"--login-life", "DURATION", "of a login of version 2 (10m)"},
    {"--fault", "NAME=N", "what goes wrong, see below", true},
    {"--seed", "N", "of chance (1)"},
});

constexpr std::string_view kControl =
    "The chosen ports are printed as one line of JSON. While it runs, GET /ledger shows what the "
    "meters\nwere told and did, GET /counts what came in; GET /faults shows the switches, POST "
    "/faults\n{\"NAME\": N} sets some, DELETE /faults sets all back. SIGTERM or Ctrl-C ends it.\n";

template <class Faults>
std::string more_text(std::string_view first, std::span<const sim::FaultRow<Faults>> rows) {
  std::string text(first);
  text.append("\nFaults (P is a percentage, MS milliseconds):\n");
  for (const sim::FaultRow<Faults>& row : rows) {
    std::string name = "  " + std::string(row.name) + "=" + std::string(row.unit);
    name.resize(std::max<std::size_t>(name.size() + 1, 24), ' ');
    text.append(name).append(row.words).append("\n");
  }
  return text;
}

const std::string& chirpstack_more() {
  static const std::string kText =
      more_text(std::string(kControl) +
                    "POST /devices {\"meter\": M, \"join\": true, \"report\": true, \"unknown\": "
                    "true, \"class\": \"A\"} does\nso to one device; POST /events {\"url\": "
                    "URL} sends events there from now on.\n",
                sim::network_fault_rows());
  return kText;
}

const std::string& calin_more() {
  static const std::string kText =
      more_text(std::string(kControl) + "All on the port of the API.\n", sim::vendor_fault_rows());
  return kText;
}

struct Pair {
  std::string name;
  std::string value;
};
Result<Pair> split_pair(std::string_view option, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return fail(ErrorCode::kInvalid,
                std::string(option) + ": '" + text + "' is not of the form NAME=VALUE");
  return Pair{text.substr(0, equals), text.substr(equals + 1)};
}

template <class Faults>
Result<void> read_faults(const Parsed& parsed, std::span<const sim::FaultRow<Faults>> rows,
                         Faults& faults) {
  for (const std::string& text : parsed.all("--fault")) {
    POSTRIDER_TRY(pair, split_pair("--fault", text));
    std::uint64_t number = 0;
    const char* const end = pair.value.data() + pair.value.size();
    const auto [rest, error] = std::from_chars(pair.value.data(), end, number);
    if (error != std::errc() || rest != end || pair.value.empty())
      return fail(ErrorCode::kInvalid, "--fault " + pair.name + ": must be a whole number");
    const Result<void> set = sim::set_fault(rows, faults, pair.name, number);
    if (!set) return fail(ErrorCode::kInvalid, "--fault " + set.error().detail);
  }
  return {};
}

Result<void> read_mqtt(const std::string& text, ChirpstackSinkOptions& options) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0)
    return fail(ErrorCode::kInvalid, "--mqtt: '" + text + "' is not of the form HOST:PORT");
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, options.mqtt_port);
  if (error != std::errc() || rest != end || options.mqtt_port == 0)
    return fail(ErrorCode::kInvalid, "--mqtt: '" + text + "' has no port");
  options.mqtt_host = text.substr(0, colon);
  return {};
}

Result<ChirpstackSinkOptions> read_chirpstack(const Parsed& parsed) {
  ChirpstackSinkOptions options;
  options.grpc = parsed.text("--grpc", "8080");
  options.control = parsed.text("--control", "8471");
  options.events = parsed.all("--events");
  if (const std::string* header = parsed.find("--events-header")) {
    POSTRIDER_TRY(pair, split_pair("--events-header", *header));
    options.header_name = pair.name;
    options.header_value = pair.value;
  }
  if (const std::string* broker = parsed.find("--mqtt")) {
    const Result<void> read = read_mqtt(*broker, options);
    if (!read) return tl::unexpected<Error>(read.error());
  }
  sim::NetworkServerOptions& server = options.server;
  server.application = parsed.text("--application", server.application);
  server.api_key = parsed.text("--api-key");
  server.is_tenant_key = parsed.has("--tenant-key");
  server.is_sqlite = parsed.has("--sqlite");
  server.tells_protobuf = parsed.has("--protobuf");
  const std::string its_class = parsed.text("--class", "C");
  if (its_class != "A" && its_class != "C")
    return fail(ErrorCode::kInvalid, "--class: '" + its_class + "' is neither A nor C");
  server.is_class_a = its_class == "A";
  POSTRIDER_TRY(answer_max, parsed.duration("--answer-max", server.answer_max));
  POSTRIDER_TRY(uplink_period, parsed.duration("--uplink-period", server.uplink_period));
  POSTRIDER_TRY(seed, parsed.number("--seed", 1, 0, UINT64_MAX));
  POSTRIDER_TRY(radio, parsed.number("--radio-percent", 100, 1, 100));
  server.radio_percent = static_cast<std::uint32_t>(radio);
  server.scheduler_period =
      std::max(server.scheduler_period * server.radio_percent / 100, Duration(1));
  server.answer_max = answer_max;
  server.uplink_period = uplink_period;
  options.seed = seed;
  const Result<void> faults = read_faults(parsed, sim::network_fault_rows(), options.faults);
  if (!faults) return tl::unexpected<Error>(faults.error());
  return options;
}

Result<CalinSinkOptions> read_calin(const Parsed& parsed) {
  CalinSinkOptions options;
  options.listen = parsed.text("--listen", "8472");
  POSTRIDER_TRY(version, parsed.number("--version", 1, 1, 2));
  POSTRIDER_TRY(login_life, parsed.duration("--login-life", options.vendor.login_life));
  POSTRIDER_TRY(seed, parsed.number("--seed", 1, 0, UINT64_MAX));
  options.vendor.version = static_cast<int>(version);
  options.vendor.company = parsed.text("--company");
  options.vendor.user = parsed.text("--user");
  options.vendor.password = parsed.text("--password");
  options.vendor.login_life = login_life;
  options.seed = seed;
  const Result<void> faults = read_faults(parsed, sim::vendor_fault_rows(), options.faults);
  if (!faults) return tl::unexpected<Error>(faults.error());
  return options;
}

int sink_chirpstack(const Parsed& parsed) {
  const Result<ChirpstackSinkOptions> options = read_chirpstack(parsed);
  if (!options) return complain(parsed, options.error());
  return run_far_side(parsed, "grpc", open_chirpstack_sink(*options));
}

int sink_calin(const Parsed& parsed) {
  const Result<CalinSinkOptions> options = read_calin(parsed);
  if (!options) return complain(parsed, options.error());
  return run_far_side(parsed, "listen", open_calin_sink(*options));
}

Command chirpstack_command() {
  Command command{};
  command.name = "chirpstack";
  command.summary = "A network server with meters behind it, that does well or badly.";
  command.options = kChirpstackOptions;
  command.run = sink_chirpstack;
  command.more = chirpstack_more();
  return command;
}

Command calin_command() {
  Command command{};
  command.name = "calin";
  command.summary = "A vendor's API with meters behind it, that does well or badly.";
  command.options = kCalinOptions;
  command.run = sink_calin;
  command.more = calin_more();
  return command;
}

constexpr auto kVerbs = std::to_array<SinkVerb>({chirpstack_command, calin_command});

}  // namespace

SinkVerbs device_sinks() { return kVerbs; }

}  // namespace postrider
