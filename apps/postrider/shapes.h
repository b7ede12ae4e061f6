// What shape, top and profile show --live share: the daemon's count of the messages that live.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "postrider/cli/json.h"
#include "postrider/cli/session.h"

namespace postrider {

// One part of the count; `cursor` says where the next begins, and is empty behind the last one.
// Nothing: a complaint is printed.
std::optional<Json> ask_shape(const Session& session, const std::string& destination,
                              std::string& cursor);
// Calls `each` with every row of every part; the same destination may come several times. False: a
// complaint is printed.
using ShapeEach = std::function<void(const Json& row)>;
bool walk_shape(const Session& session, const std::string& destination, const ShapeEach& each);

// Rows of one destination, added up.
struct ShapeSum {
  std::string name;
  std::vector<std::uint64_t> counts;
  std::uint64_t total = 0;
  std::string oldest_at;  // texts of one form, so that they can be compared
  std::string next_at;

  void add(const Json& row);
};
using Shapes = std::map<std::string, ShapeSum>;  // by destination_id
void add_to(Shapes& shapes, const Json& row);

std::uint64_t number_of(const Json& object, std::string_view name);

}  // namespace postrider
