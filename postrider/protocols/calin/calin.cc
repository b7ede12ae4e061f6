#include "postrider/protocols/calin/calin.h"

#include "postrider/protocols/calin/words.h"
#include "postrider/protocols/web/base64.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::calin {

using device::Command;
using device::PollReply;
using device::PollVerdict;
using device::Response;
using device::SendReply;
using device::SendVerdict;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

bool is_html(const HttpAnswer& answer) {
  const std::string type = to_lower(answer.content_type);
  return type.starts_with("text/html") || type.starts_with("application/xhtml") ||
         trimmed(answer.body).starts_with('<');
}

SendReply send_reply(SendVerdict verdict, std::string_view reason) {
  return {
      .verdict = verdict, .item = "", .reason = marked_excerpt(reason, device::kReasonBytesMax)};
}

PollReply poll_reply(PollVerdict verdict, std::string_view reason) {
  PollReply reply;
  reply.verdict = verdict;
  reply.reason = marked_excerpt(reason, device::kReasonBytesMax);
  return reply;
}

PollReply answered(Response response) {
  PollReply reply;
  reply.verdict = PollVerdict::kAnswered;
  reply.response = std::move(response);
  return reply;
}

std::optional<SendReply> judge_status(const HttpAnswer& answer) {
  const std::string words = "HTTP status " + std::to_string(answer.status);
  if (answer.status >= 200 && answer.status <= 299) return std::nullopt;
  // The vendor refused to look at it, whatever the page says.
  if (answer.status >= 400 && answer.status <= 499) return send_reply(SendVerdict::kFailed, words);
  return send_reply(SendVerdict::kUnknown, words);
}

Result<json::Tree> read_object(const HttpAnswer& answer) {
  if (answer.status < 200 || answer.status > 299)
    return fail(ErrorCode::kInvalid, "HTTP status " + std::to_string(answer.status));
  if (is_html(answer)) return fail(ErrorCode::kInvalid, "a page instead of an answer");
  if (answer.body.size() > kReplyBytesMax) return fail(ErrorCode::kLimit, "a very long answer");
  return json::parse_object(answer.body);
}

std::string reason_of(const json::Tree& object, std::string_view name, std::string_view fallback) {
  const Result<std::string> reason = json::text_of(object, name);
  return reason && !trimmed(*reason).empty() ? *reason : std::string(fallback);
}

Response undecodable(Command command) {
  return device::not_executed(command, device::kUndecodable);
}

Response read_number(Command command, std::string_view data) {
  const std::string_view text = trimmed(data);
  const std::optional<device::Decimal> value =
      device::parse_decimal(text.substr(0, text.find(' ')));
  if (!value) return undecodable(command);
  Response response = device::executed(command);
  response.value = *value;
  return response;
}

Response read_version(std::string_view data) {
  Response response = device::executed(Command::kReadVersion);
  response.version = marked_excerpt(data, device::kVersionBytesMax);
  return response.version.empty() ? undecodable(Command::kReadVersion) : response;
}

std::optional<Timestamp> jwt_expiry(std::string_view jwt) {
  if (jwt.size() > kJwtBytesMax) return std::nullopt;
  const std::size_t first = jwt.find('.');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = jwt.find('.', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  std::string payload(jwt.substr(first + 1, second - first - 1));
  for (char& c : payload) {  // the alphabet of addresses
    if (c == '-') c = '+';
    if (c == '_') c = '/';
  }
  const std::optional<std::string> text = base64_decode(payload);
  if (!text) return std::nullopt;
  const Result<json::Tree> claims = json::parse_object(*text);
  if (!claims) return std::nullopt;
  const Result<double> exp = json::number_of(*claims, "exp");
  constexpr double kSecondsMax = 253'402'300'799.0;  // the end of the year 9999
  if (!exp || !(*exp > 0) || *exp > kSecondsMax) return std::nullopt;
  return Timestamp(static_cast<std::int64_t>(*exp) * 1000);
}

bool is_login_due(const Login& login, Timestamp wall) {
  return login.jwt.empty() || (login.expires_at && wall >= *login.expires_at - kRenewBefore);
}

std::string authorization(const Login& login) { return "Bearer " + login.jwt; }

}  // namespace postrider::calin
