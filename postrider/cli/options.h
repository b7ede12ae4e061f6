// Options of the commands: one table per command, from which parsing, complaints and --help come.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/cli/commands.h"

namespace postrider {

struct OptionRow {
  std::string_view name;   // "--limit"
  std::string_view value;  // "N"; empty: a flag; "[N]": may be left out, and is given with '='
  std::string_view meaning;
  bool repeats = false;
};

struct Operands {
  std::string_view usage;  // "ID…"
  std::size_t low = 0;
  std::size_t high = 0;
};
inline constexpr std::size_t kOperandsMax = 10'000;

// What was said, checked against the table.
class Parsed {
 public:
  bool has(std::string_view name) const { return find(name) != nullptr; }
  const std::string* find(std::string_view name) const;  // the last one; null: not given
  std::string text(std::string_view name, std::string_view fallback = "") const;
  std::vector<std::string> all(std::string_view name) const;
  // Fail with a complaint.
  Result<std::uint64_t> number(std::string_view name, std::uint64_t fallback, std::uint64_t low,
                               std::uint64_t high) const;
  Result<Duration> duration(std::string_view name, Duration fallback) const;

  std::vector<std::string> operands;
  std::vector<std::pair<std::string, std::string>> options;
  std::string command;  // for complaints: "msg ls"
};

struct Command {
  std::string_view name;  // "ls", or "send"
  Operands operands;
  std::string_view summary;
  std::span<const OptionRow> options;
  bool asks_daemon;  // takes --url, --token, --token-file and --json too
  int (*run)(const Parsed& parsed);
  std::string_view more = "";  // further text for --help
};

// Parses what follows the command's name and runs it; `noun` is empty for a command of one word.
int run_command(std::string_view noun, const Command& command, Arguments arguments);
// Finds the verb and runs it.
int run_verbs(std::string_view noun, std::span<const Command> verbs, Arguments arguments);

// What there is, for completion and manual pages: the tables that parse, and no others.
struct CatalogueEntry {
  std::string noun;  // empty for a command of one word
  Command command;
};
using Catalogue = std::vector<CatalogueEntry>;
// Of everything that the nouns lead to, in their order.
Catalogue catalogue(Nouns nouns);
std::vector<OptionRow> option_rows(const Command& command);  // with those that many share
std::string usage_line(std::string_view noun, const Command& command);
bool takes_value(const OptionRow& row);         // and must have one
std::string option_text(const OptionRow& row);  // "--limit N", "--watch[=SECONDS]"

// Apart for tests.
Result<Parsed> parse_options(std::string_view noun, const Command& command, Arguments arguments);
std::string help_text(std::string_view noun, const Command& command);

// usage_error with the error's words.
int complain(const Parsed& parsed, const Error& error);

}  // namespace postrider
