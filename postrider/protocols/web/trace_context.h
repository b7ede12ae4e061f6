// The headers of W3C Trace Context, as far as they are looked at before they are passed on.
#pragma once

#include <string_view>

namespace postrider {

bool is_traceparent(std::string_view text);  // of version 00
bool is_tracestate(std::string_view text);   // printable, of 1 to 512 bytes

}  // namespace postrider
