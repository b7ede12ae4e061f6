#include "postrider/api/config_toml.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/toml.h>

namespace postrider {
namespace {

// The library frees what it has read recursively, and a dotted key nests as deep as its line is
// long.
std::optional<TomlError> find_long_line(std::string_view text) {
  std::uint32_t line = 1;
  while (true) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > kTomlLineBytesMax) {
      return TomlError{line,
                       "the line is longer than " + std::to_string(kTomlLineBytesMax) + " bytes"};
    }
    if (end == text.size()) return std::nullopt;
    text.remove_prefix(end + 1);
    ++line;
  }
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
  if (auto too_long = find_long_line(text)) {
    document.errors.push_back(std::move(*too_long));
    return document;
  }
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    document.errors.push_back({error.source().begin.line, without_values(error.description())});
    return document;
  }
  flatten(parsed.table(), document.entries);
  return document;
}

}  // namespace postrider
