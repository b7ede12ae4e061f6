// OriginHost: what a transport has to know of the place that an origin ("https://example.org:8443")
// names: where it is, which may be elsewhere than its name says, and by whom it is trusted. Filled
// by OriginHosts, which keeps what several hosts share. On the loop's thread; owned by the
// transport.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "postrider/base/result.h"
#include "postrider/transports/net/address_guard.h"
#include "postrider/transports/net/tls.h"

namespace postrider {

// For maps whose keys are looked up by views.
struct TextHash {
  using is_transparent = void;  // NOLINT(readability-identifier-naming): the library's name
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

struct OriginHost {
  HostKind kind = HostKind::kNonsense;
  IpAddress address;  // of kAddress
  bool tls = false;
  bool trusted = true;      // false: its certificates cannot be read, nothing can be sent there
  bool prefers_v4 = false;  // its IPv6 did not answer and its IPv4 did
  std::uint16_t port = 0;
  std::string authority;  // for the host line
  std::string name;       // to be resolved: lower case, no brackets
  std::string peer;       // whom the certificate must be for; else like `name`
  bool peer_is_address = false;
  TlsContext tls_context;
  std::shared_ptr<TlsMemory> tls_memory;

  std::string certificate_name() const;  // without the dot at the end: certificates do not have it
};

class OriginHosts {
 public:
  // `usual` is for hosts without a trust of their own; null: the system's, which are read when the
  // first one needs them, because that takes a tenth of a second.
  explicit OriginHosts(TlsContext usual) : usual_(std::move(usual)) {}
  // `trust`: certificates in PEM that are trusted instead of the usual ones; empty: those. `via`:
  // "host:port" to connect to, while host line and certificate stay with the origin; empty: its
  // own.
  void fill(OriginHost& host, std::string_view origin, std::string_view trust,
            std::string_view via = {});

 private:
  Result<TlsContext> context_of(std::string_view trust);

  TlsContext usual_;
  // Hosts often share an authority; its context lives as long as one of them.
  std::unordered_map<std::string, std::weak_ptr<SSL_CTX>, TextHash, std::equal_to<>> contexts_;
};

}  // namespace postrider
