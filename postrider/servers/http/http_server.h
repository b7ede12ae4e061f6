// HttpServer: HTTP/1.1 in, on the loop's thread. It reads requests within named limits, hands each
// to the handler and writes what the handler says, now or later. It knows nothing of the API.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/seams/clock.h"

namespace boost::asio {
class io_context;
}

namespace postrider {

struct HttpLimits {
  std::uint32_t connections_max = 20'000;
  std::uint32_t head_bytes_max = 16 * 1024;    // request line and headers
  std::uint64_t body_bytes_max = 524'288;      // of a request that is not streamed
  std::uint32_t pipelined_max = 64;            // requests of one connection under way
  std::uint64_t unsent_bytes_max = 1'048'576;  // of one connection; a slower reader is cut
  // What all connections hold together: what was received, bodies until they are answered, what
  // handlers keep for requests, and answers that clients have not taken.
  std::uint64_t held_bytes_max = 268'435'456;
  std::uint32_t headers_max = 128;
  int descriptors_max = 0;  // clients get none above it, for others need them more; 0: no bound
  Duration head_time_out{10'000};         // from the first byte to the end of the head
  Duration body_time_out{30'000};         // between two pieces of a body
  Duration whole_body_time_out{300'000};  // from the head to the last piece, unless it is streamed
  Duration idle_time_out{75'000};         // between two requests
};

struct HttpListen {
  std::string address;           // "127.0.0.1:8460", "[::1]:8460", or "unix:/path"
  std::string certificate_file;  // with key_file: TLS
  std::string key_file;
};

using HttpHeader = std::pair<std::string_view, std::string_view>;

// Views are good until the handler returns.
struct HttpRequest {
  std::string_view method;
  std::string_view target;          // path and query as sent; with `forwards`, also whole targets
  std::vector<HttpHeader> headers;  // names in lower case
  std::string_view body;
  std::uint64_t length = 0;  // of the body, as the head says; 0: there is none, or it is chunked
  bool body_waits = false;   // the body is not here yet
  std::string_view peer;     // an address, or "unix"
  bool local = false;        // came through the Unix socket

  std::string_view header(std::string_view lower_case_name) const;  // first of its name, or empty
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  bool close = false;
};

// One request that waits for its answer. Answers of one connection leave in the order of its
// requests, whatever the order they are given in. Everything is a no-op when the client is gone.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  virtual void respond(HttpResponse response) = 0;

  // A long answer: the head, then pieces, then the end (chunked). write() returns false when the
  // client reads too slowly or is gone; then stop.
  virtual void begin(HttpResponse head) = 0;
  virtual bool write(std::string_view piece) = 0;
  virtual void end() = 0;
  virtual bool gone() const = 0;
  // The client has closed its side, or is gone: it says nothing more, and hardly reads on.
  virtual bool parted() const = 0;
  virtual std::size_t unsent() const = 0;  // bytes that the client has not taken yet
  // Calls once, later and never from inside, when this answer is the next of its connection and the
  // client has taken nearly all of what was written; never when the client is gone. One at a time.
  virtual void when_room(std::function<void()> call) = 0;

  // Whether so much more fits into the budget of all connections (held_bytes_max).
  virtual bool has_room(std::size_t bytes) const = 0;
  // What the handler holds for this request now. It counts against the budget until it is said
  // anew or the answer is complete; the length of a collected body counts by itself.
  virtual void keep(std::size_t bytes) = 0;

  // A streamed body: pause() stops reading from the client until resume().
  virtual void pause() = 0;
  virtual void resume() = 0;
};
using HttpExchangePtr = std::shared_ptr<HttpExchange>;

// Gets a body piece by piece; `last` with the last one, which may be empty.
using HttpBodySink = std::function<void(std::string_view piece, bool last)>;

struct HttpHandler {
  // A whole request.
  std::function<void(const HttpRequest&, HttpExchangePtr)> handle;
  // Asked when the head is there and a body follows, before `100 Continue`. It may answer: then the
  // body is not read. A sink takes the body as it comes and without a limit on its size; an empty
  // function means that the request is collected and goes to `handle`.
  std::function<HttpBodySink(const HttpRequest&, HttpExchangePtr)> stream;
  // How large the body of this request may be when it is collected: for one that is larger than
  // body_bytes_max, or does not say. It counts against held_bytes_max as any other. 0, or no such
  // function: not larger than body_bytes_max.
  std::function<std::uint64_t(const HttpRequest&)> body_bytes_max = {};
  // Makes the answer to something that never became a request (400, 408, 413, 431, 503, …).
  std::function<HttpResponse(int status, std::string_view detail)> refuse;
  // Absolute targets of other schemes than HTTP's come as they are, because requests may be for
  // others. Else they are refused.
  bool forwards = false;
};

class HttpServer {
 public:
  HttpServer(boost::asio::io_context& loop, HttpLimits limits, HttpHandler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // With another clock than the system's; it must outlive the server.
  HttpServer(boost::asio::io_context& loop, HttpLimits limits, HttpHandler handler,
             const Clock& clock);

  // Returns the address really bound (port 0 is any). Several may listen.
  Result<std::string> listen(const HttpListen& where);
  void stop_accepting();  // and close idle connections; exchanges under way finish
  void close();           // cut everything
  std::size_t connections() const;
  std::uint64_t held_bytes() const;  // of all connections, as held_bytes_max counts them
  void sweep();                      // looks for time-outs; called by itself every second

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
