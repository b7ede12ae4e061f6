// Resolver: names to addresses, without blocking, by c-ares on the loop. Remembers answers as long
// as they may be remembered and asks for a name once, however many wait for it. On the loop's
// thread; owned by the transport.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/transports/net/address_guard.h"

namespace boost::asio {
class io_context;
}
struct ares_addrinfo;
struct ares_channeldata;

namespace postrider {

struct ResolverOptions {
  std::vector<std::string> servers;  // none: the system's
  Duration ask_time_out{2'000};      // of one question to one server
  std::uint32_t asks_max = 3;        // per server
  std::uint32_t names_max = 4096;    // remembered
  std::uint32_t asking_max = 256;    // names under way; more wait for their turn
  std::uint32_t addresses_max = 8;   // of one name
  Duration ttl_max{3'600'000};
  Duration negative_ttl{5'000};  // of "there is no such name"
};

// Empty: the name has no address, or nobody could say.
using Addresses = std::vector<IpAddress>;

class Resolver {
 public:
  using Token = std::uint64_t;
  using Answered = std::function<void(Token, const Addresses&)>;

  static Result<std::unique_ptr<Resolver>> make(boost::asio::io_context& loop,
                                                const ResolverOptions& options,
                                                std::function<Timestamp()> now, Answered answered,
                                                std::function<void()> flush);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // The addresses, good until the next call; or null, then `answered` follows with the token.
  const Addresses* ask(const std::string& name, Token token);
  bool busy() const { return asking_ > 0 || !answers_.empty(); }
  void sweep();  // lets questions time out
  void close();  // nothing is told afterwards

 private:
  struct Entry;
  struct Question;
  struct Watch;
  struct Answer;
  using Names = std::unordered_map<std::string, Entry>;

  Resolver(boost::asio::io_context& loop, const ResolverOptions& options,
           std::function<Timestamp()> now, Answered answered, std::function<void()> flush);
  Result<void> open();
  Entry& entry_of(const std::string& name);
  void send(const std::string& name);
  void take(const std::string& name, int status, const ares_addrinfo* found);
  void process(int readable, int writable);
  void tell();
  void watch(int socket, bool readable, bool writable);
  void arm(const std::shared_ptr<Watch>& watch);

  boost::asio::io_context& loop_;
  ResolverOptions options_;
  std::function<Timestamp()> now_;
  Answered answered_;
  std::function<void()> flush_;
  ares_channeldata* channel_ = nullptr;
  bool closed_ = false;
  std::uint32_t asking_ = 0;
  Names names_;
  std::list<std::string> oldest_first_;                      // of names_
  std::deque<std::string> queue_;                            // names that wait to be asked
  std::vector<Answer> answers_;                              // to be told when c-ares is done
  std::unordered_map<int, std::shared_ptr<Watch>> watches_;  // shared with their handlers
};

}  // namespace postrider
