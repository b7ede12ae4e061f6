#include "postrider/json/json_writer.h"

#include <array>
#include <charconv>

#include "postrider/json/json_reader.h"

namespace postrider::json {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\';
}

void append_escaped(std::string& out, char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  switch (c) {
    case '"': out.append("\\\""); return;
    case '\\': out.append("\\\\"); return;
    case '\n': out.append("\\n"); return;
    case '\r': out.append("\\r"); return;
    case '\t': out.append("\\t"); return;
    default: break;
  }
  const auto byte = static_cast<unsigned char>(c);
  out.append("\\u00").push_back(kDigits[byte >> 4]);
  out.push_back(kDigits[byte & 15]);
}

template <class Number>
void append_digits(std::string& out, Number number) {
  std::array<char, 32> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  out.append(digits.data(), static_cast<std::size_t>(written.ptr - digits.data()));
}

// Length of the character at the beginning, which is not ASCII; 0: it is no UTF-8.
std::size_t character_length(std::string_view text) {
  for (std::size_t length = 2; length <= 4 && length <= text.size(); ++length) {
    if (is_utf8(text.substr(0, length))) return length;
  }
  return 0;
}

}  // namespace

void JsonWriter::comma() {
  if (!first_) out_.push_back(',');
  first_ = false;
}

JsonWriter& JsonWriter::open_object() {
  comma();
  out_.push_back('{');
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close_object() {
  out_.push_back('}');
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::open_array() {
  comma();
  out_.push_back('[');
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close_array() {
  out_.push_back(']');
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::name(std::string_view name) {
  comma();
  out_.append("\"").append(name).append("\":");
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::text_name(std::string_view name) {
  comma();
  append_quoted(name);
  out_.push_back(':');
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view text) {
  comma();
  append_quoted(text);
  return *this;
}

JsonWriter& JsonWriter::number(std::uint64_t number) {
  comma();
  append_digits(out_, number);
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t number) {
  comma();
  append_digits(out_, number);
  return *this;
}

JsonWriter& JsonWriter::decimal(double number) {
  comma();
  append_digits(out_, number);
  return *this;
}

JsonWriter& JsonWriter::boolean(bool value) { return raw(value ? "true" : "false"); }

JsonWriter& JsonWriter::raw(std::string_view json) {
  comma();
  out_.append(json);
  return *this;
}

void JsonWriter::append_quoted(std::string_view text) {
  out_.push_back('"');
  while (!text.empty()) {
    std::size_t run = 0;
    while (run < text.size() && is_plain(text[run])) ++run;
    out_.append(text.substr(0, run));
    text.remove_prefix(run);
    if (text.empty()) break;
    std::size_t taken = 1;
    if (static_cast<unsigned char>(text[0]) < 0x80) {
      append_escaped(out_, text[0]);
    } else if (const std::size_t length = character_length(text); length > 0) {
      out_.append(text.substr(0, length));
      taken = length;
    } else {
      out_.append(kReplacement);
    }
    text.remove_prefix(taken);
  }
  out_.push_back('"');
}

}  // namespace postrider::json
