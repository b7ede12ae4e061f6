// check_store: looks at a store that no daemon uses, for `postrider check DIR`. It verifies the
// checksums of all files, decodes every record, and compares what belongs together. It changes
// nothing. It needs about 16 bytes of memory for each message and each kept end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/model/answer.h"

namespace postrider {

struct CheckReport {
  static constexpr std::size_t kLinesMax = 1000;

  std::vector<std::string> damage;        // the first kLinesMax, each with its file or key
  std::uint64_t damages = 0;              // all
  std::vector<std::string> notes;         // worth knowing, and no harm
  std::map<char, std::uint64_t> records;  // by space
  std::uint64_t bytes = 0;                // of keys and values
  Counters counters;
  IdKey id_key{};         // for tests that look behind the ids; never printed
  std::uint64_t hot = 0;  // live messages
  std::uint64_t cold = 0;
  std::uint64_t quarantined = 0;  // live messages that nobody could read

  bool whole() const { return damages == 0; }
  void add_damage(std::string line);
};

// An Error when there is nothing to look at: no store, one of a newer format, or one in use.
Result<CheckReport> check_store(const std::string& directory);

}  // namespace postrider
