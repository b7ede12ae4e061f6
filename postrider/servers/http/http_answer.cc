#include "postrider/servers/http/http_answer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "postrider/protocols/web/http_text.h"

namespace postrider {
namespace {

constexpr std::string_view status_line(int status) {
  switch (status) {
    case 200: return "HTTP/1.1 200 OK\r\n";
    case 201: return "HTTP/1.1 201 Created\r\n";
    case 202: return "HTTP/1.1 202 Accepted\r\n";
    case 204: return "HTTP/1.1 204 No Content\r\n";
    case 304: return "HTTP/1.1 304 Not Modified\r\n";
    case 400: return "HTTP/1.1 400 Bad Request\r\n";
    case 401: return "HTTP/1.1 401 Unauthorized\r\n";
    case 403: return "HTTP/1.1 403 Forbidden\r\n";
    case 404: return "HTTP/1.1 404 Not Found\r\n";
    case 405: return "HTTP/1.1 405 Method Not Allowed\r\n";
    case 406: return "HTTP/1.1 406 Not Acceptable\r\n";
    case 408: return "HTTP/1.1 408 Request Timeout\r\n";
    case 409: return "HTTP/1.1 409 Conflict\r\n";
    case 410: return "HTTP/1.1 410 Gone\r\n";
    case 412: return "HTTP/1.1 412 Precondition Failed\r\n";
    case 413: return "HTTP/1.1 413 Content Too Large\r\n";
    case 415: return "HTTP/1.1 415 Unsupported Media Type\r\n";
    case 417: return "HTTP/1.1 417 Expectation Failed\r\n";
    case 421: return "HTTP/1.1 421 Misdirected Request\r\n";
    case 422: return "HTTP/1.1 422 Unprocessable Content\r\n";
    case 428: return "HTTP/1.1 428 Precondition Required\r\n";
    case 429: return "HTTP/1.1 429 Too Many Requests\r\n";
    case 431: return "HTTP/1.1 431 Request Header Fields Too Large\r\n";
    case 500: return "HTTP/1.1 500 Internal Server Error\r\n";
    case 501: return "HTTP/1.1 501 Not Implemented\r\n";
    case 502: return "HTTP/1.1 502 Bad Gateway\r\n";
    case 503: return "HTTP/1.1 503 Service Unavailable\r\n";
    case 504: return "HTTP/1.1 504 Gateway Timeout\r\n";
    case 505: return "HTTP/1.1 505 HTTP Version Not Supported\r\n";
    case 507: return "HTTP/1.1 507 Insufficient Storage\r\n";
    default: return {};
  }
}

void append_number(std::string& out, std::uint64_t number, int base) {
  std::array<char, 24> digits;
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), number, base);
  static_cast<void>(error);
  out.append(digits.data(), end);
}

void append_status(std::string& out, int status) {
  const std::string_view line = status_line(status);
  if (!line.empty()) {
    out += line;
    return;
  }
  // A status that nobody foresaw; the phrase means nothing to anybody.
  out += "HTTP/1.1 ";
  append_number(out, static_cast<std::uint64_t>(std::clamp(status, 100, 999)), 10);
  out += " Status\r\n";
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
  if (!is_header_value(value)) return;
  out += name;
  out += ": ";
  out += value;
  out += "\r\n";
}

}  // namespace

bool has_no_body(int status) { return status < 200 || status == 204 || status == 304; }

void append_http_answer(std::string& out, const HttpResponse& response,
                        const HttpAnswerForm& form) {
  append_status(out, response.status);
  out += form.date_line;
  const bool no_body = has_no_body(response.status);
  if (!no_body && !response.content_type.empty()) {
    append_header(out, "content-type", response.content_type);
  }
  for (const auto& [name, value] : response.headers) {
    if (is_header_name(name)) append_header(out, name, value);
  }
  if (form.close) {
    out += "connection: close\r\n";
  } else if (form.say_keep_alive) {
    out += "connection: keep-alive\r\n";
  }
  if (no_body) {
    out += "\r\n";
    return;
  }
  if (form.body == HttpAnswerBody::kWhole) {
    out += "content-length: ";
    append_number(out, response.body.size(), 10);
    out += "\r\n\r\n";
    if (!form.head_only) out += response.body;
    return;
  }
  out += form.body == HttpAnswerBody::kChunked ? "transfer-encoding: chunked\r\n\r\n" : "\r\n";
}

void append_http_chunk(std::string& out, std::string_view piece) {
  append_number(out, piece.size(), 16);
  out += "\r\n";
  out += piece;
  out += "\r\n";
}

}  // namespace postrider
