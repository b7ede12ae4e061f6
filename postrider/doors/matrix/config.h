// The matrix profile's part of the configuration: [matrix]. Plain values; no thread owns them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/config/config_part.h"

namespace postrider::matrix_door {

// Of a secret. Below it can be guessed.
inline constexpr std::size_t kSecretBytesMin = 16;
inline constexpr std::size_t kSecretBytesMax = 1024;

// Kept in Config::parts.
struct MatrixConfig {
  std::string server_name;  // ours, as it stands behind the colon of our users
  std::string egress;       // "127.0.0.1:8009", or "unix:/path"; empty: there is none
  std::string secret_file;  // the homeserver's worker_replication_secret
  std::vector<std::string> allow_servers;  // the only ones that are spoken to; none: all
  std::string trust_file;                  // PEM; empty: that of [transport]
  std::uint32_t relays_max = 256;
  std::uint32_t relays_per_server_max = 16;
  Duration relay_time_out{60'000};  // until the head of the answer
  Duration closed_delay{1'000};     // of the answer to a transaction for a server that backs off
};

extern const ConfigPart kConfigPart;

// A file with a secret: no others than its owner may read it. Details of an Error never have what
// stands in it.
Result<std::string> read_private_file(const std::string& path, std::size_t bytes_max);

}  // namespace postrider::matrix_door
