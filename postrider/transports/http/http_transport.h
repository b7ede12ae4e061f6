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
#include "postrider/model/seams/transport.h"

namespace boost::asio {
class io_context;
}

namespace postrider {

// Time-outs are noticed by a sweep: up to 0.1 s late, those that are far off up to 1 s.
struct HttpTransportOptions {
  std::uint32_t connections_max = 2048;
  std::uint32_t idle_connections_max = 512;
  std::uint32_t idle_per_host_max = 128;  // 0: every request asks the peer to close
  int descriptors_max = 0;             // none above it is used, for others need them; 0: no bound
  std::uint32_t waiting_max = 65'536;  // exchanges without a connection; more are held back
  // Waited for a place of ours, a connection's or a name's, for so long, or for a quarter of its
  // own time, an exchange is held back: it has ended, and the destination has no part in it.
  Duration held_back_after{3'000};
  std::uint32_t unused_hosts_max = 4096;  // remembered for their TLS sessions
  Duration idle_time_out{30'000};         // a kept connection is closed after it
  Duration connection_life_max{300'000};  // not used again after it: addresses change
  Duration connect_time_out{5'000};       // of one address
  Duration tls_time_out{5'000};
  Duration first_byte_time_out{0};                    // 0: that of the whole exchange
  Duration exchange_time_out_max{600'000};            // of requests that name a longer one or none
  std::uint32_t request_bytes_max = 8 * 1024 * 1024;  // of a body; a larger one is not sent
  std::uint32_t reply_head_bytes_max = 32 * 1024;
  std::uint32_t reply_bytes_max = 64 * 1024;  // read before the connection is given up
  std::uint32_t excerpt_bytes_max = 1024;     // of the body that the profile gets to see
  std::uint32_t interim_replies_max = 16;     // answers 1xx before the real one
  std::vector<std::string> allow;         // "127.0.0.0/8", "fd00::/8": private ranges we may reach
  std::vector<std::string> name_servers;  // "127.0.0.1:5353"; none: the system's
  std::uint32_t names_max = 4096;         // remembered
  std::uint32_t names_asking_max = 256;   // at the same time; more wait for their turn
  std::uint32_t addresses_max = 8;        // of one name
  Duration name_time_out{2'000};          // of one question to one name server
  std::uint32_t name_asks_max = 3;        // of each name server
  Duration name_ttl_max{3'600'000};
  Duration name_negative_ttl{5'000};  // of "there is no such name"
  Duration name_patience{1'000};      // with one question, before its place is another's
  Duration name_stale_max{300'000};   // an address is used beyond its TTL while nobody answers
  Duration name_silence_min{5'000};   // that nobody answered is remembered so long; doubles …
  Duration name_silence_max{60'000};  // … up to this
  std::string trust_file;             // PEM; empty: the system's
  std::function<Timestamp()> now;     // for tests; none: the steady clock
};

struct HttpTransportCounts {
  std::uint64_t connects = 0;     // connections begun
  std::uint64_t reuses = 0;       // exchanges on a kept connection
  std::uint64_t repeats = 0;      // exchanges repeated because a kept connection was cut off
  std::uint64_t resumptions = 0;  // TLS handshakes shortened by an earlier one
};

class HttpTransport final : public Transport {
 public:
  // Never called from inside start(). It may start, abort and close, but not destroy the transport.
  using Ended = std::function<void(AttemptId, WireReply)>;

  // An Error names the option that is wrong.
  static Result<std::unique_ptr<HttpTransport>> make(boost::asio::io_context& loop,
                                                     HttpTransportOptions options, Ended ended);
  ~HttpTransport() override;
  HttpTransport(const HttpTransport&) = delete;
  HttpTransport& operator=(const HttpTransport&) = delete;

  void start(AttemptId attempt, WireRequest request) override;
  void abort(AttemptId attempt) override;
  std::size_t connections() const override;  // kept ones included
  std::size_t idle_connections() const;      // kept ones
  std::size_t waiting() const;               // exchanges that wait for a connection
  HttpTransportCounts counts() const;
  void sweep();  // what its own timer does; for tests that move the clock
  void close();  // cuts everything; nothing is told afterwards

 private:
  class Impl;
  explicit HttpTransport(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
