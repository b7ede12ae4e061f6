// HttpHub: what all connections of one server share: limits, handler, the set of sockets waited
// for, buffers lent to those that are busy, time. It owns the connections. On the loop's thread.
//
// All sockets are in one epoll set of our own, of which the loop sees a single descriptor: a
// connection at rest costs nothing there, a request costs one read and one write, and everything
// that became ready in one turn is handled before the first answer is written.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/model/seams/clock.h"
#include "postrider/servers/http/http_listener.h"
#include "postrider/servers/http/http_reader.h"
#include "postrider/servers/http/http_server.h"

namespace postrider {

class HttpConnection;
struct HttpSlot;

// Something with a descriptor in the set.
class HttpWatched {
 public:
  virtual ~HttpWatched() = default;
  virtual void on_ready(std::uint32_t events) = 0;
};

class HttpHub {
 public:
  // `wake` asks for a call of settle() soon.
  HttpHub(const HttpLimits& limits, HttpHandler handler, std::function<void()> wake);
  ~HttpHub();
  HttpHub(const HttpHub&) = delete;
  HttpHub& operator=(const HttpHub&) = delete;

  // Driven by the server.
  int descriptor() const { return epoll_; }
  void turn(Instant now);    // handles what is ready
  void settle(Instant now);  // writes what was answered meanwhile
  void sweep(Instant now);   // time-outs
  void drain();              // closes what is idle; the rest closes after its answers
  void cut_all();

  void adopt(int fd, const HttpPeer& peer, const TlsIdentity* tls);
  std::size_t connections() const { return connections_.size(); }
  void watch(int fd, HttpWatched& watched, std::uint32_t events);
  void change(int fd, HttpWatched& watched, std::uint32_t events);

  // For connections.
  const HttpLimits& limits() const { return limits_; }
  const HttpReaderLimits& reader_limits() const { return reader_limits_; }
  const HttpHandler& handler() const { return handler_; }
  HttpResponse refusal(int status, std::string_view detail) const;
  Timestamp now() const { return now_; }
  std::string_view date_line() const { return date_line_; }
  bool draining() const { return draining_; }
  HttpRequest& request() { return request_; }  // of the one being read
  std::span<char> scratch() { return {scratch_.get(), kScratchBytes}; }
  std::string take_buffer();
  void give_buffer(std::string& buffer);
  HttpSlot* take_slot();
  void give_slot(HttpSlot* slot);
  void mark(HttpConnection& connection);             // settle it soon
  void offer_room_to(HttpConnection& connection);    // in a turn of its own
  void expire_at(std::size_t index, Timestamp due);  // or earlier
  void remove(HttpConnection& connection);

  // The budget. A connection says what it holds whenever that changes.
  void hold(std::uint64_t before, std::uint64_t now) { held_ = held_ - before + now; }
  std::uint64_t held_bytes() const { return held_; }
  bool has_room(std::uint64_t bytes) const {
    return held_ <= limits_.held_bytes_max && bytes <= limits_.held_bytes_max - held_;
  }
  // So little is left that nothing is begun for a connection that owes answers already.
  bool pressed() const { return !has_room(kScratchBytes); }

  static constexpr std::size_t kScratchBytes = 65'536;

 private:
  void set_time(Instant now);
  void settle_marked();
  void ask_for_settling();

  const HttpLimits limits_;
  const HttpReaderLimits reader_limits_;
  const HttpHandler handler_;
  const std::function<void()> wake_;
  int epoll_ = -1;
  bool in_turn_ = false;
  bool woken_ = false;
  bool draining_ = false;
  std::uint64_t held_ = 0;  // by all connections
  Timestamp now_;
  std::int64_t date_second_ = -1;
  std::string date_line_;
  HttpRequest request_;
  std::unique_ptr<char[]> scratch_;
  std::vector<std::string> buffers_;
  std::vector<std::unique_ptr<HttpSlot>> slots_;
  std::vector<std::unique_ptr<HttpConnection>> connections_;
  std::vector<Timestamp> dues_;  // beside connections_: a sweep looks at these only
  std::vector<HttpConnection*> marked_;
  std::vector<HttpConnection*> roomy_;
  std::vector<std::unique_ptr<HttpConnection>> graveyard_;  // events of this turn may name them
};

}  // namespace postrider
