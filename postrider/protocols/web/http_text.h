// The small texts of HTTP: dates, Retry-After, header names and values, addresses, and excerpts of
// answers made safe to show.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/base/time.h"

namespace postrider {

// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 §5.6.7), the only form that may be sent. The two
// obsolete forms are not read.
std::optional<Timestamp> parse_http_date(std::string_view text);
std::string to_http_date(Timestamp time);

// "2026-11-15T23:59:07.250Z" (RFC 3339), in UTC with milliseconds.
std::string to_rfc3339(Timestamp time);
// The same with any offset and any number of places, which are cut to milliseconds. Years 1970 to
// 9999.
std::optional<Timestamp> parse_rfc3339(std::string_view text);

// Seconds, or a date seen from `wall`; a date in the past is zero. Nothing when it is neither: then
// our own rule decides.
std::optional<Duration> parse_retry_after(std::string_view text, Timestamp wall);

bool is_header_name(std::string_view text);   // a token of RFC 9110 §5.6.2
bool is_header_value(std::string_view text);  // printable, spaces only inside; no line breaks, so
                                              // nothing can be smuggled in
std::string to_lower(std::string_view text);  // ASCII only

// An absolute http or https address with a host; no user information, no fragment, no white space.
Result<void> check_http_url(std::string_view url);

// What somebody else wrote, made fit for a log line and a terminal: runs of white space and control
// characters become one space, bytes that are not UTF-8 become '?', and it ends on a whole
// character within `bytes_max`.
std::string clean_excerpt(std::string_view text, std::size_t bytes_max);
// The same, and one who reads it sees that it was cut: then it ends with "…".
std::string marked_excerpt(std::string_view text, std::size_t bytes_max);

}  // namespace postrider
