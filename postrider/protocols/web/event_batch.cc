#include "postrider/protocols/web/event_batch.h"

#include <algorithm>
#include <array>
#include <span>

#include "postrider/protocols/web/base64.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider {
namespace {

constexpr std::string_view kJson = "application/json";
// The array and the object of the member are around it.
constexpr json::JsonLimits kBodyLimits{
    .depth_max = 100, .values_max = 1'000'000, .names_twice = true};

// Attributes of every event, in the order in which they are written.
constexpr auto kEventWords = std::to_array<std::string_view>(
    {"specversion", "id", "source", "type", "time", "datacontenttype"});

bool is_event_word(std::string_view name) {
  return std::find(kEventWords.begin(), kEventWords.end(), name) != kEventWords.end();
}

// An event has these two once, and they are its body.
bool is_data(std::string_view name) { return name == "data" || name == "data_base64"; }

}  // namespace

bool is_json_type(std::string_view content_type) {
  std::string type = to_lower(content_type.substr(0, content_type.find(';')));
  while (type.ends_with(' ')) type.pop_back();
  return type == kJson || type.ends_with("+json");
}

std::string_view content_type_of(BatchFormat format) {
  switch (format) {
    case BatchFormat::kArray: return kJson;
    case BatchFormat::kCloudEvents: break;
  }
  return "application/cloudevents-batch+json";
}

bool EventBatch::append(const BatchMember& member, std::size_t bytes_max) {
  const std::size_t before = text_.size();
  if (members_ > 0) text_.push_back(',');
  json::JsonWriter out(text_);
  out.open_object();
  if (format_ == BatchFormat::kCloudEvents) {
    append_event(member, out);
  } else {
    append_plain(member, out);
  }
  append_data(member, out);
  out.close_object();
  const std::size_t whole = text_.size() + 1;  // with the bracket behind it
  if (members_ > 0 && whole > bytes_max) {
    text_.resize(before);
    return false;
  }
  ++members_;
  return true;
}

std::string EventBatch::finish() {
  text_.push_back(']');
  members_ = 0;
  return std::exchange(text_, "[");
}

void EventBatch::append_plain(const BatchMember& member, json::JsonWriter& out) {
  out.field("id", member.id).field("timestamp", to_rfc3339(member.at));
  if (member.content_type != kJson) out.field("content_type", member.content_type);
  if (member.attributes.empty()) return;
  out.name("attributes").open_object();
  for (const auto& [name, value] : member.attributes) out.text_name(name).text(value);
  out.close_object();
}

void EventBatch::append_event(const BatchMember& member, json::JsonWriter& out) {
  const std::string time = to_rfc3339(member.at);
  const std::array<std::string_view, kEventWords.size()> usual = {
      "1.0", member.id, member.source, member.type, time, member.content_type};
  for (std::size_t i = 0; i < kEventWords.size(); ++i) {
    std::string_view value = usual[i];
    for (const auto& [name, given] : member.attributes) {
      if (name == kEventWords[i]) value = given;
    }
    out.field(kEventWords[i], value);
  }
  for (const auto& [name, value] : member.attributes) {
    if (!is_event_word(name) && !is_data(name)) out.text_name(name).text(value);
  }
}

void EventBatch::append_data(const BatchMember& member, json::JsonWriter& out) {
  if (is_json_type(member.content_type) && document_.parse(member.body, kBodyLimits)) {
    out.name("data").raw(member.body);
    return;
  }
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(member.body.data()),
                        member.body.size());
  out.field("data_base64", base64_encode(bytes));
}

}  // namespace postrider
