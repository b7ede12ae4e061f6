// The bytes of a response. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/servers/http/http_server.h"

namespace postrider {

enum class HttpAnswerBody : std::uint8_t {
  kWhole,      // in the response, with its length
  kChunked,    // follows in chunks
  kUntilClose  // follows, and ends with the connection: for HTTP/1.0
};

struct HttpAnswerForm {
  HttpAnswerBody body = HttpAnswerBody::kWhole;
  bool head_only = false;       // the answer to HEAD
  bool close = false;           // the connection ends after it
  bool say_keep_alive = false;  // HTTP/1.0 does not take it for granted
  std::string_view date_line;   // "date: …\r\n"
};

// Statuses that never have a body: 1xx, 204, 304.
bool has_no_body(int status);

// Appends head and, for kWhole, body. A header that could break the framing is left out.
void append_http_answer(std::string& out, const HttpResponse& response, const HttpAnswerForm& form);

// Appends one piece, which is not empty, as a chunk.
void append_http_chunk(std::string& out, std::string_view piece);

inline constexpr std::string_view kHttpLastChunk = "0\r\n\r\n";
inline constexpr std::string_view kHttpContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace postrider
