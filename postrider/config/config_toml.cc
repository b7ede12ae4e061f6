#include "postrider/config/config_toml.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <tuple>
#include <utility>

// NOLINTBEGIN(readability-identifier-naming): the names are the library's.
// The library asserts what a file can break: "[[[" aborts it (3.3.0). Its assertions become
// exceptions, which read_toml catches like its other ones; the daemon must survive a reload.
namespace postrider {
struct TomlAssertion {};
}  // namespace postrider
#define TOML_ASSERT(condition)                            \
  do {                                                    \
    if (!(condition)) throw ::postrider::TomlAssertion{}; \
  } while (false)
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 16
// NOLINTEND(readability-identifier-naming)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wterminate"  // in functions that a file does not reach
#include <toml++/toml.h>
#pragma GCC diagnostic pop

namespace postrider {
namespace {

bool is_forbidden(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\r') || byte == 0x7f;
}

// Whether a place in the text is inside quotes or a comment.
class Quotes {
 public:
  explicit Quotes(std::string_view text) : text_(text) {}

  bool inside() const { return end_ != 0; }
  bool misplaced() const { return misplaced_; }  // one stood inside a word

  // Goes over the character at `at` and returns how many bytes it has taken.
  std::size_t step(std::size_t at) {
    const char c = text_[at];
    if (end_ == 0) return begin(at);
    if (end_ == '\n' || (!triple_ && c == '\n')) {
      if (c == '\n') end_ = 0;
      return 1;
    }
    if (end_ == '"' && c == '\\') return 2;
    if (c != end_) return 1;
    if (triple_ && run(at) < 3) return 1;
    const std::size_t size = triple_ ? std::min<std::size_t>(run(at), 5) : 1;
    end_ = 0;
    return size;
  }

 private:
  std::size_t begin(std::size_t at) {
    const char c = text_[at];
    if (c == '#') end_ = '\n';
    if (c != '"' && c != '\'') return 1;
    constexpr std::string_view kBefore = " \t\r\n=[{,.";
    misplaced_ = at > 0 && kBefore.find(text_[at - 1]) == std::string_view::npos;
    const std::size_t count = run(at);
    if (count == 2) return 2;  // an empty one
    end_ = c;
    triple_ = count >= 3;
    return triple_ ? 3 : 1;
  }
  std::size_t run(std::size_t at) const {
    return std::min(text_.find_first_not_of(text_[at], at), text_.size()) - at;
  }

