#include "postrider/protocols/matrix/server_name.h"

#include <algorithm>
#include <charconv>

#include "postrider/protocols/web/http_text.h"

namespace postrider::matrix {
namespace {

constexpr std::string_view kDestinationPrefix = "matrix:";
constexpr std::string_view kEgressScheme = "matrix-federation://";
constexpr std::string_view kMatrixScheme = "matrix://";
constexpr std::string_view kSendPath = "/_matrix/federation/v1/send/";
constexpr std::size_t kTransactionIdBytesMax = 40;
constexpr std::size_t kUriBytesMax = 8 * 1024;

bool is_number(char c) { return c >= '0' && c <= '9'; }
bool is_hex_digit(char c) {
  return is_number(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_name_character(char c) {
  return is_number(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}

auto bad_name(std::string_view why) { return fail(ErrorCode::kInvalid, std::string(why)); }

// Four numbers of 0 to 255 without leading zeros. Other spellings of addresses (octal, hexadecimal,
// fewer parts) are refused: programs read them in different ways.
bool is_ipv4(std::string_view text) {
  for (int part = 0; part < 4; ++part) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0 || digits > 3 || (digits > 1 && text[0] == '0')) return false;
    int number = 0;
    std::from_chars(text.data(), text.data() + digits, number);
    if (number > 255) return false;
    text.remove_prefix(digits);
    if (part == 3) return text.empty();
    if (!text.starts_with('.')) return false;
    text.remove_prefix(1);
  }
  return false;
}

// RFC 4291 §2.2: eight groups, of which one run may be written "::", and the last two may be IPv4.
bool is_ipv6(std::string_view text) {
  int groups = 0;
  bool gap = text.starts_with("::");
  if (gap) text.remove_prefix(2);
  while (!text.empty()) {
    if (text.find('.') != std::string_view::npos && text.find(':') == std::string_view::npos) {
      if (!is_ipv4(text)) return false;
      groups += 2;
      break;
    }
    std::size_t digits = 0;
    while (digits < text.size() && is_hex_digit(text[digits])) ++digits;
    if (digits == 0 || digits > 4 || ++groups > 8) return false;
    text.remove_prefix(digits);
    if (text.empty()) break;
    if (!text.starts_with(':') || text.size() == 1) return false;
    text.remove_prefix(1);
    if (!text.starts_with(':')) continue;
    if (gap) return false;
    gap = true;
    text.remove_prefix(1);
  }
  return gap ? groups < 8 : groups == 8;
}

bool is_dns_name(std::string_view text) {
  while (true) {
    const std::string_view label = text.substr(0, text.find('.'));
    if (label.empty() || label.size() > 63) return false;
    if (!std::all_of(label.begin(), label.end(), is_name_character)) return false;
    if (label.size() == text.size()) return true;
    text.remove_prefix(label.size() + 1);
  }
}

// Whether the last label is a number: then it is an address or nothing.
bool ends_in_number(std::string_view host) {
  const std::string_view last = host.substr(host.rfind('.') + 1);
  return !last.empty() && std::all_of(last.begin(), last.end(), is_number);
}

Result<std::uint16_t> parse_port(std::string_view text) {
  std::uint32_t number = 0;
  const bool digits =
      !text.empty() && text.size() <= 5 && std::all_of(text.begin(), text.end(), is_number);
  if (digits) std::from_chars(text.data(), text.data() + text.size(), number);
  if (number == 0 || number > 65535) return bad_name("the port must be 1 to 65535");
  return static_cast<std::uint16_t>(number);
}

Result<ServerHost> kind_of_host(std::string_view host) {
  if (host.starts_with('[')) {
    if (!is_ipv6(host.substr(1, host.size() - 2))) return bad_name("that is no IPv6 address");
    return ServerHost::kIpv6;
  }
  if (host.empty()) return bad_name("the server name has no host");
  if (ends_in_number(host)) {
    if (!is_ipv4(host)) return bad_name("a name that ends in a number must be an IPv4 address");
    return ServerHost::kIpv4;
  }
  if (!is_dns_name(host)) return bad_name("a host has letters, digits, '-' and '.' only");
  return ServerHost::kName;
}

Result<MatrixTarget> parse_target(std::string_view target, std::string_view scheme) {
  if (!target.starts_with(scheme))
    return bad_name("the target must begin with " + std::string(scheme));
  target.remove_prefix(scheme.size());
  const std::string_view authority = target.substr(0, target.find_first_of("/?#"));
  const std::string_view uri = target.substr(authority.size());
  if (!uri.starts_with('/')) return bad_name("the target has no path");
  if (uri.size() > kUriBytesMax) return fail(ErrorCode::kLimit, "the path is too long");
  // A byte that could break the request line, and what is never sent, has no place in it.
  if (!std::all_of(uri.begin(), uri.end(), [](char c) { return c > 0x20 && c < 0x7F && c != '#'; }))
    return bad_name("the path must be printable ASCII without spaces and fragment");
  POSTRIDER_TRY(server, parse_server_name(authority));
  return MatrixTarget{.server = std::move(server), .uri = std::string(uri)};
}

}  // namespace

Result<ServerName> parse_server_name(std::string_view text) {
  if (text.size() > kServerNameBytesMax)
    return fail(ErrorCode::kLimit,
                "a server name has at most " + std::to_string(kServerNameBytesMax) + " bytes");
  if (text.find('@') != std::string_view::npos)
    return bad_name("a server name has no user information");
  if (std::any_of(text.begin(), text.end(),
                  [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
    return bad_name("a server name is ASCII; write an international one as xn--…");
  std::size_t host_size = text.find(':');
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return bad_name("the bracket is not closed");
    host_size = close + 1;
  }
  const std::string_view host = text.substr(0, host_size);
  const std::string_view rest = text.substr(host.size());
  ServerName name{.text = std::string(text), .host = to_lower(host), .port = {}, .kind = {}};
  POSTRIDER_TRY(kind, kind_of_host(host));
  name.kind = kind;
  if (rest.empty()) return name;
  if (rest.front() != ':') return bad_name("what follows the host must be a port");
  POSTRIDER_TRY(port, parse_port(rest.substr(1)));
  name.port = port;
  return name;
}

std::string destination_name(std::string_view server) {
  return std::string(kDestinationPrefix).append(server);
}

std::optional<std::string_view> server_of_destination(std::string_view destination) {
  if (!destination.starts_with(kDestinationPrefix)) return std::nullopt;
  return destination.substr(kDestinationPrefix.size());
}

std::string_view domain_of(std::string_view id) {
  const std::size_t colon = id.find(':');
  return colon == std::string_view::npos ? std::string_view() : id.substr(colon + 1);
}

bool is_user_of(std::string_view user_id, std::string_view server) {
  return user_id.starts_with('@') && user_id.size() <= kIdBytesMax && !server.empty() &&
         domain_of(user_id) == server;
}

Result<EgressTarget> parse_egress_target(std::string_view target) {
  POSTRIDER_TRY(parts, parse_target(target, kEgressScheme));
  EgressTarget found{
      .server = std::move(parts.server), .uri = std::move(parts.uri), .transaction_id = {}};
  const std::string_view uri = found.uri;
  if (uri.starts_with(kSendPath)) {
    const std::string_view id = uri.substr(kSendPath.size());
    if (!id.empty() && id.find_first_of("/?") == std::string_view::npos) found.transaction_id = id;
  }
  return found;
}

bool is_matrix_target(std::string_view target) { return target.starts_with(kMatrixScheme); }

Result<MatrixTarget> parse_matrix_target(std::string_view target) {
  return parse_target(target, kMatrixScheme);
}

std::string matrix_target(std::string_view server, std::string_view uri) {
  return std::string(kMatrixScheme).append(server).append(uri);
}

bool is_transaction_id(std::string_view text) {
  return !text.empty() && text.size() <= kTransactionIdBytesMax &&
         std::all_of(text.begin(), text.end(), is_name_character);
}

std::string send_path(std::string_view transaction_id) {
  return std::string(kSendPath).append(transaction_id);
}

}  // namespace postrider::matrix
