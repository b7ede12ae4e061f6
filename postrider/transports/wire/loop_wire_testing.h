// LoopWireTest: a wire on a loop of its own, lines by their numbers with all that was told of them,
// and sockets that a test holds without any library of ours.
#pragma once

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <functional>
#include <map>
#include <memory>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "postrider/transports/http/peers_testing.h"
#include "postrider/transports/wire/loop_wire.h"
#include "postrider/transports/wire/socket_place.h"

namespace postrider {

inline constexpr std::size_t kMiB = 1U << 20;

// A far side that obeys no protocol: a socket of the system.
class RawSocket {
 public:
  explicit RawSocket(int descriptor) : descriptor_(descriptor) {}
  ~RawSocket() { shut(); }
  RawSocket(RawSocket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  RawSocket& operator=(RawSocket&&) = delete;
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  static RawSocket to(const SocketPlace& place, int type = SOCK_STREAM) {
    const int descriptor = ::socket(place.family(), type | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(descriptor, place.raw(), place.size), 0);
    ::fcntl(descriptor, F_SETFL, O_NONBLOCK);
    return RawSocket(descriptor);
  }
  static RawSocket to(const std::string& endpoint, int type = SOCK_STREAM) {
    return to(place_of(*parse_line_endpoint(endpoint)), type);
  }
  ssize_t send(std::string_view bytes) const {
    return ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  // What there is now; the end of the stream sets `ended`.
  std::string read() {
    std::string out(kMiB, '\0');
    const ssize_t got = ::recv(descriptor_, out.data(), out.size(), MSG_DONTWAIT);
    ended = ended || got == 0 || (got < 0 && errno == ECONNRESET);
    out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return out;
  }
  void half_close() const { ::shutdown(descriptor_, SHUT_WR); }
  void reset() {
    const linger hard{1, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    shut();
  }
  void shut() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }
  int descriptor() const { return descriptor_; }
  bool ended = false;

 private:
  int descriptor_;
};

// What the wire told of one line.
struct LineNote {
  bool opened = false;
  LineId listener;
  std::string peer;
  std::string took;
  std::vector<std::pair<std::string, std::string>> datagrams;  // from, bytes
  int inputs = 0;
  int drained = 0;
  std::vector<std::pair<LineEnd, std::string>> ends;
};

class LoopWireTest : public ::testing::Test {
 protected:
  LoopWireTest() { make({}); }

  void make(LoopWireOptions options) {
    wire.reset();
    options.now = [this] { return now; };
    options.name_servers = {names.address()};
    options.secret = [this](std::string_view name) -> Result<std::string> {
      const auto found = secrets.find(std::string(name));
      if (found == secrets.end()) return fail(ErrorCode::kNotFound, "there is no such secret");
      return found->second;
    };
    auto made = LoopWire::make(loop, std::move(options),
                               [this](const station::Happened& happened) { note(happened); });
    ASSERT_TRUE(made.has_value());
    wire = std::move(*made);
  }

  void note(const station::Happened& happened) {
    if (const auto* opened = std::get_if<station::LineOpened>(&happened)) {
      LineNote& line = lines[opened->line.value()];
      line.opened = true;
      line.listener = opened->listener;
      line.peer = opened->peer;
      if (opened->listener.is_set()) accepted.push_back(opened->line);
    } else if (const auto* took = std::get_if<station::LineTook>(&happened)) {
      LineNote& line = lines[took->line.value()];
      ++line.inputs;
      if (took->from.empty()) {
        line.took += took->bytes;
      } else {
        line.datagrams.emplace_back(took->from, took->bytes);
      }
    } else if (const auto* drained = std::get_if<station::LineDrained>(&happened)) {
      ++lines[drained->line.value()].drained;
    } else {
      const auto& closed = std::get<station::LineClosed>(happened);
      lines[closed.line.value()].ends.emplace_back(closed.end, closed.detail);
    }
    if (on_note) on_note(happened);
  }
  // Lets the loop run until it is so; a test that waits in vain fails.
  void until(const std::function<bool()>& so) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!so()) {
      if (loop.stopped()) loop.restart();
      loop.run_one_for(std::chrono::milliseconds(20));
      if (std::chrono::steady_clock::now() < give_up) continue;
      ADD_FAILURE() << "waited in vain";
      return;
    }
  }
  void settle() {
    if (loop.stopped()) loop.restart();
    while (loop.poll() > 0) continue;
  }
  LineId open(LineOrder order) {
    const LineId line(++last);
    wire->open(line, std::move(order));
    EXPECT_EQ(lines.count(line.value()), 0U) << "nothing is told from inside a call";
    until([&] { return lines[line.value()].opened || !lines[line.value()].ends.empty(); });
    return line;
  }
  LineNote& of(LineId line) { return lines[line.value()]; }
  // The only end of a line, by name.
  std::string end_of(LineId line) {
    until([&] { return !of(line).ends.empty(); });
    settle();
    EXPECT_EQ(of(line).ends.size(), 1U);
    return of(line).ends.empty() ? "" : std::string(name_of(of(line).ends.front().first));
  }
  LineId listen(LineOrder order = {.address = "tcp://127.0.0.1:0"}) {
    order.listens = true;
    const LineId line = open(std::move(order));
    EXPECT_TRUE(of(line).opened) << (of(line).ends.empty() ? "" : of(line).ends[0].second);
    return line;
  }
  LineId accept() {
    const std::size_t before = accepted_seen++;
    until([&] { return accepted.size() > before; });
    return accepted.size() > before ? accepted[before] : LineId();
  }

  boost::asio::io_context loop{1};
  NameServer names{loop};
  Timestamp now{1'000'000};
  std::map<std::string, std::string> secrets;
  std::map<std::uint64_t, LineNote> lines;
  std::vector<LineId> accepted;
  std::size_t accepted_seen = 0;
  std::function<void(const station::Happened&)> on_note;
  std::uint64_t last = 0;
  std::unique_ptr<LoopWire> wire;
};

}  // namespace postrider
