// How devices' values are written for callers: JSON in one pass, dates, times of day.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "postrider/json/json_writer.h"
#include "postrider/protocols/device/command.h"

namespace postrider::device {

std::string to_text(const Date& date);       // "2026-08-12"
std::string to_text(const TimeOfDay& time);  // "14:30:05"

// The writer of all JSON with its text, and with a member's name and value in one call. Names are
// ours and are not escaped.
class JsonText {
 public:
  JsonText() : writer_(out_) {}
  JsonText(const JsonText&) = delete;
  JsonText& operator=(const JsonText&) = delete;

  void begin_object() { writer_.open_object(); }
  void begin_object(std::string_view name) { writer_.name(name).open_object(); }
  void end_object() { writer_.close_object(); }
  void begin_array(std::string_view name) { writer_.name(name).open_array(); }
  void end_array() { writer_.close_array(); }
  void text(std::string_view name, std::string_view value) { writer_.field(name, value); }
  // A number, true, or JSON of ours.
  void raw(std::string_view name, std::string_view json) { writer_.name(name).raw(json); }
  void item(std::string_view json) { writer_.raw(json); }  // of an array
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
  json::JsonWriter writer_;
};

}  // namespace postrider::device
