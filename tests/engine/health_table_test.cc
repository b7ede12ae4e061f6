// The health table in docs/spec/engine.md is written apart from the code. Changing any one cell of
// either fails here.
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/core/rules/health.h"

namespace postrider {
namespace {

using Cells =
    std::map<std::pair<std::string, std::string>, std::string>;  // (health, signal) → health

std::vector<std::string> split_row(const std::string& line) {
  std::vector<std::string> cells;
  std::string cell;
  for (const char c : line) {
    if (c == '|') {
      cells.push_back(cell);
      cell.clear();
    } else if (c != ' ') {
      cell.push_back(c);
    }
  }
  if (!cells.empty()) cells.erase(cells.begin());  // what stands before the first bar
  return cells;
}

Cells cells_of_the_document() {
  std::ifstream document(std::string(POSTRIDER_SOURCE_DIR) + "/docs/spec/engine.md");
  std::string line;
  while (std::getline(document, line) && line != "<!-- health-table -->") {
  }
  while (std::getline(document, line) && line.empty()) {
  }
  const std::vector<std::string> signals = split_row(line);
  std::getline(document, line);  // the rule below the head
  Cells cells;
  while (std::getline(document, line) && !line.empty()) {
    const std::vector<std::string> row = split_row(line);
    if (row.size() != signals.size()) {
      ADD_FAILURE() << "a row has another number of cells than the head: " << line;
      continue;
    }
    for (std::size_t i = 1; i < row.size(); ++i) cells[{row[0], signals[i]}] = row[i];
  }
  return cells;
}

Cells cells_of_the_code() {
  Cells cells;
  for (const HealthRow& row : health_table()) {
    const auto place = std::make_pair(std::string(name_of(row.from)), std::string(name_of(row.on)));
    EXPECT_FALSE(cells.contains(place)) << place.first << " × " << place.second << " has two rows";
    cells[place] = name_of(row.to);
  }
  return cells;
}

TEST(HealthTable, IsTheOneOfTheDocument) {  // req: engine.health.1
  const Cells wanted = cells_of_the_document();
  const Cells running = cells_of_the_code();
  EXPECT_EQ(wanted.size(), kHealths * kHealthSignals);
  EXPECT_EQ(running.size(), kHealths * kHealthSignals);
  for (const auto& [place, health] : wanted) {
    const auto found = running.find(place);
    ASSERT_NE(found, running.end()) << place.first << " × " << place.second << " has no row";
    EXPECT_EQ(found->second, health) << place.first << " × " << place.second;
  }
}

TEST(HealthTable, LetsEveryHealthBeLeftForEveryOther) {  // req: engine.health.1
  const Cells cells = cells_of_the_document();
  for (std::size_t from = 0; from < kHealths; ++from) {
    std::map<std::string, bool> reached{{std::string(name_of(static_cast<Health>(from))), true}};
    for (std::size_t round = 0; round < kHealths; ++round) {
      for (const auto& [place, to] : cells) {
        if (reached.contains(place.first)) reached[to] = true;
      }
    }
    EXPECT_EQ(reached.size(), kHealths) << "from " << name_of(static_cast<Health>(from));
  }
}

}  // namespace
}  // namespace postrider
