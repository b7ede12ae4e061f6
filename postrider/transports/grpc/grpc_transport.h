// GrpcTransport: unary calls of gRPC over HTTP/2, on the loop's thread. One connection for each
// authority carries all its calls. Decides nothing and repeats nothing: what an answer means, and
// whether to call again, is the profile's business.
//
// A request's target is "http://host:8080/package.Service/Method" (cleartext, HTTP/2 by prior
// knowledge) or "https://…" (TLS with ALPN h2); its body is the message without the prefix of gRPC;
// its headers are the metadata, "authorization" for example. The reply is that of GrpcReply.
//
// How sure an end is:
//   kRefused, kNoName,     nothing was sent; or the peer has said, by REFUSED_STREAM or GOAWAY,
//   kNoTls, kForbidden     that it has not touched the call
//   kHeldBack              nothing was sent for want of a place of ours
//   kTimedOut, kReset      bytes have left, and there is no answer that we can read
//   kAnswered              there is a status
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
struct GrpcTransportOptions {
  std::uint32_t connections_max = 256;
  std::uint32_t streams_max = 100;     // of one connection; the peer may allow fewer
  std::uint32_t waiting_max = 65'536;  // calls without a stream; more are held back
  // A call that has waited so long, or a quarter of its own time, for a place of ours is held back.
  Duration held_back_after{3'000};
  std::uint32_t calls_per_connection_max = 1'000'000'000;  // stream numbers are finite
  int descriptors_max = 0;                                 // none above it is used; 0: no bound
  Duration idle_time_out{300'000};  // a connection without calls is closed after it
  Duration ping_after{10'000};      // of silence: the next call waits until a ping is answered
  Duration ping_time_out{5'000};
  Duration connect_time_out{5'000};  // of one address
  Duration tls_time_out{5'000};
  Duration greeting_time_out{5'000};    // until the peer has said that it speaks HTTP/2
  Duration call_time_out_max{600'000};  // of requests that name a longer one or none
  std::uint32_t request_bytes_max = 4 * 1024 * 1024;  // what most servers take
  std::uint32_t reply_head_bytes_max = 16 * 1024;
  std::uint32_t reply_bytes_max = 1024 * 1024;
  std::uint32_t message_bytes_max = 1024;  // of grpc-message
  std::vector<std::string> allow;          // "127.0.0.0/8": private ranges we may reach
  std::vector<std::string> name_servers;   // "127.0.0.1:5353"; none: the system's
  Duration name_time_out{2'000};           // of one question to one name server
  std::uint32_t addresses_max = 8;         // of one name
  std::uint32_t names_max = 4096;          // remembered
  std::uint32_t names_asking_max = 256;    // at the same time; more wait for their turn
  std::uint32_t name_asks_max = 3;         // of each name server
  Duration name_ttl_max{3'600'000};
  Duration name_negative_ttl{5'000};  // of "there is no such name"
  Duration name_patience{1'000};      // as for HTTP, and so are the following
  Duration name_stale_max{300'000};
  Duration name_silence_min{5'000};
  Duration name_silence_max{60'000};
  std::string trust_file;          // PEM; empty: the system's
  std::function<Timestamp()> now;  // for tests; none: the steady clock
};

struct GrpcTransportCounts {
  std::uint64_t connects = 0;  // connections begun
  std::uint64_t calls = 0;     // streams opened
};

class GrpcTransport final : public Transport {
 public:
  // Never called from inside start(). It may start, abort and close, but not destroy the transport.
  using Ended = std::function<void(AttemptId, WireReply)>;

  // An Error names the option that is wrong.
  static Result<std::unique_ptr<GrpcTransport>> make(boost::asio::io_context& loop,
                                                     GrpcTransportOptions options, Ended ended);
  ~GrpcTransport() override;
  GrpcTransport(const GrpcTransport&) = delete;
  GrpcTransport& operator=(const GrpcTransport&) = delete;

  void start(AttemptId attempt, WireRequest request) override;
  void abort(AttemptId attempt) override;
  std::size_t connections() const override;
  std::size_t waiting() const;  // calls that wait for a stream
  GrpcTransportCounts counts() const;
  void sweep();  // what its own timer does; for tests that move the clock
  void close();  // cuts everything; nothing is told afterwards

 private:
  class Impl;
  explicit GrpcTransport(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
