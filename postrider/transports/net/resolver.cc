#include "postrider/transports/net/resolver.h"

#include <algorithm>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>
#include <utility>

#include <ares.h>

namespace postrider {
namespace {

bool read_address(const sockaddr& from, IpAddress& to) {
  if (from.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &from, sizeof v4);
    to = IpAddress::v4(ntohl(v4.sin_addr.s_addr));
    return true;
  }
  if (from.sa_family != AF_INET6) return false;
  sockaddr_in6 v6{};
  std::memcpy(&v6, &from, sizeof v6);
  IpAddress::Bytes bytes{};
  std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
  to = IpAddress::v6(bytes);
  return true;
}

// Both families in turn, IPv6 first (RFC 8305 §4), each in the order of the answer: its server may
// spread load by it.
Addresses interleaved(const Addresses& found, std::size_t most) {
  Addresses v6;
  Addresses v4;
  for (const IpAddress& address : found) (address.is_v4() ? v4 : v6).push_back(address);
  Addresses out;
  for (std::size_t i = 0; i < std::max(v4.size(), v6.size()); ++i) {
    if (i < v6.size()) out.push_back(v6[i]);
    if (i < v4.size()) out.push_back(v4[i]);
  }
  if (out.size() > most) out.resize(most);
  return out;
}

}  // namespace

struct Resolver::Entry {
  explicit Entry(std::string_view key) : name(key) {}
  std::string name;
  Addresses addresses;         // as they were told last
  Timestamp expires;           // of that; empty addresses: of the word that there are none
  Timestamp stale_until;       // may be used so long when nobody answers; unset: not at all
  Timestamp quiet_until;       // nobody answered, and is not asked before
  std::uint32_t silences = 0;  // in a row
  bool answered = false;       // ever
  bool remembered = false;     // in proven_ or others_
  At at = At::kRest;
  Timestamp asked;
  std::vector<Token> waiting;
  std::list<Entry*>::iterator place;  // of kPlace: in asking_; remembered: in its list
};

struct Resolver::Question {
  Resolver* resolver;
  Entry* entry;  // stays until it is answered
};

struct Resolver::Answer {
  std::vector<Token> tokens;
  Addresses addresses;  // a copy: the entry may be forgotten before this is told
};

Resolver::Resolver(const ResolverOptions& options, std::function<Timestamp()> now,
                   Answered answered, std::function<void()> flush)
    : options_(options),
      now_(std::move(now)),
      answered_(std::move(answered)),
      flush_(std::move(flush)) {}

Result<std::unique_ptr<Resolver>> Resolver::make(boost::asio::io_context& loop,
                                                 const ResolverOptions& options,
                                                 std::function<Timestamp()> now, Answered answered,
                                                 std::function<void()> flush) {
  std::unique_ptr<Resolver> resolver(
      new Resolver(options, std::move(now), std::move(answered), std::move(flush)));
  POSTRIDER_TRY(channel, AresChannel::make(loop,
                                           {.servers = options.servers,
                                            .ask_time_out = options.ask_time_out,
                                            .asks_max = options.asks_max},
                                           [it = resolver.get()] { it->tell(); }));
  resolver->channel_ = std::move(channel);
  return resolver;
}

Resolver::~Resolver() { close(); }

void Resolver::close() {
  closed_ = true;
  for (auto& queue : queues_) queue.clear();
  waiting_ = 0;
  if (channel_ != nullptr) channel_->close();
}

Resolver::Rank Resolver::rank_of(const Entry& entry) {
  if (entry.silences > 0) return Rank::kSilent;
  return entry.answered ? Rank::kProven : Rank::kUnknown;
}

// Questions that lag have no place, but they are kept: there must be an end to them.
bool Resolver::has_place(Rank rank) const {
  constexpr std::array<std::uint64_t, kRanks> kQuarters = {4, 3, 1};
  const std::uint64_t part = std::max<std::uint64_t>(
      1, options_.asking_max * kQuarters[static_cast<std::size_t>(rank)] / 4);
  if (rank != Rank::kProven && asking_.size() + lagging_ >= kept_max()) return false;
  return asking_.size() < part;
}

bool Resolver::usable(const Entry& entry, Timestamp now) {
  return !entry.addresses.empty() && now < entry.stale_until;
}

Resolver::Found Resolver::ask(const std::string& name, Token token) {
  const Timestamp now = now_();
  Entry& entry = names_.try_emplace(name, name).first->second;
  const Found known{Found::How::kKnown, &entry.addresses};
  static const Addresses kNone;
  const bool stale = usable(entry, now);
  if (entry.at == At::kRest) {
    if (now < entry.expires) return known;
    if (now < entry.quiet_until) return stale ? known : Found{Found::How::kKnown, &kNone};
    const Rank rank = rank_of(entry);
    const bool room = has_place(rank);
    if (!room && waiting_ >= kept_max()) {
      if (stale) return known;
      if (!entry.remembered) names_.erase(name);
      return {Found::How::kHeldBack, nullptr};
    }
    if (std::exchange(entry.remembered, false))
      (rank == Rank::kSilent ? others_ : proven_).erase(entry.place);
    if (room) {
      send(entry);
    } else {
      entry.at = At::kQueue;
      queues_[static_cast<std::size_t>(rank)].push_back(&entry);
      ++waiting_;
    }
    if (entry.at == At::kRest) return known;  // without asking anybody: from the hosts file
  }
  if (stale && entry.at != At::kPlace) return known;
  entry.waiting.push_back(token);
  return {};
}

