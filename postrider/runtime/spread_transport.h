// SpreadTransport: one transport made of several, each on a loop and a thread of its own, so that
// encryption and parsing use further cores. All exchanges with one peer stay on one loop, where its
// connections are. Created, called and destroyed on the caller's loop; ends are told inside poll()
// on that thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/model/seams/transport.h"

namespace boost::asio {
class io_context;
}

namespace postrider {

// "https://shop.example:8443" of "https://shop.example:8443/hook?x": who is spoken to.
std::string_view peer_of(std::string_view target);

class SpreadTransport final : public Transport {
 public:
  using Ended = std::function<void(AttemptId, WireReply)>;
  // Makes the transport of one loop; it is used and tells its ends on that loop's thread.
  using Make = std::function<Result<std::unique_ptr<Transport>>(boost::asio::io_context&, Ended)>;

  // `wake` asks for poll() soon. It is called from our threads, at most once for what one poll()
  // will take.
  static Result<std::unique_ptr<SpreadTransport>> make(std::uint32_t loops, const Make& make,
                                                       Ended ended, std::function<void()> wake);
  ~SpreadTransport() override;  // what is open is cut and not told
  SpreadTransport(const SpreadTransport&) = delete;
  SpreadTransport& operator=(const SpreadTransport&) = delete;

  void start(AttemptId attempt, WireRequest request) override;
  void abort(AttemptId attempt) override;
  std::size_t connections() const override;  // as of a moment ago

  std::size_t poll();  // tells what has ended; returns how many

 private:
  class Impl;
  explicit SpreadTransport(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
