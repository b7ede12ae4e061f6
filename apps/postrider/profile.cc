// postrider profile ls | show: what the profiles really do.
#include <array>
#include <cstdio>
#include <optional>
#include <vector>

#include "apps/postrider/commands.h"
#include "apps/postrider/profile_live.h"
#include "postrider/base/nearest.h"
#include "postrider/core/health.h"
#include "postrider/profiles/all.h"
#include "postrider/profiles/render.h"

namespace postrider {
namespace {

constexpr std::string_view kHelp =
    "Usage: postrider profile ls [--json]\n"
    "       postrider profile show NAME [--format text|markdown|mermaid] [--method METHOD] "
    "[--json]\n"
    "       postrider profile show NAME --live [--url URL] [--token-file FILE]\n"
    "\n"
    "  ls      the profiles there are\n"
    "  show    states, transitions, retry rules with default settings, limits, settings, health\n"
    "\n"
    "  --format FORMAT   text (the default), markdown, or mermaid (a diagram of one method)\n"
    "  --method METHOD   this method only\n"
    "  --live            the states with the messages that are in them now, and where they lead\n"
    "  --url URL, --token TOKEN, --token-file FILE   with --live: as for 'postrider msg'\n"
    "  --json            for programs\n";

struct Options {
  std::vector<std::string> words;  // what is no option
  RenderFormat format = RenderFormat::kText;
  std::string method;
  bool live = false;
  Parsed asked;  // what --live takes for the daemon
};

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

// Empty when all is well, otherwise the complaint.
std::string parse(Arguments arguments, Options& options) {
  constexpr auto kFormats =
      std::to_array<std::string_view>({"text", "markdown", "mermaid", "json"});
  constexpr auto kOptions = std::to_array<std::string_view>(
      {"--format", "--method", "--json", "--help", "--live", "--url", "--token", "--token-file"});
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--json") {
      options.format = RenderFormat::kJson;
    } else if (argument == "--live") {
      options.live = true;
    } else if (argument == "--url" || argument == "--token" || argument == "--token-file") {
      if (++i == arguments.size()) return argument + " needs a value";
      options.asked.options.emplace_back(argument, arguments[i]);
    } else if (argument == "--format" || argument == "--method") {
      if (++i == arguments.size()) return argument + " needs a value";
      if (argument == "--method") {
        options.method = arguments[i];
        continue;
      }
      const std::optional<RenderFormat> format = parse_format(arguments[i]);
      if (!format) return unknown("format", arguments[i], kFormats);
      options.format = *format;
    } else if (argument.starts_with("-")) {
      return unknown("option", argument, kOptions);
    } else {
      options.words.push_back(argument);
    }
  }
  return {};
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int list(const Options& options) {
  if (options.words.size() > 1) return usage_error("profile", "ls takes no name; show does");
  print(render_profile_list(all_profiles(), options.format));
  return kExitOk;
}

int show(const Options& options) {
  if (options.words.size() != 2)
    return usage_error("profile", "show needs the name of one profile");
  std::vector<std::string_view> names;
  for (const ProfileSpec* known : all_profiles()) names.push_back(known->name);
  const ProfileSpec* profile = find_profile(options.words[1]);
  if (profile == nullptr)
    return usage_error("profile", unknown("profile", options.words[1], names));

  std::vector<std::string_view> methods;
  for (const Method& method : profile->methods) methods.push_back(method.name);
  bool found = options.method.empty();
  for (const std::string_view method : methods) found = found || method == options.method;
  if (!found) return usage_error("profile", unknown("method", options.method, methods));
  if (options.format == RenderFormat::kMermaid && options.method.empty() && methods.size() > 1) {
    return usage_error("profile", "a diagram shows one method: choose it with --method");
  }
  if (options.live) {
    Parsed asked = options.asked;
    asked.command = "profile show";
    if (options.format == RenderFormat::kJson) asked.options.emplace_back("--json", "");
    return show_live(asked, *profile, options.method, options.format);
  }

  std::vector<HealthWords> health;
  for (const HealthRow& row : health_table())
    health.push_back({name_of(row.from), name_of(row.on), name_of(row.to), row.why});
  print(render_profile({.profile = *profile, .health = health, .method = options.method},
                       options.format));
  return kExitOk;
}

}  // namespace

int run_profile(Arguments arguments) {
  if (wants_help(arguments)) {
    print(std::string(kHelp));
    return kExitOk;
  }
  Options options;
  const std::string complaint = parse(arguments, options);
  if (!complaint.empty()) return usage_error("profile", complaint);
  if (options.words.empty()) return usage_error("profile", "say ls or show");
  if (options.words[0] == "ls") return list(options);
  if (options.words[0] == "show") return show(options);
  constexpr auto kVerbWords = std::to_array<std::string_view>({"ls", "show"});
  return usage_error("profile", unknown("verb", options.words[0], kVerbWords));
}

}  // namespace postrider
