#include "postrider/transports/net/resolver.h"

#include <algorithm>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>
#include <utility>

#include <ares.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace postrider {
namespace {

namespace asio = boost::asio;

// c-ares wants its global part initialised once per process.
int init_library() {
  static const int kStatus = ares_library_init(ARES_LIB_INIT_ALL);
  return kStatus;
}

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
  Addresses addresses;
  Timestamp expires;
  bool pending = false;
  std::vector<Token> waiting;
  std::list<std::string>::iterator place;
};

struct Resolver::Question {
  Resolver* resolver;
  std::string name;
};

struct Resolver::Answer {
  std::string name;
  std::vector<Token> tokens;
  Addresses addresses;  // a copy: the entry may be forgotten before this is told
};

struct Resolver::Watch {
  explicit Watch(asio::io_context& loop) : descriptor(loop) {}
  asio::posix::stream_descriptor descriptor;
  bool open = true;
  bool wants_read = false;
  bool wants_write = false;
  bool reading = false;
  bool writing = false;
};

Resolver::Resolver(asio::io_context& loop, const ResolverOptions& options,
                   std::function<Timestamp()> now, Answered answered, std::function<void()> flush)
    : loop_(loop),
      options_(options),
      now_(std::move(now)),
      answered_(std::move(answered)),
      flush_(std::move(flush)) {}

Result<std::unique_ptr<Resolver>> Resolver::make(asio::io_context& loop,
                                                 const ResolverOptions& options,
                                                 std::function<Timestamp()> now, Answered answered,
                                                 std::function<void()> flush) {
  std::unique_ptr<Resolver> resolver(
      new Resolver(loop, options, std::move(now), std::move(answered), std::move(flush)));
  if (const auto opened = resolver->open(); !opened) return tl::unexpected(opened.error());
  return resolver;
}

Result<void> Resolver::open() {
  ares_options settings{};
  settings.timeout = static_cast<int>(options_.ask_time_out.count());
  settings.tries = static_cast<int>(options_.asks_max);
  settings.sock_state_cb_data = this;
  settings.sock_state_cb = [](void* self, ares_socket_t socket, int readable, int writable) {
    static_cast<Resolver*>(self)->watch(socket, readable != 0, writable != 0);
  };
  const int wanted = ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB;
  if (init_library() != ARES_SUCCESS || ares_init_options(&channel_, &settings, wanted) != 0)
    return fail(ErrorCode::kUnavailable, "the name resolver cannot be set up");
  std::string servers;
  for (const std::string& server : options_.servers)
    servers.append(servers.empty() ? "" : ",").append(server);
  if (!servers.empty() && ares_set_servers_ports_csv(channel_, servers.c_str()) != ARES_SUCCESS)
    return fail(ErrorCode::kInvalid, "name_servers: '" + servers + "' are no addresses of servers");
  return {};
}

Resolver::~Resolver() { close(); }

void Resolver::close() {
  closed_ = true;
  queue_.clear();
  // Ends all questions and closes all sockets.
  if (channel_ != nullptr) ares_destroy(std::exchange(channel_, nullptr));
}

Resolver::Entry& Resolver::entry_of(const std::string& name) {
  const auto found = names_.find(name);
  if (found != names_.end()) return found->second;
  // Entries that are being asked for stay; there are not more of them than exchanges.
  for (auto oldest = oldest_first_.begin();
       names_.size() >= options_.names_max && oldest != oldest_first_.end();) {
    const auto entry = names_.find(*oldest);
    if (entry->second.pending) {
      ++oldest;
      continue;
    }
    names_.erase(entry);
    oldest = oldest_first_.erase(oldest);
  }
  Entry& entry = names_[name];
  entry.place = oldest_first_.insert(oldest_first_.end(), name);
  return entry;
}

