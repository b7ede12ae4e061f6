// Runs the program as a user would, and stands where the daemon stands: a server with a script.
#pragma once

#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace postrider::cli {

struct Ran {
  int code = -1;
  std::string output;  // standard output and standard error, unless `after` says otherwise
};

// `before` stands before the program's name: variables, or a pipe into it.
inline Ran run(const std::string& arguments, const std::string& before = "",
               const std::string& after = " 2>&1") {
  Ran ran;
  const std::string command = before + " '" POSTRIDER_BINARY "' " + arguments + after;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> buffer{};
  for (std::size_t size = 0; (size = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    ran.output.append(buffer.data(), size);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ran.code = WEXITSTATUS(status);
  return ran;
}

struct Reply {
  std::string body;
  int status = 200;
  std::string content_type = "application/json";
  std::string headers = {};  // whole lines
  bool chunked = false;      // the body piece by piece
  bool cut = false;          // close without an answer
};

// Answers the requests in turn with the replies it was given, and remembers them.
class Daemon {
 public:
  explicit Daemon(std::vector<Reply> replies, const std::string& socket_path = "")
      : replies_(std::move(replies)) {
    if (socket_path.empty()) {
      listen_tcp();
    } else {
      listen_unix(socket_path);
    }
    thread_ = std::thread([this] { serve(); });
  }
  ~Daemon() {
    stop_ = true;
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    for (const int client : answered_) close(client);
    close(fd_);
  }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  const std::string& url() const { return url_; }
  std::string environment() const { return "env NO_COLOR=1 POSTRIDER_URL=" + url_; }
  Ran run(const std::string& arguments, const std::string& after = " 2>&1") const {
    return cli::run(arguments, environment(), after);
  }
  std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  std::string request(std::size_t index) {
    const std::vector<std::string> all = requests();
    return index < all.size() ? all[index] : "";
  }
  // "GET /path", and what follows the head.
  std::string first_line(std::size_t index) {
    const std::string text = request(index);
    return text.substr(0, text.find(" HTTP/1.1"));
  }
  std::string body(std::size_t index) {
    const std::string text = request(index);
    const std::size_t end = text.find("\r\n\r\n");
    return end == std::string::npos ? "" : text.substr(end + 4);
  }

 private:
  void listen_tcp() {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(fd_, 16), 0);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  void listen_unix(const std::string& path) {
    fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd_, 16), 0);
    url_ = "unix:" + path;
  }

  static std::string read_request(int client) {
    std::string text;
    std::array<char, 4096> buffer{};
    while (true) {
      const std::size_t end = text.find("\r\n\r\n");
      if (end != std::string::npos) {
        const std::size_t length = text.find("content-length: ");
        const std::size_t size =
            length < end ? std::strtoul(text.c_str() + length + 16, nullptr, 10) : 0;
        if (text.size() >= end + 4 + size) return text;
      }
      const ssize_t got = recv(client, buffer.data(), buffer.size(), 0);
      if (got <= 0) return text;
      text.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }

  static std::string answer_text(const Reply& reply) {
    std::string text = "HTTP/1.1 " + std::to_string(reply.status) +
                       " X\r\ncontent-type: " + reply.content_type + "\r\n" + reply.headers;
    if (!reply.chunked)
      return text + "content-length: " + std::to_string(reply.body.size()) + "\r\n\r\n" +
             reply.body;
    text += "transfer-encoding: chunked\r\n\r\n";
    constexpr std::size_t kPiece = 7;
    for (std::size_t at = 0; at < reply.body.size(); at += kPiece) {
      const std::string piece = reply.body.substr(at, kPiece);
      char size[16];
      std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
      text += size + piece + "\r\n";
    }
    return text + "0\r\n\r\n";
  }

  void serve() {
    for (std::size_t turn = 0; !stop_; ++turn) {
      const int client = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) return;
      const std::string text = read_request(client);
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(text);
      }
      const Reply reply = turn < replies_.size()
                              ? replies_[turn]
                              : Reply{.body = "{\"unexpected\":true}", .status = 500};
      if (!reply.cut) {
        const std::string answer = answer_text(reply);
        send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      }
      shutdown(client, SHUT_WR);
      // Closed at the end: a program may ask something else while it reads a stream.
      answered_.push_back(client);
    }
  }

  std::vector<Reply> replies_;
  std::string url_;
  int fd_ = -1;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::vector<std::string> requests_;
  std::vector<int> answered_;  // of the thread
  std::thread thread_;
};

inline Reply problem(int status, std::string_view title, std::string_view detail,
                     std::string headers = "") {
  return {.body = "{\"type\":\"urn:postrider:problem:x\",\"title\":\"" + std::string(title) +
                  "\",\"status\":" + std::to_string(status) + ",\"detail\":\"" +
                  std::string(detail) + "\"}",
          .status = status,
          .content_type = "application/problem+json",
          .headers = std::move(headers)};
}

// A time as the API writes it, so far from now.
inline std::string moment(std::int64_t seconds_from_now) {
  const std::time_t at = std::time(nullptr) + seconds_from_now;
  std::tm parts{};
  gmtime_r(&at, &parts);
  std::array<char, 40> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S.000Z", &parts);
  return text.data();
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = testing::TempDir() + "postrider_cli_XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

 private:
  std::string path_;
};

}  // namespace postrider::cli
