// Grid: a table of texts on its way to a reader.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace postrider {

struct Grid {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // each as wide as the columns
};

// Takes away the columns, but for the first, in which every cell is "-".
void drop_empty_columns(Grid& grid);

std::string to_text(const Grid& grid);      // aligned columns
std::string to_markdown(const Grid& grid);  // without the title
std::string to_json(const Grid& grid);      // an array of objects, all values texts
std::string json_quoted(std::string_view text);

}  // namespace postrider
