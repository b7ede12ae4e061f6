#include "postrider/servers/http/http_head.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace postrider {
namespace {

// The lower-case form of what a token is made of; 0 for everything else.
constexpr std::array<char, 256> kToken = [] {
  std::array<char, 256> table{};
  for (char c = '0'; c <= '9'; ++c) table[static_cast<unsigned char>(c)] = c;
  for (char c = 'a'; c <= 'z'; ++c) {
    table[static_cast<unsigned char>(c)] = c;
    table[static_cast<unsigned char>(c - 'a' + 'A')] = c;
  }
  for (const char c : std::string_view("!#$%&'*+-.^_`|~")) table[static_cast<unsigned char>(c)] = c;
  return table;
}();

constexpr char token_char(char c) { return kToken[static_cast<unsigned char>(c)]; }

constexpr bool is_text(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 0x20 && byte != 0x7F) || c == '\t';
}

constexpr bool is_graphic(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte > 0x20 && byte < 0x7F;
}

constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }

constexpr HttpRefusal bad(std::string_view detail) { return {400, detail}; }

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() &&
         std::equal(text.begin(), text.end(), lower.begin(),
                    [](char a, char b) { return token_char(a) == b; });
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// A cursor over a head that is known to end with an empty line, so it never runs out.
struct Cursor {
  char* at;
  char* end;

  bool take_line_end() {
    if (end - at < 2 || at[0] != '\r' || at[1] != '\n') return false;
    at += 2;
    return true;
  }
};

constexpr std::string_view view(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

// "name://" and something behind it. What follows is for those who know the scheme.
bool has_scheme(std::string_view target) {
  const std::size_t colon = target.find("://");
  return colon != std::string_view::npos && colon > 0 && target.size() > colon + 3 &&
         std::all_of(target.begin(), target.begin() + static_cast<std::ptrdiff_t>(colon),
                     [](char c) { return token_char(c) != 0; });
}

HttpRefusal check_target(HttpRequest& request, bool forwards) {
  std::string_view& target = request.target;
  if (request.method == "CONNECT") return {501, "CONNECT is not offered"};
  if (target.starts_with('/')) return {};
  if (target == "*" && request.method == "OPTIONS") return {};
  // The absolute form must be understood (RFC 9112 §3.2.2); we are the only host that we know.
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme) || target.size() == scheme.size()) continue;
    const std::size_t path = target.find_first_of("/?", scheme.size());
    if (path == scheme.size()) break;
    if (path == std::string_view::npos) {
      target = "/";
    } else if (target[path] == '/') {
      target = target.substr(path);
    } else {
      break;  // "http://host?query" has no path that we could hand on as a view
    }
    return {};
  }
  const bool http = target.starts_with("http://") || target.starts_with("https://");
  if (forwards && !http && has_scheme(target)) return {};
  return bad("the request target is not a path");
}

HttpRefusal parse_version(std::string_view text, HttpFraming& framing) {
  if (text == "HTTP/1.1") return {};
  if (text == "HTTP/1.0") {
    framing.old_version = true;
    framing.keep_alive = false;
    return {};
  }
  if (text.size() == 8 && text.starts_with("HTTP/") && text[5] >= '0' && text[5] <= '9' &&
      text[6] == '.' && text[7] >= '0' && text[7] <= '9') {
    return {505, "this is an HTTP/1.1 server"};
  }
  return bad("the request line does not end with a version");
}

HttpRefusal parse_request_line(Cursor& cursor, HttpRequest& request, HttpFraming& framing,
                               bool forwards) {
  char* begin = cursor.at;
  while (token_char(*cursor.at) != 0) ++cursor.at;
  request.method = view(begin, cursor.at);
  if (request.method.empty() || *cursor.at != ' ') return bad("the method is not a word");

  begin = ++cursor.at;
  while (is_graphic(*cursor.at) && *cursor.at != '#') ++cursor.at;
  request.target = view(begin, cursor.at);
  if (request.target.empty() || *cursor.at != ' ') {
    return bad("the request target is empty or has a character that must be encoded");
  }

  begin = ++cursor.at;
  while (is_graphic(*cursor.at)) ++cursor.at;
  const std::string_view version = view(begin, cursor.at);
  if (!cursor.take_line_end()) return bad("the request line does not end with a version");
  const HttpRefusal refusal = parse_version(version, framing);
  return refusal ? refusal : check_target(request, forwards);
}

