// crash_rounds: kills the real daemon at random instants, and compares everybody's logs afterwards.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <unistd.h>

#include "tests/crash/conductor.h"

namespace postrider::crash {
namespace {

constexpr std::string_view kHelp =
    "Usage: crash_rounds --daemon PROGRAM [options]\n\n"
    "  --daemon PROGRAM   `postrider`, or the one with planted bugs\n"
    "  --world WORLD      webhook (the default), or device: commands to meters, through the sinks\n"
    "                     of a network server and of a vendor\n"
    "  --sinks PROGRAM    `postrider`, for its sinks (the daemon's)\n"
    "  --break WHAT       what serve --break rehearses: files (the default) or sync\n"
    "  --plant BUG        sets POSTRIDER_PLANT for the program with planted bugs\n"
    "  --expect KIND      succeed when a finding of this kind is made, fail when there is none\n"
    "  --rounds N         lives of the daemon (100)\n"
    "  --campaign N       of them on one store (25; for devices 100)\n"
    "  --seed S           what is drawn (1); text counts as its hash\n"
    "  --seconds-max N    begin no further store later than this (no limit)\n"
    "  --clients N        (4; for devices 2)\n"
    "  --accepted-max N   a round ends after at most so many accepted messages (250; for devices\n"
    "                     20)\n"
    "  --only MANNER      how lives end; may be repeated: kill-early, kill-restore, kill-load,\n"
    "                     kill-drain, stop-restore, stop-load (all)\n"
    "  --directory DIR    for stores and logs (a temporary one, removed unless something is "
    "found)\n"
    "  --json             the summary as JSON\n";

constexpr std::array<std::string_view, kManners> kMannerNames = {
    "kill-early", "kill-restore", "kill-load", "kill-drain", "stop-restore", "stop-load"};

struct Options {
  RoundsOptions rounds;
  std::string expected;
  std::string broken = "files";
  bool json = false;
};

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr, "crash_rounds: %s\n", what.c_str());
  std::exit(2);
}

std::uint64_t seed_of(const std::string& text) {
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text.c_str(), &end, 10);
  return *end == '\0' && !text.empty() ? number : std::hash<std::string>()(text);
}

Manner manner_of(const std::string& name) {
  for (std::size_t i = 0; i < kManners; ++i) {
    if (kMannerNames[i] == name) return static_cast<Manner>(i);
  }
  refuse("'" + name + "' is no manner; try --help");
}

// Commands to meters take their time, and so does the end of a campaign.
void make_device(RoundsOptions& out) {
  out.world = WorldKind::kDevice;
  out.rounds_per_campaign = 100;
  out.clients = 2;
  out.accepted_max = 20;
}

Options parse(int count, char** words) {
  Options out;
  for (int i = 1; i + 1 < count; ++i) {
    if (std::string_view(words[i]) == "--world" && std::string_view(words[i + 1]) == "device")
      make_device(out.rounds);
  }
  const auto number = [](const std::string& text) {
    return static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 10));
  };
  for (int i = 1; i < count; ++i) {
    const std::string name = words[i];
    if (name == "--help") {
      std::fputs(std::string(kHelp).c_str(), stdout);
      std::exit(0);
    }
    if (name == "--json") {
      out.json = true;
      continue;
    }
    if (i + 1 == count) refuse(name + " needs a value; try --help");
    const std::string value = words[++i];
    if (name == "--daemon")
      out.rounds.daemon = value;
    else if (name == "--sinks")
      out.rounds.sinks = value;
    else if (name == "--world" && (value == "webhook" || value == "device"))
      continue;
    else if (name == "--break")
      out.broken = value;
    else if (name == "--plant")
      out.rounds.environment.push_back("POSTRIDER_PLANT=" + value);
    else if (name == "--expect")
      out.expected = value;
    else if (name == "--rounds")
      out.rounds.rounds = number(value);
    else if (name == "--campaign")
      out.rounds.rounds_per_campaign = number(value);
    else if (name == "--seed")
      out.rounds.seed = seed_of(value);
    else if (name == "--seconds-max")
      out.rounds.seconds_max = number(value);
    else if (name == "--clients")
      out.rounds.clients = number(value);
    else if (name == "--accepted-max")
      out.rounds.accepted_max = number(value);
    else if (name == "--only")
      out.rounds.manners.push_back(manner_of(value));
    else if (name == "--directory")
      out.rounds.directory = value;
    else
      refuse("unknown option '" + name + "'; try --help");
  }
  if (out.rounds.daemon.empty()) refuse("--daemon is missing; try --help");
  if (out.rounds.sinks.empty()) out.rounds.sinks = out.rounds.daemon;
  if (out.rounds.rounds_per_campaign == 0 || out.rounds.accepted_max == 0)
    refuse("a campaign has at least one round, and a round one message");
  out.rounds.arguments = {"serve", "--break", out.broken};
  return out;
}

std::string lives_text(const RoundsTotals& totals) {
  std::string out;
  for (std::size_t i = 0; i < kManners; ++i) {
    out.append(i == 0 ? "" : ",").append("\"").append(kMannerNames[i]).append("\":");
    out.append(std::to_string(totals.lives[i]));
  }
  return out;
}

