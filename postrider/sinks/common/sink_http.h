// What a sink needs of HTTP/1.1: the next request in some bytes. Written apart from the server's
// and the transport's parsers on purpose: a witness that shares their code shares their bugs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace postrider {

struct SinkRequest {
  std::string_view method;
  std::string_view path;
  std::string_view id;         // webhook-id
  std::string_view timestamp;  // webhook-timestamp
  std::string_view signature;  // webhook-signature
  std::string_view authorization;
  std::string_view body;
  std::string chunks;    // holds the body when it came in chunks
  std::size_t size = 0;  // bytes of the whole request
  bool keep = true;      // the connection stays
  bool wants_continue = false;
};

enum class SinkParse : std::uint8_t {
  kMore,      // not whole yet
  kContinue,  // the head is whole and the client waits for 100 Continue before it sends the body
  kWhole,
  kBad,
  kTooLarge,
};

struct SinkParseLimits {
  std::size_t head_bytes_max;
  std::size_t body_bytes_max;
};

// Views look into `bytes` or into `request.chunks`.
SinkParse parse_sink_request(std::string_view bytes, SinkParseLimits limits, SinkRequest& request);

}  // namespace postrider
