// Relays: requests of the homeserver that are handed on to other servers and their answers, both
// streamed, nothing stored. On the loop's thread; owned by the door.
//
// A relay holds what the client has not taken and what the server has not taken, kAheadBytes of
// each at most and what one read brings beyond; while either is full, the other side is not read.
// Its own limits and whatever fails before the head of an answer are told with 502; an answer that
// breaks off is cut, which a client sees because its end is missing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "postrider/doors/matrix/ways.h"
#include "postrider/protocols/matrix/server_name.h"
#include "postrider/servers/http/http_server.h"

namespace postrider::matrix_door {

struct RelayOptions {
  std::uint32_t relays_max = 256;
  std::uint32_t per_server_max = 16;
  Duration time_out{60'000};  // until the head of the answer
  std::string trust;          // PEM; empty: the usual
  std::string user_agent;     // of requests that have none
  // Says, now or later, whether the server backs off. Then one relay at a time is tried.
  std::function<void(const std::string& server, std::function<void(bool)> then)> ask_closed;
  // A server that was closed has answered with success.
  std::function<void(const std::string& server)> seen;
};

struct RelayCounts {
  std::uint64_t begun = 0;
  std::uint64_t answered = 0;   // with a whole answer, whatever its status
  std::uint64_t failed = 0;     // 502, because the server was not found or did not answer
  std::uint64_t refused = 0;    // 502 at once, by our own limits
  std::uint64_t broken = 0;     // the answer was cut off
  std::uint64_t abandoned = 0;  // the client has gone
  std::size_t held_peak = 0;    // bytes that one relay held, at most
};

class Relays final {
 public:
  // Of bytes that one side has not taken, before the other is not read any more.
  static constexpr std::size_t kAheadBytes = 65'536;
  static constexpr std::size_t kHeldBytesMax = 262'144;

  Relays(Ways& ways, RelayOptions options);
  ~Relays();
  Relays(const Relays&) = delete;
  Relays& operator=(const Relays&) = delete;

  // A request whose head is good. Returns what takes its body, if it has one.
  HttpBodySink relay(const HttpRequest& request, const matrix::EgressTarget& target,
                     const HttpExchangePtr& exchange);
  void look();  // now and then: at clients that have gone
  std::size_t open() const { return relays_.size(); }
  const RelayCounts& counts() const { return counts_; }

 private:
  class Relay;
  void begin(Relay& relay, bool closed);
  void drop(Relay& relay);
  void refuse(Relay& relay, std::string_view why);

  Ways& ways_;
  RelayOptions options_;
  RelayCounts counts_;
  std::uint64_t next_ = 1;
  std::unordered_map<std::uint64_t, std::shared_ptr<Relay>> relays_;
  std::map<std::string, std::uint32_t, std::less<>> by_server_;
};

// "Authorization: …" and so on: whether a header goes on to the far side. Those of one connection
// do not, nor does what frames a body; `connection` is the value of that header.
bool is_end_to_end(std::string_view lower_case_name, std::string_view connection);

}  // namespace postrider::matrix_door
