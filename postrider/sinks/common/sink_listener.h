// SinkListener: HTTP/1.1 for sinks that model a far side: each request is handed over whole and
// answered when the model says so, or cut off. Shares the parser with the other sink and nothing
// with the server of the daemon: a witness that shares its code shares its bugs. The loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/sinks/common/sink_http.h"

namespace boost::asio {
class io_context;
}

namespace postrider {

struct SinkHttpAnswer {
  int status = 200;
  std::string_view content_type = "application/json";
  std::string_view body;
  bool twice = false;  // the same bytes once more, though nobody asked
};

// To answer one request with, once. The connection may be gone by then.
class SinkResponder {
 public:
  class Connection;
  explicit SinkResponder(std::weak_ptr<Connection> connection)
      : connection_(std::move(connection)) {}
  void answer(const SinkHttpAnswer& answer) const;
  void cut() const;  // the connection, without a word

 private:
  std::weak_ptr<Connection> connection_;
};

struct SinkListenerLimits {
  std::uint32_t connections_max = 20'000;
  std::size_t head_bytes_max = 64ULL * 1024;
  std::size_t body_bytes_max = 1024ULL * 1024;
};

// PEM files; both empty: clear text.
struct SinkTls {
  std::string certificate_file;
  std::string key_file;
};

class SinkListener {
 public:
  class Impl;
  // The views of the request hold during the call only.
  using Handler = std::function<void(const SinkRequest&, SinkResponder)>;

  // `address` is "PORT" on loopback or "ADDRESS:PORT"; port 0 is any. An Error says what is wrong.
  static Result<std::unique_ptr<SinkListener>> open(boost::asio::io_context& loop,
                                                    std::string_view address, Handler handler,
                                                    SinkListenerLimits limits = {},
                                                    const SinkTls& tls = {});
  ~SinkListener();
  SinkListener(const SinkListener&) = delete;
  SinkListener& operator=(const SinkListener&) = delete;

  std::string address() const;  // "127.0.0.1:PORT"

 private:
  explicit SinkListener(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  // shared with nobody; handlers watch it weakly
};

}  // namespace postrider
