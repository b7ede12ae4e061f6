#include "postrider/protocols/matrix/answer.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "postrider/protocols/matrix/event.h"
#include "postrider/protocols/matrix/json_fields.h"
#include "postrider/protocols/matrix/server_name.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::matrix {
namespace {

constexpr std::size_t kErrcodeBytesMax = 100;
constexpr JsonLimits kAnswerLimits{.depth_max = kDepthMax, .values_max = kAnswerBytesMax};

Refusal refusal_in(JsonValue object) {
  Refusal refusal;
  refusal.errcode = clean_excerpt(text_of(object, "errcode").value_or(""), kErrcodeBytesMax);
  refusal.error = marked_excerpt(text_of(object, "error").value_or(""), kErrorTextBytesMax);
  const std::optional<std::int64_t> wait = integer_of(object, "retry_after_ms");
  if (wait && *wait >= 0)
    refusal.retry_after = std::min(Duration(std::min(*wait, kHoldMax.count())), kHoldMax);
  return refusal;
}

}  // namespace

std::string to_text(const Refusal& refusal) {
  if (refusal.error.empty()) return refusal.errcode;
  if (refusal.errcode.empty()) return refusal.error;
  return refusal.errcode + ": " + refusal.error;
}

Result<std::vector<PduError>> read_send_answer(std::string_view body) {
  if (body.size() > kAnswerBytesMax) return fail(ErrorCode::kLimit, "the answer is too large");
  JsonDocument document;
  if (const Result<void> read = document.parse(body, kAnswerLimits); !read) {
    // A name given twice is read by most programs, so it is an object all the same.
    const std::size_t begin = body.find_first_not_of(" \t\r\n");
    if (read.error().code == ErrorCode::kConflict && body[begin] == '{')
      return std::vector<PduError>();
    return tl::unexpected(read.error());
  }
  const JsonValue root = document.root();
  if (!is_object(root)) return fail(ErrorCode::kInvalid, "the answer is no object");
  std::vector<PduError> errors;
  const std::optional<JsonValue> pdus = object_of(root, "pdus");
  if (!pdus) return errors;
  pdus->for_members([&errors](JsonValue id, JsonValue value) {
    if (!is_object(value)) return true;
    const Refusal refusal = refusal_in(value);
    std::string text = to_text(refusal);
    if (text.empty()) return true;
    errors.push_back({.event_id = clean_excerpt(id.text(), kIdBytesMax), .text = std::move(text)});
    return true;
  });
  return errors;
}

std::vector<std::optional<std::string>> errors_of(std::span<const std::string_view> pdus,
                                                  std::span<const PduError> errors) {
  std::vector<std::optional<std::string>> found(pdus.size());
  if (errors.empty()) return found;
  std::unordered_map<std::string_view, const PduError*> by_id;
  for (const PduError& error : errors) by_id.emplace(error.event_id, &error);
  for (std::size_t i = 0; i < pdus.size(); ++i) {
    for (const std::string& id : event_ids(pdus[i])) {
      const auto error = by_id.find(id);
      if (error == by_id.end()) continue;
      found[i] = error->second->text;
      break;
    }
  }
  return found;
}

Refusal read_refusal(std::string_view body) {
  if (body.size() > kAnswerBytesMax) return {};
  JsonDocument document;
  if (!document.parse(body, kAnswerLimits) || !is_object(document.root())) return {};
  return refusal_in(document.root());
}

Duration hold_of(std::string_view retry_after_header, std::string_view body, Timestamp wall) {
  if (const std::optional<Duration> wait = parse_retry_after(retry_after_header, wall))
    return std::min(*wait, kHoldMax);
  return read_refusal(body).retry_after.value_or(kHoldDefault);
}

}  // namespace postrider::matrix
