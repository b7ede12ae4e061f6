#include "postrider/cli/client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "postrider/protocols/web/http_text.h"

namespace postrider {
namespace {

constexpr std::size_t kHeadBytesMax = 65'536;
constexpr std::size_t kChunkLineBytesMax = 256;

tl::unexpected<Error> wrong_reply(std::string what) {
  return fail(ErrorCode::kInvalid, std::move(what));
}
tl::unexpected<Error> gone(std::string what) {
  return fail(ErrorCode::kUnavailable, std::move(what));
}

std::string reason_text(int code) { return std::generic_category().message(code); }

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

// One connection; closed when it goes out of scope.
class Wire {
 public:
  Wire() = default;
  ~Wire() {
    if (fd_ >= 0) close(fd_);
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  Result<void> open(const ClientTarget& target, Duration time_out);
  Result<void> write_all(std::string_view bytes);
  Result<std::size_t> read_some(char* data, std::size_t size);  // 0: the end

 private:
  Result<void> open_unix(const ClientTarget& target, Duration time_out);
  Result<void> open_tcp(const ClientTarget& target, Duration time_out);
  Result<void> start_tls(const std::string& host);
  void set_time_out(Duration time_out) const;

  int fd_ = -1;
  std::unique_ptr<SSL_CTX, FreeSsl> context_;
  std::unique_ptr<SSL, FreeSsl> ssl_;
};

std::string start_hint() {
  return "; start the daemon with 'postrider serve --dev', or say where it is with --url or "
         "POSTRIDER_URL";
}

void Wire::set_time_out(Duration time_out) const {
  timeval value{};
  value.tv_sec = time_out.count() / 1000;
  value.tv_usec = (time_out.count() % 1000) * 1000;
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &value, sizeof value);
  setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &value, sizeof value);
}

Result<void> Wire::open_unix(const ClientTarget& target, Duration time_out) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (target.host.size() >= sizeof address.sun_path)
    return wrong_reply("the path is too long for a socket");
  target.host.copy(address.sun_path, target.host.size());
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  set_time_out(time_out);
  if (fd_ >= 0 && connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return {};
  return gone("nothing answers at unix:" + target.host + " (" + reason_text(errno) + ")" +
              start_hint());
}

Result<void> Wire::open_tcp(const ClientTarget& target, Duration time_out) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(target.host.c_str(), target.port.c_str(), &hints, &found);
  if (code != 0) return gone("'" + target.host + "' is not found: " + gai_strerror(code));
  int reason = 0;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (fd_ >= 0) close(fd_);
    fd_ = socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
    set_time_out(time_out);
    reason = fd_ >= 0 && connect(fd_, one->ai_addr, one->ai_addrlen) == 0 ? 0 : errno;
    if (reason == 0) break;
  }
  freeaddrinfo(found);
  if (reason == 0) return {};
  return gone("nothing answers at " + target.host + ":" + target.port + " (" + reason_text(reason) +
              ")" + start_hint());
}

// The certificate must be for this name or address; only a name is told to the server.
bool expect_host(SSL* ssl, const std::string& host) {
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1) return true;
  std::string name = host;
  return SSL_set1_host(ssl, host.c_str()) == 1 &&
         SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data()) == 1;
}

Result<void> Wire::start_tls(const std::string& host) {
  context_.reset(SSL_CTX_new(TLS_client_method()));
  if (!context_) return gone("TLS cannot be used");
  SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_default_verify_paths(context_.get());
  ssl_.reset(SSL_new(context_.get()));
  if (!ssl_ || SSL_set_fd(ssl_.get(), fd_) != 1 || !expect_host(ssl_.get(), host))
    return gone("TLS cannot be used");
  if (SSL_connect(ssl_.get()) == 1) return {};
  const long verdict = SSL_get_verify_result(ssl_.get());
  if (verdict != X509_V_OK)
    return gone(std::string("the daemon's certificate is not trusted: ") +
                X509_verify_cert_error_string(verdict) +
                "; SSL_CERT_FILE names a file with the authority");
  return gone("the daemon does not speak TLS; is it http:// instead of https://?");
}

Result<void> Wire::open(const ClientTarget& target, Duration time_out) {
  if (target.kind == ClientTarget::Kind::kUnix) return open_unix(target, time_out);
  Result<void> opened = open_tcp(target, time_out);
  if (!opened || target.kind == ClientTarget::Kind::kTcp) return opened;
  return start_tls(target.host);
}

Result<void> Wire::write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ssl_ ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                               : send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (wrote < 0 && !ssl_ && errno == EINTR) continue;
    // A daemon that refuses a request early answers before it has read everything; its answer is
    // worth more than our complaint.
    if (wrote <= 0) return {};
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

