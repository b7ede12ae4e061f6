#include "postrider/cli/screen.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <termios.h>

namespace postrider {
namespace {

constexpr std::string_view kEnter =
    "\033[?1049h\033[?25l\033[H\033[2J";  // another screen, no cursor
constexpr std::string_view kLeave = "\033[?25h\033[?1049l";
constexpr std::size_t kRowsWithout = 1'000'000;

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): what signals may touch
volatile std::sig_atomic_t stop_wanted = 0;
volatile std::sig_atomic_t was_resized = 0;
termios terminal_before{};
struct sigaction interrupt_before {};
struct sigaction terminate_before {};
struct sigaction resize_before {};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

extern "C" void want_stop(int /*signal*/) { stop_wanted = 1; }
extern "C" void note_resize(int /*signal*/) { was_resized = 1; }

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = write(STDOUT_FILENO, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      stop_wanted = 1;
      return;
    }
    text.remove_prefix(static_cast<std::size_t>(done));
  }
}

winsize size_now() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
    size.ws_row = 24;
    size.ws_col = 80;
  }
  return size;
}

void on_signal(int signal, void (*handler)(int), struct sigaction* before) {
  struct sigaction action {};
  action.sa_handler = handler;  // without SA_RESTART: poll must notice
  sigaction(signal, &action, before);
}

}  // namespace

Screen::Screen(Use use) : terminal_(use == Use::kDraw && isatty(STDOUT_FILENO) == 1) {
  stop_wanted = 0;
  on_signal(SIGINT, want_stop, &interrupt_before);
  on_signal(SIGTERM, want_stop, &terminate_before);
  on_signal(SIGWINCH, note_resize, &resize_before);
  if (!terminal_) return;
  reads_ = isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &terminal_before) == 0;
  if (reads_) {
    termios raw = terminal_before;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  std::fflush(stdout);
  write_all(kEnter);
}

Screen::~Screen() {
  if (terminal_) write_all(kLeave);
  if (reads_) tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
  sigaction(SIGINT, &interrupt_before, nullptr);
  sigaction(SIGTERM, &terminate_before, nullptr);
  sigaction(SIGWINCH, &resize_before, nullptr);
}

bool Screen::stopped() const { return stop_wanted != 0; }

std::size_t Screen::rows() const { return terminal_ ? size_now().ws_row : kRowsWithout; }

void Screen::show(std::string_view text) {
  if (!terminal_) {
    write_all(text);
    return;
  }
  const winsize size = size_now();
  // One write, and no clearing before it: what stays the same does not flicker.
  std::string out = "\033[H";
  for (std::size_t row = 0; row < size.ws_row && !text.empty(); ++row) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (row > 0) out += '\n';
    out += cut_line(text.substr(0, end), size.ws_col);
    out += "\033[K";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  write_all(out + "\033[J");
}

char Screen::wait(Duration time) {
  if (stopped()) return kStop;
  std::array<pollfd, 1> files{{{STDIN_FILENO, POLLIN, 0}}};
  const int count =
      poll(files.data(), reads_ ? 1 : 0, static_cast<int>(std::max<std::int64_t>(time.count(), 0)));
  if (stopped()) return kStop;
  if (was_resized != 0) {
    was_resized = 0;
    return kNothing;
  }
  if (count <= 0) return kNothing;
  char key = 0;
  const ssize_t got = read(STDIN_FILENO, &key, 1);
  if (got == 0 || (got < 0 && errno != EINTR)) {
    reads_ = false;  // nobody types any more
    tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
    return kNothing;
  }
  return got == 1 ? key : kNothing;
}

std::string cut_line(std::string_view line, std::size_t width) {
  std::string out;
  std::size_t used = 0;
  bool coloured = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\033') {
      const std::size_t end = std::min(line.find('m', i), line.size() - 1);
      const std::string_view code = line.substr(i, end + 1 - i);
      coloured = code != "\033[0m";
      out += code;
      i = end;
      continue;
    }
    const bool goes_on = (static_cast<unsigned char>(line[i]) & 0xC0) == 0x80;
    if (!goes_on && used++ == width) break;
    out += line[i];
  }
  return coloured ? out + "\033[0m" : out;
}

}  // namespace postrider
