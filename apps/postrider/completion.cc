// postrider completion bash | zsh | fish: a script for the shell, made from the tables that parse.
#include <array>
#include <map>

#include "apps/postrider/commands.h"
#include "postrider/base/nearest.h"
#include "postrider/cli/options.h"
#include "postrider/cli/output.h"

namespace postrider {
namespace {

struct Words {
  std::string verb;  // empty: what follows the noun itself
  std::string summary;
  std::vector<OptionRow> options;
};
using Tree = std::map<std::string, std::vector<Words>, std::less<>>;  // by noun

Tree tree() {
  Tree out;
  for (const CatalogueEntry& entry : catalogue(nouns())) {
    const std::string_view name = entry.command.name;
    Words words{entry.noun.empty() ? "" : std::string(name), std::string(entry.command.summary),
                option_rows(entry.command)};
    out[entry.noun.empty() ? std::string(name) : entry.noun].push_back(std::move(words));
  }
  return out;
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

// Within single quotes of a shell.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string names_of(const std::vector<Words>& verbs) {
  std::string out;
  for (const Words& words : verbs) {
    if (!words.verb.empty()) out.append(out.empty() ? "" : " ").append(words.verb);
  }
  return out;
}

std::string flags_of(const Words& words) {
  std::string out;
  for (const OptionRow& row : words.options) out.append(out.empty() ? "" : " ").append(row.name);
  return out;
}

// Of the options behind which a value stands, for the shells that must be told not to guess.
std::string valued() {
  std::map<std::string_view, bool> names;
  for (const CatalogueEntry& entry : catalogue(nouns())) {
    for (const OptionRow& row : option_rows(entry.command)) {
      if (takes_value(row)) names[row.name] = true;
    }
  }
  std::string out;
  for (const auto& [name, valued] : names) out.append(out.empty() ? "" : "|").append(name);
  return out;
}

std::string bash() {
  std::string nouns_text;
  std::string cases;
  for (const Noun& noun : nouns())
    nouns_text.append(nouns_text.empty() ? "" : " ").append(noun.name);
  for (const auto& [noun, verbs] : tree()) {
    for (const Words& words : verbs) {
      const std::string place = words.verb.empty() ? noun : noun + " " + words.verb;
      cases += "    " + quoted(place) + ") words=" + quoted(flags_of(words)) + " ;;\n";
    }
    const std::string names = names_of(verbs);
    if (!names.empty() && !verbs.front().verb.empty())
      cases += "    " + quoted(noun) + ") words=" + quoted(names) + " ;;\n";
  }
  return "# bash completion of postrider; postrider completion bash made it\n"
         "_postrider() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=\n"
         "  local place=${COMP_WORDS[1]}\n"
         "  COMPREPLY=()\n"
         "  case $previous in\n"
         "    " +
         valued() +
         ") COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n"
         "  esac\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W " +
         quoted(nouns_text + " --help --version") +
         " -- \"$current\"))\n"
         "    return\n"
         "  fi\n"
         "  if [ \"$COMP_CWORD\" -gt 2 ]; then\n"
         "    case ${COMP_WORDS[2]} in -*) ;; *) place=\"$place ${COMP_WORDS[2]}\" ;; esac\n"
         "  fi\n"
         "  case $place in\n" +
         cases +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -F _postrider postrider\n";
}

// Text in the middle of "name[meaning]:value:" of _arguments.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : first_line(text)) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_option(const OptionRow& row) {
  std::string spec = row.repeats ? "*" : "";
  spec.append(row.name);
  if (takes_value(row)) spec += "=";
  if (!row.value.empty() && !takes_value(row)) spec += "=-";
  spec += "[" + zsh_text(row.meaning) + "]";
  if (!row.value.empty())
    spec += (takes_value(row) ? ":" : "::") + zsh_text(row.value) +
            (row.value == "FILE" || row.value == "DIR" ? ":_files" : ":");
  return quoted(spec);
}

std::string zsh_arguments(const Words& words) {
  std::string out = "_arguments";
  for (const OptionRow& row : words.options) out += " " + zsh_option(row);
  return out + " '*: :'";
}

std::string zsh() {
  std::string list;
  std::string cases;
  for (const Noun& noun : nouns())
    list += "    " + quoted(std::string(noun.name) + ":" + zsh_text(noun.summary)) + "\n";
  for (const auto& [noun, verbs] : tree()) {
    std::string verb_list;
    std::string verb_cases;
    std::string plain;
    for (const Words& words : verbs) {
      if (words.verb.empty()) {
        plain = zsh_arguments(words);
        continue;
      }
      verb_list += " " + quoted(words.verb + ":" + zsh_text(words.summary));
      verb_cases += "        " + words.verb + ") shift words; (( CURRENT-- )); " +
                    zsh_arguments(words) + " ;;\n";
    }
    cases += "    " + noun + ")\n";
    if (verb_list.empty()) {
      cases += "      " + plain + " ;;\n";
      continue;
    }
    cases +=
        "      verbs=(" + verb_list + ")\n      if (( CURRENT == 2 )); then _describe verb verbs; ";
    cases += (plain.empty() ? "return" : plain) + "; fi\n      case $words[2] in\n" + verb_cases;
    if (!plain.empty()) cases += "        *) " + plain + " ;;\n";
    cases += "      esac ;;\n";
  }
  return "#compdef postrider\n# zsh completion of postrider; postrider completion zsh made it\n"
         "_postrider() {\n  local -a nouns verbs\n  nouns=(\n" +
         list +
         "  )\n  if (( CURRENT == 2 )); then _describe command nouns; return; fi\n"
         "  shift words; (( CURRENT-- ))\n  case $words[1] in\n" +
         cases +
         "  esac\n}\n"
         "if [ \"$funcstack[1]\" = _postrider ]; then _postrider \"$@\"; else compdef _postrider "
         "postrider; fi\n";
}

std::string fish_option(std::string_view condition, const OptionRow& row) {
  std::string line = "complete -c postrider -n " + quoted(condition);
  line.append(" -l ").append(row.name.substr(2));
  if (takes_value(row)) line += " -r";
  return line + " -d " + quoted(first_line(row.meaning)) + "\n";
}

std::string fish() {
  std::string out =
      "# fish completion of postrider; postrider completion fish made it\n"
      "complete -c postrider -f\n"
      "complete -c postrider -n __fish_use_subcommand -l version -d 'the version'\n";
  for (const Noun& noun : nouns())
    out += "complete -c postrider -n __fish_use_subcommand -a " + quoted(noun.name) + " -d " +
           quoted(first_line(noun.summary)) + "\n";
  for (const auto& [noun, verbs] : tree()) {
    const std::string here = "__fish_seen_subcommand_from " + noun;
    const std::string names = names_of(verbs);
    for (const Words& words : verbs) {
      std::string condition = here;
      if (!words.verb.empty()) {
        out += "complete -c postrider -n " +
               quoted(here + "; and not __fish_seen_subcommand_from " + names) + " -a " +
               quoted(words.verb) + " -d " + quoted(first_line(words.summary)) + "\n";
        condition += "; and __fish_seen_subcommand_from " + words.verb;
      } else if (!names.empty()) {
        condition += "; and not __fish_seen_subcommand_from " + names;
      }
      for (const OptionRow& row : words.options) out += fish_option(condition, row);
    }
  }
  return out;
}

int complete(const Parsed& parsed) {
  constexpr auto kShells = std::to_array<std::string_view>({"bash", "zsh", "fish"});
  const std::string& shell = parsed.operands[0];
  if (shell == "bash") {
    print(bash());
  } else if (shell == "zsh") {
    print(zsh());
  } else if (shell == "fish") {
    print(fish());
  } else {
    return usage_error(parsed.command, "unknown shell '" + shell + "'" +
                                           did_you_mean(shell, kShells) +
                                           "; there are bash, zsh and fish");
  }
  return kExitOk;
}

constexpr Command kCommand = {
    "completion",
    {"bash|zsh|fish", 1, 1},
    "Prints a script that completes commands and options.",
    {},
    false,
    complete,
    "bash: postrider completion bash > /etc/bash_completion.d/postrider, or\n"
    "      source <(postrider completion bash)\n"
    "zsh:  postrider completion zsh > \"${fpath[1]}/_postrider\"\n"
    "fish: postrider completion fish > ~/.config/fish/completions/postrider.fish\n"};

}  // namespace

int run_completion(Arguments arguments) { return run_command("", kCommand, arguments); }

}  // namespace postrider
