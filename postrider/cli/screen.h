// Screen: the terminal while a command draws on it again and again. Everything is given back when
// it goes, also after Ctrl-C. When the standard output is no terminal, texts are printed one after
// the other. One at a time: signals are the process's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/base/time.h"

namespace postrider {

class Screen {
 public:
  enum class Use : std::uint8_t { kDraw, kPrint };  // kPrint: as if there were no terminal
  explicit Screen(Use use);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  bool is_terminal() const { return terminal_; }
  // Drawn over what was there, without clearing it first, and cut to what there is room for.
  void show(std::string_view text);
  std::size_t rows() const;  // of the terminal; many when it is none

  static constexpr char kNothing = 0;    // the time is up, or the size has changed
  static constexpr char kStop = '\x03';  // Ctrl-C, a signal, or nobody listens any more
  char wait(Duration time);              // a key, or one of these
  bool stopped() const;

 private:
  bool terminal_ = false;
  bool reads_ = false;
};

// The first `width` characters of a line; colour codes take no room, and colour does not leak.
std::string cut_line(std::string_view line, std::size_t width);

}  // namespace postrider
