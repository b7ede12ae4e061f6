#include "postrider/doors/device/commands.h"

#include <algorithm>

#include "postrider/json/json_writer.h"

namespace postrider::device_door {
DeviceRefusal refusal_of(const api::Problem& problem) {
  DeviceRefusal refusal{api::row_of(problem.type).status, problem.detail, problem.retry_after_s};
  // A full door is a full door, whoever fills it; and a used correlation id is a conflict.
  if (problem.type == api::ProblemType::kTenantBusy) refusal.status = 503;
  if (problem.type == api::ProblemType::kKeyConflict) refusal.status = 409;
  return refusal;
}

DeviceRefusal refusal_of(Door door) { return refusal_of(api::problem_of(door)); }

DeviceRefusal interrupted() {
  return {503,
          "we were interrupted and cannot tell whether it happened; repeat the request with the "
          "same correlationId",
          1};
}

HttpResponse device_error(const DeviceRefusal& refusal) {
  HttpResponse response;
  response.status = refusal.status;
  json::JsonWriter(response.body).open_object().field("error", refusal.detail).close_object();
  if (refusal.retry_after_s != 0)
    response.headers.emplace_back("Retry-After", std::to_string(refusal.retry_after_s));
  return response;
}

HttpResponse device_error(const api::Problem& problem) {
  HttpResponse response = device_error(refusal_of(problem));
  if (!problem.allow.empty()) response.headers.emplace_back("Allow", problem.allow);
  if (problem.type == api::ProblemType::kUnauthorized)
    response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"postrider\"");
  return response;
}

OperationKey device_key(std::string_view correlation, std::string_view phase) {
  OperationKey key;
  key.kind = OperationKey::Kind::kOpaque;
  key.scope = kDeviceScope;
  key.key.append(correlation).append("\n").append(phase);
  return key;
}

Submit device_submit(const device::DeviceMessage& message, std::string queue) {
  Submit submit;
  submit.destination = std::move(queue);
  submit.priority = message.priority;
  submit.body = device::encode_device_message(message);
  if (message.expires_at) submit.expires = *message.expires_at;
  if (message.correlation.empty()) return submit;
  submit.caller.key = device_key(message.correlation, name_of(message.request.phase));
  submit.caller.said = submit.body;
  return submit;
}

std::optional<DeviceRefusal> unanswered(const std::vector<api::Told>& told) {
  for (const api::Told& one : told) {
    if (one.door != Door::kOpen) return refusal_of(one.door);
    if (one.answer.code == AnswerCode::kUnavailable) return interrupted();
  }
  return std::nullopt;
}

}  // namespace postrider::device_door
