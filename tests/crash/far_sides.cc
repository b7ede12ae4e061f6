#include "tests/crash/far_sides.h"

#include <algorithm>
#include <string_view>

#include "tests/crash/http.h"

namespace postrider::crash {
namespace {

constexpr std::chrono::milliseconds kStartMax(60'000);

// Everything takes a fraction of its usual time.
std::vector<std::string> network_words(const std::string& program, std::uint64_t seed) {
  return {program,
          "sink",
          "chirpstack",
          "--grpc",
          "0",
          "--control",
          "0",
          "--events-header",
          std::string("x-postrider-secret=") + kIngressSecret,
          "--radio-percent",
          "5",
          "--answer-max",
          "600ms",
          "--uplink-period",
          "700ms",
          "--seed",
          std::to_string(seed)};
}

std::vector<std::string> vendor_words(const std::string& program, std::uint64_t seed) {
  return {program,        "sink", "calin",  "--listen",          "0", "--version", "2",
          "--login-life", "5s",   "--seed", std::to_string(seed)};
}

// In percent. A command that is taken late is so within the 5 s after which a second look proves
// its absence. All of them are set by every weather, so that none is left over from another.
std::string network_faults(Weather weather) {
  const auto of = [weather](int rough, int storm) {
    if (weather == Weather::kCalm) return std::string("0");
    return std::to_string(weather == Weather::kRough ? rough : storm);
  };
  return "{\"refuse\":" + of(3, 10) + ",\"lose-calls\":" + of(3, 8) +
         ",\"lose-replies\":" + of(3, 12) + ",\"hang\":" + of(2, 8) +
         ",\"fail-taken\":" + of(1, 4) + ",\"take-late\":" + of(2, 8) + ",\"take-late-ms\":3000" +
         ",\"empty-ids\":" + of(1, 4) + ",\"fail-looks\":" + of(10, 40) +
         ",\"lose-downlinks\":" + of(8, 15) + ",\"lose-uplinks\":" + of(5, 10) +
         ",\"gateway-refuses\":" + of(2, 5) + ",\"discard\":" + of(2, 5) +
         ",\"nack-first\":" + of(3, 10) + ",\"later-frame\":" + of(5, 5) +
         ",\"empty-uplinks\":" + of(2, 4) + ",\"meter-refuses\":" + of(2, 4) +
         ",\"lose-events\":" + of(3, 25) + ",\"duplicate-events\":" + of(10, 25) +
         ",\"delay-events\":" + of(10, 25) + ",\"event-delay-ms\":900,\"joins\":" + of(2, 8) +
         ",\"reports\":" + of(3, 5) + "}";
}

std::string vendor_faults(Weather weather) {
  const auto of = [weather](int rough, int storm) {
    if (weather == Weather::kCalm) return std::string("0");
    return std::to_string(weather == Weather::kRough ? rough : storm);
  };
  return "{\"hang\":" + of(2, 6) + ",\"lose-calls\":" + of(3, 8) +
         ",\"lose-replies\":" + of(3, 12) + ",\"errors\":" + of(3, 8) +
         ",\"fail-taken\":" + of(1, 3) + ",\"html\":" + of(2, 3) + ",\"garbage\":" + of(2, 3) +
         ",\"refuse\":" + of(3, 8) + ",\"no-task\":" + of(1, 2) + ",\"twice\":" + of(3, 10) +
         ",\"fail-polls\":" + of(5, 30) + ",\"hang-polls\":" + of(1, 5) + ",\"lies\":" + of(2, 8) +
         ",\"fail-tasks\":" + of(3, 6) + ",\"task-ms\":300,\"slow-tasks\":" + of(5, 15) +
         ",\"slow-task-ms\":3000,\"meter-refuses\":" + of(2, 4) + ",\"fail-logins\":" + of(0, 10) +
         ",\"forget-logins\":" + of(2, 5) + "}";
}

// The part of a JSON text between two marks.
std::string_view between(std::string_view text, std::string_view from, std::string_view to) {
  const std::size_t begin = text.find(from);
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin + from.size());
  return text.substr(0, text.find(to));
}

template <class Take>
void for_each_object(std::string_view array, Take take) {
  for (std::size_t at = 0; (at = array.find('{', at)) != std::string_view::npos;) {
    const std::size_t end = array.find('}', at);
    if (end == std::string_view::npos) return;
    take(array.substr(at, end - at + 1));
    at = end;
  }
}

bool add_ledger(const std::string& address, Ledger& ledger) {
  HttpConnection connection;
  if (!connection.open(address)) return false;
  const auto answer = connection.ask({.method = "GET", .path = "/ledger"});
  if (!answer || answer->status != 200) return false;
  for_each_object(between(answer->body, "\"copies\":[", "],\"runs\":["), [&](std::string_view it) {
    ledger.copies.push_back({.name = member(it, "name"),
                             .meter = member(it, "meter"),
                             .what = member(it, "what"),
                             .end = member(it, "end"),
                             .ran = number_member(it, "ran"),
                             .executed = number_member(it, "executed")});
  });
  for_each_object(between(answer->body, "\"doubled\":[", "]"), [&](std::string_view it) {
    ledger.doubled.push_back({.name = member(it, "name"),
                              .other = member(it, "other"),
                              .meter = member(it, "meter"),
                              .what = member(it, "what")});
  });
  return true;
}

}  // namespace

std::uint64_t Ledger::open() const {
  return static_cast<std::uint64_t>(std::count_if(
      copies.begin(), copies.end(), [](const LedgerCopy& copy) { return copy.end == "open"; }));
}

FarSides::FarSides(const std::string& program, std::uint64_t seed, const std::string& directory)
    : network_process_({network_words(program, seed), {}, directory + "/chirpstack.log"}),
      vendor_process_({vendor_words(program, seed), {}, directory + "/calin.log"}) {}

bool FarSides::wait_started() {
  const std::string network = "{" + network_process_.wait_said("{", kStartMax);
  const std::string vendor = "{" + vendor_process_.wait_said("{", kStartMax);
  network_address_ = member(network, "grpc");
  control_address_ = member(network, "control");
  vendor_address_ = member(vendor, "listen");
  return !network_address_.empty() && !control_address_.empty() && !vendor_address_.empty();
}

bool FarSides::post(const std::string& address, const std::string& path, const std::string& body) {
  HttpConnection connection;
  if (!connection.open(address)) return false;
  const auto answer = connection.ask({.method = "POST", .path = path, .body = body});
  return answer && answer->status == 200;
}

bool FarSides::send_events_to(const std::string& url) const {
  return post(control_address_, "/events", "{\"url\":\"" + url + "\"}");
}

bool FarSides::set_weather(Weather of_network, Weather of_vendor) const {
  return post(control_address_, "/faults", network_faults(of_network)) &&
         post(vendor_address_, "/faults", vendor_faults(of_vendor));
}

bool FarSides::make_class_a(const std::string& meter) const {
  return post(control_address_, "/devices", "{\"meter\":\"" + meter + "\",\"class\":\"A\"}");
}

std::optional<Ledger> FarSides::read_ledger() const {
  Ledger ledger;
  if (!add_ledger(control_address_, ledger) || !add_ledger(vendor_address_, ledger))
    return std::nullopt;
  return ledger;
}

std::string FarSides::counts() const {
  HttpConnection connection;
  if (!connection.open(control_address_)) return {};
  const auto answer = connection.ask({.method = "GET", .path = "/counts"});
  return answer ? answer->body : std::string();
}

bool FarSides::told_all() const {
  const std::string counts = this->counts();
  return number_member(counts, "events") + number_member(counts, "events_repeated") ==
         number_member(counts, "events_lost") + number_member(counts, "events_posted") +
             number_member(counts, "events_unheard");
}

std::uint64_t FarSides::joins() const { return number_member(counts(), "joins"); }

}  // namespace postrider::crash
