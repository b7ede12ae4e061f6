// Coverage: which rows of the tables the simulated engines used.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "postrider/core/engine.h"
#include "postrider/sim/world/field.h"
#include "postrider/sim/world/options.h"

namespace postrider::sim {

class Coverage {
 public:
  void add(const std::vector<Engine::RowUse>& uses);
  std::vector<RowUse> rows(const Field& field) const;

 private:
  std::map<std::tuple<std::string, std::size_t, std::size_t>, std::uint64_t> times_;
};

}  // namespace postrider::sim