Result<std::size_t> Wire::read_some(char* data, std::size_t size) {
  while (true) {
    const ssize_t got =
        ssl_ ? SSL_read(ssl_.get(), data, static_cast<int>(size)) : recv(fd_, data, size, 0);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (ssl_) return std::size_t{0};
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return gone("the daemon does not answer in time");
    return gone(std::string("the connection broke: ") + reason_text(errno));
  }
}

// An answer while it comes in.
class Reading {
 public:
  Reading(Wire& wire, std::size_t bytes_max) : wire_(wire), bytes_max_(bytes_max) {}

  Result<void> read_head(ClientAnswer& answer);
  // Gives the body to `piece` until it says no.
  Result<void> read_body(const ClientAnswer& answer, const ClientPiece& piece);

 private:
  Result<bool> more();  // false: the end
  Result<void> read_counted(std::uint64_t size, const ClientPiece& piece, bool& wanted);
  Result<void> read_chunks(const ClientPiece& piece);
  Result<std::string> read_line();

  Wire& wire_;
  std::size_t bytes_max_;
  std::size_t taken_ = 0;
  std::string buffer_;
};

Result<bool> Reading::more() {
  std::array<char, 16'384> fresh{};
  POSTRIDER_TRY(size, wire_.read_some(fresh.data(), fresh.size()));
  buffer_.append(fresh.data(), size);
  return size > 0;
}

bool read_status(std::string_view line, int& status) {
  if (!line.starts_with("HTTP/1.") || line.size() < 12) return false;
  const auto [rest, error] = std::from_chars(line.data() + 9, line.data() + 12, status);
  return error == std::errc() && rest == line.data() + 12;
}

Result<void> Reading::read_head(ClientAnswer& answer) {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (buffer_.size() > kHeadBytesMax) return wrong_reply("the answer's head is too large");
    POSTRIDER_TRY(come, more());
    if (!come && buffer_.empty()) return gone("the daemon closed the connection without an answer");
    if (!come) return wrong_reply("the answer is not HTTP, or broke off");
  }
  std::string_view head = std::string_view(buffer_).substr(0, end);
  const std::size_t first = std::min(head.find("\r\n"), head.size());
  if (!read_status(head.substr(0, first), answer.status))
    return wrong_reply("the answer is not HTTP");
  head.remove_prefix(std::min(first + 2, head.size()));
  while (!head.empty()) {
    const std::size_t stop = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, stop);
    head.remove_prefix(std::min(stop + 2, head.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view value = line.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    answer.headers.emplace_back(to_lower(line.substr(0, colon)), value);
  }
  buffer_.erase(0, end + 4);
  return {};
}

Result<void> Reading::read_counted(std::uint64_t size, const ClientPiece& piece, bool& wanted) {
  while (size > 0 && wanted) {
    if (buffer_.empty()) {
      POSTRIDER_TRY(come, more());
      if (!come) return gone("the answer broke off");
    }
    const std::size_t part =
        static_cast<std::size_t>(std::min<std::uint64_t>(size, buffer_.size()));
    taken_ += part;
    if (taken_ > bytes_max_) return wrong_reply("the answer is too large");
    wanted = piece(std::string_view(buffer_).substr(0, part));
    buffer_.erase(0, part);
    size -= part;
  }
  return {};
}

Result<std::string> Reading::read_line() {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n")) == std::string::npos) {
    if (buffer_.size() > kChunkLineBytesMax) return wrong_reply("the answer has a broken chunk");
    POSTRIDER_TRY(come, more());
    if (!come) return gone("the answer broke off");
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return line;
}

Result<void> Reading::read_chunks(const ClientPiece& piece) {
  bool wanted = true;
  while (wanted) {
    POSTRIDER_TRY(line, read_line());
    std::uint64_t size = 0;
    const auto parsed = std::from_chars(line.data(), line.data() + line.size(), size, 16);
    if (parsed.ec != std::errc()) return wrong_reply("the answer has a broken chunk");
    if (size == 0) return {};
    Result<void> read = read_counted(size, piece, wanted);
    if (!read || !wanted) return read;
    POSTRIDER_TRY(empty, read_line());
    if (!empty.empty()) return wrong_reply("the answer has a broken chunk");
  }
  return {};
}

