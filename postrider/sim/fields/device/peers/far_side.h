// What the modelled far sides share: how a call may end, and what can be wrong with them, by name:
// one table for the options of a command, for the control endpoint of a running sink and for help.
// Every switch is a whole number.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/nearest.h"
#include "postrider/base/result.h"

namespace postrider::sim {

enum class CallEnd : std::uint8_t {
  kAnswered,
  kCut,    // the stream or the connection is broken off
  kSilent  // nothing ever comes
};

template <class Faults>
struct FaultRow {
  std::string_view name;  // "lose-events"
  std::string_view unit;  // "P" percent, "MS" milliseconds, "N" a number
  std::uint32_t max;
  std::uint32_t Faults::*value;
  std::string_view words;
};

// kInvalid names the nearest switch, or the largest value.
template <class Faults>
Result<void> set_fault(std::span<const FaultRow<Faults>> rows, Faults& faults,
                       std::string_view name, std::uint64_t value) {
  for (const FaultRow<Faults>& row : rows) {
    if (row.name != name) continue;
    if (value > row.max)
      return fail(ErrorCode::kInvalid, std::string(name) + ": at most " + std::to_string(row.max));
    faults.*row.value = static_cast<std::uint32_t>(value);
    return {};
  }
  std::vector<std::string_view> names;
  for (const FaultRow<Faults>& row : rows) names.push_back(row.name);
  return fail(ErrorCode::kInvalid,
              "'" + std::string(name) + "' is no fault" + did_you_mean(name, names));
}

}  // namespace postrider::sim
