// The small texts of the API: times, idempotency keys, cursors, percent-encoding, trace contexts,
// Accept. Pure functions over outside data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/answer.h"
#include "postrider/model/event.h"

namespace postrider::api {

inline constexpr std::size_t kKeyBytesMax = 255;

// RFC 3339 with any offset; finer than milliseconds is cut off. 1970 to 9999.
Result<Timestamp> parse_time(std::string_view text);
std::string to_text(Timestamp time);  // "2026-01-02T03:04:05.678Z"

// 1 to 255 printable characters, plain or as a string of RFC 8941. A UUID of version 7 knows when
// it was made.
Result<OperationKey> parse_operation_key(std::string_view header, std::string_view scope);
OperationKey make_operation_key(std::string_view key, std::string_view scope);

// Cursors of the engine are keys of its store; outside they are opaque.
std::string encode_cursor(std::string_view cursor);
std::optional<std::string> decode_cursor(std::string_view text);

// Where a reader of the log goes on: "3.4398046511104.7".
std::string to_text(const LogPosition& position);
std::optional<LogPosition> parse_position(std::string_view text);

// "%41" to "A"; nothing when a '%' is not followed by two digits. `plus` turns '+' into a space.
std::optional<std::string> percent_decode(std::string_view text, bool plus);

// Whether an Accept header lets us answer with `type`. None at all lets everything.
bool accepts(std::string_view accept, std::string_view type);
// "application/json; charset=utf-8" is application/json.
bool is_media_type(std::string_view content_type, std::string_view type);

// Whether a text may be shown on a line: UTF-8 without control characters.
bool is_line(std::string_view text);
using postrider::is_destination_name;
inline constexpr std::string_view kDestinationNameRule =
    "a destination's name has 1 to 255 letters, digits and . _ - : @ + = ~ [ ] and begins with a "
    "letter or a digit";

}  // namespace postrider::api
