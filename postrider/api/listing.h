// A listing: pages of the engine, filtered, until one answer is full or enough was looked at. Rows
// are asked for, rendered and sent in bounded pieces.
#pragma once

#include <functional>
#include <string>

#include "postrider/api/http_api_impl.h"
#include "postrider/api/json_names.h"
#include "postrider/api/long.h"

namespace postrider {

struct HttpApi::Impl::Listing {
  static constexpr std::uint32_t kRowsAtOnce = 100;  // of one question
  // A page may be all filtered away; after so many rows for each one that was wanted the client
  // asks on by the cursor.
  static constexpr std::uint32_t kLookedAtFactor = 20;
  static constexpr std::uint32_t kLimitDefault = 100;
  static constexpr std::uint32_t kLimitMax = 1000;

  LongAnswer answer;
  std::string tenant;
  Query query;
  std::string_view name;  // of the array
  std::uint32_t limit = kLimitDefault;
  // Writes what passes the filter and returns how many that was, and where the next page begins.
  std::function<std::uint32_t(api::JsonWriter&, const Answer&, std::string& next)> take;

  std::uint32_t asked = 0;  // rows, passed or not
  std::uint32_t count = 0;
};

}  // namespace postrider
