#include "postrider/runtime/log.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace postrider {
namespace {

constexpr std::array<std::string_view, 4> kLevelNames = {"debug", "info", "warning", "error"};

std::string stamp(Timestamp wall) {
  const std::time_t seconds = wall.ms() / 1000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 40> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 8> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%03dZ", static_cast<int>(wall.ms() % 1000));
  return std::string(text.data(), size) + fraction.data();
}

// As a JSON string; good enough to be read by people, too, when something has spaces or worse in
// it.
void quote(std::string& out, std::string_view text) {
  out.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) {
      out.push_back(c);
      continue;
    }
    std::array<char, 8> escape{};
    std::snprintf(escape.data(), escape.size(), "\\u%04x",
                  static_cast<unsigned>(static_cast<unsigned char>(c)));
    out.append(escape.data());
  }
  out.push_back('"');
}

bool is_plain(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == '"' || c == '=' || c == 0x7F) return false;
  }
  return !text.empty();
}

}  // namespace

void Log::set(LogLevel level, bool json) {
  const std::lock_guard lock(mutex_);
  level_ = level;
  json_ = json;
}

void Log::write(LogLevel level, std::string_view what, std::initializer_list<Field> fields) {
  const std::lock_guard lock(mutex_);
  if (level < level_) return;
  const std::string_view name = kLevelNames[static_cast<std::size_t>(level)];
  std::string line;
  if (json_) {
    line.append("{\"time\":\"").append(stamp(clock_.read().wall)).append("\",\"level\":\"");
    line.append(name).append("\",\"message\":");
    quote(line, what);
    for (const auto& [key, value] : fields) {
      line.push_back(',');
      quote(line, key);
      line.push_back(':');
      quote(line, value);
    }
    line.append("}\n");
  } else {
    line.append(stamp(clock_.read().wall)).append(" ").append(name).append(" ").append(what);
    for (const auto& [key, value] : fields) {
      line.append(" ").append(key).append("=");
      if (is_plain(value)) {
        line.append(value);
      } else {
        quote(line, value);
      }
    }
    line.push_back('\n');
  }
  // What cannot be written here cannot be told anywhere.
  static_cast<void>(std::fwrite(line.data(), 1, line.size(), stderr));
}

}  // namespace postrider
