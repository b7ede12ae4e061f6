// What `send` and `group send` share: a message from options and operands.
#pragma once

#include <string>

#include "apps/postrider/options.h"
#include "postrider/base/result.h"

namespace postrider {

inline constexpr OptionRow kSendContentType = {"--content-type", "TYPE",
                                               "of the body; otherwise that of the destination"};
inline constexpr OptionRow kSendHeader = {"--header", "NAME:VALUE", "sent with the request", true};
inline constexpr OptionRow kSendLane = {
    "--lane", "N", "0 to 15 (0); messages of one lane keep their order if the destination says so"};
inline constexpr OptionRow kSendPriority = {"--priority", "N", "0 to 65535 (0); higher goes first"};
inline constexpr OptionRow kSendDelay = {"--delay", "DURATION", "no attempt before it"};
inline constexpr OptionRow kSendExpiresIn = {"--expires-in", "DURATION", "no attempt after it"};

// The members of the JSON object, without braces: body, headers, lane and the like. The body is the
// second operand, or the standard input.
Result<std::string> send_members(const Parsed& parsed);

}  // namespace postrider
