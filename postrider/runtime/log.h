// Log: what the process tells its operator, one line each, as text or JSON, on the standard error.
// Fields carry the facts, so that the words stay the same and can be searched for. Secrets and
// bodies never come here. Any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "postrider/model/seams/clock.h"

namespace postrider {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError };

class Log {
 public:
  using Field = std::pair<std::string_view, std::string>;

  explicit Log(const Clock& clock) : clock_(clock) {}
  void set(LogLevel level, bool json);

  void debug(std::string_view what, std::initializer_list<Field> fields = {}) {
    write(LogLevel::kDebug, what, fields);
  }
  void info(std::string_view what, std::initializer_list<Field> fields = {}) {
    write(LogLevel::kInfo, what, fields);
  }
  void warning(std::string_view what, std::initializer_list<Field> fields = {}) {
    write(LogLevel::kWarning, what, fields);
  }
  void error(std::string_view what, std::initializer_list<Field> fields = {}) {
    write(LogLevel::kError, what, fields);
  }

 private:
  void write(LogLevel level, std::string_view what, std::initializer_list<Field> fields);

  const Clock& clock_;
  std::mutex mutex_;  // lines of several threads must not mix
  LogLevel level_ = LogLevel::kInfo;
  bool json_ = false;
};

}  // namespace postrider
