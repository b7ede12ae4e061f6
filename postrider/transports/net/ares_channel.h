// AresChannel: c-ares on the loop: its sockets are watched, its answers are taken when they come,
// and its questions time out at a sweep. On the loop's thread; owned by a resolver.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"

namespace boost::asio {
class io_context;
}
struct ares_channeldata;

namespace postrider {

struct AresOptions {
  std::vector<std::string> servers;  // none: the system's
  Duration ask_time_out{2'000};      // of one question to one server
  std::uint32_t asks_max = 3;        // per server
};

class AresChannel {
 public:
  // `processed` is called outside of c-ares when answers may have come, so it may ask again.
  static Result<std::unique_ptr<AresChannel>> make(boost::asio::io_context& loop,
                                                   const AresOptions& options,
                                                   std::function<void()> processed);
  ~AresChannel();
  AresChannel(const AresChannel&) = delete;
  AresChannel& operator=(const AresChannel&) = delete;

  ares_channeldata* raw() { return channel_; }
  void sweep();  // lets questions time out
  void close();  // ends all questions, whose callbacks come before it returns

 private:
  struct Watch;
  AresChannel(boost::asio::io_context& loop, std::function<void()> processed);
  Result<void> open(const AresOptions& options);
  void process(int readable, int writable);
  void watch(int socket, bool readable, bool writable);
  void arm(const std::shared_ptr<Watch>& watch);

  boost::asio::io_context& loop_;
  std::function<void()> processed_;
  ares_channeldata* channel_ = nullptr;
  std::unordered_map<int, std::shared_ptr<Watch>> watches_;  // shared with their handlers
};

}  // namespace postrider
