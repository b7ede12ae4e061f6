// Verdicts: what the checkers found, with the time at which it came to light.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "postrider/sim/world/agenda.h"

namespace postrider::sim {

class Verdicts {
 public:
  explicit Verdicts(const Agenda& agenda) : agenda_(agenda) {}

  void violation(int checker, std::string what) {
    if (list_.size() >= kMax) return;
    list_.push_back("checker " + std::to_string(checker) + " at " +
                    std::to_string(agenda_.now().ms()) + ": " + std::move(what));
  }
  std::size_t size() const { return list_.size(); }
  const std::vector<std::string>& list() const { return list_; }

 private:
  static constexpr std::size_t kMax = 100;  // one is enough; the rest is mostly its consequence

  const Agenda& agenda_;
  std::vector<std::string> list_;
};

}  // namespace postrider::sim
