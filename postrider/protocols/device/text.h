// How devices' values are written for callers: JSON in one pass, dates, times of day.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "postrider/protocols/device/command.h"

namespace postrider::device {

std::string to_text(const Date& date);       // "2026-08-12"
std::string to_text(const TimeOfDay& time);  // "14:30:05"

// Writes JSON in the order in which it is told. Names are ours and are not escaped; texts are, and
// must be UTF-8.
class JsonText {
 public:
  void begin_object();
  void begin_object(std::string_view name);
  void end_object();
  void begin_array(std::string_view name);
  void end_array();
  void text(std::string_view name, std::string_view value);
  void raw(std::string_view name, std::string_view json);  // a number, true, or JSON of ours
  void item(std::string_view json);                        // of an array, as JSON
  std::string take() { return std::move(out_); }

 private:
  void name(std::string_view name);
  void comma();
  void quote(std::string_view value);

  std::string out_;
  bool first_ = true;
};

}  // namespace postrider::device
