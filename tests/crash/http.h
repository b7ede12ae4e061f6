// A plain, blocking HTTP/1.1 client that keeps its connection and can tell an answer that came
// whole from one that did not. It shares no code with the daemon. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace postrider::crash {

struct HttpAnswer {
  int status = 0;
  std::string head;  // in lower case
  std::string body;
};

struct HttpQuestion {
  std::string_view method;
  std::string_view path;
  std::string_view body = "";
  std::string_view content_type = "application/json";
  std::string_view headers = "";  // whole lines
};

class HttpConnection {
 public:
  HttpConnection() = default;
  ~HttpConnection() { close(); }
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  bool open(const std::string& address);  // "127.0.0.1:8460"
  void close();
  bool is_open() const { return fd_ >= 0; }

  // Each closes the connection when it fails. `send` may be called again before the answer is read.
  bool send(const HttpQuestion& question);
  std::optional<HttpAnswer> read();
  std::optional<HttpAnswer> ask(const HttpQuestion& question);

  // A long answer: its head, then pieces of its body. `read_piece` appends; false: no more comes,
  // and `was_whole` says whether that was its end.
  std::optional<HttpAnswer> read_head();
  bool read_piece(std::string& out);
  bool was_whole() const { return whole_; }

 private:
  bool receive();
  bool take_line(std::string& line);
  bool take_bytes(std::string& out);

  int fd_ = -1;
  std::string in_;
  bool chunked_ = false;
  bool whole_ = false;
  bool closes_ = false;
  std::uint64_t left_ = 0;  // of the body, or of the chunk
};

// The value of a member of flat JSON as the daemon writes it: "name":value. Empty: there is none.
std::string member(std::string_view json, std::string_view name);
std::uint64_t number_member(std::string_view json, std::string_view name);

}  // namespace postrider::crash
