// A look at everything that waits, piece by piece.
#pragma once

#include <map>
#include <string>

#include "postrider/api/http_api_impl.h"

namespace postrider {

struct HttpApi::Impl::Shape {
  static constexpr std::uint32_t kLimitDefault = 20'000;  // messages looked at in one answer
  static constexpr std::uint32_t kLimitMax = 100'000;
  static constexpr std::uint64_t kRecordsAtOnce = 500;  // in one question
  static constexpr std::size_t kDestinationsMax = 5000;

  Waiting waiting;
  std::string tenant;
  Query query;
  std::uint64_t limit = kLimitDefault;
  std::uint64_t looked_at = 0;
  std::map<std::uint64_t, ShapeRow> rows;  // by destination
};

}  // namespace postrider
