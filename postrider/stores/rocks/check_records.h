// What the records of a store must be among each other. Independent of the engine: written from
// docs/store-format.md, so that an error in the engine's own rules is found here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/stores/rocks/check.h"

namespace postrider::rocks {

struct RecordSource {
  std::function<std::optional<std::string>(std::string_view key)> get;
  // In order of keys; false: not all could be read (which is told elsewhere).
  std::function<bool(std::string_view first, std::string_view last,
                     const std::function<void(std::string_view key, std::string_view value)>&)>
      for_each;
  std::uint64_t epochs_given = 0;
};

void check_records(const RecordSource& source, CheckReport& report);

}  // namespace postrider::rocks
