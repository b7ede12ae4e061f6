// Coverage: which rows of the tables the simulated engines used.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "postrider/core/engine.h"
#include "postrider/sim/options.h"

namespace postrider::sim {

class Coverage {
 public:
  void add(const std::vector<Engine::RowUse>& uses);
  std::vector<RowUse> rows(const std::string& profile) const;

 private:
  std::map<std::tuple<std::string, std::size_t, std::size_t>, std::uint64_t> times_;
};

// Rows that no world can reach, with the reason; empty for all others.
std::string_view unreachable_reason(const RowUse& row);

}  // namespace postrider::sim
