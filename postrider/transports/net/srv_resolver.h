// SrvResolver: SRV records of names, without blocking, by c-ares on the loop. Remembers answers as
// long as they may be remembered and asks for a name once, however many wait for it. On the loop's
// thread; owned by a transport.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/transports/net/ares_channel.h"

namespace postrider {

struct SrvResolverOptions {
  AresOptions ares;
  std::uint32_t names_max = 16'384;  // remembered
  std::uint32_t asking_max = 256;    // at the same time; more are held back
  std::uint32_t records_max = 64;    // of one name
  Duration ttl_max{3'600'000};
  Duration negative_ttl{300'000};  // of "there are no such records"
  Duration silence{5'000};         // that nobody answered is remembered so long
};

struct SrvTarget {
  std::string host;  // without the dot at its end; "." when the name is the root
  std::uint16_t port = 0;
  std::uint16_t priority = 0;
  std::uint16_t weight = 0;
  bool operator==(const SrvTarget&) const = default;
};

struct SrvFound {
  enum class How : std::uint8_t {
    kRecords,   // `targets`
    kNone,      // there are none
    kSilent,    // nobody could say
    kHeldBack,  // too many names are asked for already
  };
  How how = How::kNone;
  std::vector<SrvTarget> targets;
};

class SrvResolver {
 public:
  using Token = std::uint64_t;
  using Answered = std::function<void(Token, const SrvFound&)>;

  static Result<std::unique_ptr<SrvResolver>> make(boost::asio::io_context& loop,
                                                   const SrvResolverOptions& options,
                                                   std::function<Timestamp()> now,
                                                   Answered answered);
  ~SrvResolver();
  SrvResolver(const SrvResolver&) = delete;
  SrvResolver& operator=(const SrvResolver&) = delete;

  // What is known, or nothing: then `answered` follows with the token, never from inside this call.
  std::optional<SrvFound> ask(const std::string& name, Token token);
  bool busy() const { return asking_ > 0 || !answers_.empty(); }
  void sweep();  // lets questions time out
  void close();  // nothing is told afterwards

 private:
  struct Entry;
  struct Question;
  SrvResolver(const SrvResolverOptions& options, std::function<Timestamp()> now, Answered answered);
  void take(Entry& entry, int status, const unsigned char* reply, int size);
  void remember(Entry& entry);
  void tell();

  SrvResolverOptions options_;
  std::function<Timestamp()> now_;
  Answered answered_;
  std::unique_ptr<AresChannel> channel_;
  bool closed_ = false;
  std::uint32_t asking_ = 0;
  std::unordered_map<std::string, Entry> names_;                  // entries stay where they are
  std::list<Entry*> rest_;                                        // not asked for now; oldest first
  std::vector<std::pair<std::vector<Token>, SrvFound>> answers_;  // to be told outside of c-ares
};

}  // namespace postrider
