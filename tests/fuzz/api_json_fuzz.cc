// Feeds arbitrary bytes to the readers of the API: JSON (held against Boost.JSON), messages, keys,
// times, cursors, queries. The first byte picks the reader.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "postrider/api/router.h"
#include "postrider/api/submit.h"
#include "postrider/api/texts.h"
#include "postrider/base/check.h"
#include "postrider/doors/webhook/message_words.h"
#include "postrider/json/json_reader.h"
#include "postrider/json/json_writer.h"

namespace postrider::api {
namespace {

void read_json(std::string_view text) {
  JsonDocument document;
  const JsonLimits limits{.depth_max = 32, .values_max = 10'000};
  const Result<void> ours = document.parse(text, limits);
  boost::system::error_code bad;
  const boost::json::value theirs = boost::json::parse(text, bad);
  if (!ours) {
    // It lets names twice and large texts pass; otherwise both say no.
    if (ours.error().code == ErrorCode::kInvalid) POSTRIDER_CHECK(bad.failed());
    return;
  }
  POSTRIDER_CHECK(!bad.failed());
  // Compact text is the same value, and compact already.
  std::string compact;
  document.root().append_compact(compact);
  POSTRIDER_CHECK(boost::json::parse(compact, bad) == theirs && !bad.failed());
  JsonDocument again;
  POSTRIDER_CHECK(again.parse(compact, limits).has_value());
  std::string twice;
  again.root().append_compact(twice);
  POSTRIDER_CHECK(twice == compact);
}

void read_message(std::string_view text) {
  SubmitReader reader({.body_bytes_max = 1000, .json = {.depth_max = 8, .values_max = 100}},
                      {&doors::kWebhookWords});
  SubmitDefaults defaults;
  defaults.tenant = "t";
  defaults.line = true;
  defaults.wall = Timestamp(1'800'000'000'000);
  const auto submit = reader.read(text, defaults);
  if (!submit) {
    std::string problem;
    append_problem(problem, submit.error());
    JsonDocument document;
    POSTRIDER_CHECK(document.parse(problem, {}).has_value());
    return;
  }
  POSTRIDER_CHECK(submit->body.size() <= 1000 && submit->lane < kLanes);
  POSTRIDER_CHECK(!submit->destination.empty() && submit->destination.size() <= 200);
  POSTRIDER_CHECK(decode_texts(submit->attributes).has_value());
}

void read_texts(std::string_view text) {
  if (const auto time = parse_time(text)) POSTRIDER_CHECK(*parse_time(to_text(*time)) == *time);
  if (const auto position = parse_position(text))
    POSTRIDER_CHECK(parse_position(to_text(*position)) == *position);
  if (const auto cursor = decode_cursor(text)) POSTRIDER_CHECK(encode_cursor(*cursor) == text);
  if (const auto key = parse_operation_key(text, "t"))
    POSTRIDER_CHECK(!key->key.empty() && key->key.size() <= kKeyBytesMax);
  std::string quoted;
  JsonWriter(quoted).text(text);
  JsonDocument document;
  POSTRIDER_CHECK(document.parse(quoted, {}).has_value());
  if (is_utf8(text)) POSTRIDER_CHECK(document.root().text() == text);
  accepts(text, "application/json");
}

void read_target(std::string_view text) {
  const std::size_t mark = text.find('?');
  const auto routed = find_route(route_rows(), "GET", text.substr(0, mark));
  if (routed && mark != std::string_view::npos)
    static_cast<void>(
        UrlQuery::read(text.substr(mark + 1), route_rows()[routed->route].parameters).has_value());
}

}  // namespace
}  // namespace postrider::api

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0: postrider::api::read_json(text); break;
    case 1: postrider::api::read_message(text); break;
    case 2: postrider::api::read_texts(text); break;
    default: postrider::api::read_target(text); break;
  }
  return 0;
}
