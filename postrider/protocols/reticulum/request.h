// Requests over a link and their responses, as bytes. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/protocols/reticulum/bytes.h"

namespace postrider::reticulum {

Address request_path(std::string_view path);

struct Request {
  double time = 0;  // seconds of the wall
  Address path{};
  std::string_view data;  // one msgpack value; a view of what was read
};
std::string encode_request(const Request& request);
Result<Request> decode_request(std::string_view bytes);

struct Response {
  Address request{};
  std::string_view value;  // one msgpack value; a view of what was read
};
std::string encode_response(const Response& response);
Result<Response> decode_response(std::string_view bytes);

}  // namespace postrider::reticulum
