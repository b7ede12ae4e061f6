#include "tests/crash/http.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cctype>
#include <cstdlib>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace postrider::crash {
namespace {

constexpr int kTimeOutSeconds = 30;

}  // namespace

bool HttpConnection::open(const std::string& address) {
  close();
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return false;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.c_str() + colon + 1)));
  if (::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr) != 1) return false;
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval time_out{kTimeOutSeconds, 0};
  const int on = 1;
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &time_out, sizeof time_out);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &time_out, sizeof time_out);
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return true;
  close();
  return false;
}

void HttpConnection::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  in_.clear();
}

bool HttpConnection::send(const HttpQuestion& question) {
  if (fd_ < 0) return false;
  std::string text;
  text.append(question.method).append(" ").append(question.path);
  text.append(" HTTP/1.1\r\nhost: localhost\r\n").append(question.headers);
  if (!question.body.empty()) {
    text.append("content-type: ").append(question.content_type);
    text.append("\r\ncontent-length: ").append(std::to_string(question.body.size()));
    text.append("\r\n");
  } else if (question.method != "GET") {
    text.append("content-length: 0\r\n");
  }
  text.append("\r\n").append(question.body);
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t now = ::send(fd_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) {
      close();
      return false;
    }
    sent += static_cast<std::size_t>(now);
  }
  return true;
}

bool HttpConnection::receive() {
  std::array<char, 64 * 1024> buffer{};
  const ssize_t got = fd_ < 0 ? 0 : ::recv(fd_, buffer.data(), buffer.size(), 0);
  if (got <= 0) {
    close();
    return false;
  }
  in_.append(buffer.data(), static_cast<std::size_t>(got));
  return true;
}

bool HttpConnection::take_line(std::string& line) {
  std::size_t end = 0;
  while ((end = in_.find("\r\n")) == std::string::npos) {
    if (!receive()) return false;
  }
  line = in_.substr(0, end);
  in_.erase(0, end + 2);
  return true;
}

std::optional<HttpAnswer> HttpConnection::read_head() {
  whole_ = false;
  std::size_t end = 0;
  while ((end = in_.find("\r\n\r\n")) == std::string::npos) {
    if (!receive()) return std::nullopt;
  }
  HttpAnswer answer;
  answer.head = in_.substr(0, end + 2);
  in_.erase(0, end + 4);
  std::transform(answer.head.begin(), answer.head.end(), answer.head.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (answer.head.size() > 12) answer.status = std::atoi(answer.head.c_str() + 9);
  constexpr std::string_view kLength = "\r\ncontent-length: ";
  const std::size_t length = answer.head.find(kLength);
  chunked_ = answer.head.find("\r\ntransfer-encoding: chunked") != std::string::npos;
  closes_ = answer.head.find("\r\nconnection: close") != std::string::npos;
  left_ = 0;
  if (length != std::string::npos)
    left_ = std::strtoull(answer.head.c_str() + length + kLength.size(), nullptr, 10);
  return answer;
}

bool HttpConnection::take_bytes(std::string& out) {
  if (in_.empty() && !receive()) return false;
  const std::size_t now = static_cast<std::size_t>(std::min<std::uint64_t>(left_, in_.size()));
  out.append(in_, 0, now);
  in_.erase(0, now);
  left_ -= now;
  return true;
}

bool HttpConnection::read_piece(std::string& out) {
  if (!chunked_) {
    whole_ = left_ == 0;
    return !whole_ && take_bytes(out);
  }
  std::string line;
  if (left_ == 0) {
    if (!take_line(line)) return false;
    left_ = std::strtoull(line.c_str(), nullptr, 16);
    if (left_ == 0) {
      whole_ = take_line(line);
      return false;
    }
  }
  if (!take_bytes(out)) return false;
  return left_ != 0 || take_line(line);
}

std::optional<HttpAnswer> HttpConnection::read() {
  auto answer = read_head();
  if (!answer) return std::nullopt;
  while (read_piece(answer->body)) continue;
  if (!whole_) return std::nullopt;
  if (closes_) close();
  return answer;
}

std::optional<HttpAnswer> HttpConnection::ask(const HttpQuestion& question) {
  if (!send(question)) return std::nullopt;
  return read();
}

std::string member(std::string_view json, std::string_view name) {
  const std::string quoted = "\"" + std::string(name) + "\":";
  std::size_t at = json.find(quoted);
  if (at == std::string_view::npos) return {};
  at += quoted.size();
  const bool text = at < json.size() && json[at] == '"';
  if (text) ++at;
  const std::size_t end = json.find_first_of(text ? "\"" : ",}] \n", at);
  return std::string(json.substr(at, end == std::string_view::npos ? end : end - at));
}

std::uint64_t number_member(std::string_view json, std::string_view name) {
  return std::strtoull(member(json, name).c_str(), nullptr, 10);
}

}  // namespace postrider::crash