// "name: value". A line that begins with white space would continue the one before (obs-fold); a
// blank before the colon is how a name is hidden from one of two readers. Neither is a token.
HttpRefusal parse_field(Cursor& cursor, HttpHeader& header) {
  char* begin = cursor.at;
  while (const char lower = token_char(*cursor.at)) *cursor.at++ = lower;
  header.first = view(begin, cursor.at);
  if (header.first.empty() || *cursor.at != ':') return bad("the name of a header is not a word");

  ++cursor.at;
  while (is_blank(*cursor.at)) ++cursor.at;
  begin = cursor.at;
  while (is_text(*cursor.at)) ++cursor.at;
  char* end = cursor.at;
  if (!cursor.take_line_end()) return bad("a header has a control character");
  while (end > begin && is_blank(end[-1])) --end;
  header.second = view(begin, end);
  return {};
}

// What of the headers decides about the framing, each counted: repeated ones are refused, even with
// equal values.
struct Seen {
  int hosts = 0;
  int lengths = 0;
  int codings = 0;
  bool close = false;
  bool keep_alive = false;
};

HttpRefusal read_length(std::string_view value, HttpFraming& framing) {
  const char* end = value.data() + value.size();
  // from_chars takes no sign, blank or comma for an unsigned number, and knows what is too large.
  const auto [stop, error] = std::from_chars(value.data(), end, framing.length);
  if (error != std::errc() || stop != end) return bad("content-length is not a number");
  framing.body = HttpBodyKind::kLength;
  return {};
}

HttpRefusal read_coding(std::string_view value, HttpFraming& framing) {
  if (!equals_ignoring_case(value, "chunked")) {
    return {501, "the only transfer-encoding that is understood is chunked"};
  }
  framing.body = HttpBodyKind::kChunked;
  return {};
}

void read_connection(std::string_view value, Seen& seen) {
  while (!value.empty()) {
    const std::size_t comma = std::min(value.find(','), value.size());
    const std::string_view option = trim(value.substr(0, comma));
    if (equals_ignoring_case(option, "close")) seen.close = true;
    if (equals_ignoring_case(option, "keep-alive")) seen.keep_alive = true;
    value.remove_prefix(std::min(comma + 1, value.size()));
  }
}

HttpRefusal read_expect(std::string_view value, HttpFraming& framing) {
  if (!equals_ignoring_case(value, "100-continue")) {
    return {417, "the only expectation that is met is 100-continue"};
  }
  framing.expects_continue = !framing.old_version;
  return {};
}

HttpRefusal read_header(const HttpHeader& header, Seen& seen, HttpFraming& framing) {
  const auto& [name, value] = header;
  switch (name.size()) {
    case 4:
      if (name == "host") ++seen.hosts;
      return {};
    case 6: return name == "expect" ? read_expect(value, framing) : HttpRefusal{};
    case 10:
      if (name == "connection") read_connection(value, seen);
      return {};
    case 14:
      if (name != "content-length") return {};
      ++seen.lengths;
      return read_length(value, framing);
    case 17:
      if (name != "transfer-encoding") return {};
      ++seen.codings;
      return read_coding(value, framing);
    default: return {};
  }
}

// RFC 9112 §6.1 and §3.2: what is said twice, or in two ways, is not taken.
HttpRefusal judge(const Seen& seen, HttpFraming& framing) {
  if (seen.hosts > 1) return bad("there is more than one host header");
  if (seen.hosts == 0 && !framing.old_version) return bad("the host header is missing");
  if (seen.lengths + seen.codings > 1) return bad("the length of the body is given twice");
  if (seen.codings != 0 && framing.old_version) return bad("HTTP/1.0 knows no transfer-encoding");
  if (seen.close) framing.keep_alive = false;
  if (seen.keep_alive && !seen.close) framing.keep_alive = true;
  if (framing.body == HttpBodyKind::kLength && framing.length == 0) {
    framing.body = HttpBodyKind::kNone;
  }
  if (framing.body == HttpBodyKind::kNone) framing.expects_continue = false;
  return {};
}

}  // namespace

HttpRefusal parse_http_head(std::span<char> head, std::uint32_t headers_max, HttpRequest& request,
                            HttpFraming& framing, bool forwards) {
  framing = {};
  request.headers.clear();
  request.body = {};
  Cursor cursor{head.data(), head.data() + head.size()};
  if (const HttpRefusal refusal = parse_request_line(cursor, request, framing, forwards))
    return refusal;
  Seen seen;
  while (*cursor.at != '\r') {
    if (request.headers.size() == headers_max) return {431, "there are too many headers"};
    HttpHeader& header = request.headers.emplace_back();
    if (const HttpRefusal refusal = parse_field(cursor, header)) return refusal;
    if (const HttpRefusal refusal = read_header(header, seen, framing)) return refusal;
  }
  if (!cursor.take_line_end() || cursor.at != cursor.end) return bad("the head ends too early");
  return judge(seen, framing);
}

bool is_http_token_char(char c) { return token_char(c) != 0; }
bool is_http_text_char(char c) { return is_text(c); }

std::string_view HttpRequest::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) return value;
  }
  return {};
}

}  // namespace postrider
