// Records in a map, as the check of a store reads them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/stores/rocks/check_records.h"

namespace postrider::rocks {

using Records = std::map<std::string, std::string, std::less<>>;

// The records must outlive it.
inline RecordSource source_of(const Records& records, std::uint64_t epochs_given) {
  RecordSource source;
  source.get = [&records](std::string_view key) -> std::optional<std::string> {
    const auto found = records.find(key);
    if (found == records.end()) return std::nullopt;
    return found->second;
  };
  source.for_each = [&records](std::string_view first, std::string_view last, const auto& visit) {
    for (auto at = records.lower_bound(first); at != records.end(); ++at) {
      if (!last.empty() && last.compare(at->first) <= 0) break;
      visit(at->first, at->second);
    }
    return true;
  };
  source.epochs_given = epochs_given;
  return source;
}

}  // namespace postrider::rocks
