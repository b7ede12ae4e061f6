#include "postrider/profiles/device/response.h"

#include "postrider/protocols/device/text.h"

namespace postrider::device {
std::string hex_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15]);
  }
  return out;
}

std::string without(std::string text, std::string_view secret, std::string_view instead) {
  if (secret.empty()) return text;
  for (std::size_t at = text.find(secret); at != std::string::npos;
       at = text.find(secret, at + instead.size()))
    text.replace(at, secret.size(), instead);
  return text;
}

std::string response_json(const Response& response, std::string_view payload) {
  JsonText out;
  out.begin_object();
  out.text("status", response.executed ? "EXECUTION_SUCCESS" : "EXECUTION_FAILURE");
  if (response.value) out.raw("data", to_text(*response.value));
  if (response.date) out.text("data", to_text(*response.date));
  if (response.time) out.text("data", to_text(*response.time));
  if (!response.version.empty()) out.text("data", response.version);
  if (response.level) out.raw("level", std::to_string(*response.level));
  if (response.relay_on) out.raw("relayOn", *response.relay_on ? "true" : "false");
  if (!response.reason.empty()) out.text("reason", response.reason);
  if (!payload.empty()) out.text("payload", payload);
  out.end_object();
  return out.take();
}

Reading answered_with(Notes notes, const Request& request, const Response& response,
                      std::string_view payload) {
  Response shown = response;
  shown.reason = without(std::move(shown.reason), request.token, masked_token(request.token));
  const bool unread = shown.reason == kUndecodable;
  notes.executed = shown.executed;
  notes.response = response_json(shown, unread ? payload : std::string_view());
  Reading out;
  out.signal = On::kAnswered;
  out.outcome = {Certainty::kAnswered, FailureClass::kNone, ""};
  out.closes = true;
  out.notes = encode_notes(notes);
  return out;
}

}  // namespace postrider::device
