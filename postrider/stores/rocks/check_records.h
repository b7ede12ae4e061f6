// What the records of a store must be among each other. Independent of the engine: written from
// docs/store-format.md, so that an error in the engine's own rules is found here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/model/id_codec.h"
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

// For people: what the key stands for, with everything unprintable escaped. Messages are named as
// outside; without `ids`, because the meta record cannot be read, by their addresses in the store.
std::string describe_key(std::string_view key, const IdCodec* ids = nullptr);

}  // namespace postrider::rocks
