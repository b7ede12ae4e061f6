// DiscoveryTransport: requests to Matrix servers, "matrix://SERVER/path", over a transport that
// knows of URLs only. Finds out where a server is reached (protocols/matrix/discovery.h), sends the
// request there under the server's name, and goes on to the next target of SRV when nothing could
// be sent to one. Other requests pass through. On the loop's thread; owned by the same that owns
// the transport below, and destroyed before it.
//
// What is remembered is bounded, and of a name one thing is asked at a time, however many requests
// wait for it. The transport below resolves, guards and connects: an address that is forbidden is
// so wherever a well-known object or an SRV record leads to it. A request whose server cannot be
// found ends with kNoName; its body says why.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/seams/clock.h"
#include "postrider/model/seams/transport.h"
#include "postrider/protocols/matrix/discovery.h"
#include "postrider/transports/net/own_calls.h"
#include "postrider/transports/net/srv_resolver.h"

namespace postrider {

struct DiscoveryOptions {
  Duration lookup_time_out{30'000};    // of all that is asked for one server
  std::uint32_t servers_max = 16'384;  // whose well-known objects are remembered
  std::uint32_t lookups_max = 1'024;   // under way; requests beyond them are held back
  std::uint16_t well_known_port = 443;
  matrix::WellKnownTimes times;
  SrvResolverOptions srv;
  std::uint64_t seed = 1;  // of the chance in times and in the order of targets
};

struct DiscoveryCounts {
  std::uint64_t well_knowns = 0;  // objects asked for, redirects not counted
  std::uint64_t fallbacks = 0;    // requests that went on to a further target
};

class DiscoveryTransport final : public Transport {
 public:
  // Never called from inside start() or abort(). It may start and abort, but not destroy us.
  using Ended = std::function<void(AttemptId, WireReply)>;

  static Result<std::unique_ptr<DiscoveryTransport>> make(boost::asio::io_context& loop,
                                                          const Clock& clock,
                                                          DiscoveryOptions options, Ended ended);
  ~DiscoveryTransport() override;
  DiscoveryTransport(const DiscoveryTransport&) = delete;
  DiscoveryTransport& operator=(const DiscoveryTransport&) = delete;

  // The transport below, before the first start. It must tell all its ends to inner_ended().
  void over(Transport& inner) { inner_ = &inner; }
  void inner_ended(AttemptId attempt, WireReply reply);

  void start(AttemptId attempt, WireRequest request) override;
  void abort(AttemptId attempt) override;  // passed on
  std::size_t connections() const override { return inner_->connections(); }
  DiscoveryCounts counts() const { return counts_; }
  void sweep();  // what its own timer does; for tests that move the clock
  void close();  // nothing is told afterwards

 private:
  struct Request;
  struct Lookup;
  struct WellKnown;
  struct Told {
    AttemptId attempt;
    WireReply reply;
  };

  DiscoveryTransport(boost::asio::io_context& loop, const Clock& clock, DiscoveryOptions options,
                     Ended ended);
  Lookup* lookup_of(const matrix::ServerName& server, const WireRequest& request);
  void proceed(Lookup& lookup);
  bool answer_well_known(Lookup& lookup);
  bool answer_srv(Lookup& lookup);
  void take_srv(Lookup& lookup, const SrvFound& found);
  void fetch(Lookup& lookup, std::string url);
  void fetched(Lookup& lookup, const WireReply& reply);
  void remember(const std::string& server, const WellKnown& known);
  void finish(Lookup& lookup, WireEnd end);
  void send(AttemptId attempt, Request& request);
  void tell(AttemptId attempt, WireReply reply);
  void flush();

  const Clock& clock_;
  DiscoveryOptions options_;
  Ended ended_;
  Transport* inner_ = nullptr;
  std::unique_ptr<SrvResolver> srv_;
  OwnCalls own_;
  Rng rng_;
  bool closed_ = false;
  std::uint64_t next_ask_ = 1;
  DiscoveryCounts counts_;
  // Requests that wait for a lookup, or have a further target to go to.
  std::unordered_map<std::uint64_t, std::unique_ptr<Request>> requests_;
  std::unordered_map<std::string, std::unique_ptr<Lookup>> lookups_;  // by host
  std::unordered_map<std::uint64_t, Lookup*> asked_;  // by attempt below, or token of SRV
  std::unordered_map<std::string, WellKnown> well_known_;
  std::list<std::string> well_known_order_;  // oldest first
  std::deque<Told> told_;
};

}  // namespace postrider
