// postrider sim: months of faults under virtual time, checked by fourteen laws. Exits with 1 when
// one is broken, and says how to see it again.
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <signal.h>
#include <string>
#include <unistd.h>

#include "apps/postrider/commands.h"
#include "postrider/cli/options.h"
#include "postrider/cli/output.h"
#include "postrider/config/config.h"
#include "postrider/doors/all.h"
#include "postrider/sim/fields/all.h"
#include "postrider/sim/runner.h"
#include "postrider/sim/world/plan.h"

namespace postrider {
namespace {

using sim::Fault;
using sim::SimOptions;
using sim::Summary;

constexpr auto kOptions = std::to_array<OptionRow>({
    {"--profile", "NAME",
     "whose field it is (webhook); drill is a protocol that uses everything the engine has"},
    {"--config", "FILE",
     "the destinations of a daemon's own file, with their settings; nothing is sent anywhere"},
    {"--world", "NAME",
     "a world that is made for one question: hang (990 of 1,000 destinations hang), flood (of one "
     "tenant; --messages says how large) or storm (a far side comes back to 10,000 messages)"},
    {"--seed", "N", "the first seed (1)"},
    {"--seeds", "K", "so many seeds, one world each (1)"},
    {"--days", "D", "virtual days with faults (30); then faults stop and everything must end"},
    {"--destinations", "M", "(50)"},
    {"--messages", "N", "per world (2000)"},
    {"--faults", "LIST", "all (the default), none, or names with commas between them"},
    {"--idle", "",
     "what messages make like a template goes when it is idle (profiles drill and mailbox)"},
    {"--batches", "", "most destinations take several messages in one request (profile webhook)"},
    {"--no-twins", "", "quicker: without comparing the engine with a restored copy of itself"},
    {"--trace", "FILE", "one line per event, with details"},
    {"--json", "", "for programs"},
});

struct Wanted {
  SimOptions options;
  std::uint64_t seeds = 1;
  std::string trace;
  std::string config;
  bool json = false;
};

bool parse_number(std::string_view text, std::uint64_t& value) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && rest == text.data() + text.size();
}

// Empty when all is well, otherwise the complaint.
std::string set_number(Wanted& wanted, std::string_view name, std::string_view text) {
  std::uint64_t value = 0;
  if (!parse_number(text, value))
    return std::string(name) + " needs a whole number, not '" + std::string(text) + "'";
  constexpr std::uint64_t kDaysMax = 3650;
  constexpr std::uint64_t kCountMax = 10'000'000;
  if (name == "--seed") {
    wanted.options.seed = value;
    return {};
  }
  if (value == 0 || value > (name == "--days" ? kDaysMax : kCountMax))
    return std::string(name) + " is out of bounds";
  if (name == "--seeds") wanted.seeds = value;
  if (name == "--days") wanted.options.span = Duration(24h) * static_cast<std::int64_t>(value);
  if (name == "--destinations") wanted.options.destinations = static_cast<std::uint32_t>(value);
  if (name == "--messages") wanted.options.messages = static_cast<std::uint32_t>(value);
  return {};
}

std::string no_such_profile(const std::string& name) {
  std::string names;
  for (const sim::Field* field : sim::all_fields().list())
    names += (names.empty() ? "" : ", ") + std::string(field->profile().name);
  return "there is no profile '" + name + "'; there are " + names;
}

std::string set_value(Wanted& wanted, std::string_view name, const std::string& value) {
  if (name == "--profile") {
    if (sim::all_fields().find(value) == nullptr) return no_such_profile(value);
    wanted.options.profile = value;
    return {};
  }
  if (name == "--world") {
    const auto world = sim::parse_world(value);
    if (!world) return "there is no world '" + value + "'";
    wanted.options.world = *world;
    return {};
  }
  if (name == "--trace" || name == "--config") {
    (name == "--trace" ? wanted.trace : wanted.config) = value;
    return {};
  }
  if (name != "--faults") return set_number(wanted, name, value);
  const auto faults = sim::parse_faults(value);
  if (!faults) return faults.error().detail;
  wanted.options.faults = *faults;
  return {};
}

std::string read(const Parsed& parsed, Wanted& wanted) {
  wanted.options.profile = sim::all_fields().list().front()->profile().name;
  wanted.options.span = 30 * 24h;
  wanted.options.destinations = 50;
  wanted.options.messages = 2000;
  wanted.options.faults.set();
  wanted.json = parsed.has("--json");
  wanted.options.twins = !parsed.has("--no-twins");
  wanted.options.idle = parsed.has("--idle");
  wanted.options.batches = parsed.has("--batches");
  for (const std::string_view other : {"--profile", "--destinations"}) {
    if (parsed.has("--config") && parsed.has(other))
      return std::string(other) + " does not go with --config";
  }
  for (const std::string_view other :
       {"--profile", "--destinations", "--config", "--days", "--faults"}) {
    if (parsed.has("--world") && parsed.has(other))
      return std::string(other) + " does not go with --world";
  }
  if (parsed.has("--world")) wanted.options.messages = 0;  // as many as belong to it
  for (const auto& [name, value] : parsed.options) {
    if (name == "--json" || name == "--no-twins" || name == "--idle" || name == "--batches")
      continue;
    if (std::string complaint = set_value(wanted, name, value); !complaint.empty())
      return complaint;
  }
  return {};
}

// The destinations of the daemon's own file. Empty when all is well, otherwise the complaint.
std::string load_own(Wanted& wanted) {
  auto config = load_config(wanted.config, process_environment(), {}, doors::all_config_parts());
  if (!config) return config.error().detail;
  if (config->destinations.empty()) return wanted.config + " has no destinations to rehearse";
  auto own = sim::own_destinations(sim::all_fields(), std::move(config->destinations));
  if (!own) return own.error().detail;
  wanted.options.destinations = static_cast<std::uint32_t>(own->size());
  wanted.options.own = std::move(*own);
  wanted.options.config_file = wanted.config;
  return {};
}

// A broken invariant ends the process; whoever sees it must learn how to see it again.
std::array<char, 512> last_words{};  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

extern "C" void say_last_words(int /*signal*/) {
  static_cast<void>(!write(STDERR_FILENO, last_words.data(), std::strlen(last_words.data())));
  _exit(kExitFailure);
}

void prepare_last_words(const SimOptions& options) {
  const std::string words = "to see it again: " + sim::reproduction(options, options.seed) + "\n";
  words.copy(last_words.data(), last_words.size() - 1);
  last_words[std::min(words.size(), last_words.size() - 1)] = '\0';
  signal(SIGABRT, say_last_words);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + '"';
}

std::string hash_text(std::uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

struct Verdict {
  std::vector<std::string> failures;
};

Verdict judge(const Wanted& wanted, const Summary& summary) {
  Verdict verdict;
  for (const Summary::Finding& finding : summary.violations) {
    verdict.failures.push_back("seed " + std::to_string(finding.seed) + ": " + finding.what);
  }
  if (!sim::is_standard(wanted.options, wanted.seeds)) return verdict;
  for (const Fault fault : summary.never_struck(wanted.options.faults)) {
    verdict.failures.push_back("the fault " + std::string(name_of(fault)) + " never struck");
  }
  for (const Summary::Missed& missed : summary.rows_never_hit()) {
    if (missed.reason.empty()) verdict.failures.push_back("never used: " + missed.row);
  }
  return verdict;
}

std::string destinations_json(const Summary& summary) {
  std::string out = ",\"destinations\":[";
  for (const sim::DestinationReport& one : summary.destinations) {
    if (out.back() != '[') out += ',';
    out += "{\"name\":" + quoted(one.name) + ",\"delivered\":" + std::to_string(one.delivered) +
           ",\"dead\":" + std::to_string(one.dead) + ",\"expired\":" + std::to_string(one.expired) +
           ",\"cancelled\":" + std::to_string(one.cancelled) +
           ",\"indeterminate\":" + std::to_string(one.indeterminate) +
           ",\"worst_delay_seconds\":" + std::to_string(one.worst_delay.count() / 1000) + "}";
  }
  return out + "]";
}

std::string figures_json(const Summary& summary) {
  if (summary.figures.empty()) return {};
  std::string out = ",\"figures\":[";
  for (const sim::Figure& one : summary.figures) {
    if (out.back() != '[') out += ',';
    out += "{\"what\":" + quoted(one.what) + ",\"worst\":" + std::to_string(one.worst) +
           ",\"allowed\":" + std::to_string(one.most) +
           ",\"looked\":" + std::to_string(one.looked) + "}";
  }
  return out + "]";
}

void print_figures(const Summary& summary) {
  for (const sim::Figure& one : summary.figures) {
    std::printf("  %s: %llu at most, %llu allowed, looked at %llu times\n", one.what.c_str(),
                static_cast<unsigned long long>(one.worst),
                static_cast<unsigned long long>(one.most),
                static_cast<unsigned long long>(one.looked));
  }
}

void print_destinations(const Summary& summary) {
  Table table({"DESTINATION", "DELIVERED", "DEAD", "EXPIRED", "CANCELLED", "WORST DELAY"});
  for (const sim::DestinationReport& one : summary.destinations) {
    table.add({{shown(one.name)},
               {std::to_string(one.delivered)},
               {std::to_string(one.dead)},
               {std::to_string(one.expired)},
               {std::to_string(one.cancelled)},
               {distance(one.worst_delay)}});
  }
  print(table.text());
  std::printf("violations: %zu\n", summary.violations.size());
}

void print_json(const Wanted& wanted, const Summary& summary, double seconds) {
  const Counters& counters = summary.counters;
  std::string out = "{\"seed\":" + std::to_string(wanted.options.seed) +
                    ",\"seeds\":" + std::to_string(wanted.seeds) +
                    ",\"profile\":" + quoted(wanted.options.profile) +
                    ",\"virtual_seconds\":" + std::to_string(summary.virtual_time.count() / 1000);
  char wall[32];
  std::snprintf(wall, sizeof wall, "%.3f", seconds);
  out += ",\"wall_seconds\":" + std::string(wall) +
         ",\"messages\":" + std::to_string(summary.messages) +
         ",\"events\":" + std::to_string(summary.events) +
         ",\"attempts\":" + std::to_string(summary.attempts) +
         ",\"restarts\":" + std::to_string(summary.restarts) +
         ",\"comparisons\":" + std::to_string(summary.comparisons) +
         ",\"violations\":" + std::to_string(summary.violations.size()) +
         ",\"trace_hash\":" + quoted(hash_text(summary.trace_hash));
  out += ",\"outcomes\":{\"delivered\":" + std::to_string(counters.delivered) +
         ",\"dead\":" + std::to_string(counters.dead) +
         ",\"expired\":" + std::to_string(counters.expired) +
         ",\"cancelled\":" + std::to_string(counters.cancelled) +
         ",\"indeterminate\":" + std::to_string(counters.indeterminate) +
         ",\"live\":" + std::to_string(counters.live()) + "}";
  if (!wanted.options.own.empty()) out += destinations_json(summary);
  out += figures_json(summary) + ",\"faults\":{";
  for (std::size_t i = 0; i < sim::kFaults; ++i) {
    if (i != 0) out += ',';
    out += quoted(name_of(static_cast<Fault>(i))) + ":" + std::to_string(summary.faults[i]);
  }
  out += "},\"rows_never_hit\":[";
  bool first = true;
  for (const Summary::Missed& missed : summary.rows_never_hit()) {
    if (!first) out += ',';
    first = false;
    out += "{\"row\":" + quoted(missed.row) + ",\"reason\":" +
           quoted(missed.reason.empty() ? "not reached in this run" : missed.reason) + "}";
  }
  out += "],\"findings\":[";
  for (std::size_t i = 0; i < summary.violations.size(); ++i) {
    if (i != 0) out += ',';
    out += "{\"seed\":" + std::to_string(summary.violations[i].seed) +
           ",\"what\":" + quoted(summary.violations[i].what) + "}";
  }
  std::puts((out + "]}").c_str());
}

void print_text(const Wanted& wanted, const Summary& summary, double seconds) {
  const Counters& counters = summary.counters;
  std::printf("profile %s, seed %llu, %llu world%s: %lld virtual days in %.1f s, trace %s\n",
              wanted.options.profile.c_str(), static_cast<unsigned long long>(wanted.options.seed),
              static_cast<unsigned long long>(wanted.seeds), wanted.seeds == 1 ? "" : "s",
              static_cast<long long>(summary.virtual_time / Duration(24h)), seconds,
              hash_text(summary.trace_hash).c_str());
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf(
      "  %llu events, %llu messages, %llu attempts, %llu starts of the process, %llu comparisons "
      "with a restored copy\n",
      number(summary.events), number(summary.messages), number(summary.attempts),
      number(summary.restarts), number(summary.comparisons));
  std::printf(
      "  delivered %llu, dead %llu, expired %llu, cancelled %llu, indeterminate %llu, live %llu "
      "(in quarantine)\n",
      number(counters.delivered), number(counters.dead), number(counters.expired),
      number(counters.cancelled), number(counters.indeterminate), number(counters.live()));
  std::string faults;
  for (std::size_t i = 0; i < sim::kFaults; ++i) {
    if (summary.faults[i] > 0)
      faults += " " + std::string(name_of(static_cast<Fault>(i))) + " " +
                std::to_string(summary.faults[i]);
  }
  std::printf("  faults:%s\n", faults.empty() ? " none" : faults.c_str());
  if (!wanted.options.own.empty()) return print_destinations(summary);
  if (wanted.options.world != sim::WorldKind::kDrawn) return print_figures(summary);
  for (const Summary::Missed& missed : summary.rows_never_hit()) {
    std::printf("  row never hit: %s%s%s\n", missed.row.c_str(), missed.reason.empty() ? "" : " — ",
                missed.reason.c_str());
  }
}

int conclude(const Wanted& wanted, const Summary& summary) {
  const Verdict verdict = judge(wanted, summary);
  if (verdict.failures.empty()) return kExitOk;
  for (const std::string& failure : verdict.failures) std::fprintf(stderr, "%s\n", failure.c_str());
  const std::uint64_t seed =
      summary.violations.empty() ? wanted.options.seed : summary.violations.front().seed;
  std::fprintf(stderr, "to see it again: %s\n", sim::reproduction(wanted.options, seed).c_str());
  return kExitFailure;
}

int sim_command(const Parsed& parsed) {
  Wanted wanted;
  if (const std::string complaint = read(parsed, wanted); !complaint.empty())
    return usage_error("sim", complaint);
  if (!wanted.config.empty()) {
    if (const std::string complaint = load_own(wanted); !complaint.empty()) {
      complain("sim", complaint);
      return kExitUsage;
    }
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> trace(
      wanted.trace.empty() ? nullptr : std::fopen(wanted.trace.c_str(), "w"), std::fclose);
  if (!wanted.trace.empty() && trace == nullptr)
    return usage_error("sim", "cannot write to '" + wanted.trace + "'");
  wanted.options.trace = trace.get();

  const bool terminal = isatty(STDERR_FILENO) != 0;
  const auto began = std::chrono::steady_clock::now();
  Summary summary;
  SimOptions options = wanted.options;
  for (std::uint64_t i = 0; i < wanted.seeds; ++i) {
    options.seed = wanted.options.seed + i;
    prepare_last_words(options);
    if (terminal) {
      std::fprintf(stderr, "\rseed %llu (%llu of %llu), %zu violations ",
                   static_cast<unsigned long long>(options.seed),
                   static_cast<unsigned long long>(i + 1),
                   static_cast<unsigned long long>(wanted.seeds), summary.violations.size());
      std::fflush(stderr);
    }
    add(summary, simulate(options));
  }
  if (terminal) std::fputs("\r\033[K", stderr);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (wanted.json) {
    print_json(wanted, summary, seconds);
  } else {
    print_text(wanted, summary, seconds);
  }
  return conclude(wanted, summary);
}

constexpr Command kCommand = {
    "sim",
    {},
    "Runs the real engine under virtual time with a faulty store, a faulty network and modelled\n"
    "peers, and checks what clients, peers and the disk saw. The same seed gives the same world.",
    kOptions,
    false,
    sim_command};

}  // namespace

int run_sim(Arguments arguments) { return run_command("", kCommand, arguments); }

}  // namespace postrider
