// Answers of the scripted daemon that tests of several commands need.
#pragma once

#include <string>

#include "tests/cli/program.h"

namespace postrider::cli {

inline const std::string kId = "0123456789abcdef0123456789abcdef";

inline std::string waiting_message() {
  return "{\"id\":\"" + kId +
         "\",\"destination\":\"billing\",\"phase\":\"backoff\",\"state\":\"waiting\",\"place\":"
         "\"sleeping\",\"why\":\"waits for its next attempt\",\"next\":\"attempt\",\"next_at\":\"" +
         moment(300) + "\",\"accepted_at\":\"" + moment(-7200) + "\",\"since\":\"" + moment(-180) +
         "\",\"attempts\":3,\"last_failure\":\"server\",\"last_outcome\":\"HTTP 503: "
         "no\\u001b[31m\","
         "\"health\":\"wait\"}";
}

inline std::string ended_message(const std::string& phase) {
  return "{\"id\":\"" + kId + "\",\"destination\":\"billing\",\"phase\":\"" + phase +
         "\",\"state\":\"" + phase +
         "\",\"place\":\"ended\",\"why\":\"HTTP 200\",\"next\":\"nothing\",\"attempts\":1,"
         "\"health\":\"normal\"}";
}

}  // namespace postrider::cli