Result<void> Reading::read_body(const ClientAnswer& answer, const ClientPiece& piece) {
  if (answer.status == 204 || answer.status == 304) return {};
  if (to_lower(answer.header("transfer-encoding")) == "chunked") return read_chunks(piece);
  const std::string_view length = answer.header("content-length");
  bool wanted = true;
  if (!length.empty()) {
    std::uint64_t size = 0;
    const auto parsed = std::from_chars(length.data(), length.data() + length.size(), size);
    if (parsed.ec != std::errc()) return wrong_reply("the answer's length is no number");
    return read_counted(size, piece, wanted);
  }
  while (wanted) {
    Result<void> read = read_counted(buffer_.size(), piece, wanted);
    if (!read || !wanted) return read;
    POSTRIDER_TRY(come, more());
    if (!come) return {};
  }
  return {};
}

std::string request_text(const ClientOptions& options, const ClientTarget& target,
                         const ClientRequest& request) {
  std::string text = request.method + " " + target.prefix + request.path + " HTTP/1.1\r\n";
  const bool v6 = target.host.find(':') != std::string::npos;
  if (target.kind == ClientTarget::Kind::kUnix) {
    text += "host: localhost\r\n";
  } else {
    text += "host: " + (v6 ? "[" + target.host + "]" : target.host) + ":" + target.port + "\r\n";
  }
  text += "connection: close\r\nuser-agent: postrider\r\n";
  if (!options.token.empty()) text += "authorization: Bearer " + options.token + "\r\n";
  if (!request.body.empty()) text += "content-type: " + request.content_type + "\r\n";
  if (!request.body.empty() || request.method != "GET")
    text += "content-length: " + std::to_string(request.body.size()) + "\r\n";
  for (const auto& [name, value] : request.headers)
    text.append(name).append(": ").append(value).append("\r\n");
  return text + "\r\n" + request.body;
}

}  // namespace

std::string_view ClientAnswer::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) return value;
  }
  return {};
}

Result<ClientTarget> parse_target(std::string_view url) {
  const auto bad = [&] {
    return wrong_reply("'" + std::string(url) +
                       "' is no address: write http://127.0.0.1:8460, https://… or unix:/path");
  };
  ClientTarget target;
  std::string_view rest = url;
  if (rest.starts_with("unix:")) {
    target.kind = ClientTarget::Kind::kUnix;
    target.host = rest.substr(5);
    if (target.host.starts_with("//")) target.host.erase(0, 2);
    if (target.host.empty()) return bad();
    return target;
  }
  const bool tls = rest.starts_with("https://");
  if (!tls && !rest.starts_with("http://")) return bad();
  target.kind = tls ? ClientTarget::Kind::kTls : ClientTarget::Kind::kTcp;
  target.port = tls ? "443" : "80";
  rest.remove_prefix(tls ? 8 : 7);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  target.prefix = rest.substr(slash);
  while (target.prefix.ends_with('/')) target.prefix.pop_back();
  std::string_view place = rest.substr(0, slash);
  const std::size_t bracket = place.starts_with('[') ? place.find(']') : 0;
  if (bracket == std::string_view::npos) return bad();
  const std::size_t colon = place.find(':', bracket);
  if (colon != std::string_view::npos) {
    target.port = place.substr(colon + 1);
    place = place.substr(0, colon);
  }
  if (bracket != 0) place = place.substr(1, place.size() - 2);
  target.host = place;
  const bool digits = !target.port.empty() && target.port.size() <= 5 &&
                      target.port.find_first_not_of("0123456789") == std::string::npos;
  if (target.host.empty() || !digits || target.host.find('@') != std::string::npos) return bad();
  for (const char c : target.prefix + target.host) {
    if (c <= ' ' || c >= 127) return bad();
  }
  return target;
}

Result<ClientAnswer> follow(const ClientOptions& options, const ClientRequest& request,
                            const ClientPiece& piece) {
  POSTRIDER_TRY(target, parse_target(options.url));
  Wire wire;
  const auto pass = [](const Error& error) { return fail(error.code, error.detail); };
  if (const Result<void> opened = wire.open(target, std::max(options.time_out, request.patience));
      !opened)
    return pass(opened.error());
  if (const Result<void> sent = wire.write_all(request_text(options, target, request)); !sent)
    return pass(sent.error());
  ClientAnswer answer;
  Reading reading(wire, options.answer_bytes_max);
  do {
    answer = {};
    if (const Result<void> read = reading.read_head(answer); !read) return pass(read.error());
  } while (answer.status == 100);
  const auto keep = [&](std::string_view part) {
    answer.body.append(part);
    return true;
  };
  const bool good = answer.status / 100 == 2;
  const Result<void> read =
      good && piece ? reading.read_body(answer, piece) : reading.read_body(answer, keep);
  if (!read) return pass(read.error());
  return answer;
}

Result<ClientAnswer> ask(const ClientOptions& options, const ClientRequest& request) {
  return follow(options, request, {});
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace postrider
