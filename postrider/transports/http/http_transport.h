// HttpTransport: HTTP/1.1 out, on the loop's thread. Keeps connections, resolves names, guards
// where we go, times out. Decides nothing: what an answer means is the profile's business.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/transport.h"

namespace boost::asio {
class io_context;
}

namespace postrider {

struct HttpTransportOptions {
  std::uint32_t connections_max = 2048;
  std::uint32_t idle_connections_max = 512;
  std::uint32_t idle_per_host_max = 16;
  Duration idle_time_out{30'000};  // a kept connection is closed after it
  Duration connect_time_out{5'000};
  Duration tls_time_out{5'000};
  Duration first_byte_time_out{0};  // 0: that of the whole exchange
  std::uint32_t reply_head_bytes_max = 32 * 1024;
  std::uint32_t reply_bytes_max = 64 * 1024;  // read before the connection is given up
  std::uint32_t excerpt_bytes_max = 1024;     // of the body that the profile gets to see
  std::vector<std::string> allow;         // "127.0.0.0/8", "fd00::/8": private ranges we may reach
  std::vector<std::string> name_servers;  // "127.0.0.1:5353"; none: the system's
  std::string trust_file;                 // PEM; empty: the system's
};

class HttpTransport final : public Transport {
 public:
  using Ended = std::function<void(AttemptId, WireReply)>;

  // An Error names the option that is wrong.
  static Result<std::unique_ptr<HttpTransport>> make(boost::asio::io_context& loop,
                                                     HttpTransportOptions options, Ended ended);
  ~HttpTransport() override;
  HttpTransport(const HttpTransport&) = delete;
  HttpTransport& operator=(const HttpTransport&) = delete;

  void start(AttemptId attempt, WireRequest request) override;
  void abort(AttemptId attempt) override;
  std::size_t connections() const;
  void close();  // cuts everything; nothing is told afterwards

 private:
  class Impl;
  explicit HttpTransport(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
