// JsonWriter: appends compact JSON to a text. It keeps track of commas; whoever uses it keeps track
// of nesting. What it writes is UTF-8 whatever it is given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace postrider::json {

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& open_object();
  JsonWriter& close_object();
  JsonWriter& open_array();
  JsonWriter& close_array();
  JsonWriter& name(std::string_view name);  // one of ours: never escaped
  JsonWriter& text_name(std::string_view name);
  JsonWriter& text(std::string_view text);
  JsonWriter& number(std::uint64_t number);
  JsonWriter& integer(std::int64_t number);
  JsonWriter& decimal(double number);  // finite; the shortest digits that read as the same number
  JsonWriter& boolean(bool value);
  JsonWriter& raw(std::string_view json);  // a whole value

  JsonWriter& field(std::string_view field_name, std::string_view value) {
    return name(field_name).text(value);
  }
  JsonWriter& count(std::string_view field_name, std::uint64_t value) {
    return name(field_name).number(value);
  }
  JsonWriter& flag(std::string_view field_name, bool value) {
    return name(field_name).boolean(value);
  }

 private:
  void comma();
  void append_quoted(std::string_view text);

  std::string& out_;
  bool first_ = true;  // nothing before this one on its level, or its name was just written
};

}  // namespace postrider::json
