#include "postrider/sim/world/faults.h"

#include <string>

#include "postrider/base/check.h"

namespace postrider::sim {
namespace {

struct Row {
  std::string_view name;
  std::uint32_t rate;   // in 100,000 opportunities; 0: not by opportunity
  std::uint32_t times;  // about so often in the whole phase, by itself; 0: not by itself
};

// clang-format off
constexpr std::array<Row, kFaults> kRows = {{
    {"request-lost",       2000, 0},
    {"reply-lost",         2000, 0},
    {"duplicate-request",  2000, 0},
    {"delay",              3000, 0},
    {"clog",               0,    6},
    {"partition",          0,    6},
    {"peer-down",          0,    12},
    {"peer-flaky",         0,    8},
    {"peer-throttles",     0,    8},
    {"peer-rejects",       1500, 0},
    {"peer-gone",          0,    6},
    {"late-answer",        5000, 0},
    {"duplicate-answer",   1500, 0},
    {"silent-transport",   1500, 0},
    {"wrong-receipt",      3000, 0},
    {"late-receipt",       3000, 0},
    {"slow-commit",        1000, 0},
    {"failed-commit",      60,   0},
    {"ambiguous-commit",   60,   0},
    {"sync-failed",        20,   0},
    {"full-disk",          0,    2},
    {"slow-read",          2000, 0},
    {"reordered-read",     5000, 0},
    {"read-failed",        30,   0},
    {"bit-rot",            0,    2},
    {"torn-record",        0,    1},
    {"crash-keeps",        0,    6},
    {"crash-loses",        0,    6},
    {"reboot",             0,    2},
    {"two-owners",         0,    3},
    {"wall-forward",       0,    2},
    {"wall-back",          0,    2},
    {"wall-there-and-back",0,    3},
    {"wall-drift",         0,    2},
    {"tight-limits",       0,    0},
    {"boot-ahead",         0,    1},
    {"long-stop",          0,    1},
}};
// clang-format on

}  // namespace

std::string_view name_of(Fault fault) {
  const auto index = static_cast<std::size_t>(fault);
  POSTRIDER_CHECK(index < kRows.size());
  return kRows[index].name;
}

Result<FaultSet> parse_faults(std::string_view text) {
  FaultSet set;
  if (text == "none") return set;
  if (text == "all") return set.set();
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view name = text.substr(0, comma);
    bool known = false;
    for (std::size_t i = 0; i < kFaults; ++i) {
      if (kRows[i].name != name) continue;
      set.set(i);
      known = true;
    }
    if (!known)
      return fail(ErrorCode::kInvalid, "there is no fault named '" + std::string(name) + "'");
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return set;
}

Faults::Faults(const Options& options, Rng rng)
    : options_(options), rng_(rng), boots_(Rng(rng).fork(6)) {
  // One world in three has them, unless they were asked for.
  if (options_.enabled.all() && !boots_.chance(1, 3)) {
    options_.enabled.reset(index(Fault::kBootAhead));
    options_.enabled.reset(index(Fault::kLongStop));
  }
  constexpr std::array<std::uint32_t, 4> kPercents = {10, 100, 100, 400};
  for (std::size_t i = 0; i < kFaults; ++i) {
    Rng& own = rng_of(i);
    rate_[i] = kRows[i].rate * kPercents[own.below(kPercents.size())] / 100;
    const auto span = static_cast<std::uint64_t>(options.span.count());
    overdue_[i] =
        options.start + Duration(static_cast<std::int64_t>(span / 4 + own.below(span / 2 + 1)));
  }
}

bool Faults::strikes(Fault fault, Timestamp now) {
  if (!enabled(fault)) return false;
  const std::size_t i = index(fault);
  const bool overdue = struck_[i] == 0 && now >= overdue_[i];
  if (!overdue && !rng_.chance(rate_[i], 100'000)) return false;
  ++struck_[i];
  return true;
}

std::optional<Duration> Faults::next_wait(Fault fault, Timestamp now) {
  const std::size_t i = index(fault);
  if (!enabled(fault) || kRows[i].times == 0) return std::nullopt;
  const auto span = static_cast<std::uint64_t>(options_.span.count());
  Duration wait(static_cast<std::int64_t>(rng_of(i).below(2 * span / kRows[i].times + 1)));
  if (struck_[i] == 0 && now + wait > overdue_[i])
    wait = std::max(Duration(60'000), overdue_[i] - now);
  return wait;
}

}  // namespace postrider::sim
