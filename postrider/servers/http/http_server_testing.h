// HttpRig: a real server and raw clients on one loop, in one thread, with a clock that stands still
// until the test moves it. For tests of the server.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/model/seams/clock.h"
#include "postrider/servers/http/http_server.h"

namespace postrider {

class ManualClock final : public Clock {
 public:
  Instant read() const override { return now; }
  Instant now{Timestamp(5'000'000), Timestamp(1'800'000'000'000)};
};

struct HttpReply {
  int status = 0;
  std::string version;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  std::string header(std::string_view name) const;
};

// Takes one whole reply from the front of `bytes`. `to_head`: it answers HEAD, so it has no body.
std::optional<HttpReply> take_reply(std::string& bytes, bool to_head = false);

// A socket that never blocks.
class RawClient {
 public:
  explicit RawClient(const std::string& address, int receive_buffer = 0);  // as listen() returns it
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool send(std::string_view bytes);  // all of it; false when the server has closed
  void receive();                     // what is there, into `received`
  void end_sending();
  void reset();  // closes with RST

  std::string received;
  bool ended = false;  // the server has closed
  int fd = -1;
};

class HttpRig {
 public:
  HttpRig();
  ~HttpRig();
  HttpRig(const HttpRig&) = delete;
  HttpRig& operator=(const HttpRig&) = delete;

  void start();                                 // with limits and handler as they are now
  std::string listen(const HttpListen& where);  // the address bound, or "error: …"
  std::unique_ptr<RawClient> connect(int receive_buffer = 0);
  bool pump_until(const std::function<bool()>& done);
  std::size_t pump();  // what is ready now; returns how much that was
  std::optional<HttpReply> reply(RawClient& client, bool to_head = false);
  bool closes(RawClient& client);   // the server does, having said nothing more
  void pass(Duration time);         // moves the clock and sweeps
  std::string scratch_directory();  // removed at the end

  ManualClock clock;
  HttpLimits limits;
  HttpHandler handler;  // answers 200 with "METHOD TARGET BODY" unless the test sets another
  std::unique_ptr<HttpServer> server;
  std::string address;
  std::vector<std::string> seen;         // "METHOD TARGET BODY" of every request handled
  std::vector<HttpExchangePtr> waiting;  // of handlers made by hold()
  void hold();                           // from now on exchanges are kept for the test

 private:
  struct Loop;
  std::unique_ptr<Loop> loop_;
  std::string directory_;
};

inline constexpr std::string_view kGet = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
std::string get(std::string_view target);
std::string post(std::string_view target, std::string_view body);

}  // namespace postrider
