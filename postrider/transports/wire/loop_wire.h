// LoopWire: lines on the loop: TCP and TLS, UDP and Unix sockets, ours and accepted. Carries bytes
// and decides nothing. On the loop's thread; what happens is told from handlers of the loop, never
// from inside a call.
//
// What lines share is bounded: their number, those in a handshake and those that linger included;
// what one has unsent; one buffer to read into, because a line waits without one. One wake-up is
// one read, so a far side that floods takes turns with the others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/seams/station.h"
#include "postrider/model/seams/wire.h"

namespace boost::asio {
class io_context;
}

namespace postrider {

// Time-outs are noticed by a sweep: up to 0.1 s late, those that are far off up to 1 s.
struct LoopWireOptions {
  LineLimits limits;
  Duration connect_time_out{10'000};  // of one address
  Duration tls_time_out{10'000};      // a far side that says nothing holds a line so long
  Duration linger{5'000};             // what was written before a close may take so long to leave
  std::vector<std::string> allow;     // private ranges that foreign addresses may name
  std::vector<std::string> name_servers;  // "127.0.0.1:5353"; none: the system's
  std::string trust_file;                 // PEM; empty: the system's
  // The PEM of a secret by its name: a private key and its certificates.
  std::function<Result<std::string>(std::string_view name)> secret;
  std::function<Timestamp()> now;  // for tests; none: the steady clock
};

struct LoopWireCounts {
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;         // as many lines were open as may be
  std::uint64_t datagrams_lost = 0;  // that were not sent
};

class LoopWire final : public Wire {
 public:
  using Tell = std::function<void(const station::Happened&)>;

  // An Error names the option that is wrong.
  static Result<std::unique_ptr<LoopWire>> make(boost::asio::io_context& loop,
                                                LoopWireOptions options, Tell tell);
  ~LoopWire() override;
  LoopWire(const LoopWire&) = delete;
  LoopWire& operator=(const LoopWire&) = delete;

  void open(LineId line, LineOrder order) override;
  void write(LineId line, std::string bytes, std::string_view to) override;
  void hold(LineId line, bool held) override;
  void close(LineId line) override;

  std::size_t lines() const;  // with those in a handshake and those that linger
  LoopWireCounts counts() const;
  void sweep();  // what its own timer does; for tests that move the clock

 private:
  class Impl;
  explicit LoopWire(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
