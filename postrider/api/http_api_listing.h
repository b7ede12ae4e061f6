// A listing: pages of the engine, filtered, until one answer is full or enough was looked at.
#pragma once

#include <functional>
#include <string>

#include "postrider/api/http_api_impl.h"
#include "postrider/api/json_writer.h"

namespace postrider {

struct HttpApi::Impl::Listing {
  // A page may be all filtered away; after so many questions the client asks on by the cursor.
  static constexpr std::uint32_t kQuestionsMax = 20;
  static constexpr std::uint32_t kLimitDefault = 100;
  static constexpr std::uint32_t kLimitMax = 1000;

  Waiting waiting;
  std::string tenant;
  Ask ask;
  std::string_view name;  // of the array
  std::uint32_t limit = kLimitDefault;
  // Writes what passes the filter and returns how many that was, and where the next page begins.
  std::function<std::uint32_t(api::JsonWriter&, const Answer&, std::string& next)> take;

  std::uint32_t questions = 0;
  std::uint32_t count = 0;
  std::string items;
};

}  // namespace postrider
