#include "postrider/protocols/matrix/x_matrix.h"

#include <algorithm>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::matrix {
namespace {

constexpr std::string_view kScheme = "x-matrix";
constexpr std::string_view kContent = "{\"content\":";
constexpr std::string_view kBlanks = " \t";
// Of a whole body of another server, such as a transaction.
constexpr JsonLimits kContentLimits{.depth_max = kDepthMax, .values_max = 1'000'000};

auto malformed(std::string_view why) {
  return fail(ErrorCode::kInvalid, "X-Matrix: " + std::string(why));
}

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
}

// A quoted value behind its first quote; takes the second one too.
Result<std::string> take_quoted(std::string_view& text) {
  std::string value;
  while (!text.empty() && text.front() != '"') {
    if (text.front() == '\\') text.remove_prefix(1);
    if (text.empty()) break;
    value.push_back(text.front());
    text.remove_prefix(1);
  }
  if (text.empty()) return malformed("a quoted value has no end");
  text.remove_prefix(1);
  return value;
}

Result<std::string> take_value(std::string_view& text) {
  if (text.starts_with('"')) {
    text.remove_prefix(1);
    return take_quoted(text);
  }
  const std::string_view value = text.substr(0, text.find_first_of(", \t"));
  if (value.empty()) return malformed("a value is missing");
  if (value.find_first_of("\"\\") != std::string_view::npos)
    return malformed("a quote stands inside a value");
  text.remove_prefix(value.size());
  return std::string(value);
}

struct XMatrixWords {
  std::optional<std::string> origin;
  std::optional<std::string> destination;
  std::optional<std::string> key;
  std::optional<std::string> signature;

  std::optional<std::string>* find(std::string_view name) {
    if (name == "origin") return &origin;
    if (name == "destination") return &destination;
    if (name == "key") return &key;
    if (name == "sig") return &signature;
    return nullptr;
  }
};

// One "name=value" and the comma behind it.
Result<void> take_pair(std::string_view& text, XMatrixWords& words) {
  const std::string_view name = text.substr(0, text.find_first_of("=, \t"));
  text.remove_prefix(name.size());
  skip_blanks(text);
  if (!is_header_name(name) || !text.starts_with('='))
    return malformed("it must be a list of name=value");
  text.remove_prefix(1);
  skip_blanks(text);
  POSTRIDER_TRY(value, take_value(text));
  if (std::optional<std::string>* const place = words.find(to_lower(name))) {
    if (*place) return malformed("a name is given twice");
    *place = std::move(value);
  }
  skip_blanks(text);
  if (text.empty()) return {};
  if (text.front() != ',') return malformed("a comma is missing");
  text.remove_prefix(1);
  skip_blanks(text);
  if (text.empty()) return malformed("nothing follows the last comma");
  return {};
}

void append_parameter(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append("=\"");
  for (const char c : value) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('"');
}

}  // namespace

void SplicedRequest::open() {
  bytes_ = kContent;
  body_begin_ = bytes_.size();
}

void SplicedRequest::close(const RequestWords& words) {
  body_size_ = bytes_.size() - body_begin_;
  if (body_size_ == 0) {  // without a body there is no such member
    bytes_ = "{";
    body_begin_ = 0;
  } else {
    bytes_.push_back(',');
  }
  bytes_.append("\"destination\":");
  append_quoted(bytes_, words.destination);
  bytes_.append(",\"method\":");
  append_quoted(bytes_, words.method);
  bytes_.append(",\"origin\":");
  append_quoted(bytes_, words.origin);
  bytes_.append(",\"uri\":");
  append_quoted(bytes_, words.uri);
  bytes_.push_back('}');
}

Result<std::string_view> signed_content(std::string_view body, std::string& scratch) {
  if (body.empty()) return body;
  POSTRIDER_TRY(form, canonical_of(body, Numbers::kAsWritten, kContentLimits));
  if (form == body) return body;
  scratch = std::move(form);
  return std::string_view(scratch);
}

std::string signed_request(const RequestWords& words, std::string_view content) {
  return std::string(SplicedRequest::make(words, [content](std::string& out) {
                       out.append(content);
                     }).signed_bytes());
}

std::string authorization_of(const RequestWords& words, std::string_view key_id,
                             std::string_view signature) {
  std::string header = "X-Matrix ";
  append_parameter(header, "origin", words.origin);
  append_parameter(header.append(","), "destination", words.destination);
  append_parameter(header.append(","), "key", key_id);
  append_parameter(header.append(","), "sig", signature);
  return header;
}

Result<XMatrix> parse_x_matrix(std::string_view header) {
  if (header.size() > kAuthorizationBytesMax)
    return fail(ErrorCode::kLimit, "X-Matrix: the header is too long");
  skip_blanks(header);
  while (!header.empty() && kBlanks.find(header.back()) != std::string_view::npos)
    header.remove_suffix(1);
  const std::string_view scheme = header.substr(0, header.find_first_of(kBlanks));
  if (to_lower(scheme) != kScheme) return malformed("the scheme is another one");
  header.remove_prefix(scheme.size());
  skip_blanks(header);
  XMatrixWords words;
  do {
    if (const Result<void> taken = take_pair(header, words); !taken)
      return tl::unexpected(taken.error());
  } while (!header.empty());
  if (!words.origin || !words.key || !words.signature)
    return malformed("origin, key and sig are needed");
  return XMatrix{.origin = std::move(*words.origin),
                 .destination = std::move(words.destination),
                 .key = std::move(*words.key),
                 .signature = std::move(*words.signature)};
}

std::uint16_t status_of(Authentication authentication) {
  switch (authentication) {
    case Authentication::kValid: return 200;
    case Authentication::kMalformed: return 400;
    case Authentication::kMissing:
    case Authentication::kWrongDestination:
    case Authentication::kUnknownKey:
    case Authentication::kForged: return 401;
  }
  POSTRIDER_CHECK(false);
}

Authentication authenticate(const XMatrix& header, const RequestWords& request,
                            std::string_view content, std::span<const VerifyKey> keys) {
  if (header.destination && *header.destination != request.destination)
    return Authentication::kWrongDestination;
  std::string scratch;
  const Result<std::string_view> canonical = signed_content(content, scratch);
  if (!canonical) return Authentication::kMalformed;
  const auto key = std::find_if(keys.begin(), keys.end(),
                                [&](const VerifyKey& k) { return k.id == header.key; });
  if (key == keys.end()) return Authentication::kUnknownKey;
  const RequestWords words{.method = request.method,
                           .uri = request.uri,
                           .origin = header.origin,
                           .destination = request.destination};
  return verify(key->key, signed_request(words, *canonical), header.signature)
             ? Authentication::kValid
             : Authentication::kForged;
}

}  // namespace postrider::matrix
