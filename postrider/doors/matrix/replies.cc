#include "postrider/doors/matrix/replies.h"

#include "postrider/json/json_writer.h"

namespace postrider::matrix_door {
namespace {

constexpr std::string_view kRetryAfterSeconds = "1";

std::string_view errcode_of(int status) {
  switch (status) {
    case 401: return "M_UNAUTHORIZED";
    case 403: return "M_FORBIDDEN";
    case 404: return "M_NOT_FOUND";
    case 413: return "M_TOO_LARGE";
    case 503: return "M_LIMIT_EXCEEDED";
    default: return "M_UNKNOWN";
  }
}

}  // namespace

HttpResponse matrix_error(int status, std::string_view errcode, std::string_view text) {
  HttpResponse response;
  response.status = status;
  json::JsonWriter json(response.body);
  json.open_object().field("errcode", errcode).field("error", text).close_object();
  return response;
}

HttpResponse matrix_error(int status, std::string_view text) {
  HttpResponse response = matrix_error(status, errcode_of(status), text);
  if (status == 503) response.headers.emplace_back("retry-after", kRetryAfterSeconds);
  return response;
}

HttpResponse not_now(std::string_view text) { return matrix_error(503, text); }

HttpResponse not_relayed(std::string_view text) { return matrix_error(502, "M_UNKNOWN", text); }

}  // namespace postrider::matrix_door
