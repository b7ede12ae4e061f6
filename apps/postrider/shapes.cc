#include "apps/postrider/shapes.h"

#include <algorithm>
#include <cstdlib>

namespace postrider {
namespace {

void keep_earlier(std::string& one, const std::string& other) {
  if (!other.empty() && (one.empty() || other < one)) one = other;
}

}  // namespace

std::uint64_t number_of(const Json& object, std::string_view name) {
  return std::strtoull(object.at(name).c_str(), nullptr, 10);
}

std::optional<Json> ask_shape(const Session& session, const std::string& destination,
                              std::string& cursor) {
  ClientRequest request;
  request.path = "/v1/shape";
  if (!destination.empty()) request.path += "?destination=" + percent_encode(destination);
  if (!cursor.empty())
    request.path += (destination.empty() ? "?cursor=" : "&cursor=") + percent_encode(cursor);
  std::optional<Json> part = session.ask(request, false);
  if (part) cursor = part->at("next");
  return part;
}

bool walk_shape(const Session& session, const std::string& destination, const ShapeEach& each) {
  std::string cursor;
  do {
    const std::optional<Json> part = ask_shape(session, destination, cursor);
    if (!part) return false;
    for (const Json& row : part->list("destinations")) each(row);
  } while (!cursor.empty());
  return true;
}

void ShapeSum::add(const Json& row) {
  if (name.empty()) name = row.at("name").empty() ? row.at("destination_id") : row.at("name");
  const std::vector<Json>& more = row.list("counts");
  counts.resize(std::max(counts.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i)
    counts[i] += std::strtoull(more[i].text.c_str(), nullptr, 10);
  total += number_of(row, "total");
  keep_earlier(oldest_at, row.at("oldest_at"));
  keep_earlier(next_at, row.at("next_at"));
}

void add_to(Shapes& shapes, const Json& row) { shapes[row.at("destination_id")].add(row); }

}  // namespace postrider
