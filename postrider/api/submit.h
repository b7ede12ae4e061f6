// Reading a message out of JSON: the hot path of the API. One JSON text, or one line of NDJSON, to
// one Submit, or to a FanOut when it names a list of destinations or goes to a group.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "postrider/api/json_names.h"
#include "postrider/api/problems.h"
#include "postrider/model/event.h"

namespace postrider::api {

// Of order_key and event_id, which stand for attributes that some profiles know.
inline constexpr std::size_t kNamedTextBytesMax = 128;

struct SubmitLimits {
  std::uint32_t body_bytes_max = 256 * 1024;
  std::uint32_t list_destinations_max = 16'000;  // of one request
  JsonLimits json;
};

// What holds for a message that does not say it itself.
struct SubmitDefaults {
  std::string_view tenant;
  std::string_view traceparent;  // of the request's head; ignored when it is none
  std::string_view tracestate;
  OperationKey key;   // kNone: none
  bool line = false;  // may have a key of its own
  Timestamp wall;     // durations count from here
};

class SubmitReader {
 public:
  explicit SubmitReader(SubmitLimits limits) : limits_(limits) {}
  Checked<Submit> read(std::string_view text, SubmitDefaults defaults);
  // To one destination, or to a list of them.
  using One = std::variant<Submit, FanOut>;
  Checked<One> read_any(std::string_view text, SubmitDefaults defaults);
  // The same for a group: it has a type, and no destination.
  Checked<FanOut> read_fanout(std::string_view text, std::string group, SubmitDefaults defaults);

 private:
  SubmitLimits limits_;
  JsonDocument document_;  // its memory is used again
};

}  // namespace postrider::api
