#include "tests/support/scenario/words.h"

#include <algorithm>
#include <utility>

#include "postrider/base/durations.h"
#include "tests/support/scenario/scenario.h"

namespace postrider::scenario {

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  bool started = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
      started = true;
    } else if (c == ' ' && !quoted) {
      if (started) words.push_back(std::exchange(word, {}));
      started = false;
    } else {
      word.push_back(c);
      started = true;
    }
  }
  if (started) words.push_back(word);
  return words;
}

std::string Words::next(std::string_view what) {
  if (words_.empty()) {
    complain("there should be " + std::string(what));
    return {};
  }
  std::string word = std::move(words_.front());
  words_.erase(words_.begin());
  return word;
}

bool Words::flag(std::string_view name) {
  const auto word = std::find(words_.begin(), words_.end(), name);
  if (word == words_.end()) return false;
  words_.erase(word);
  return true;
}

std::optional<std::string> Words::option(std::string_view name) {
  const auto word = std::find(words_.begin(), words_.end(), name);
  if (word == words_.end()) return std::nullopt;
  if (word + 1 == words_.end()) {
    complain("there should be something after '" + std::string(name) + "'");
    return std::nullopt;
  }
  std::string value = std::move(*(word + 1));
  words_.erase(word, word + 2);
  return value;
}

std::optional<std::uint64_t> Words::number(std::string_view name) {
  const auto text = option(name);
  if (!text) return std::nullopt;
  return to_number(*text);
}

std::optional<Duration> Words::duration(std::string_view name) {
  const auto text = option(name);
  if (!text) return std::nullopt;
  return to_duration(*text);
}

NamedTexts Words::settings() {
  NamedTexts out;
  for (auto word = words_.begin(); word != words_.end();) {
    const std::size_t equals = word->find('=');
    if (equals == std::string::npos) {
      ++word;
      continue;
    }
    out.emplace_back(word->substr(0, equals), word->substr(equals + 1));
    word = words_.erase(word);
  }
  return out;
}

Duration Words::to_duration(std::string_view text) {
  const bool negative = text.starts_with('-');
  const auto parsed = parse_duration(negative ? text.substr(1) : text);
  if (!parsed) {
    complain(parsed.error().detail);
    return Duration(0);
  }
  return negative ? -*parsed : *parsed;
}

std::uint64_t Words::to_number(std::string_view text) {
  std::uint64_t value = 0;
  const bool fits = !text.empty() && text.size() <= 18;
  for (const char c : text) {
    if (c < '0' || c > '9' || !fits) {
      complain("'" + std::string(text) + "' is no number");
      return 0;
    }
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

void Words::complain(std::string complaint) {
  if (!complaint_) complaint_ = std::move(complaint);
}

std::optional<std::string> Words::complaint() const {
  if (complaint_) return complaint_;
  if (!words_.empty()) return "what is '" + words_.front() + "'?";
  return std::nullopt;
}

}  // namespace postrider::scenario
