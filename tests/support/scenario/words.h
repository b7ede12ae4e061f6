// The words of one command, taken from the front or by name. What is wrong is collected, not
// thrown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/model/attributes.h"

namespace postrider::scenario {

class Words {
 public:
  explicit Words(std::vector<std::string> words) : words_(std::move(words)) {}

  bool empty() const { return words_.empty(); }
  std::string next(std::string_view what);  // the first word; a complaint when there is none
  bool flag(std::string_view name);         // takes the word out, wherever it stands
  std::optional<std::string> option(std::string_view name);  // `name value`
  std::optional<std::uint64_t> number(std::string_view name);
  std::optional<Duration> duration(std::string_view name);  // "5s", and "-5s" for what was before
  NamedTexts settings();                                    // all `name=value`

  Duration to_duration(std::string_view text);
  std::uint64_t to_number(std::string_view text);
  void complain(std::string complaint);
  // The first complaint; words that nobody wanted are one.
  std::optional<std::string> complaint() const;

 private:
  std::vector<std::string> words_;
  std::optional<std::string> complaint_;
};

}  // namespace postrider::scenario
