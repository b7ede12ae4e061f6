// Feeds arbitrary bytes to the reader of HTTP requests, once as a whole and once cut as the first
// bytes say: it must find the same requests, bodies and refusals, and never hand out what is not in
// its input. A head that it takes is held against Beast's parser, which must take it too and find
// the same in it. Ours is the stricter one, so what it refuses proves nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include "postrider/base/check.h"
#include "postrider/servers/http/http_reader.h"

namespace postrider {
namespace {

using Found = HttpReader::Found;

constexpr HttpReaderLimits kLimits{.head_bytes_max = 512, .headers_max = 8};

void check_head(std::span<char> head, const HttpRequest& request) {
  const auto inside = [&](std::string_view part) {
    return part == "/" ||
           (part.data() >= head.data() && part.data() + part.size() <= head.data() + head.size());
  };
  POSTRIDER_CHECK(head.size() <= kLimits.head_bytes_max + 2);  // and an empty line before it
  POSTRIDER_CHECK(request.headers.size() <= kLimits.headers_max);
  POSTRIDER_CHECK(inside(request.method) && inside(request.target));
  for (const auto& [name, value] : request.headers) {
    POSTRIDER_CHECK(inside(name) && inside(value) && !name.empty());
    const std::string both = std::string(name).append(value);
    POSTRIDER_CHECK(both.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
  }
}

// `head` is as it came; ours reads in place and writes names in lower case.
void compare_with_beast(std::string_view head, const HttpRequest& request) {
  namespace http = boost::beast::http;
  while (head.starts_with("\r\n")) head.remove_prefix(2);  // an empty line in front is allowed
  http::request_parser<http::empty_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(head.size()) + 1);
  parser.body_limit(boost::none);
  parser.skip(true);  // the head alone
  parser.eager(false);
  boost::beast::error_code error;
  parser.put(boost::asio::const_buffer(head.data(), head.size()), error);
  POSTRIDER_CHECK(!error.failed());
  POSTRIDER_CHECK(parser.is_header_done());
  const auto& theirs = parser.get();
  POSTRIDER_CHECK(request.method == std::string_view(theirs.method_string()));
  // Of a target in absolute form ours hands out what stands behind the authority.
  POSTRIDER_CHECK(std::string_view(theirs.target()).ends_with(request.target) ||
                  request.target == "/");
  POSTRIDER_CHECK(static_cast<std::size_t>(std::distance(theirs.begin(), theirs.end())) ==
                  request.headers.size());
  for (const HttpHeader& header : request.headers) {
    const std::string_view name = header.first;
    const auto range = theirs.equal_range(boost::beast::string_view(name.data(), name.size()));
    const bool same = std::any_of(range.first, range.second, [&](const auto& field) {
      return std::string_view(field.value()) == header.second;
    });
    POSTRIDER_CHECK(same);
  }
}

// All that was found, as text; cuts are taken in turn and 0 means the rest.
std::string read(std::string_view bytes, std::string_view cuts) {
  std::string told;
  HttpReader reader;
  HttpRequest request;
  std::string_view piece;
  std::string buffer;
  for (std::size_t i = 0; !bytes.empty(); ++i) {
    const std::size_t cut = cuts.empty() ? 0 : static_cast<unsigned char>(cuts[i % cuts.size()]);
    const std::size_t size = cut == 0 ? bytes.size() : std::min(cut, bytes.size());
    buffer += bytes.substr(0, size);
    bytes.remove_prefix(size);
    std::span<char> input = buffer;
    while (true) {
      const std::span<char> before = input;
      const std::string came(input.data(), input.size());
      const Found found = reader.next(input, kLimits, request, piece);
      if (found == Found::kMore) break;
      if (found == Found::kRefused) return told + "!" + std::to_string(reader.refusal().status);
      if (found == Found::kHead) {
        check_head(before.first(before.size() - input.size()), request);
        compare_with_beast(std::string_view(came).substr(0, before.size() - input.size()), request);
        told += "<" + std::string(request.method) + " " + std::string(request.target);
        for (const auto& [name, value] : request.headers)
          told.append("|").append(name).append(":").append(value);
        told += ">";
      } else {
        POSTRIDER_CHECK(piece.size() <= before.size());
        told.append(piece).append(found == Found::kLast ? "." : "");
      }
    }
    buffer.erase(0, buffer.size() - input.size());
    POSTRIDER_CHECK(buffer.size() <= kLimits.head_bytes_max);
  }
  return told;
}

}  // namespace
}  // namespace postrider

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t cuts = std::min<std::size_t>(4, size);
  const std::string_view text = bytes.substr(cuts);
  POSTRIDER_CHECK(postrider::read(text, "") == postrider::read(text, bytes.substr(0, cuts)));
  return 0;
}
