// Canonical JSON of the Matrix specification: one text for each value, so that two servers sign and
// hash the same bytes. Names are sorted by code point, there are no blanks, and only quotes,
// backslashes and control characters are escaped. Pure; any thread.
//
// Rooms of versions 1 to 5 have events with floats and large integers. They are carried as they
// came, and where their bytes must be hashed their numbers stay as they were written: the
// implementation that signed them wrote them in that form too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/json/json_reader.h"

namespace postrider::matrix {

using json::JsonDocument;
using json::JsonKind;
using json::JsonLimits;
using json::JsonValue;

inline constexpr std::uint32_t kDepthMax = 100;  // of objects and arrays in each other
// Of one event, unit or object. Memory for reading is bounded by this: 20 bytes for each value.
inline constexpr JsonLimits kItemLimits{.depth_max = kDepthMax, .values_max = 100'000};
inline constexpr std::int64_t kIntegerMax = (std::int64_t{1} << 53) - 1;

enum class Numbers : std::uint8_t {
  kIntegers,   // only integers of ±(2^53 − 1), and no −0: what is built or verified
  kAsWritten,  // any number of JSON: events of old room versions
};

// kInvalid for a number that the rule refuses. `out` then has a part of the value.
Result<void> append_canonical(std::string& out, JsonValue value, Numbers numbers);
// Reads and writes; also kInvalid, kLimit and kConflict of the reader.
Result<std::string> canonical_of(std::string_view text, Numbers numbers,
                                 const JsonLimits& limits = kItemLimits);
// Whether `text` is already the canonical form of its value.
bool is_canonical(std::string_view text, Numbers numbers);

// Appends `text`, which is UTF-8, in quotes.
void append_quoted(std::string& out, std::string_view text);

// An object that is written member by member; the values are canonical already.
struct CanonicalMember {
  std::string name;
  std::string value;
};
void append_object(std::string& out, std::vector<CanonicalMember> members);

}  // namespace postrider::matrix
