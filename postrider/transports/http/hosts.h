// Hosts: what we know about each place that requests go to: its origin (scheme, host, port)
// together with whom it is trusted by. Connections are shared within one Host and never between
// two. On the loop's thread; owned by the transport.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <boost/intrusive/list.hpp>

#include "postrider/base/result.h"
#include "postrider/transports/http/address_guard.h"
#include "postrider/transports/http/tls.h"

namespace postrider {

class Connection;

// An object is in a list by its own hook, and leaves it when it dies.
template <class Tag>
using Hook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<Tag>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
template <class T, class Tag>
using LinkedList = boost::intrusive::list<T, boost::intrusive::base_hook<Hook<Tag>>,
                                          boost::intrusive::constant_time_size<false>>;

struct Host : Hook<struct UnusedHost> {
  HostKind kind = HostKind::kNonsense;
  IpAddress address;  // of kAddress
  bool tls = false;
  bool trusted = true;      // false: its certificates cannot be read, nothing can be sent there
  bool prefers_v4 = false;  // its IPv6 did not answer and its IPv4 did
  std::uint16_t port = 0;
  std::string authority;  // for the host line
  std::string name;       // lower case, no brackets
  TlsContext tls_context;
  std::shared_ptr<TlsMemory> tls_memory;
  std::vector<Connection*> idle;  // kept connections, the one used last at the end
  std::uint32_t users = 0;        // exchanges and connections
  const std::string* key = nullptr;
};

class Hosts {
 public:
  // `usual` is for destinations without a trust of their own; null: the system's, which are read
  // when the first one needs them, because that takes a tenth of a second. At most `unused_max`
  // hosts without a user are remembered.
  Hosts(TlsContext usual, std::size_t unused_max);

  // Adds a user.
  Host& take(std::string_view origin, std::string_view trust);
  void add_user(Host& host) { ++host.users; }
  void leave(Host& host);
  std::size_t size() const { return hosts_.size(); }

 private:
  struct Hash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the library's name
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  void fill(Host& host, std::string_view origin, std::string_view trust);
  Result<TlsContext> context_of(std::string_view trust);

  TlsContext usual_;
  std::size_t unused_max_;
  std::size_t unused_ = 0;
  std::unordered_map<std::string, Host, Hash, std::equal_to<>> hosts_;
  LinkedList<Host, UnusedHost> unused_list_;  // longest unused first
  // Destinations often share an authority; its context lives as long as one of their hosts.
  std::unordered_map<std::string, std::weak_ptr<SSL_CTX>, Hash, std::equal_to<>> contexts_;
  std::string key_;  // made anew for each take; keeps its memory
};

}  // namespace postrider