const Addresses* Resolver::ask(const std::string& name, Token token) {
  Entry& entry = entry_of(name);
  if (!entry.pending) {
    if (now_() < entry.expires) return &entry.addresses;
    entry.pending = true;
    if (asking_ >= options_.asking_max) {
      queue_.push_back(name);
    } else {
      send(name);
    }
    if (!entry.pending) {  // known without asking anybody: from the hosts file
      std::erase_if(answers_, [&](const Answer& answer) { return answer.name == name; });
      return &entry.addresses;
    }
  }
  entry.waiting.push_back(token);
  return nullptr;
}

void Resolver::send(const std::string& name) {
  ++asking_;
  ares_addrinfo_hints hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = ARES_AI_NOSORT;
  // c-ares calls back exactly once, at the latest when the channel is destroyed.
  auto question = std::make_unique<Question>(Question{this, name});
  ares_getaddrinfo(
      channel_, name.c_str(), nullptr, &hints,
      [](void* argument, int status, int, ares_addrinfo* found) {
        const std::unique_ptr<Question> asked(static_cast<Question*>(argument));
        asked->resolver->take(asked->name, status, found);
        if (found != nullptr) ares_freeaddrinfo(found);
      },
      question.release());
}

void Resolver::take(const std::string& name, int status, const ares_addrinfo* found) {
  if (closed_) return;
  --asking_;
  Entry& entry = names_.at(name);
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
  entry.addresses = interleaved(addresses, options_.addresses_max);
  if (entry.addresses.empty()) {
    // That nobody answered is no knowledge about the name.
    const bool known = status == ARES_ENOTFOUND || status == ARES_ENODATA;
    ttl = known ? options_.negative_ttl : Duration(0);
  }
  entry.expires = now_() + ttl;
  entry.pending = false;
  answers_.push_back({name, std::exchange(entry.waiting, {}), entry.addresses});
}

void Resolver::process(int readable, int writable) {
  if (closed_) return;
  ares_process_fd(channel_, readable, writable);
  tell();
}

// Outside of c-ares, because whoever gets an answer may ask the next question.
void Resolver::tell() {
  while (!answers_.empty() || (!queue_.empty() && asking_ < options_.asking_max)) {
    if (answers_.empty()) {
      const std::string name = std::move(queue_.front());
      queue_.pop_front();
      send(name);
      continue;
    }
    const Answer answer = std::move(answers_.back());
    answers_.pop_back();
    for (const Token token : answer.tokens) answered_(token, answer.addresses);
  }
  flush_();
}

void Resolver::sweep() {
  if (busy()) process(ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

void Resolver::watch(int socket, bool readable, bool writable) {
  auto found = watches_.find(socket);
  if (!readable && !writable) {
    if (found == watches_.end()) return;
    // c-ares closes the socket behind this; only the loop must let go of it.
    found->second->open = false;
    found->second->descriptor.release();
    watches_.erase(found);
    return;
  }
  if (found == watches_.end()) {
    auto fresh = std::make_shared<Watch>(loop_);
    boost::system::error_code error;
    fresh->descriptor.assign(socket, error);
    if (error) return;  // nobody will hear the answer, so the question times out
    found = watches_.emplace(socket, std::move(fresh)).first;
  }
  found->second->wants_read = readable;
  found->second->wants_write = writable;
  arm(found->second);
}

void Resolver::arm(const std::shared_ptr<Watch>& watch) {
  using Descriptor = asio::posix::stream_descriptor;
  const auto wait = [this, &watch](Descriptor::wait_type what, bool Watch::*under_way, bool write) {
    if ((*watch).*under_way) return;
    (*watch).*under_way = true;
    watch->descriptor.async_wait(what, [this, watch, under_way, write](boost::system::error_code) {
      (*watch).*under_way = false;
      if (!watch->open) return;  // and this resolver may be gone
      const int socket = watch->descriptor.native_handle();
      process(write ? ARES_SOCKET_BAD : socket, write ? socket : ARES_SOCKET_BAD);
      if (watch->open) arm(watch);
    });
  };
  if (watch->wants_read) wait(Descriptor::wait_read, &Watch::reading, false);
  if (watch->wants_write) wait(Descriptor::wait_write, &Watch::writing, true);
}

}  // namespace postrider
