#include "postrider/stores/rocks/notices.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace postrider::rocks {
namespace {

constexpr std::size_t kTextMax = 400;  // longer ones are cut

std::string formatted(const char* format, va_list arguments) {
  std::array<char, kTextMax> text{};
  if (std::vsnprintf(text.data(), text.size(), format, arguments) < 0) return {};
  std::string_view out(text.data());
  while (out.ends_with('\n') || out.ends_with(' ')) out.remove_suffix(1);
  return std::string(out);
}

class Notices final : public rocksdb::Logger {
 public:
  Notices(TellNotice tell, int per_minute_max, NoticeClock now)
      : rocksdb::Logger(rocksdb::InfoLogLevel::WARN_LEVEL),
        tell_(std::move(tell)),
        per_minute_max_(per_minute_max),
        now_(std::move(now)) {}

  // Without a level: RocksDB says so of nothing that is wrong.
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
  void LogHeader(const char* /*format*/, va_list /*arguments*/) override {}
  void Logv(const rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    if (!tell_ || level < rocksdb::InfoLogLevel::WARN_LEVEL ||
        level >= rocksdb::InfoLogLevel::HEADER_LEVEL)
      return;
    const int before = left_out_before();
    if (before < 0) return;
    StoreNotice notice{level != rocksdb::InfoLogLevel::WARN_LEVEL, formatted(format, arguments)};
    if (before > 0) notice.text += " (" + std::to_string(before) + " others were left out)";
    tell_(notice);
  }

 private:
  // How many were left out since the last that was told; negative: this one is left out, too.
  int left_out_before() {
    const auto now = now_();
    const std::lock_guard lock(mutex_);
    if (told_ == 0 || now - since_ >= std::chrono::minutes(1)) {
      since_ = now;
      told_ = 0;
    }
    if (told_ >= per_minute_max_) {
      ++left_out_;
      return -1;
    }
    ++told_;
    return std::exchange(left_out_, 0);
  }

  TellNotice tell_;
  int per_minute_max_;
  NoticeClock now_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point since_;
  int told_ = 0;
  int left_out_ = 0;
};

}  // namespace

std::shared_ptr<rocksdb::Logger> make_notices(TellNotice tell, int per_minute_max,
                                              NoticeClock now) {
  return std::make_shared<Notices>(std::move(tell), per_minute_max, std::move(now));
}

}  // namespace postrider::rocks
