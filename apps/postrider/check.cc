// postrider check: looks for damage in a store that no daemon uses.
#include "postrider/stores/rocks/check.h"

#include <array>
#include <cstdio>

#include "apps/postrider/commands.h"
#include "postrider/cli/json.h"
#include "postrider/cli/options.h"
#include "postrider/cli/output.h"

namespace postrider {
namespace {

constexpr auto kOptions = std::to_array<OptionRow>({{"--json", "", "for programs"}});
constexpr std::size_t kLineBytesMax = 1000;

std::string json_list(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines)
    out.append(out.empty() ? "" : ",").append(json_text(shown(line, kLineBytesMax)));
  return "[" + out + "]";
}

void print_json(const CheckReport& report) {
  const Counters& it = report.counters;
  const auto count = [](std::string_view name, std::uint64_t value) {
    return ",\"" + std::string(name) + "\":" + std::to_string(value);
  };
  std::string out = std::string("{\"whole\":") + (report.whole() ? "true" : "false");
  out += count("damages", report.damages) + ",\"damage\":" + json_list(report.damage);
  out += ",\"notes\":" + json_list(report.notes);
  out += count("accepted", it.accepted) + count("delivered", it.delivered) + count("dead", it.dead);
  out += count("expired", it.expired) + count("cancelled", it.cancelled);
  out += count("indeterminate", it.indeterminate) + count("live", it.live());
  out += count("hot", report.hot) + count("cold", report.cold);
  out += count("quarantined", report.quarantined) + count("bytes", report.bytes);
  print(out + "}\n");
}

void print_report(const CheckReport& report) {
  for (const std::string& line : report.damage)
    print(coloured("damage", Colour::kBad) + "  " + shown(line, kLineBytesMax) + "\n");
  if (report.damages > report.damage.size())
    print("and " + std::to_string(report.damages - report.damage.size()) + " more\n");
  for (const std::string& line : report.notes)
    print("note    " + shown(line, kLineBytesMax) + "\n");
  const Counters& it = report.counters;
  const auto text = [](std::uint64_t value) { return std::to_string(value); };
  print("accepted " + text(it.accepted) + " = delivered " + text(it.delivered) + " + dead " +
        text(it.dead) + " + expired " + text(it.expired) + " + cancelled " + text(it.cancelled) +
        " + indeterminate " + text(it.indeterminate) + " + live " + text(it.live()) + "\n");
  print(report.whole() ? "whole\n" : text(report.damages) + " damaged\n");
}

int check(const Parsed& parsed) {
  const Result<CheckReport> report = check_store(parsed.operands[0]);
  if (!report) {
    complain("check", report.error().detail);
    return kExitFailure;
  }
  if (parsed.has("--json")) {
    print_json(*report);
  } else {
    print_report(*report);
  }
  return report->whole() ? kExitOk : kExitFailure;
}

constexpr Command kCommand = {
    "check",
    {"DIRECTORY", 1, 1},
    "Verifies the checksums and decodes every record of a store, and changes nothing.",
    kOptions,
    false,
    check,
    "It exits with 1 when something is damaged. Stop the daemon first.\n"};

}  // namespace

int run_check(Arguments arguments) { return run_command("", kCommand, arguments); }

}  // namespace postrider
