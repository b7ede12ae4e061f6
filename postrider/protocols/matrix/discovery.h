// Where a server is reached: the steps of the specification as a machine without input and output.
// It names the next question; the answer is given back; in the end there is a way. Pure, and any
// chance comes from the caller.
//
//   1  an address                          that address, its port or 8448
//   2  a name with a port                  that name and port
//   3  /.well-known/matrix/server          the same steps for the name that it gives, or
//   4  SRV _matrix-fed._tcp.NAME           its targets
//   5  SRV _matrix._tcp.NAME (of old)      its targets
//   6  port 8448
//
// Host and certificate are those of the server name, or of the delegated name of step 3, and never
// of a target of SRV.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/rng.h"
#include "postrider/base/time.h"
#include "postrider/protocols/matrix/server_name.h"

namespace postrider::matrix {

inline constexpr std::string_view kWellKnownPath = "/.well-known/matrix/server";
inline constexpr std::size_t kWellKnownBytesMax = 50 * 1024;
inline constexpr std::uint32_t kRedirectsMax = 5;
inline constexpr std::size_t kSrvTargetsMax = 16;

struct SrvRecord {
  std::string target;
  std::uint16_t port = 0;
  std::uint16_t priority = 0;
  std::uint16_t weight = 0;
  bool operator==(const SrvRecord&) const = default;
};
// The order of RFC 2782: smaller priorities first, and among equal ones by chance with the weights.
// Targets that cannot be connected to are left out, and so is what is beyond kSrvTargetsMax.
std::vector<SrvRecord> order_srv(std::vector<SrvRecord> records, Rng& rng);

struct Endpoint {
  std::string host;  // a name or an address, IPv6 in its brackets
  std::uint16_t port = 0;
  bool operator==(const Endpoint&) const = default;
};

struct ServerRoute {
  std::string authority;            // the line "Host"
  std::string host;                 // of SNI (when it is a name) and of the certificate
  std::vector<Endpoint> endpoints;  // to be tried in this order
  bool operator==(const ServerRoute&) const = default;
};

class Discovery {
 public:
  enum class Asks : std::uint8_t { kWellKnown, kSrv, kNothing };

  explicit Discovery(ServerName server);

  Asks asks() const { return asks_; }
  // The host of the well-known object, or the name of the SRV records.
  const std::string& question() const { return question_; }

  // The delegated name; nothing: there was none, or it could not be had.
  void well_known(const std::optional<ServerName>& delegated);
  // What DNS said; empty: there are no such records.
  void srv(std::vector<SrvRecord> records, Rng& rng);
  // DNS said nothing. Going on would reach another machine than the records name.
  void srv_failed();

  // When nothing is asked any more; nothing: there is no way to the server now.
  const std::optional<ServerRoute>& route() const { return route_; }
  std::string_view problem() const { return problem_; }  // why not

 private:
  void look_at(const ServerName& name);
  void ask_srv(bool deprecated);
  void arrive(std::vector<Endpoint> endpoints);
  void give_up(std::string_view problem);

  ServerName name_;  // the server, or the delegated one
  Asks asks_ = Asks::kNothing;
  bool deprecated_ = false;
  std::string question_;
  std::optional<ServerRoute> route_;
  std::string_view problem_;
};

// {"m.server":"host[:port]"}. kInvalid: there is no delegation; kLimit: it is too large.
Result<ServerName> read_well_known(std::string_view body);

// The address of a redirect, which may be relative to the one that was asked. Only https is
// followed: what decides where to deliver must not be told in clear text.
Result<std::string> redirect_of(std::string_view asked_url, std::string_view location);

struct WellKnownTimes {
  Duration life{24 * 3'600'000};  // of an object without a word about it
  Duration life_min{5 * 60'000};
  Duration life_max{48 * 3'600'000};
  Duration failure{3'600'000};
  Duration failure_after_success{2 * 60'000};
  Duration success_remembered{2 * 3'600'000};  // beyond the end of its life
  std::uint32_t jitter_percent = 10;           // of life and failure
};

struct CacheWords {
  std::string_view cache_control;
  std::string_view expires;
};
Duration life_of(const CacheWords& words, const WellKnownTimes& times, Timestamp wall, Rng& rng);
// `good_until` is the end of the last object's life; not set: there was none.
Duration failure_life(Timestamp good_until, const WellKnownTimes& times, Timestamp wall, Rng& rng);

}  // namespace postrider::matrix