void print_json(const RoundsTotals& it, double seconds, std::size_t findings) {
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf(
      "{\"rounds\":%llu,\"campaigns\":%llu,\"seconds\":%.1f,\"lives\":{%s},\"submitted\":%llu,"
      "\"unanswered\":%llu,\"accepted\":%llu,\"delivered\":%llu,\"dead\":%llu,\"expired\":%llu,"
      "\"cancelled\":%llu,\"arrivals\":%llu,\"duplicates\":%llu,\"findings\":%llu}\n",
      number(it.rounds), number(it.campaigns), seconds, lives_text(it).c_str(),
      number(it.submitted), number(it.unanswered), number(it.counters.accepted),
      number(it.counters.delivered), number(it.counters.dead), number(it.counters.expired),
      number(it.counters.cancelled), number(it.arrivals), number(it.duplicates), number(findings));
}

void print_device(const RoundsTotals& it) {
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("%llu commands:", number(it.submitted));
  const char* comma = "";
  for (const auto& [outcome, count] : it.outcomes) {
    std::printf("%s %s %llu", comma, outcome.c_str(), number(count));
    comma = ",";
  }
  std::printf(
      "\n%llu copies of them at the far sides, run %llu times by the meters, none while another "
      "could still run; %llu joins\n%llu events came to the consumer, of them %llu repeats after a "
      "kill\nwith the events: %s\n",
      number(it.copies), number(it.runs), number(it.joins), number(it.arrivals),
      number(it.duplicates), to_text(it.counters).c_str());
}

void print_words(const RoundsTotals& it, double seconds) {
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  const auto lives = [&](Manner manner) {
    return number(it.lives[static_cast<std::size_t>(manner)]);
  };
  std::printf(
      "%llu rounds on %llu stores in %.1f s: killed %llu times before it listened, %llu while "
      "restoring, %llu under load, %llu while stopping; stopped on request %llu times while "
      "restoring, %llu under load\n",
      number(it.rounds), number(it.campaigns), seconds, lives(Manner::kKillEarly),
      lives(Manner::kKillRestore), lives(Manner::kKillLoad), lives(Manner::kKillDrain),
      lives(Manner::kStopRestore), lives(Manner::kStopLoad));
  if (!it.outcomes.empty()) return print_device(it);
  std::printf(
      "%llu submissions, %llu without an answer for ever; %llu arrivals, of them %llu "
      "repeats after a kill\n%s\n",
      number(it.submitted), number(it.unanswered), number(it.arrivals), number(it.duplicates),
      to_text(it.counters).c_str());
}

// The exit code.
int conclude(const Options& options, const Findings& findings, const std::string& command) {
  constexpr std::size_t kShownMax = 20;
  bool expected = false;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (i < kShownMax) std::printf("%s\n", findings[i].c_str());
    expected = expected || (!options.expected.empty() && findings[i].starts_with(options.expected));
  }
  if (findings.size() > kShownMax) std::printf("… and %zu more\n", findings.size() - kShownMax);
  if (!options.expected.empty()) {
    std::puts(expected ? "as it must be: it was noticed" : "this should have been noticed");
    return expected ? 0 : 1;
  }
  if (findings.empty()) return 0;
  std::printf("seed %llu; everything is kept in %s\nonce more: %s\n",
              static_cast<unsigned long long>(options.rounds.seed),
              options.rounds.directory.c_str(), command.c_str());
  return 1;
}

int run(int count, char** words) {
  Options options = parse(count, words);
  std::string command;
  for (int i = 0; i < count; ++i) command.append(i == 0 ? "" : " ").append(words[i]);
  const bool temporary = options.rounds.directory.empty();
  if (temporary) {
    std::string pattern =
        std::filesystem::temp_directory_path().string() + "/postrider-crash-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) refuse("no temporary directory can be made");
    options.rounds.directory = pattern;
  }
  const auto began = std::chrono::steady_clock::now();
  const auto seconds = [began] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  const bool shows = ::isatty(STDERR_FILENO) != 0;
  Conductor conductor(options.rounds, [&](const RoundsTotals& totals) {
    if (!shows && totals.rounds % 100 != 0) return;
    std::fprintf(stderr, "%sround %llu of %u, %.0f s%s", shows ? "\r" : "",
                 static_cast<unsigned long long>(totals.rounds), options.rounds.rounds, seconds(),
                 shows ? " " : "\n");
  });
  const Findings findings = conductor.run();
  if (shows) std::fputs("\n", stderr);
  if (options.json) {
    print_json(conductor.totals(), seconds(), findings.size());
  } else {
    print_words(conductor.totals(), seconds());
  }
  const int code = conclude(options, findings, command);
  if (temporary && code == 0) std::filesystem::remove_all(options.rounds.directory);
  return code;
}

}  // namespace
}  // namespace postrider::crash

int main(int count, char** words) { return postrider::crash::run(count, words); }
