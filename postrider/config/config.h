// Config: everything the daemon can be told, from a TOML file, the environment and the command
// line, checked before anything starts. Plain values; no thread owns them. One table,
// config_rows.h, holds one row per setting; parsing, overrides, `config init`, documents and tests
// follow from it.
#pragma once

#include <any>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

#include "postrider/api/http_api.h"
#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/destination.h"
#include "postrider/runtime/host.h"
#include "postrider/servers/http/http_server.h"
#include "postrider/transports/grpc/grpc_transport.h"
#include "postrider/transports/http/http_transport.h"
#include "postrider/transports/mqtt/brokers.h"

namespace postrider {

inline constexpr std::size_t kConfigBytesMax = 1U << 20;
inline constexpr std::size_t kConfigTokensMax = 1000;
inline constexpr std::size_t kConfigDestinationsMax = 10'000;
inline constexpr std::size_t kConfigBrokersMax = 64;
inline constexpr std::size_t kBrokerNameBytesMax = 48;
inline constexpr std::size_t kConfigListMax = 64;           // elements of one list
inline constexpr std::size_t kConfigTextBytesMax = 4096;    // of one value
inline constexpr std::size_t kConfigSecretBytesMax = 4096;  // of a file or variable with a secret
inline constexpr std::size_t kConfigProblemsMax = 20;       // told at once

struct ServerConfig {
  std::vector<std::string> listen{"127.0.0.1:8460"};  // none: the Unix socket only
  std::string unix_socket;                            // a path; empty: none
  std::string tls_certificate;  // PEM files, both or neither; for all of `listen`
  std::string tls_key;
  HttpLimits limits;
};

struct StoreConfig {
  std::string directory = "data";
  std::uint64_t cache_bytes = 32ULL << 20;
  std::uint64_t memtable_bytes = 8ULL << 20;
  std::uint64_t wal_bytes_max = 64ULL << 20;  // what a restart has to read at most
  std::uint32_t open_files_max = 256;
  std::uint64_t free_bytes_min =
      256ULL << 20;  // below it new messages are refused; what is left is for ends
  std::uint64_t free_bytes_reserve = 64ULL << 20;  // held in a file, and given up for ends
};

struct LogConfig {
  std::string level = "info";   // debug, info, warning, error
  std::string format = "text";  // text, json
};

// What the parts of other modules were told (config_part.h): one value of each of their types.
class PartValues {
 public:
  template <class T>
  T& of() {
    std::any& value = values_[typeid(T)];
    if (!value.has_value()) value = T();
    return *std::any_cast<T>(&value);
  }
  template <class T>
  const T& of() const {
    static const T kNothingSaid;
    const auto found = values_.find(typeid(T));
    return found == values_.end() ? kNothingSaid : *std::any_cast<T>(&found->second);
  }

 private:
  std::map<std::type_index, std::any> values_;
};

struct Config {
  ServerConfig server;
  HttpApiOptions api;  // with tokens; profiles, doors, version and figures are left to the daemon
  StoreConfig store;
  HostOptions host;  // with shard and engine; profiles and seed are left to the daemon
  HttpTransportOptions transport;
  GrpcTransportOptions grpc;           // what differs from `transport`; the rest follows it
  std::uint32_t transport_loops = 0;   // threads for outgoing connections; 0: those of the one loop
  std::vector<BrokerOptions> brokers;  // by name
  std::map<std::string, NamedTexts> stations;  // by profile, what each is told
  PartValues parts;
  LogConfig log;
  Duration drain_time_out{30'000};
  std::vector<DestinationConfig> destinations;  // their profiles have accepted the settings
  std::vector<std::string> warnings;            // what an operator should see, but does not stop us
};

// What getenv would say, as a value.
using Environment = std::map<std::string, std::string, std::less<>>;
Environment process_environment();

// What the command line says about a setting; it wins over the environment, which wins over the
// file. A list is given with commas.
struct ConfigOverride {
  std::string setting;  // "server.listen"
  std::string value;
  std::string origin;  // "--listen", for errors
};
using ConfigOverrides = std::vector<ConfigOverride>;

// What other modules add; the same parts must be given to all that follows.
struct ConfigPart;
using ConfigParts = std::span<const ConfigPart* const>;

// Fails with kInvalid. The detail has one line per problem, each with file and line or the name of
// the variable or option, and what the setting may be; never a secret. `file` is for these lines.
Result<Config> parse_config(std::string_view text, std::string_view file,
                            const Environment& environment, const ConfigOverrides& overrides = {},
                            ConfigParts parts = {});

// The same for a file; without a path, from environment and overrides alone. kNotFound: no such
// file.
Result<Config> load_config(const std::string& path, const Environment& environment,
                           const ConfigOverrides& overrides = {}, ConfigParts parts = {});

// Every listener as the server takes it: `listen` with TLS if there is any, and the Unix socket.
std::vector<HttpListen> listeners(const Config& config);

// True for an address that only this machine reaches: 127.0.0.0/8, [::1] or localhost with a port,
// or a Unix socket.
bool is_loopback_listen(std::string_view address);

// Events that are for a destination which the file does not have. It may be in the store, put there
// by an operator: `config check` can only warn, and the daemon looks.
struct UnheardEvents {
  std::string_view kind;  // of what tells them: "plugin"
  std::string teller;     // its name
  std::string destination;
};
std::vector<UnheardEvents> unheard_events(const Config& config, ConfigParts parts);

// A file with every setting at its default, commented out, and what it means: `config init`.
std::string config_template(ConfigParts parts = {});

// The settings as Markdown tables, for docs/operating.md.
std::string config_reference(ConfigParts parts = {});

}  // namespace postrider
