// JobPace: how many actions a job may take by now. What it could not use is kept for a second, so
// that late turns cost nothing; a stop of the process is no credit. Whole numbers only.
#pragma once

#include <cstdint>

#include "postrider/base/time.h"

namespace postrider {

class JobPace {
 public:
  JobPace(std::uint32_t rate, Timestamp now);  // per second, at least 1

  std::uint64_t due(Timestamp now);
  void took(std::uint64_t actions);                // at most as many as were due
  Timestamp when_due(std::uint64_t wanted) const;  // so many

 private:
  std::uint64_t earned(Timestamp now) const;

  std::uint64_t rate_;
  Timestamp base_;
  std::uint64_t taken_ = 0;  // since then
};

}  // namespace postrider
