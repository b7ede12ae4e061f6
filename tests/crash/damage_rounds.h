// DamageRounds: damages stores that a real daemon left behind, killed or closed, and looks at what
// the daemon and its offline check make of them. No damage may be silent: it is refused by name, or
// nothing is missing, or the check tells it. It asks both programs only; so it shares no judgement
// with them. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "postrider/base/rng.h"
#include "tests/crash/damage.h"

namespace postrider::crash {

struct DamageOptions {
  std::string daemon;
  std::string directory;  // for stores and logs
  std::uint64_t seed = 1;
  std::uint32_t damages = 1000;
  std::uint32_t damages_per_store = 25;
  std::uint32_t findings_max = 20;  // then it stops
};

enum class Verdict : std::uint8_t {
  kRefused,   // the daemon does not start, says why, and names the directory
  kHarmless,  // it starts with everything, and the check finds nothing
  kTold,      // it starts, with everything or not; the check, or the daemon when it reads, tells
  kFound,     // none of these: a finding
};
inline constexpr std::size_t kVerdicts = 4;

struct DamageTotals {
  std::uint64_t damages = 0;
  std::uint64_t killed = 0;  // stores
  std::uint64_t closed = 0;
  // By kind of file.
  std::map<std::string, std::array<std::uint64_t, kVerdicts>> verdicts;
};

class DamageRounds {
 public:
  using Progress = std::function<void(const DamageTotals&)>;
  DamageRounds(DamageOptions options, Progress progress);

  // What was found; each finding names the directory that shows it.
  std::vector<std::string> run();
  const DamageTotals& totals() const { return totals_; }

 private:
  class Store;

  DamageOptions options_;
  Progress progress_;
  Rng rng_;
  DamageTotals totals_;
};

}  // namespace postrider::crash
