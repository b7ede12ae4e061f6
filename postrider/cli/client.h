// Client: asks the daemon over HTTP/1.1, one connection per request, and waits for the answer. TCP,
// TLS and Unix sockets. For the commands: plain and blocking.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"

namespace postrider {

inline constexpr std::string_view kDefaultUrl = "http://127.0.0.1:8460";

struct ClientOptions {
  std::string url{kDefaultUrl};  // http://HOST[:PORT][/PATH], https://…, or unix:/path
  std::string token;             // empty: none
  Duration time_out{30'000};     // without a byte
  std::size_t answer_bytes_max = 64U << 20;
};

struct ClientRequest {
  std::string method = "GET";
  std::string path;  // with its query
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string content_type = "application/json";  // of the body, when there is one
  Duration patience{0};  // longer than the client's time-out, for what takes its time; 0: that
};

struct ClientAnswer {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;

  std::string_view header(std::string_view lower_case_name) const;
};

// The places of an address.
struct ClientTarget {
  enum class Kind : std::uint8_t { kTcp, kTls, kUnix } kind = Kind::kTcp;
  std::string host;    // or the path of the socket
  std::string port;    // a number
  std::string prefix;  // of every path, without a '/' at its end
};
Result<ClientTarget> parse_target(std::string_view url);

// kUnavailable: nobody answers there, and the detail says what to do; kInvalid: the address, or
// what came back, makes no sense.
Result<ClientAnswer> ask(const ClientOptions& options, const ClientRequest& request);

// The same for a long answer: `piece` gets the body of a 2xx as it comes, until it returns false or
// the answer ends. Other answers are returned with their body.
using ClientPiece = std::function<bool(std::string_view)>;
Result<ClientAnswer> follow(const ClientOptions& options, const ClientRequest& request,
                            const ClientPiece& piece);

std::string percent_encode(std::string_view text);  // one segment of a path, or a parameter

}  // namespace postrider
