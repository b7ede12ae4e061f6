#include "postrider/cli/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "postrider/base/durations.h"
#include "postrider/base/nearest.h"
#include "postrider/cli/output.h"
#include "postrider/cli/wording.h"

namespace postrider {
namespace {

constexpr auto kDaemonOptions = std::to_array<OptionRow>({
    {"--url", "URL", "the daemon (POSTRIDER_URL; http://127.0.0.1:8460), or unix:/path"},
    {"--token-file", "FILE", "a file with the token (POSTRIDER_TOKEN_FILE)"},
    {"--token", "TOKEN",
     "the token itself (POSTRIDER_TOKEN); others may see it in the list of processes"},
    {"--json", "", "what the daemon said, for programs"},
});
constexpr OptionRow kHelpRow = {"--help", "", "this text"};
constexpr std::size_t kIndent = 2;
constexpr std::size_t kOptionGap = 3;

// While it is set, commands are written down instead of run: so completion and manual pages come
// from the tables that parse, and no command can be forgotten.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): commands have one thread
Catalogue* open_catalogue = nullptr;

std::vector<OptionRow> rows_of(const Command& command) {
  std::vector<OptionRow> rows(command.options.begin(), command.options.end());
  if (command.asks_daemon) rows.insert(rows.end(), kDaemonOptions.begin(), kDaemonOptions.end());
  rows.push_back(kHelpRow);
  return rows;
}

std::string full_name(std::string_view noun, std::string_view verb) {
  return noun.empty() ? std::string(verb) : std::string(noun) + " " + std::string(verb);
}

tl::unexpected<Error> wrong(std::string what) { return fail(ErrorCode::kInvalid, std::move(what)); }

const OptionRow* find_row(std::span<const OptionRow> rows, std::string_view name) {
  for (const OptionRow& row : rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

Result<void> take_option(Arguments arguments, std::size_t& at, std::span<const OptionRow> rows,
                         Parsed& parsed) {
  const std::string& argument = arguments[at];
  const std::size_t equals = argument.find('=');
  const std::string name = argument.substr(0, equals);
  const OptionRow* row = find_row(rows, name == "-h" ? "--help" : name);
  if (row == nullptr) {
    std::vector<std::string_view> names;
    for (const OptionRow& known : rows) names.push_back(known.name);
    return wrong("unknown option '" + name + "'" + did_you_mean(name, names));
  }
  if (!row->repeats && parsed.has(row->name)) return wrong(name + " is given twice");
  std::string value;
  const bool may = row->value.starts_with('[');
  if (row->value.empty()) {
    if (equals != std::string::npos) return wrong(name + " takes no value");
  } else if (may && equals == std::string::npos) {
    // Without '=' what follows is something else.
  } else if (equals != std::string::npos) {
    value = argument.substr(equals + 1);
  } else {
    if (++at == arguments.size()) return wrong(name + " needs a value: " + std::string(row->value));
    value = arguments[at];
  }
  parsed.options.emplace_back(row->name, std::move(value));
  return {};
}

Result<void> check_operands(const Operands& operands, const Parsed& parsed) {
  const std::size_t count = parsed.operands.size();
  if (count < operands.low) return wrong("it needs " + std::string(operands.usage));
  if (count <= operands.high) return {};
  if (operands.high == 0) return wrong("it takes no '" + parsed.operands.front() + "'");
  return wrong("'" + parsed.operands[operands.high] + "' is too much: it takes " +
               std::string(operands.usage));
}

void print_verbs(std::string_view noun, std::span<const Command> verbs, std::FILE* out) {
  std::string text;
  for (const Command& verb : verbs) {
    text.append(text.empty() ? "Usage: " : "       ").append(usage_line(noun, verb)).append("\n");
  }
  text += '\n';
  for (const Command& verb : verbs) {
    std::string line(kIndent, ' ');
    line.append(verb.name);
    line.resize(std::max(line.size() + 1, kIndent + 12), ' ');
    text.append(line).append(verb.summary).append("\n");
  }
  text.append("\n'").append(typed(noun)).append(" VERB --help' says more.\n");
  std::fputs(text.c_str(), out);
}

}  // namespace

std::string usage_line(std::string_view noun, const Command& command) {
  std::string line = typed(full_name(noun, command.name));
  if (!command.operands.usage.empty()) line.append(" ").append(command.operands.usage);
  return line.append(" [OPTION…]");
}

bool takes_value(const OptionRow& row) { return !row.value.empty() && !row.value.starts_with('['); }

std::string option_text(const OptionRow& row) {
  std::string text(row.name);
  if (takes_value(row)) return text.append(" ").append(row.value);
  if (row.value.empty()) return text;
  return text.append("[=").append(row.value.substr(1));
}

std::vector<OptionRow> option_rows(const Command& command) { return rows_of(command); }

Catalogue catalogue(Nouns nouns) {
  Catalogue out;
  open_catalogue = &out;
  for (const Noun& noun : nouns) {
    noun.run({});
    for (std::string_view rest = noun.more; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      const std::vector<std::string> word{std::string(rest.substr(0, end))};
      noun.run(word);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  open_catalogue = nullptr;
  return out;
}

const std::string* Parsed::find(std::string_view name) const {
  for (auto option = options.rbegin(); option != options.rend(); ++option) {
    if (option->first == name) return &option->second;
  }
  return nullptr;
}

std::string Parsed::text(std::string_view name, std::string_view fallback) const {
  const std::string* value = find(name);
  return value == nullptr ? std::string(fallback) : *value;
}

std::vector<std::string> Parsed::all(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [option, value] : options) {
    if (option == name) values.push_back(value);
  }
  return values;
}

Result<std::uint64_t> Parsed::number(std::string_view name, std::uint64_t fallback,
                                     std::uint64_t low, std::uint64_t high) const {
  const std::string* given = find(name);
  if (given == nullptr) return fallback;
  std::uint64_t value = 0;
  const char* const end = given->data() + given->size();
  const auto [rest, error] = std::from_chars(given->data(), end, value);
  if (error != std::errc() || rest != end || value < low || value > high) {
    return wrong(std::string(name) + " is a whole number from " + std::to_string(low) + " to " +
                 std::to_string(high) + ", not '" + *given + "'");
  }
  return value;
}

Result<Duration> Parsed::duration(std::string_view name, Duration fallback) const {
  const std::string* given = find(name);
  if (given == nullptr) return fallback;
  Result<Duration> value = parse_duration(*given);
  if (!value) return wrong(std::string(name) + ": " + value.error().detail);
  return value;
}

Result<Parsed> parse_options(std::string_view noun, const Command& command, Arguments arguments) {
  const std::vector<OptionRow> rows = rows_of(command);
  Parsed parsed;
  parsed.command = full_name(noun, command.name);
  bool options_over = false;
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const std::string& argument = arguments[at];
    if (!options_over && argument == "--") {
      options_over = true;
    } else if (options_over || argument == "-" || !argument.starts_with("-")) {
      parsed.operands.push_back(argument);
    } else {
      const Result<void> taken = take_option(arguments, at, rows, parsed);
      if (!taken) return fail(ErrorCode::kInvalid, taken.error().detail);
    }
  }
  if (parsed.has("--help")) return parsed;
  const Result<void> good = check_operands(command.operands, parsed);
  if (!good) return fail(ErrorCode::kInvalid, good.error().detail);
  return parsed;
}

std::string help_text(std::string_view noun, const Command& command) {
  const std::vector<OptionRow> rows = rows_of(command);
  std::string text = "Usage: " + usage_line(noun, command) + "\n\n";
  text.append(command.summary).append("\n\n");
  std::size_t width = 0;
  for (const OptionRow& row : rows) width = std::max(width, option_text(row).size());
  for (const OptionRow& row : rows) {
    std::string line(kIndent, ' ');
    line.append(option_text(row));
    line.resize(kIndent + width + kOptionGap, ' ');
    text.append(line).append(row.meaning);
    if (row.repeats) text.append(" (may be given several times)");
    text += '\n';
  }
  if (!command.more.empty()) text.append("\n").append(command.more);
  return text;
}

int complain(const Parsed& parsed, const Error& error) {
  return usage_error(parsed.command, error.detail);
}

int run_command(std::string_view noun, const Command& command, Arguments arguments) {
  if (open_catalogue != nullptr) {
    open_catalogue->push_back({std::string(noun), command});
    return kExitOk;
  }
  const Result<Parsed> parsed = parse_options(noun, command, arguments);
  if (parsed ? parsed->has("--help") : wants_help(arguments)) {
    std::fputs(help_text(noun, command).c_str(), stdout);
    return kExitOk;
  }
  if (!parsed) return usage_error(full_name(noun, command.name), parsed.error().detail);
  return command.run(*parsed);
}

int run_verbs(std::string_view noun, std::span<const Command> verbs, Arguments arguments) {
  if (open_catalogue != nullptr) {
    for (const Command& verb : verbs) open_catalogue->push_back({std::string(noun), verb});
    return kExitOk;
  }
  if (!arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h")) {
    print_verbs(noun, verbs, stdout);
    return kExitOk;
  }
  std::string names;
  std::vector<std::string_view> words;
  for (const Command& verb : verbs) {
    words.push_back(verb.name);
    names.append(names.empty() ? "" : ", ").append(verb.name);
  }
  if (arguments.empty()) return usage_error(noun, "say one of " + names);
  for (const Command& verb : verbs) {
    if (verb.name == arguments[0]) return run_command(noun, verb, arguments.subspan(1));
  }
  return usage_error(noun, "unknown verb '" + arguments[0] + "'" +
                               did_you_mean_verb(arguments[0], words) + " (there are " + names +
                               ")");
}

}  // namespace postrider