  std::string_view text_;
  char end_ = 0;  // what ends the comment or the quotes we are in; 0: in neither
  bool triple_ = false;
  bool misplaced_ = false;
};

// What the library must not see. It frees what it has read recursively, and a dotted key nests as
// deep as its line is long; control characters, which TOML has nowhere, can abort it; and a letter
// beyond ASCII outside of quotes is undefined behaviour in its search for white space.
std::optional<TomlError> find_unreadable(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  Quotes quotes(text);
  std::uint32_t line = 1;
  std::size_t line_begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = at + quotes.step(at);
    if (quotes.misplaced()) return TomlError{line, "a quotation mark stands inside a word"};
    for (; at < next && at < text.size(); ++at) {
      const char c = text[at];
      if (at - line_begin >= kTomlLineBytesMax && c != '\n') {
        return TomlError{line,
                         "the line is longer than " + std::to_string(kTomlLineBytesMax) + " bytes"};
      }
      if (c != '\n' && is_forbidden(c)) return TomlError{line, "the line has a control character"};
      if (static_cast<unsigned char>(c) >= 0x80 && !quotes.inside())
        return TomlError{line, "a letter beyond ASCII stands outside of quotes"};
      if (c != '\n') continue;
      ++line;
      line_begin = at + 1;
    }
  }
  return std::nullopt;
}

// What the library quotes may be a piece of a secret that somebody forgot to put in quotes. Single
// characters are helpful, and so are keys, which it quotes when one is given twice; the rest is
// left out.
std::string without_values(std::string_view text) {
  std::string out;
  const bool quotes_keys = text.find("cannot redefine existing") != std::string_view::npos;
  while (!text.empty()) {
    const std::size_t open = text.find('\'');
    const std::size_t close = open == std::string_view::npos ? open : text.find('\'', open + 1);
    if (close == std::string_view::npos) return out.append(text);
    const std::string_view quoted = text.substr(open + 1, close - open - 1);
    out.append(text.substr(0, open + 1));
    out.append(quoted.size() <= 2 || quotes_keys ? quoted : "…").append("'");
    text.remove_prefix(close + 1);
  }
  return out;
}

void set_list(TomlEntry& entry, const toml::array& list) {
  entry.kind = list.empty() || list.is_homogeneous(toml::node_type::string) ? TomlKind::kTexts
               : list.is_homogeneous(toml::node_type::table)                ? TomlKind::kTables
                                                                            : TomlKind::kOther;
  if (entry.kind != TomlKind::kTexts) return;
  for (const toml::node& element : list) entry.texts.push_back(element.as_string()->get());
}

void set_value(TomlEntry& entry, const toml::node& node) {
  if (const auto* text = node.as_string()) {
    entry.kind = TomlKind::kText;
    entry.text = text->get();
  } else if (const auto* number = node.as_integer()) {
    entry.kind = TomlKind::kNumber;
    entry.number = number->get();
  } else if (const auto* flag = node.as_boolean()) {
    entry.kind = TomlKind::kFlag;
    entry.flag = flag->get();
  } else if (const toml::array* list = node.as_array()) {
    set_list(entry, *list);
  } else if (node.is_table()) {
    entry.kind = TomlKind::kTable;
  }
}

struct Waiting {
  const toml::node* node;
  std::vector<std::string> path;
  std::uint32_t line;
};

std::vector<std::string> below(const std::vector<std::string>& path, std::string name) {
  std::vector<std::string> longer = path;
  longer.push_back(std::move(name));
  return longer;
}

void push_children(std::vector<Waiting>& waiting, const TomlEntry& entry, const toml::node& node) {
  const auto line_of = [&](const toml::node& child) {
    const std::uint32_t line = child.source().begin.line;
    return line == 0 ? entry.line : line;
  };
  if (entry.kind == TomlKind::kTable) {
    for (const auto& [key, child] : *node.as_table())
      waiting.push_back({&child, below(entry.path, std::string(key.str())), line_of(child)});
  } else if (entry.kind == TomlKind::kTables) {
    std::size_t index = 0;
    for (const toml::node& child : *node.as_array())
      waiting.push_back({&child, below(entry.path, std::to_string(index++)), line_of(child)});
  }
}

void flatten(const toml::table& root, std::vector<TomlEntry>& entries) {
  std::vector<Waiting> waiting;
  TomlEntry top;
  top.kind = TomlKind::kTable;
  push_children(waiting, top, root);
  while (!waiting.empty()) {
    Waiting next = std::move(waiting.back());
    waiting.pop_back();
    TomlEntry entry;
    entry.path = std::move(next.path);
    entry.line = next.line;
    if (entry.path.size() <= kTomlDepthMax) {
      set_value(entry, *next.node);
      push_children(waiting, entry, *next.node);
    }
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](const TomlEntry& a, const TomlEntry& b) {
    return std::tie(a.line, a.path) < std::tie(b.line, b.path);
  });
}

}  // namespace

TomlDocument read_toml(std::string_view text) {
  TomlDocument document;
  if (auto unreadable = find_unreadable(text)) {
    document.errors.push_back(std::move(*unreadable));
    return document;
  }
  try {
    flatten(toml::parse(text), document.entries);
  } catch (const toml::parse_error& error) {
    document.errors.push_back({error.source().begin.line, without_values(error.description())});
  } catch (const TomlAssertion&) {
    document.errors.push_back({0, "is not TOML: look for brackets that are too many"});
  } catch (const std::exception&) {
    document.errors.push_back({0, "cannot be read as TOML"});
  }
  return document;
}

}  // namespace postrider
