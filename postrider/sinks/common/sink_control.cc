#include "postrider/sinks/common/sink_control.h"

#include <algorithm>

#include "postrider/json/json_writer.h"

namespace postrider {

SinkTarget split_target(std::string_view target) {
  const std::size_t mark = target.find('?');
  if (mark == std::string_view::npos) return {target, ""};
  return {target.substr(0, mark), target.substr(mark + 1)};
}

std::string_view query_word(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (pair.substr(0, equals) == name) return pair.substr(std::min(equals + 1, pair.size()));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return {};
}

SinkControlAnswer control_error(int status, std::string_view what) {
  SinkControlAnswer answer;
  answer.status = status;
  json::JsonWriter(answer.body).open_object().field("error", what).close_object();
  return answer;
}

}  // namespace postrider
