// postrider profile ls | show: what the profiles really do.
#include <array>
#include <optional>
#include <vector>

#include "apps/postrider/commands.h"
#include "apps/postrider/profile_live.h"
#include "postrider/base/nearest.h"
#include "postrider/cli/output.h"
#include "postrider/cli/session.h"
#include "postrider/core/rules/health.h"
#include "postrider/profiles/all.h"
#include "postrider/profiles/render.h"

namespace postrider {
namespace {

constexpr auto kListOptions = std::to_array<OptionRow>({{"--json", "", "for programs"}});
constexpr auto kShowOptions = std::to_array<OptionRow>({
    {"--format", "FORMAT",
     "text (the default), markdown, mermaid (a diagram of one method) or json"},
    {"--method", "METHOD", "this method only"},
    {"--live", "", "the states with the messages that are in them now, and where they lead"},
    kWatchRow,
});

std::optional<RenderFormat> parse_format(std::string_view text) {
  if (text == "text") return RenderFormat::kText;
  if (text == "markdown") return RenderFormat::kMarkdown;
  if (text == "mermaid") return RenderFormat::kMermaid;
  if (text == "json") return RenderFormat::kJson;
  return std::nullopt;
}

std::string unknown(std::string_view kind, std::string_view word,
                    std::span<const std::string_view> known) {
  return "unknown " + std::string(kind) + " '" + std::string(word) + "'" +
         did_you_mean(word, known);
}

Result<RenderFormat> read_format(const Parsed& parsed) {
  constexpr auto kFormats =
      std::to_array<std::string_view>({"text", "markdown", "mermaid", "json"});
  if (parsed.has("--json")) return RenderFormat::kJson;
  const std::string given = parsed.text("--format", "text");
  const std::optional<RenderFormat> format = parse_format(given);
  if (!format) return fail(ErrorCode::kInvalid, unknown("format", given, kFormats));
  return *format;
}

int list(const Parsed& parsed) {
  const bool json = parsed.has("--json");
  print(render_profile_list(all_profiles(), json ? RenderFormat::kJson : RenderFormat::kText));
  return kExitOk;
}

int show(const Parsed& parsed) {
  const Result<RenderFormat> format = read_format(parsed);
  if (!format) return complain(parsed, format.error());
  const std::string& name = parsed.operands[0];
  std::vector<std::string_view> names;
  for (const ProfileSpec* known : all_profiles()) names.push_back(known->name);
  const ProfileSpec* profile = find_profile(name);
  if (profile == nullptr) return usage_error(parsed.command, unknown("profile", name, names));

  const std::string method = parsed.text("--method");
  std::vector<std::string_view> methods;
  for (const Method& one : profile->methods) methods.push_back(one.name);
  bool found = method.empty();
  for (const std::string_view one : methods) found = found || one == method;
  if (!found) return usage_error(parsed.command, unknown("method", method, methods));
  if (*format == RenderFormat::kMermaid && method.empty() && methods.size() > 1)
    return usage_error(parsed.command, "a diagram shows one method: choose it with --method");
  if (parsed.has("--live")) return show_live(parsed, *profile, method, *format);
  if (parsed.has("--watch"))
    return usage_error(parsed.command, "--watch goes with --live: the tables do not change");

  std::vector<HealthWords> health;
  for (const HealthRow& row : health_table())
    health.push_back({name_of(row.from), name_of(row.on), name_of(row.to), row.why});
  print(render_profile({.profile = *profile, .health = health, .method = method}, *format));
  return kExitOk;
}

// clang-format off
constexpr auto kVerbTable = std::to_array<Command>({
    {"ls", {}, "Lists the profiles there are.", kListOptions, false, list},
    {"show", {"NAME", 1, 1}, "Shows states, transitions, retry rules with default settings, limits, settings and health.", kShowOptions, true, show,
     "Without --live no daemon is asked, and --url, --token and --token-file mean nothing.\n"},
});
// clang-format on

}  // namespace

int run_profile(Arguments arguments) { return run_verbs("profile", kVerbTable, arguments); }

}  // namespace postrider
