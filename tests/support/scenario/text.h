// How a scenario shows what the engine said.
#pragma once

#include <functional>
#include <string>

#include "postrider/base/time.h"
#include "postrider/model/answer.h"

namespace postrider::scenario {

// What the transcript calls things by.
struct Names {
  std::function<std::string(MessageId)> message;
  std::function<std::string(DestinationId)> destination;
  Timestamp start;  // times are shown as distance from here
};

std::string show_time(Duration since_start);  // "1:02:03.004", hours without end
std::string show_time(const Names& names, Timestamp at);
std::string show(const Names& names, const Explanation& explanation);
std::string show(const Names& names, const LogEntry& entry);
std::string show(const Names& names, const DeadLetter& letter);
std::string show(const Names& names, const DestinationView& view);
std::string show(const Stats& stats);
std::string show_code(
    const Answer& answer);  // "accepted", "done (replayed)", "not-found: there is no …"

}  // namespace postrider::scenario
