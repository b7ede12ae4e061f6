// The head of an HTTP/1.1 request, read strictly: whatever two readers could understand differently
// is refused, because that is how requests are smuggled. Pure; the views point into the given
// bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "postrider/servers/http/http_server.h"

namespace postrider {

// Why something is not a request that we take. Status 0: nothing is wrong.
struct HttpRefusal {
  int status = 0;
  std::string_view detail;  // static text

  explicit operator bool() const { return status != 0; }
};

enum class HttpBodyKind : std::uint8_t { kNone, kLength, kChunked };

// What the head says about the connection and the bytes that follow it.
struct HttpFraming {
  HttpBodyKind body = HttpBodyKind::kNone;
  std::uint64_t length = 0;  // with kLength
  bool keep_alive = true;
  bool old_version = false;  // HTTP/1.0: knows no chunks
  bool expects_continue = false;
};

// `head` is a whole head with its empty line. Names of headers become lower case in place; method,
// target and headers of `request` are set. Everything that is refused ends the connection.
//
// `forwards`: absolute targets of other schemes than HTTP's are handed on as they are.
HttpRefusal parse_http_head(std::span<char> head, std::uint32_t headers_max, HttpRequest& request,
                            HttpFraming& framing, bool forwards = false);

// What a name of a header or a method is made of (RFC 9110 §5.6.2), what a line of text is made of.
bool is_http_token_char(char c);
bool is_http_text_char(char c);

}  // namespace postrider
