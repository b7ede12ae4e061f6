#include "postrider/protocols/device/text.h"

#include <array>
#include <cstdio>

#include "postrider/protocols/json_value.h"

namespace postrider::device {

std::string to_text(const Date& date) {
  std::array<char, 32> text{};
  const int size =
      std::snprintf(text.data(), text.size(), "%04d-%02d-%02d", date.year, date.month, date.day);
  return {text.data(), static_cast<std::size_t>(size)};
}

std::string to_text(const TimeOfDay& time) {
  std::array<char, 32> text{};
  const int size = std::snprintf(text.data(), text.size(), "%02d:%02d:%02d", time.hour, time.minute,
                                 time.second);
  return {text.data(), static_cast<std::size_t>(size)};
}

void JsonText::comma() {
  if (!std::exchange(first_, false)) out_.push_back(',');
}

void JsonText::quote(std::string_view value) {
  out_.append(boost::json::serialize(boost::json::string_view(value.data(), value.size())));
}

void JsonText::name(std::string_view name) {
  comma();
  out_.append("\"").append(name).append("\":");
}

void JsonText::begin_object() {
  comma();
  out_.push_back('{');
  first_ = true;
}

void JsonText::begin_object(std::string_view name) {
  this->name(name);
  out_.push_back('{');
  first_ = true;
}

void JsonText::end_object() {
  out_.push_back('}');
  first_ = false;
}

void JsonText::begin_array(std::string_view name) {
  this->name(name);
  out_.push_back('[');
  first_ = true;
}

void JsonText::end_array() {
  out_.push_back(']');
  first_ = false;
}

void JsonText::text(std::string_view name, std::string_view value) {
  this->name(name);
  quote(value);
}

void JsonText::raw(std::string_view name, std::string_view json) {
  this->name(name);
  out_.append(json);
}

void JsonText::item(std::string_view json) {
  comma();
  out_.append(json);
}

}  // namespace postrider::device
