// What the settings mean together: listeners, address ranges, limits that depend on each other.
#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>

#include "postrider/config/config_reader.h"

namespace postrider {
namespace {

constexpr std::string_view kUnix = "unix:";

struct HostPort {
  std::string_view host;  // without brackets
  std::uint32_t port = 0;
};

std::optional<HostPort> split_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  HostPort out{text.substr(0, colon), 0};
  const std::string_view port = text.substr(colon + 1);
  const auto [rest, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
  if (error != std::errc() || rest != port.data() + port.size() || out.port > 65'535)
    return std::nullopt;
  if (out.host.starts_with('[') && out.host.ends_with(']')) {
    out.host = out.host.substr(1, out.host.size() - 2);
    return out.host.find(':') == std::string_view::npos ? std::nullopt : std::optional(out);
  }
  if (out.host.find_first_of(":[]/ ") != std::string_view::npos) return std::nullopt;
  return out;
}

bool is_address(std::string_view text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  const std::string copy(text);
  return inet_pton(AF_INET, copy.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, copy.c_str(), bytes.data()) == 1;
}

bool is_range(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || !is_address(text.substr(0, slash))) return false;
  const std::string_view bits = text.substr(slash + 1);
  const unsigned most = text.find(':') == std::string_view::npos ? 32 : 128;
  unsigned value = 0;
  const auto [rest, error] = std::from_chars(bits.data(), bits.data() + bits.size(), value);
  return error == std::errc() && rest == bits.data() + bits.size() && value <= most;
}

}  // namespace

bool is_loopback_listen(std::string_view address) {
  if (address.starts_with(kUnix)) return true;
  const std::optional<HostPort> split = split_address(address);
  if (!split) return false;
  if (split->host == "localhost" || split->host == "::1") return true;
  return split->host.starts_with("127.") && is_address(split->host);
}

std::vector<HttpListen> listeners(const Config& config) {
  std::vector<HttpListen> out;
  for (const std::string& address : config.server.listen) {
    const bool is_unix = address.starts_with(kUnix);
    out.push_back({.address = address,
                   .certificate_file = is_unix ? "" : config.server.tls_certificate,
                   .key_file = is_unix ? "" : config.server.tls_key});
  }
  if (!config.server.unix_socket.empty())
    out.push_back({.address = std::string(kUnix) + config.server.unix_socket,
                   .certificate_file = {},
                   .key_file = {}});
  return out;
}

void ConfigReader::check_listeners() {
  const ServerConfig& server = config_.server;
  std::set<std::string, std::less<>> seen;
  for (const HttpListen& listener : listeners(config_)) {
    const std::string& address = listener.address;
    const bool is_unix = address.starts_with(kUnix);
    const std::optional<HostPort> split = split_address(address);
    if (is_unix ? address.size() == kUnix.size() || address.size() > kUnix.size() + 107 : !split) {
      problem_with("server.listen", "has '" + address +
                                        "', which is no address: write \"127.0.0.1:8460\", "
                                        "\"[::1]:8460\" or \"unix:/path\"");
      continue;
    }
    if (!is_loopback_listen(address) && config_.api.tokens.empty()) {
      problem_with("server.listen", "has '" + address +
                                        "', which others can reach: that needs a token "
                                        "([[tokens]]), or listen on 127.0.0.1");
    }
    const bool any_port = !is_unix && split->port == 0;
    if (!any_port && !seen.insert(address).second)
      problem_with("server.listen", "has '" + address + "' twice");
  }
  if (server.listen.empty() && server.unix_socket.empty())
    problem_with("server.listen", "is empty and there is no unix_socket: nobody could reach us");
  if (server.tls_certificate.empty() != server.tls_key.empty()) {
    problem_with(server.tls_key.empty() ? "server.tls_certificate" : "server.tls_key",
                 "is given alone: TLS needs tls_certificate and tls_key");
  }
}

void ConfigReader::check_names() {
  for (const std::string& name : config_.api.names) {
    if (name.empty() || name.find_first_of(":/[] \t") != std::string::npos)
      problem_with("server.names",
                   "has '" + name + "', which is no name: write \"postrider.example\"");
  }
}

void ConfigReader::check_ranges() {
  for (const std::string& range : config_.transport.allow) {
    if (!is_range(range))
      problem_with("transport.allow",
                   "has '" + range + "', which is no range: write \"10.0.0.0/8\" or \"fd00::/8\"");
  }
  for (const std::string& server : config_.transport.name_servers) {
    const std::optional<HostPort> split = split_address(server);
    if (!split || split->port == 0 || !is_address(split->host))
      problem_with("transport.name_servers",
                   "has '" + server + "': write \"192.0.2.1:53\" or \"[2001:db8::1]:53\"");
  }
}

void ConfigReader::check_sizes() {
  const EngineOptions& engine = config_.host.shard.engine;
  const HttpTransportOptions& transport = config_.transport;
  if (engine.ledger.age < engine.key_window + engine.key_ahead)
    problem_with("engine.ledger_age",
                 "must be at least engine.key_window and engine.key_ahead "
                 "together, or keys are forgotten while they still count");
  if (engine.limits.window_bytes_max < engine.limits.body_bytes_max)
    config_.warnings.push_back("engine.window_bytes_max is less than one body of " +
                               bytes_text(engine.limits.body_bytes_max) +
                               ": most messages will be read from the disk one by one");
  // What is found of a message, or the same in base64; beside it headers and other attributes.
  const std::uint64_t answer_bytes =
      2ULL * engine.limits.body_bytes_max + 2ULL * engine.limits.attributes_bytes_max;
  if (config_.server.limits.held_bytes_max <
      std::max(config_.server.limits.body_bytes_max, answer_bytes))
    problem_with("server.held_bytes_max",
                 "must hold at least one request (server.request_bytes_max) and twice a message "
                 "(engine.body_bytes_max and engine.attributes_bytes_max)");
  if (config_.host.tenant_waiting_max > config_.host.waiting_max)
    problem_with("door.tenant_waiting_max", "must not be above door.waiting_max");
  if (transport.idle_connections_max > transport.connections_max)
    problem_with("transport.idle_connections_max", "must not be above transport.connections_max");
  if (transport.excerpt_bytes_max > transport.reply_bytes_max)
    problem_with("transport.excerpt_bytes_max", "must not be above transport.reply_bytes_max");
  if (engine.limits.body_bytes_max > transport.request_bytes_max)
    config_.warnings.push_back("transport.request_bytes_max is too small for a message of " +
                               bytes_text(engine.limits.body_bytes_max));
  // A body in base64 is a third longer, and JSON surrounds it.
  const std::uint64_t request_bytes = engine.limits.body_bytes_max / 3 * 4 + 4096;
  if (config_.server.limits.body_bytes_max < request_bytes)
    config_.warnings.push_back("server.request_bytes_max is too small for a message of " +
                               bytes_text(engine.limits.body_bytes_max) + " in base64");
}

void ConfigReader::check() {
  finish_tokens();
  finish_destinations();
  finish_brokers();
  for (const auto& [name, list] : lists_) list->finish(*this);
  for (const auto check_part : checks_) check_part(*this);
  check_listeners();
  check_names();
  check_ranges();
  check_sizes();
  config_.api.body_bytes_max = config_.host.shard.engine.limits.body_bytes_max;
  config_.host.shard.engine.secrets = secrets_;
  config_.api.list_part_max = config_.host.shard.engine.limits.list_destinations_max;
}

}  // namespace postrider
