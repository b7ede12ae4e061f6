// What the control endpoints of all far sides have in common: how a request is taken apart and how
// an answer is written. Each far side adds the paths that only it has.
#pragma once

#include <string>
#include <string_view>

namespace postrider {

struct SinkTarget {
  std::string_view path;
  std::string_view query;  // behind the question mark
};
SinkTarget split_target(std::string_view target);
// A word of the query; words with anything to decode are not for us.
std::string_view query_word(std::string_view query, std::string_view name);

struct SinkControlAnswer {
  int status = 200;
  std::string body;  // JSON
};
SinkControlAnswer control_error(int status, std::string_view what);

}  // namespace postrider
