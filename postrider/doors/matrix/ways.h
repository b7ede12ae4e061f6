// Ways: how the door of the matrix profile reaches other servers by itself: relayed requests, which
// are streamed, and keys of servers. Both go through discovery, address guard and TLS, on the
// loop's thread, with connections and caches of their own: a relay that is slow takes no place of
// transactions, and the other way round.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "postrider/base/result.h"
#include "postrider/model/seams/clock.h"
#include "postrider/transports/discovery/discovery_transport.h"
#include "postrider/transports/http/http_streams.h"
#include "postrider/transports/http/http_transport.h"

namespace postrider::matrix_door {

struct WaysOptions {
  HttpTransportOptions http;
  DiscoveryOptions discovery;
  HttpStreamLimits streams;
};

class Ways final {
 public:
  // Called once, later and never from inside, unless the request was aborted.
  using Done = std::function<void(WireReply reply)>;

  static Result<std::unique_ptr<Ways>> make(boost::asio::io_context& loop, const Clock& clock,
                                            WaysOptions options);
  ~Ways();
  Ways(const Ways&) = delete;
  Ways& operator=(const Ways&) = delete;

  // The target is "matrix://SERVER/path".
  AttemptId ask(WireRequest request, Done done);
  // `head` gets the head of the answer, or that there is none; the body follows to the user.
  AttemptId stream(WireRequest request, StreamForm form, StreamUser& user, Done head);
  HttpStreams& streams() { return *streams_; }
  void abort(AttemptId attempt);
  void sweep();  // what the timers do; for tests that move the clock

 private:
  // What discovery stands in front of.
  struct Below final : Transport {
    explicit Below(Ways& owner) : ways(owner) {}
    void start(AttemptId attempt, WireRequest request) override;
    void abort(AttemptId attempt) override;
    Ways& ways;
  };

  Ways() = default;
  AttemptId next(Done done);
  void ended(AttemptId attempt, WireReply reply);

  std::uint64_t next_ = 1;
  std::unordered_map<std::uint64_t, Done> waiting_;
  std::unique_ptr<HttpTransport> http_;
  std::unique_ptr<HttpStreams> streams_;
  Below below_{*this};
  std::unique_ptr<DiscoveryTransport> discovery_;
};

}  // namespace postrider::matrix_door
