// damage_rounds: damages stores of the real daemon, and shows that none of it is silent.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <unistd.h>

#include <stdlib.h>

#include "tests/crash/damage_rounds.h"

namespace postrider::crash {
namespace {

constexpr std::string_view kHelp =
    "Usage: damage_rounds --daemon PROGRAM [options]\n\n"
    "  --daemon PROGRAM   `postrider`\n"
    "  --damages N        in all (1000)\n"
    "  --per-store N      of them on copies of one store (25)\n"
    "  --seed S           what is drawn (1)\n"
    "  --findings-max N   stop after so many findings (20)\n"
    "  --expect KIND      succeed when a finding of this kind is made, fail when there is none\n"
    "  --directory DIR    for stores (a temporary one, removed unless something is found)\n";

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr, "damage_rounds: %s\n", what.c_str());
  std::exit(2);
}

struct Options {
  DamageOptions rounds;
  std::string expected;
};

Options parse(int count, char** words) {
  Options out;
  const auto number = [](const std::string& text) {
    return std::strtoull(text.c_str(), nullptr, 10);
  };
  for (int i = 1; i < count; ++i) {
    const std::string name = words[i];
    if (name == "--help") {
      std::fputs(std::string(kHelp).c_str(), stdout);
      std::exit(0);
    }
    if (i + 1 == count) refuse(name + " needs a value; try --help");
    const std::string value = words[++i];
    if (name == "--daemon")
      out.rounds.daemon = value;
    else if (name == "--damages")
      out.rounds.damages = static_cast<std::uint32_t>(number(value));
    else if (name == "--per-store")
      out.rounds.damages_per_store = static_cast<std::uint32_t>(number(value));
    else if (name == "--seed")
      out.rounds.seed = number(value);
    else if (name == "--findings-max")
      out.rounds.findings_max = static_cast<std::uint32_t>(number(value));
    else if (name == "--expect")
      out.expected = value;
    else if (name == "--directory")
      out.rounds.directory = value;
    else
      refuse("unknown option '" + name + "'; try --help");
  }
  if (out.rounds.daemon.empty()) refuse("--daemon is missing; try --help");
  if (out.rounds.damages_per_store == 0) refuse("--per-store is at least 1");
  return out;
}

void print_totals(const DamageTotals& it, double seconds) {
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("%llu damages of %llu killed and %llu closed stores in %.0f s\n", number(it.damages),
              number(it.killed), number(it.closed), seconds);
  std::printf("%-16s %8s %9s %6s %8s\n", "file", "refused", "harmless", "told", "findings");
  std::array<std::uint64_t, kVerdicts> sum{};
  const auto row = [&](const std::string& name, const std::array<std::uint64_t, kVerdicts>& of) {
    std::printf("%-16s %8llu %9llu %6llu %8llu\n", name.c_str(), number(of[0]), number(of[1]),
                number(of[2]), number(of[3]));
  };
  for (const auto& [kind, of] : it.verdicts) {
    row(kind, of);
    for (std::size_t i = 0; i < kVerdicts; ++i) sum[i] += of[i];
  }
  row("all", sum);
}

int run(int count, char** words) {
  Options options = parse(count, words);
  const bool temporary = options.rounds.directory.empty();
  if (temporary) {
    // In memory where the system has a place for that: every start of a daemon syncs.
    const std::string place = std::filesystem::exists("/dev/shm")
                                  ? "/dev/shm"
                                  : std::filesystem::temp_directory_path().string();
    options.rounds.directory = place + "/postrider-damage-XXXXXX";
    if (::mkdtemp(options.rounds.directory.data()) == nullptr)
      refuse("no temporary directory can be made");
  }
  const auto began = std::chrono::steady_clock::now();
  const auto seconds = [began] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  DamageRounds rounds(options.rounds, [&](const DamageTotals& totals) {
    if (totals.damages % 100 == 0)
      std::fprintf(stderr, "damage %llu of %u, %.0f s\n",
                   static_cast<unsigned long long>(totals.damages), options.rounds.damages,
                   seconds());
  });
  const std::vector<std::string> findings = rounds.run();
  print_totals(rounds.totals(), seconds());
  bool expected = false;
  for (const std::string& finding : findings) {
    std::printf("%s\n", finding.c_str());
    expected = expected || (!options.expected.empty() && finding.starts_with(options.expected));
  }
  if (!options.expected.empty())
    std::puts(expected ? "as it must be: it was noticed" : "this should have been noticed");
  const bool good = options.expected.empty() ? findings.empty() : expected;
  if (temporary && good) std::filesystem::remove_all(options.rounds.directory);
  if (!good)
    std::printf("seed %llu; everything is kept in %s\n",
                static_cast<unsigned long long>(options.rounds.seed),
                options.rounds.directory.c_str());
  return good ? 0 : 1;
}

}  // namespace
}  // namespace postrider::crash

int main(int count, char** words) { return postrider::crash::run(count, words); }
