// What msg, send, dest test and dlq share: a message in words.
#pragma once

#include <string>
#include <string_view>

#include "postrider/base/time.h"
#include "postrider/cli/json.h"
#include "postrider/cli/session.h"

namespace postrider {

std::string message_path(std::string_view id, std::string_view verb = "");

// The facts of a message, one per line.
std::string describe_message(const Json& message, Timestamp now);
// Where it is, why, and what comes next, in a few lines.
std::string explain_message(const Json& message, Timestamp now);

// Prints the body as it is, and nothing else.
int print_body(const Session& session, const Json& message);

// Asks until the message has ended or waits for an operator, and prints what became of it. kExitOk
// when it was delivered.
int wait_for_end(const Session& session, const std::string& id, Duration time_out);

// POSTs to each id in turn; a line for each.
int command_each(const Parsed& parsed, std::string_view method, std::string_view path,
                 std::string_view verb);

// One line of what was answered: "done", "nothing to do", "redriven as ID".
std::string answer_words(const Json& answer);

}  // namespace postrider
