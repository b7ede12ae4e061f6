// Resolver: names to addresses, without blocking, by c-ares on the loop. Remembers answers as long
// as they may be remembered and asks for a name once, however many wait for it. On the loop's
// thread; owned by the transport.
//
// What all names share is places to ask: `asking_max` questions that may still be answered soon.
// A name that is never answered must not keep the others from theirs:
//   - a question without an answer for `patience` gives its place back and goes on without one;
//   - silence is remembered, for longer each time, and until then the name is not asked again;
//   - names that answered lately may take every place, unknown ones three quarters of them, and
//     those that were silent a quarter; who waits for a place is served in this order;
//   - an address that has expired is used, for `stale_max` at most, while its renewal is under way
//     and silent, or has no place. An answer that there is no such name, or a TTL of 0, ends that.
#pragma once

#include <array>
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
#include "postrider/transports/net/ares_channel.h"

struct ares_addrinfo;

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
  Duration patience{1'000};      // with a question, before it loses its place
  Duration stale_max{300'000};   // an address is used beyond its time, while nobody answers
  Duration silence_min{5'000};   // that nobody answered is remembered so long; doubles …
  Duration silence_max{60'000};  // … up to this
};

// Empty: the name has no address, or nobody could say.
using Addresses = std::vector<IpAddress>;

class Resolver {
 public:
  using Token = std::uint64_t;
  using Answered = std::function<void(Token, const Addresses&)>;
  struct Found {
    enum class How : std::uint8_t {
      kKnown,     // `addresses`, good until the next call
      kLater,     // `answered` follows with the token
      kHeldBack,  // too many names wait already; nothing follows
    };
    How how = How::kLater;
    const Addresses* addresses = nullptr;
  };

  static Result<std::unique_ptr<Resolver>> make(boost::asio::io_context& loop,
                                                const ResolverOptions& options,
                                                std::function<Timestamp()> now, Answered answered,
                                                std::function<void()> flush);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  Found ask(const std::string& name, Token token);
  // Whether the name waits for a place of ours, so that nobody was asked for it yet.
  bool waits(const std::string& name) const;
  bool busy() const { return asking_.size() + lagging_ + waiting_ > 0 || !answers_.empty(); }
  void sweep();  // lets questions time out
  void close();  // nothing is told afterwards

 private:
  struct Entry;
  struct Question;
  struct Answer;
  enum class Rank : std::uint8_t { kProven, kUnknown, kSilent };  // in the order of service
  static constexpr std::size_t kRanks = 3;
  enum class At : std::uint8_t { kRest, kQueue, kPlace, kLagging };

  Resolver(const ResolverOptions& options, std::function<Timestamp()> now, Answered answered,
           std::function<void()> flush);
  static Rank rank_of(const Entry& entry);
  bool has_place(Rank rank) const;
  // Of questions that lag, and of names that wait for a place.
  std::size_t kept_max() const { return std::size_t{options_.names_max} + options_.asking_max; }
  static bool usable(const Entry& entry, Timestamp now);  // its addresses, though they have expired
  void send(Entry& entry);
  void take(Entry& entry, int status, const ares_addrinfo* found);
  void remember(Entry& entry);
  void lag();
  void tell();

  ResolverOptions options_;
  std::function<Timestamp()> now_;
  Answered answered_;
  std::function<void()> flush_;
  std::unique_ptr<AresChannel> channel_;
  bool closed_ = false;
  // Entries stay where they are. Those at rest are in one of the two lists below, and only they are
  // forgotten.
  std::unordered_map<std::string, Entry> names_;
  std::list<Entry*> proven_;                       // at rest, answered last time; oldest first
  std::list<Entry*> others_;                       // at rest, silent last time; oldest first
  std::list<Entry*> asking_;                       // have a place, oldest question first
  std::array<std::deque<Entry*>, kRanks> queues_;  // wait for a place
  std::size_t waiting_ = 0;                        // in all queues
  std::size_t lagging_ = 0;                        // asked, and without a place by now
  std::vector<Answer> answers_;                    // to be told when c-ares is done
};

}  // namespace postrider
