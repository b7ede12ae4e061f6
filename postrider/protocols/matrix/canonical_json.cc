#include "postrider/protocols/matrix/canonical_json.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace postrider::matrix {
namespace {

struct CanonicalEntry {
  std::string name;  // of a member, unescaped
  JsonValue value;
};

// An object or array that is written to a part.
struct CanonicalFrame {
  bool object = false;
  std::size_t at = 0;
  std::vector<CanonicalEntry> entries;
};

CanonicalFrame frame_of(JsonValue value) {
  CanonicalFrame frame{.object = value.kind() == JsonKind::kObject, .at = 0, .entries = {}};
  frame.entries.reserve(value.size());
  if (frame.object) {
    value.for_members([&frame](JsonValue name, JsonValue member) {
      frame.entries.push_back({name.text(), member});
      return true;
    });
    // Bytes of UTF-8 sort as code points do.
    std::sort(frame.entries.begin(), frame.entries.end(),
              [](const CanonicalEntry& a, const CanonicalEntry& b) { return a.name < b.name; });
    return frame;
  }
  if (value.size() == 0) return frame;
  JsonValue element = value.first();
  for (std::size_t left = value.size(); left > 0; --left) {
    frame.entries.push_back({{}, element});
    if (left > 1) element = element.next();
  }
  return frame;
}

bool is_canonical_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return false;
  return number >= -kIntegerMax && number <= kIntegerMax && text != "-0";
}

Result<void> append_scalar(std::string& out, JsonValue value, Numbers numbers) {
  if (value.kind() == JsonKind::kString) {
    append_quoted(out, value.text());
    return {};
  }
  if (value.kind() == JsonKind::kNumber && numbers == Numbers::kIntegers &&
      !is_canonical_integer(value.raw())) {
    return fail(ErrorCode::kInvalid, "at byte " + std::to_string(value.offset()) +
                                         ": a number must be an integer of at most 2^53 - 1");
  }
  out.append(value.raw());
  return {};
}

void append_escape(std::string& out, char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  switch (c) {
    case '"': out.append("\\\""); return;
    case '\\': out.append("\\\\"); return;
    case '\b': out.append("\\b"); return;
    case '\t': out.append("\\t"); return;
    case '\n': out.append("\\n"); return;
    case '\f': out.append("\\f"); return;
    case '\r': out.append("\\r"); return;
    default: break;
  }
  const auto byte = static_cast<unsigned char>(c);
  out.append("\\u00").push_back(kDigits[byte >> 4]);
  out.push_back(kDigits[byte & 15]);
}

bool needs_escape(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  out.push_back('"');
  while (!text.empty()) {
    const auto special = std::find_if(text.begin(), text.end(), needs_escape);
    const auto plain = static_cast<std::size_t>(special - text.begin());
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    append_escape(out, text.front());
    text.remove_prefix(1);
  }
  out.push_back('"');
}

Result<void> append_canonical(std::string& out, JsonValue value, Numbers numbers) {
  std::vector<CanonicalFrame> open;
  while (true) {
    const bool object = value.kind() == JsonKind::kObject;
    if (object || value.kind() == JsonKind::kArray) {
      open.push_back(frame_of(value));
      out.push_back(object ? '{' : '[');
    } else if (const Result<void> written = append_scalar(out, value, numbers); !written) {
      return written;
    }
    while (!open.empty() && open.back().at == open.back().entries.size()) {
      out.push_back(open.back().object ? '}' : ']');
      open.pop_back();
    }
    if (open.empty()) return {};
    CanonicalFrame& frame = open.back();
    if (frame.at > 0) out.push_back(',');
    if (frame.object) {
      append_quoted(out, frame.entries[frame.at].name);
      out.push_back(':');
    }
    value = frame.entries[frame.at].value;
    ++frame.at;
  }
}

Result<std::string> canonical_of(std::string_view text, Numbers numbers, const JsonLimits& limits) {
  JsonDocument document;
  if (const Result<void> read = document.parse(text, limits); !read)
    return tl::unexpected(read.error());
  std::string out;
  out.reserve(text.size());
  if (const Result<void> written = append_canonical(out, document.root(), numbers); !written)
    return tl::unexpected(written.error());
  return out;
}

bool is_canonical(std::string_view text, Numbers numbers) {
  const Result<std::string> form = canonical_of(text, numbers);
  return form && *form == text;
}

void append_object(std::string& out, std::vector<CanonicalMember> members) {
  std::sort(members.begin(), members.end(),
            [](const CanonicalMember& a, const CanonicalMember& b) { return a.name < b.name; });
  out.push_back('{');
  for (const CanonicalMember& member : members) {
    if (&member != &members.front()) out.push_back(',');
    append_quoted(out, member.name);
    out.append(":").append(member.value);
  }
  out.push_back('}');
}

}  // namespace postrider::matrix
