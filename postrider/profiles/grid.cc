#include "postrider/profiles/grid.h"

#include <algorithm>

namespace postrider {
namespace {

// Characters, not bytes: the tables contain "·" and "±".
std::size_t width_of(std::string_view text) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
}

void append_line(std::string& out, const std::vector<std::string>& cells,
                 const std::vector<std::size_t>& widths) {
  std::string line = "  ";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line.append(cells[i]).append(widths[i] - width_of(cells[i]) + 2, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out.append(line).append("\n");
}

std::string markdown_line(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    line.push_back(' ');
    for (const char c : cell) line.append(c == '|' ? "\\|" : std::string(1, c));
    line.append(" |");
  }
  return line.append("\n");
}

}  // namespace

void drop_empty_columns(Grid& grid) {
  for (std::size_t column = grid.columns.size(); column-- > 1;) {
    const auto is_empty = [&](const std::vector<std::string>& row) { return row[column] == "-"; };
    if (!std::all_of(grid.rows.begin(), grid.rows.end(), is_empty)) continue;
    const auto at = static_cast<std::ptrdiff_t>(column);
    grid.columns.erase(grid.columns.begin() + at);
    for (std::vector<std::string>& row : grid.rows) row.erase(row.begin() + at);
  }
}

std::string to_text(const Grid& grid) {
  std::vector<std::size_t> widths;
  for (const std::string& column : grid.columns) widths.push_back(width_of(column));
  for (const std::vector<std::string>& row : grid.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string out = grid.title + "\n";
  append_line(out, grid.columns, widths);
  for (const std::vector<std::string>& row : grid.rows) append_line(out, row, widths);
  return out;
}

std::string to_markdown(const Grid& grid) {
  std::string out = markdown_line(grid.columns);
  out.append("|");
  for (std::size_t i = 0; i < grid.columns.size(); ++i) out.append("---|");
  out.append("\n");
  for (const std::vector<std::string>& row : grid.rows) out.append(markdown_line(row));
  return out;
}

std::string json_quoted(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.append(1, '\\').append(1, c);
    } else if (byte < 0x20) {
      out.append("\\u00").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
    } else {
      out.push_back(c);
    }
  }
  return out.append("\"");
}

std::string to_json(const Grid& grid) {
  std::string out = "[";
  for (const std::vector<std::string>& row : grid.rows) {
    out.append(out.size() > 1 ? ",{" : "{");
    for (std::size_t i = 0; i < row.size(); ++i) {
      out.append(i > 0 ? "," : "")
          .append(json_quoted(grid.columns[i]))
          .append(":")
          .append(json_quoted(row[i]));
    }
    out.append("}");
  }
  return out.append("]");
}

}  // namespace postrider
