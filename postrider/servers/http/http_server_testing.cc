#include "postrider/servers/http/http_server_testing.h"

#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>

#include "postrider/base/check.h"

namespace postrider {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);  // until a test is given up

std::optional<std::string> take_chunks(std::string_view& rest) {
  std::string body;
  while (true) {
    const std::size_t line = rest.find("\r\n");
    if (line == std::string_view::npos) return std::nullopt;
    std::size_t size = 0;
    std::from_chars(rest.data(), rest.data() + line, size, 16);
    if (rest.size() < line + 2 + size + 2) return std::nullopt;
    body += rest.substr(line + 2, size);
    rest.remove_prefix(line + 2 + size + 2);
    if (size == 0) return body;
  }
}

int connect_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  POSTRIDER_CHECK(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  return fd;
}

int connect_tcp(const std::string& text, int receive_buffer) {
  const std::size_t colon = text.rfind(':');
  const auto port = htons(static_cast<std::uint16_t>(std::stoi(text.substr(colon + 1))));
  const bool v6 = text.front() == '[';
  const int fd = ::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  POSTRIDER_CHECK(fd >= 0);
  if (receive_buffer != 0) {
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
  }
  int code = -1;
  if (v6) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = port;
    ::inet_pton(AF_INET6, text.substr(1, colon - 2).c_str(), &address.sin6_addr);
    code = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  } else {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = port;
    ::inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr);
    code = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  }
  POSTRIDER_CHECK(code == 0);
  return fd;
}

}  // namespace

std::string HttpReply::header(std::string_view name) const {
  for (const auto& [each, value] : headers) {
    if (each == name) return value;
  }
  return {};
}

std::optional<HttpReply> take_reply(std::string& bytes, bool to_head) {
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string::npos) return std::nullopt;
  HttpReply reply;
  std::string_view rest = bytes;
  std::string_view head = rest.substr(0, end + 2);
  rest.remove_prefix(end + 4);
  reply.version = head.substr(0, 8);
  reply.status = std::atoi(std::string(head.substr(9, 3)).c_str());
  head.remove_prefix(head.find("\r\n") + 2);
  while (!head.empty()) {
    const std::size_t line = head.find("\r\n");
    const std::size_t colon = head.find(": ");
    reply.headers.emplace_back(head.substr(0, colon), head.substr(colon + 2, line - colon - 2));
    head.remove_prefix(line + 2);
  }
  const bool empty = to_head || reply.status < 200 || reply.status == 204 || reply.status == 304;
  if (!empty && reply.header("transfer-encoding") == "chunked") {
    std::optional<std::string> body = take_chunks(rest);
    if (!body) return std::nullopt;
    reply.body = *std::move(body);
  } else if (!empty) {
    const auto size = static_cast<std::size_t>(std::atoll(reply.header("content-length").c_str()));
    if (rest.size() < size) return std::nullopt;
    reply.body = rest.substr(0, size);
    rest.remove_prefix(size);
  }
  bytes = std::string(rest);
  return reply;
}

RawClient::RawClient(const std::string& address, int receive_buffer) {
  fd = address.starts_with("unix:") ? connect_unix(address.substr(5))
                                    : connect_tcp(address, receive_buffer);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

RawClient::~RawClient() {
  if (fd >= 0) ::close(fd);
}

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void RawClient::receive() {
  char buffer[65536];
  while (!ended) {
    const ssize_t got = ::recv(fd, buffer, sizeof(buffer), 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      ended = true;
    } else {
      received.append(buffer, static_cast<std::size_t>(got));
    }
  }
}

void RawClient::end_sending() { ::shutdown(fd, SHUT_WR); }

void RawClient::reset() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  ::close(std::exchange(fd, -1));
}

struct HttpRig::Loop {
  boost::asio::io_context context{1};
};

HttpRig::HttpRig() : loop_(std::make_unique<Loop>()) {
  handler.handle = [this](const HttpRequest& request, HttpExchangePtr exchange) {
    std::string text(request.method);
    text.append(" ").append(request.target).append(" ").append(request.body);
    seen.push_back(text);
    exchange->respond({.content_type = "text/plain", .body = std::move(text)});
  };
}

HttpRig::~HttpRig() {
  server.reset();
  if (!directory_.empty()) std::filesystem::remove_all(directory_);
}

void HttpRig::hold() {
  handler.handle = [this](const HttpRequest& request, HttpExchangePtr exchange) {
    seen.push_back(std::string(request.method) + " " + std::string(request.target) + " " +
                   std::string(request.body));
    waiting.push_back(std::move(exchange));
  };
}

void HttpRig::start() {
  server = std::make_unique<HttpServer>(loop_->context, limits, handler, clock);
  address = listen({.address = "127.0.0.1:0"});
}

std::string HttpRig::listen(const HttpListen& where) {
  auto bound = server->listen(where);
  return bound ? *bound : "error: " + bound.error().detail;
}

std::unique_ptr<RawClient> HttpRig::connect(int receive_buffer) {
  return std::make_unique<RawClient>(address, receive_buffer);
}

bool HttpRig::pump_until(const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    loop_->context.run_one_for(std::chrono::milliseconds(5));
    loop_->context.poll();
  }
  return true;
}

std::size_t HttpRig::pump() { return loop_->context.poll(); }

std::optional<HttpReply> HttpRig::reply(RawClient& client, bool to_head) {
  std::optional<HttpReply> found;
  pump_until([&] {
    client.receive();
    found = take_reply(client.received, to_head);
    return found || client.ended;
  });
  return found;
}

bool HttpRig::closes(RawClient& client) {
  const bool ended = pump_until([&] {
    client.receive();
    return client.ended;
  });
  return ended && client.received.empty();
}

void HttpRig::pass(Duration time) {
  pump();
  clock.now.boot = clock.now.boot + time;
  clock.now.wall = clock.now.wall + time;
  server->sweep();
  pump();
}

std::string HttpRig::scratch_directory() {
  if (directory_.empty()) {
    std::string name = (std::filesystem::temp_directory_path() / "postrider-http-XXXXXX").string();
    POSTRIDER_CHECK(::mkdtemp(name.data()) != nullptr);
    directory_ = name;
  }
  return directory_;
}

std::string get(std::string_view target) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nhost: a\r\n\r\n";
}

std::string post(std::string_view target, std::string_view body) {
  return "POST " + std::string(target) +
         " HTTP/1.1\r\nhost: a\r\ncontent-length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

}  // namespace postrider
