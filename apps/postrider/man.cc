// postrider man: manual pages, made from the tables that parse: postrider(1), and a page for each
// of its commands, postrider-msg(1) and so on.
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "apps/postrider/commands.h"
#include "postrider/base/nearest.h"
#include "postrider/cli/options.h"
#include "postrider/cli/output.h"

namespace postrider {
namespace {

constexpr auto kOptions = std::to_array<OptionRow>({
    {"--directory", "DIR", "write all pages there, as postrider.1, postrider-msg.1 and so on"},
});

// A character beyond ASCII by its number, which every roff understands whatever its locale; `at` is
// left at its last byte. Our own texts are UTF-8.
std::string by_number(std::string_view text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  std::uint32_t code = first & (0x3FU >> more);
  for (std::size_t i = 0; i < more && at + 1 < text.size(); ++i)
    code = (code << 6) | (static_cast<unsigned char>(text[++at]) & 0x3FU);
  std::array<char, 16> out{};
  std::snprintf(out.data(), out.size(), "\\[u%04X]", static_cast<unsigned>(code));
  return out.data();
}

// What roff would take for an instruction, or for a hyphen.
std::string roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    line_begins = c == '\n';
    if (static_cast<unsigned char>(c) >= 0x80) {
      out += by_number(text, i);
    } else if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

std::string head(std::string_view page, std::string_view what) {
  return ".TH " + upper(page) + " 1 \"\" \"postrider " POSTRIDER_VERSION "\" \"User Commands\"\n" +
         ".SH NAME\n" + roff(page) + " \\- " + roff(what) + "\n";
}

std::string options_text(const Command& command) {
  std::string out;
  for (const OptionRow& row : option_rows(command)) {
    out += ".TP\n.B " + roff(option_text(row)) + "\n" + roff(row.meaning);
    out += row.repeats ? " (may be given several times)\n" : "\n";
  }
  return out;
}

// Lines as they are: commands to copy, and tables.
std::string verbatim(std::string_view text) {
  if (text.empty()) return "";
  std::string out = ".PP\n.nf\n" + roff(text);
  if (!out.ends_with('\n')) out += '\n';
  return out + ".fi\n";
}

std::string common_end() {
  return ".SH EXIT STATUS\n.TP\n.B 0\nall is well\n.TP\n.B 1\nit failed, or was refused\n.TP\n.B "
         "2\n"
         "it was asked for wrongly\n"
         ".SH ENVIRONMENT\n.TP\n.B POSTRIDER_URL\naddress of the daemon, unless \\-\\-url says it\n"
         ".TP\n.B POSTRIDER_TOKEN, POSTRIDER_TOKEN_FILE\nthe token, or a file that holds it\n"
         ".TP\n.B NO_COLOR\nwhen it is set and not empty, there is no colour\n";
}

std::string page_of(const Noun& noun, const Catalogue& all) {
  const std::string name = "postrider-" + std::string(noun.name);
  std::string synopsis;
  std::string body;
  for (const CatalogueEntry& entry : all) {
    const bool plain = entry.noun.empty() && entry.command.name == noun.name;
    if (!plain && entry.noun != noun.name) continue;
    const std::string usage = usage_line(entry.noun, entry.command);
    synopsis += (synopsis.empty() ? "" : ".br\n") + std::string(".B ") + roff(usage) + "\n";
    body += ".SS " + roff(usage) + "\n" + roff(entry.command.summary) + "\n";
    body += options_text(entry.command) + verbatim(entry.command.more);
  }
  return head(name, noun.summary) + ".SH SYNOPSIS\n" + synopsis + ".SH COMMANDS\n" + body +
         common_end() + ".SH SEE ALSO\n.BR postrider (1)\n";
}

std::string main_page() {
  std::string list;
  std::string also;
  for (const Noun& noun : nouns()) {
    list += ".TP\n.B " + roff(noun.name) + "\n" + roff(noun.summary) + "\n";
    also +=
        (also.empty() ? "" : ",\n") + std::string(".BR postrider\\-") + roff(noun.name) + " (1)";
  }
  return head("postrider", "delivers messages to destinations that are often not there") +
         ".SH SYNOPSIS\n.B postrider COMMAND \\[u2026]\n"
         ".SH DESCRIPTION\nAn application hands Postrider a message; Postrider makes it durable, "
         "gives "
         "every destination its own fair lane, retries by the rules of that protocol, and can "
         "always "
         "say where each message is, why, and what happens next.\n"
         ".SH COMMANDS\n" +
         list + common_end() + ".SH SEE ALSO\n" + also + "\n";
}

bool write_file(const std::filesystem::path& path, const std::string& text) {
  std::FILE* const file = std::fopen(path.c_str(), "we");
  if (file == nullptr) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && written;
}

int write_pages(const Parsed& parsed, const Catalogue& all) {
  const std::filesystem::path directory = parsed.text("--directory");
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  bool good = write_file(directory / "postrider.1", main_page());
  for (const Noun& noun : nouns()) {
    if (!good) break;
    good =
        write_file(directory / ("postrider-" + std::string(noun.name) + ".1"), page_of(noun, all));
  }
  if (good) return kExitOk;
  complain("man", directory.string() + ": " + std::generic_category().message(errno));
  return kExitFailure;
}

int man(const Parsed& parsed) {
  const Catalogue all = catalogue(nouns());
  if (parsed.has("--directory")) return write_pages(parsed, all);
  if (parsed.operands.empty()) {
    print(main_page());
    return kExitOk;
  }
  std::vector<std::string_view> names;
  for (const Noun& noun : nouns()) {
    names.push_back(noun.name);
    if (noun.name != parsed.operands[0]) continue;
    print(page_of(noun, all));
    return kExitOk;
  }
  return usage_error(parsed.command, "there is no command '" + parsed.operands[0] + "'" +
                                         did_you_mean(parsed.operands[0], names));
}

constexpr Command kCommand = {"man",
                              {"[COMMAND]", 0, 1},
                              "Prints a manual page.",
                              kOptions,
                              false,
                              man,
                              "postrider man msg | man -l -\n"
                              "postrider man --directory /usr/local/share/man/man1\n"};

}  // namespace

int run_man(Arguments arguments) { return run_command("", kCommand, arguments); }

}  // namespace postrider
