// What `send` and `group send` share: a message from options and operands.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/cli/json.h"
#include "postrider/cli/options.h"
#include "postrider/cli/session.h"

namespace postrider {

inline constexpr OptionRow kSendContentType = {"--content-type", "TYPE",
                                               "of the body; otherwise that of the destination"};
inline constexpr OptionRow kSendHeader = {"--header", "NAME:VALUE", "sent with the request", true};
inline constexpr OptionRow kSendLane = {
    "--lane", "N", "0 to 15 (0); messages of one lane keep their order if the destination says so"};
inline constexpr OptionRow kSendPriority = {"--priority", "N", "0 to 65535 (0); higher goes first"};
inline constexpr OptionRow kSendOrderKey = {"--order-key", "KEY",
                                            "messages of one lane and key go one after the other"};
inline constexpr OptionRow kSendEventId = {
    "--event-id", "ID", "for the destination's id_header, instead of the message's id"};
inline constexpr OptionRow kSendDelay = {"--delay", "DURATION", "no attempt before it"};
inline constexpr OptionRow kSendExpiresIn = {"--expires-in", "DURATION", "no attempt after it"};

// Hands over a message made of options and operands: body (an operand, or the standard
// input), headers, lane and the like. Complains itself; what was accepted goes to `then`, whose
// code is that of the command.
struct Handover {
  std::string path;
  std::string members;   // of the JSON object, beside those: "destination":"shop"
  std::size_t body = 1;  // the operand with the body
  bool prints = true;    // with --json the answer is printed as it came
};
// What became of a message to many: its id, a line for each of them, and whom it left out.
void print_fanout(const Json& accepted);
int hand_over(const Parsed& parsed, const Handover& what,
              const std::function<int(const Session&, const Json&)>& then);

}  // namespace postrider
