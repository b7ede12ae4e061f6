// The body of a request that carries several messages: a JSON array with one object for each, plain
// or in the JSON batch format of CloudEvents 1.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/json/json_reader.h"
#include "postrider/json/json_writer.h"

namespace postrider {

enum class BatchFormat : std::uint8_t { kArray, kCloudEvents };

// One message of a batch; views, which are read while it is appended.
struct BatchMember {
  std::string_view id;
  Timestamp at;  // when it was accepted
  std::string_view content_type;
  std::string_view body;
  // What the message says about itself beside its type, in lower case and no name twice. In
  // CloudEvents these are attributes of the event, and win over what is given here.
  std::vector<std::pair<std::string_view, std::string_view>> attributes = {};
  std::string_view source = {};  // of an event that names none
  std::string_view type = {};
};

// application/json, or a type with the suffix +json; its parameters do not matter.
bool is_json_type(std::string_view content_type);

// A body that is no JSON, though its type may say so, goes as base64, so every body arrives byte
// for byte.
class EventBatch {
 public:
  explicit EventBatch(BatchFormat format) : format_(format) {}

  // False, and nothing has changed: with it the body would have more than `bytes_max`. The first
  // member always fits.
  bool append(const BatchMember& member, std::size_t bytes_max);
  std::string finish();  // the whole body; the batch is empty then
  std::size_t members() const { return members_; }

 private:
  void append_plain(const BatchMember& member, json::JsonWriter& out);
  void append_event(const BatchMember& member, json::JsonWriter& out);
  void append_data(const BatchMember& member, json::JsonWriter& out);

  BatchFormat format_;
  std::string text_ = "[";
  std::size_t members_ = 0;
  json::JsonDocument document_;
};

std::string_view content_type_of(BatchFormat format);

}  // namespace postrider
