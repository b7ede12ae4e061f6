#include "postrider/json/json_reader.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "postrider/base/check.h"

namespace postrider::json {
namespace {

constexpr std::size_t kNodesKept = 4096;  // memory that stays for the next text
constexpr std::size_t kFewNames = 8;      // compared pairwise; more are sorted
constexpr std::size_t kNameShownMax = 64;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Four hexadecimal digits, or -1.
int read_hex4(std::string_view text) {
  if (text.size() < 4) return -1;
  int value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const int digit = hex_value(text[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

bool is_high(int unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
bool is_low(int unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

void append_code_point(std::string& out, std::uint32_t point) {
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (point < 0x80) return put(point);
  if (point < 0x800) {
    put(0xC0 | (point >> 6));
  } else if (point < 0x10000) {
    put(0xE0 | (point >> 12));
    put(0x80 | ((point >> 6) & 0x3F));
  } else {
    put(0xF0 | (point >> 18));
    put(0x80 | ((point >> 12) & 0x3F));
    put(0x80 | ((point >> 6) & 0x3F));
  }
  put(0x80 | (point & 0x3F));
}

// How many bytes from the beginning need no look: neither a quote, a backslash, a control character
// nor a part of a longer character. Eight at a time.
std::size_t plain_prefix(const char* bytes, std::size_t size) {
  constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
  constexpr std::uint64_t kHighs = 0x8080808080808080ULL;
  std::size_t at = 0;
  while (at + 8 <= size) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, 8);
    const auto zero_byte = [](std::uint64_t x) { return (x - kOnes) & ~x & kHighs; };
    const std::uint64_t low = (word - kOnes * 0x20) & ~word & kHighs;
    const std::uint64_t hit =
        (word & kHighs) | low | zero_byte(word ^ (kOnes * '"')) | zero_byte(word ^ (kOnes * '\\'));
    if (hit != 0) return at + static_cast<std::size_t>(__builtin_ctzll(hit)) / 8;
    at += 8;
  }
  for (; at < size; ++at) {
    const auto byte = static_cast<unsigned char>(bytes[at]);
    if (byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\') break;
  }
  return at;
}

// Behind the string that begins at `at`, in a text that was read and found good.
std::size_t behind_string(std::string_view text, std::size_t at) {
  for (++at;;) {
    at += plain_prefix(text.data() + at, text.size() - at);
    if (text[at] == '"') return at + 1;
    at += text[at] == '\\' ? std::size_t{2} : std::size_t{1};
  }
}

// The length of the UTF-8 character at the beginning, or 0: shortest form only, no surrogates.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  std::size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) length = 2;
  if (lead >= 0xE0 && lead <= 0xEF) length = 3;
  if (lead >= 0xF0 && lead <= 0xF4) length = 4;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  if (length == 0 || text.size() < length || byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

// `text` is what stands between the quotes of a string that was read and found good.
void append_unescaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const std::size_t run = std::min(text.find('\\'), text.size());
    out.append(text.substr(0, run));
    text.remove_prefix(run);
    if (text.empty()) return;
    const char kind = text[1];
    text.remove_prefix(2);
    switch (kind) {
      case 'b': out.push_back('\b'); continue;
      case 'f': out.push_back('\f'); continue;
      case 'n': out.push_back('\n'); continue;
      case 'r': out.push_back('\r'); continue;
      case 't': out.push_back('\t'); continue;
      case 'u': break;
      default: out.push_back(kind); continue;
    }
    int unit = read_hex4(text);
    text.remove_prefix(4);
    auto point = static_cast<std::uint32_t>(unit);
    if (is_high(unit)) {
      const auto low = static_cast<std::uint32_t>(read_hex4(text.substr(2)));
      point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
      text.remove_prefix(6);
    }
    append_code_point(out, point);
  }
}

}  // namespace

std::string_view name_of(JsonKind kind) {
  constexpr std::array<std::string_view, 7> kNames = {"null",   "false",    "true",     "a number",
                                                      "a text", "an array", "an object"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

JsonKind JsonValue::kind() const { return document_->nodes_[index_].kind; }

std::string_view JsonValue::raw() const {
  const JsonDocument::Node& node = document_->nodes_[index_];
  return document_->text_.substr(node.begin, node.end - node.begin);
}

std::size_t JsonValue::offset() const { return document_->nodes_[index_].begin; }

std::string JsonValue::text() const {
  std::string out;
  append_text(out);
  return out;
}

void JsonValue::append_text(std::string& out) const {
  const JsonDocument::Node& node = document_->nodes_[index_];
  POSTRIDER_CHECK(node.kind == JsonKind::kString);
  const std::string_view inside =
      document_->text_.substr(node.begin + 1, node.end - node.begin - 2);
  if (!node.escaped) {
    out.append(inside);
  } else {
    append_unescaped(out, inside);
  }
}

bool JsonValue::text_is(std::string_view word) const {
  const JsonDocument::Node& node = document_->nodes_[index_];
  if (node.kind != JsonKind::kString) return false;
  if (node.escaped) return text() == word;
  return document_->text_.substr(node.begin + 1, node.end - node.begin - 2) == word;
}

std::size_t JsonValue::size() const { return document_->nodes_[index_].count; }
JsonValue JsonValue::first() const { return {document_, index_ + 1}; }
JsonValue JsonValue::next() const { return {document_, document_->nodes_[index_].next}; }

void JsonValue::append_compact(std::string& out) const {
  const std::string_view text = raw();
  std::size_t begin = 0;  // of the run that is copied
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      at = behind_string(text, at);
    } else if (is_space(text[at])) {
      out.append(text.substr(begin, at - begin));
      while (at < text.size() && is_space(text[at])) ++at;
      begin = at;
    } else {
      ++at;
    }
  }
  out.append(text.substr(begin));
}

Result<void> JsonDocument::parse(std::string_view text, const JsonLimits& limits) {
  POSTRIDER_CHECK(text.size() < UINT32_MAX);
  text_ = text;
  at_ = 0;
  if (nodes_.capacity() > kNodesKept) nodes_ = {};
  nodes_.clear();
  open_.clear();
  Want want = Want::kValue;
  bool good = true;
  skip_space();
  do {
    good = step(want, limits);
    skip_space();
  } while (good && !(want == Want::kAfter && open_.empty()));
  if (good && at_ != text_.size()) good = bad("something follows the value");
  if (good) return {};
  return fail(code_, "at byte " + std::to_string(at_) + ": " + what_);
}

bool JsonDocument::step(Want& want, const JsonLimits& limits) {
  switch (want) {
    case Want::kFirstElement:
      if (at_ < text_.size() && text_[at_] == ']') return close(want, limits);
      return read_value(want, limits);
    case Want::kValue: return read_value(want, limits);
    case Want::kFirstName:
      if (at_ < text_.size() && text_[at_] == '}') return close(want, limits);
      return read_name(want, limits);
    case Want::kName: return read_name(want, limits);
    case Want::kAfter: return read_after(want, limits);
  }
  return false;
}

bool JsonDocument::read_value(Want& want, const JsonLimits& limits) {
  if (at_ == text_.size()) return bad("the text ends where a value should be");
  if (!open_.empty() && nodes_[open_.back()].kind == JsonKind::kArray) ++nodes_[open_.back()].count;
  want = Want::kAfter;
  switch (text_[at_]) {
    case '{': return open(JsonKind::kObject, want, limits);
    case '[': return open(JsonKind::kArray, want, limits);
    case '"': return read_string(limits);
    case 't': return read_word("true", JsonKind::kTrue, limits);
    case 'f': return read_word("false", JsonKind::kFalse, limits);
    case 'n': return read_word("null", JsonKind::kNull, limits);
    default: break;
  }
  if (text_[at_] == '-' || is_digit(text_[at_])) return read_number(limits);
  return bad("this begins no value");
}

bool JsonDocument::read_name(Want& want, const JsonLimits& limits) {
  if (at_ == text_.size() || text_[at_] != '"') return bad("a name in quotes is missing");
  if (!read_string(limits)) return false;
  skip_space();
  if (at_ == text_.size() || text_[at_] != ':') return bad("a colon is missing");
  ++at_;
  ++nodes_[open_.back()].count;
  want = Want::kValue;
  return true;
}

bool JsonDocument::read_after(Want& want, const JsonLimits& limits) {
  const bool array = nodes_[open_.back()].kind == JsonKind::kArray;
  const char end = array ? ']' : '}';
  if (at_ < text_.size() && text_[at_] == end) return close(want, limits);
  if (at_ == text_.size() || text_[at_] != ',')
    return bad(array ? "a comma or ']' is missing" : "a comma or '}' is missing");
  ++at_;
  want = array ? Want::kValue : Want::kName;
  return true;
}

bool JsonDocument::add(const Node& node, const JsonLimits& limits) {
  if (nodes_.size() >= limits.values_max)
    return over("more than " + std::to_string(limits.values_max) + " values");
  nodes_.push_back(node);
  nodes_.back().next = static_cast<std::uint32_t>(nodes_.size());
  return true;
}

bool JsonDocument::open(JsonKind kind, Want& want, const JsonLimits& limits) {
  if (open_.size() >= limits.depth_max)
    return over("more than " + std::to_string(limits.depth_max) + " levels");
  const auto index = static_cast<std::uint32_t>(nodes_.size());
  if (!add({.begin = static_cast<std::uint32_t>(at_), .kind = kind}, limits)) return false;
  open_.push_back(index);
  ++at_;
  want = kind == JsonKind::kObject ? Want::kFirstName : Want::kFirstElement;
  return true;
}

bool JsonDocument::close(Want& want, const JsonLimits& limits) {
  const std::uint32_t index = open_.back();
  open_.pop_back();
  ++at_;
  nodes_[index].end = static_cast<std::uint32_t>(at_);
  nodes_[index].next = static_cast<std::uint32_t>(nodes_.size());
  want = Want::kAfter;
  return nodes_[index].kind != JsonKind::kObject || limits.names_twice || !has_twice(index);
}

std::string_view JsonDocument::name_at(std::uint32_t index,
                                       std::vector<std::string>& decoded) const {
  const Node& node = nodes_[index];
  if (!node.escaped) return text_.substr(node.begin + 1, node.end - node.begin - 2);
  decoded.push_back(JsonValue(this, index).text());
  return decoded.back();
}

bool JsonDocument::has_twice(std::uint32_t object) {
  const std::uint32_t count = nodes_[object].count;
  if (count < 2) return false;
  std::vector<std::string> decoded;
  names_.clear();
  std::uint32_t index = object + 1;
  for (std::uint32_t left = count; left > 0; --left) {
    // Reserved at the first use, so that views of earlier ones stay good.
    if (nodes_[index].escaped && decoded.empty()) decoded.reserve(left);
    names_.push_back(name_at(index, decoded));
    index = nodes_[index + 1].next;
  }
  const auto twice = [this](std::string_view name) {
    what_ = "the name '" + std::string(name.substr(0, kNameShownMax)) + "' is given twice";
    code_ = ErrorCode::kConflict;
    return true;
  };
  if (count <= kFewNames) {
    for (std::size_t i = 1; i < count; ++i) {
      const auto end = names_.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::find(names_.begin(), end, names_[i]) != end) return twice(names_[i]);
    }
    return false;
  }
  std::sort(names_.begin(), names_.end());
  const auto same = std::adjacent_find(names_.begin(), names_.end());
  return same != names_.end() && twice(*same);
}

bool JsonDocument::read_string(const JsonLimits& limits) {
  Node node{.begin = static_cast<std::uint32_t>(at_), .kind = JsonKind::kString};
  for (++at_;;) {
    at_ += plain_prefix(text_.data() + at_, text_.size() - at_);
    if (at_ == text_.size()) return bad("the text ends inside a string");
    const auto byte = static_cast<unsigned char>(text_[at_]);
    if (byte == '"') break;
    if (byte == '\\') {
      node.escaped = true;
      if (!read_escape()) return false;
    } else if (byte < 0x20) {
      return bad("a control character must be escaped");
    } else if (!read_utf8()) {
      return false;
    }
  }
  ++at_;
  node.end = static_cast<std::uint32_t>(at_);
  return add(node, limits);
}

bool JsonDocument::read_escape() {
  constexpr std::string_view kSimple = "\"\\/bfnrt";
  const std::string_view rest = text_.substr(at_ + 1);
  if (rest.empty()) return bad("the text ends inside a string");
  if (kSimple.find(rest[0]) != std::string_view::npos) {
    at_ += 2;
    return true;
  }
  if (rest[0] != 'u') return bad("there is no such escape");
  const int unit = read_hex4(rest.substr(1));
  if (unit < 0) return bad("\\u needs four hexadecimal digits");
  if (is_low(unit)) return bad("a surrogate stands alone");
  if (!is_high(unit)) {
    at_ += 6;
    return true;
  }
  const std::string_view pair = rest.substr(5);
  if (!pair.starts_with("\\u") || !is_low(read_hex4(pair.substr(2))))
    return bad("a surrogate stands alone");
  at_ += 12;
  return true;
}

bool JsonDocument::read_utf8() {
  const std::size_t length = utf8_length(text_.substr(at_));
  if (length == 0) return bad("this is not UTF-8");
  at_ += length;
  return true;
}

bool JsonDocument::read_number(const JsonLimits& limits) {
  const std::size_t begin = at_;
  const auto here = [this] { return at_ < text_.size() ? text_[at_] : '\0'; };
  const auto digits = [&] {
    if (!is_digit(here())) return false;
    while (is_digit(here())) ++at_;
    return true;
  };
  if (here() == '-') ++at_;
  if (here() == '0') {
    ++at_;
  } else if (!digits()) {
    return bad("a digit is missing");
  }
  if (is_digit(here())) return bad("a number begins with no zero");
  if (here() == '.') {
    ++at_;
    if (!digits()) return bad("a digit is missing");
  }
  if (here() == 'e' || here() == 'E') {
    ++at_;
    if (here() == '+' || here() == '-') ++at_;
    if (!digits()) return bad("a digit is missing");
  }
  return add({.begin = static_cast<std::uint32_t>(begin),
              .end = static_cast<std::uint32_t>(at_),
              .kind = JsonKind::kNumber},
             limits);
}

bool JsonDocument::read_word(std::string_view word, JsonKind kind, const JsonLimits& limits) {
  if (text_.substr(at_, word.size()) != word) return bad("this begins no value");
  const auto begin = static_cast<std::uint32_t>(at_);
  at_ += word.size();
  return add({.begin = begin, .end = static_cast<std::uint32_t>(at_), .kind = kind}, limits);
}

void JsonDocument::skip_space() {
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
}

bool JsonDocument::bad(std::string_view what) {
  what_ = what;
  code_ = ErrorCode::kInvalid;
  return false;
}

bool JsonDocument::over(std::string_view what) {
  what_ = what;
  code_ = ErrorCode::kLimit;
  return false;
}

}  // namespace postrider::json