bool Resolver::waits(const std::string& name) const {
  const auto found = names_.find(name);
  return found != names_.end() && found->second.at == At::kQueue;
}

void Resolver::send(Entry& entry) {
  entry.at = At::kPlace;
  entry.asked = now_();
  entry.place = asking_.insert(asking_.end(), &entry);
  ares_addrinfo_hints hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = ARES_AI_NOSORT;
  // c-ares calls back exactly once, at the latest when the channel is destroyed.
  auto question = std::make_unique<Question>(Question{this, &entry});
  ares_getaddrinfo(
      channel_->raw(), entry.name.c_str(), nullptr, &hints,
      [](void* argument, int status, int, ares_addrinfo* found) {
        const std::unique_ptr<Question> asked(static_cast<Question*>(argument));
        asked->resolver->take(*asked->entry, status, found);
        if (found != nullptr) ares_freeaddrinfo(found);
      },
      question.release());
}

void Resolver::take(Entry& entry, int status, const ares_addrinfo* found) {
  if (closed_) return;
  if (entry.at == At::kPlace) {
    asking_.erase(entry.place);
  } else {
    --lagging_;
  }
  const Timestamp now = now_();
  Duration ttl = options_.ttl_max;
  Addresses addresses;
  if (status == ARES_SUCCESS && found != nullptr) {
    for (const ares_addrinfo_node* node = found->nodes; node != nullptr; node = node->ai_next) {
      IpAddress address;
      if (node->ai_addr == nullptr || !read_address(*node->ai_addr, address)) continue;
      addresses.push_back(address);
      ttl = std::min<Duration>(ttl, std::chrono::seconds(std::max(node->ai_ttl, 0)));
    }
    for (const ares_addrinfo_cname* alias = found->cnames; alias != nullptr; alias = alias->next)
      ttl = std::min<Duration>(ttl, std::chrono::seconds(std::max(alias->ttl, 0)));
  }
  // That nobody answered is no knowledge about the name; what was known of it stays.
  const bool none = status == ARES_ENOTFOUND || status == ARES_ENODATA || status == ARES_EBADNAME;
  if (!addresses.empty() || none) {
    entry.addresses = interleaved(addresses, options_.addresses_max);
    entry.expires = now + (none ? options_.negative_ttl : ttl);
    entry.stale_until =
        none || ttl == Duration(0) ? Timestamp() : entry.expires + options_.stale_max;
    entry.answered = true;
    entry.silences = 0;
  } else {
    if (!usable(entry, now)) entry.addresses.clear();
    Duration quiet = options_.silence_min;
    for (std::uint32_t i = 0; i < entry.silences && quiet < options_.silence_max; ++i) quiet *= 2;
    entry.quiet_until = now + std::min(quiet, options_.silence_max);
    ++entry.silences;
  }
  answers_.push_back({std::exchange(entry.waiting, {}), entry.addresses});
  remember(entry);
}

// A crowd of silent names takes no more of the memory than a quarter from those that answer.
void Resolver::remember(Entry& entry) {
  while (proven_.size() + others_.size() >= options_.names_max) {
    const bool many = !others_.empty() && others_.size() >= options_.names_max / 4;
    auto& list = many || proven_.empty() ? others_ : proven_;
    const std::string name = list.front()->name;  // the map frees the original while it looks
    list.pop_front();
    names_.erase(name);
  }
  auto& list = rank_of(entry) == Rank::kSilent ? others_ : proven_;
  entry.at = At::kRest;
  entry.remembered = true;
  entry.place = list.insert(list.end(), &entry);
}

// Questions that were silent for too long give their places to others, and who can do with an
// address that has expired gets it.
void Resolver::lag() {
  const Timestamp now = now_();
  while (!asking_.empty() && asking_.front()->asked + options_.patience <= now) {
    Entry& entry = *asking_.front();
    asking_.pop_front();
    entry.at = At::kLagging;
    ++lagging_;
    if (usable(entry, now)) answers_.push_back({std::exchange(entry.waiting, {}), entry.addresses});
  }
}

// Outside of c-ares, because whoever gets an answer may ask the next question.
void Resolver::tell() {
  if (closed_) return;
  for (std::size_t rank = 0; rank < kRanks || !answers_.empty();) {
    if (!answers_.empty()) {
      const Answer answer = std::move(answers_.back());
      answers_.pop_back();
      for (const Token token : answer.tokens) answered_(token, answer.addresses);
      rank = 0;
    } else if (queues_[rank].empty() || !has_place(static_cast<Rank>(rank))) {
      ++rank;
    } else {
      Entry& entry = *queues_[rank].front();
      queues_[rank].pop_front();
      --waiting_;
      send(entry);
    }
  }
  flush_();
}

void Resolver::sweep() {
  if (!busy()) return;
  lag();
  channel_->sweep();
}

}  // namespace postrider
