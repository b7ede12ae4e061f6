#include "postrider/api/router.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "postrider/api/texts.h"
#include "postrider/base/nearest.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::api {
namespace {

constexpr std::string_view kKeyHeader = "idempotency-key";

// The next segment of a path that begins with '/'.
std::string_view take_segment(std::string_view& path) {
  path.remove_prefix(1);
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string_view segment = path.substr(0, end);
  path.remove_prefix(end);
  return segment;
}

using Captures = std::array<std::string_view, 2>;

// Whether the path has the pattern's shape; `captures` are what stands for {…}, still encoded.
bool matches(std::string_view pattern, std::string_view path, Captures& captures) {
  std::size_t place = 0;
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = take_segment(pattern);
    const std::string_view given = take_segment(path);
    if (wanted.starts_with('{')) {
      if (given.empty()) return false;
      captures[place++ % captures.size()] = given;
    } else if (wanted != given) {
      return false;
    }
  }
  return pattern.empty() && path.empty();
}

// The pattern with the path's own segment in place of {…}, when both have as many segments.
std::optional<std::string> filled(std::string_view pattern, std::string_view path) {
  std::string out;
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = take_segment(pattern);
    const std::string_view given = take_segment(path);
    out.append("/").append(wanted.starts_with('{') ? given : wanted);
  }
  if (!pattern.empty() || !path.empty()) return std::nullopt;
  return out;
}

Problem unknown_path(std::span<const RouteRow> rows, std::string_view path) {
  Problem problem;
  problem.type = ProblemType::kUnknownPath;
  std::vector<std::string> texts;
  for (const RouteRow& row : rows) {
    if (auto text = filled(row.pattern, path)) texts.push_back(std::move(*text));
  }
  const std::vector<std::string_view> candidates(texts.begin(), texts.end());
  problem.detail = "there is no such path";
  if (const auto guess = nearest(path, candidates)) {
    problem.suggestion = *guess;
    problem.detail.append(", did you mean '").append(*guess).append("'?");
  } else {
    problem.detail.append("; /openapi.json lists those that there are");
  }
  return problem;
}

}  // namespace

Checked<Routed> find_route(std::span<const RouteRow> rows, std::string_view method,
                           std::string_view path) {
  std::string allow;
  if (!path.starts_with('/'))
    return refuse(ProblemType::kBadRequest, "a request's target begins with '/'");
  // A path that is spelled out is that one for every method, and never the capture of another.
  const bool spelled_out = std::any_of(rows.begin(), rows.end(),
                                       [&](const RouteRow& row) { return row.pattern == path; });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Captures captures;
    if (spelled_out ? rows[i].pattern != path : !matches(rows[i].pattern, path, captures)) continue;
    if (rows[i].method != method) {
      allow.append(allow.empty() ? "" : ", ").append(rows[i].method);
      continue;
    }
    auto first = percent_decode(captures[0], false);
    auto second = percent_decode(captures[1], false);
    if (!first || !second)
      return refuse(ProblemType::kBadRequest, "a '%' in the path needs two hexadecimal digits");
    return Routed{i, std::move(*first), std::move(*second)};
  }
  if (allow.empty()) return tl::unexpected<Problem>(unknown_path(rows, path));
  Problem problem;
  problem.type = ProblemType::kMethodNotAllowed;
  problem.detail = "this path has: " + allow;
  problem.allow = std::move(allow);
  return tl::unexpected<Problem>(std::move(problem));
}

std::vector<std::string_view> split_words(std::string_view words) {
  std::vector<std::string_view> out;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    out.push_back(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return out;
}

Checked<UrlQuery> UrlQuery::read(std::string_view text, std::string_view known) {
  UrlQuery query;
  if (text.empty()) return query;
  const std::vector<std::string_view> names = split_words(known);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = percent_decode(pair.substr(0, equals), true);
    auto value = percent_decode(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!name || !value)
      return refuse(ProblemType::kInvalidParameter, "a '%' needs two hexadecimal digits");
    if (std::find(names.begin(), names.end(), *name) == names.end()) {
      return tl::unexpected<Problem>(
          unknown_word(ProblemType::kUnknownParameter, "parameter", *name, names));
    }
    if (query.find(*name) != nullptr)
      return refuse(ProblemType::kInvalidParameter, "it is given twice", *name);
    query.values_.emplace_back(std::move(*name), std::move(*value));
  }
  return query;
}

Checked<OperationKey> read_key(const HttpRequest& request, std::string_view tenant, bool changes) {
  const HttpHeader* found = nullptr;
  for (const HttpHeader& header : request.headers) {
    if (header.first != kKeyHeader) continue;
    if (found != nullptr)
      return refuse(ProblemType::kInvalidKey, "there are two Idempotency-Keys; send one");
    found = &header;
  }
  // Asking twice is asking once anyway when nothing changes.
  if (found == nullptr || !changes) return OperationKey();
  auto key = parse_operation_key(found->second, tenant);
  if (!key) return refuse(ProblemType::kInvalidKey, key.error().detail);
  return std::move(*key);
}

std::optional<Problem> check_coding(const HttpRequest& request) {
  const std::string_view coding = request.header("content-encoding");
  if (coding.empty() || to_lower(coding) == "identity") return std::nullopt;
  return complaint(ProblemType::kUnsupportedMediaType,
                   "bodies are read as they are: send it without Content-Encoding");
}

std::optional<Problem> check_forms(const HttpRequest& request, const RouteRow& row) {
  const std::string_view type = request.header("content-type");
  // One that comes in chunks may turn out to be none.
  const bool may_have_body = request.body_waits && request.length == 0;
  const bool has_body = !request.body.empty() || request.length > 0;
  if (row.takes == Takes::kAnything) return std::nullopt;
  if (may_have_body && type.empty()) return std::nullopt;
  if (row.takes == Takes::kNothing && has_body)
    return complaint(ProblemType::kInvalidContent, "this takes no body; send none");
  if (row.takes == Takes::kJson && !has_body && !may_have_body)
    return complaint(ProblemType::kInvalidContent, "a body is missing: a JSON object");
  if ((has_body || (may_have_body && row.takes != Takes::kNothing)) &&
      !is_media_type(type, "application/json")) {
    return complaint(ProblemType::kUnsupportedMediaType,
                     row.pattern == "/v1/messages"
                         ? "say Content-Type: application/json, or application/x-ndjson for many"
                         : "say Content-Type: application/json");
  }
  if (accepts(request.header("accept"), row.produces)) return std::nullopt;
  return complaint(ProblemType::kNotAcceptable,
                   "the answer is " + std::string(row.produces) + "; accept that, or anything");
}

const std::string* UrlQuery::find(std::string_view name) const {
  for (const auto& value : values_) {
    if (value.first == name) return &value.second;
  }
  return nullptr;
}

Checked<std::uint32_t> UrlQuery::number(std::string_view name, std::uint32_t fallback,
                                        std::uint32_t low, std::uint32_t high) const {
  const std::string* text = find(name);
  if (text == nullptr) return fallback;
  std::uint32_t value = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || rest != end || value < low || value > high) {
    return refuse(ProblemType::kInvalidParameter,
                  std::string(name) + " is a whole number from " + std::to_string(low) + " to " +
                      std::to_string(high),
                  std::string(name));
  }
  return value;
}

Checked<bool> UrlQuery::flag(std::string_view name) const {
  const std::string* text = find(name);
  if (text == nullptr || *text == "false") return false;
  if (*text == "true") return true;
  return refuse(ProblemType::kInvalidParameter, std::string(name) + " is true or false",
                std::string(name));
}

}  // namespace postrider::api
