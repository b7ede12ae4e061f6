// Names of Matrix servers: a DNS name, an IPv4 address or an IPv6 address in brackets, with or
// without a port. They are compared byte by byte: @u:EXAMPLE.ORG is not of the server example.org,
// and a receiver takes a request only for its name as it writes it. Only the host that is asked of
// DNS and compared with certificates has no case. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"

namespace postrider::matrix {

inline constexpr std::size_t kServerNameBytesMax = 230;  // port included
inline constexpr std::size_t kIdBytesMax = 255;          // of users, rooms, events
inline constexpr std::uint16_t kFederationPort = 8448;

enum class ServerHost : std::uint8_t { kName, kIpv4, kIpv6 };

struct ServerName {
  std::string text;  // as it is written: the identity
  std::string host;  // in lower case; IPv6 in its brackets
  std::optional<std::uint16_t> port;
  ServerHost kind = ServerHost::kName;

  bool is_address() const { return kind != ServerHost::kName; }
  bool operator==(const ServerName&) const = default;
};

// kInvalid says what is wrong with it: characters beyond ASCII (an international name is written
// xn--…), user information, a port of 0, an address that is none. kLimit: too long.
Result<ServerName> parse_server_name(std::string_view text);

// Destinations of the engine: "matrix:SERVER".
std::string destination_name(std::string_view server);
std::optional<std::string_view> server_of_destination(std::string_view destination);

// What stands behind the first colon of an id of a user, room or event; empty when it has none, as
// ids of rooms and events of new room versions do.
std::string_view domain_of(std::string_view id);
// "@local:server" with a server name, within kIdBytesMax.
bool is_user_of(std::string_view user_id, std::string_view server);

// "matrix-federation://SERVER/path?query", the form in which a homeserver hands over a request.
struct EgressTarget {
  ServerName server;
  std::string uri;             // path and query as they are
  std::string transaction_id;  // of "/_matrix/federation/v1/send/ID"; empty: another request
};
Result<EgressTarget> parse_egress_target(std::string_view target);

// "matrix://SERVER/path?query", the target of a request that finds its server by discovery.
struct MatrixTarget {
  ServerName server;
  std::string uri;
};
bool is_matrix_target(std::string_view target);
Result<MatrixTarget> parse_matrix_target(std::string_view target);
std::string matrix_target(std::string_view server, std::string_view uri);

// Of transactions that we make: 1 to 40 of A–Z a–z 0–9 and "-".
bool is_transaction_id(std::string_view text);
std::string send_path(std::string_view transaction_id);

}  // namespace postrider::matrix
