// Reading a message out of JSON: the hot path of the API. One JSON text, or one line of NDJSON, to
// one Submit, or to a FanOut when it names a list of destinations or goes to a group.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "postrider/api/json_fields.h"
#include "postrider/api/json_names.h"
#include "postrider/api/message_words.h"
#include "postrider/api/problems.h"
#include "postrider/model/event.h"

namespace postrider::api {

struct SubmitLimits {
  std::uint32_t body_bytes_max = 256 * 1024;
  std::uint32_t list_destinations_max = 16'000;  // of one request
  JsonLimits json;
};

// What holds for a message that does not say it itself.
struct SubmitDefaults {
  std::string_view tenant;
  const NamedTexts* head = nullptr;  // of the request, as the words of the doors name it
  OperationKey key;                  // kNone: none
  bool line = false;                 // may have a key of its own
  Timestamp wall;                    // durations count from here
};

// What a message may look like.
struct SubmitForm {
  SubmitLimits limits;
  AllWords words;
  std::vector<MessageField> fields;  // of all words
};

class SubmitReader {
 public:
  explicit SubmitReader(SubmitLimits limits, AllWords words = {});
  Checked<Submit> read(std::string_view text, SubmitDefaults defaults);
  // To one destination, or to a list of them.
  using One = std::variant<Submit, FanOut>;
  Checked<One> read_any(std::string_view text, SubmitDefaults defaults);
  // The same for a group: it has a type, and no destination.
  Checked<FanOut> read_fanout(std::string_view text, std::string group, SubmitDefaults defaults);

 private:
  SubmitForm form_;
  std::vector<std::string_view> names_;  // of all fields, the API's own first
  std::vector<MaybeValue> found_;        // by name; its memory is used again, as is the document's
  JsonDocument document_;
};

}  // namespace postrider::api
