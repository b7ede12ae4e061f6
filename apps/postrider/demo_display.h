// What the demo shows while it runs: a block that is drawn again in place on a terminal, and a line
// now and then elsewhere. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace postrider {

struct DemoRow {
  std::string name;
  std::string mood;
  std::uint64_t taken = 0;
  std::uint64_t of = 0;
};

class DemoDisplay {
 public:
  explicit DemoDisplay(bool quiet) : quiet_(quiet) {}

  // A line that stays.
  void say(std::string_view line);
  // The block: at most several times a second, and always when `now` is said.
  void show(const std::vector<DemoRow>& rows, std::string_view footer, bool now);

 private:
  bool quiet_;
  std::size_t lines_up_ = 0;  // of the block that is on the terminal
  std::chrono::steady_clock::time_point shown_at_{};
};

// "12,345"
std::string grouped(std::uint64_t number);

}  // namespace postrider
