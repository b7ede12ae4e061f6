#include "postrider/protocols/reticulum/request.h"

#include "postrider/protocols/reticulum/msgpack.h"
#include "postrider/protocols/reticulum/sha256.h"

namespace postrider::reticulum {

Address request_path(std::string_view path) { return short_hash({path}); }

std::string encode_request(const Request& request) {
  std::string out;
  MsgpackWriter(out).array(3).real(request.time).binary(view(request.path)).raw(request.data);
  return out;
}

Result<Request> decode_request(std::string_view bytes) {
  MsgpackReader in(bytes);
  const bool is_three = in.array() == 3;
  Request out{.time = in.real()};
  const auto path = exactly<16>(in.binary());
  out.data = in.raw();
  if (!in.at_end() || !is_three || !path) return fail(ErrorCode::kCorrupt, "request");
  out.path = *path;
  return out;
}

std::string encode_response(const Response& response) {
  std::string out;
  MsgpackWriter(out).array(2).binary(view(response.request)).raw(response.value);
  return out;
}

Result<Response> decode_response(std::string_view bytes) {
  MsgpackReader in(bytes);
  const bool is_two = in.array() == 2;
  const auto request = exactly<16>(in.binary());
  Response out{.value = in.raw()};
  if (!in.at_end() || !is_two || !request) return fail(ErrorCode::kCorrupt, "response");
  out.request = *request;
  return out;
}

}  // namespace postrider::reticulum
