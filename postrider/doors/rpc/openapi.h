// The door's part of /openapi.json.
#pragma once

#include <string_view>

namespace postrider::rpc_door {

inline constexpr std::string_view kPaths = R"json("/v1/services/{service}/{method}": {
  "parameters": [
    {"name": "service", "in": "path", "required": true, "description": "A destination of profile rpc", "schema": {"type": "string"}},
    {"name": "method", "in": "path", "required": true, "description": "One that the service declares", "schema": {"type": "string"}}],
  "post": {
    "operationId": "callService", "tags": ["operations"], "summary": "Call a method of a service; a repeat with the same key never runs it twice by accident",
    "description": "Body and content type are handed on as they are. While the operation lives, a repeat waits for its end; afterwards it gets the stored outcome. The sealed outcome is passed on with its own status: 2xx a value, 4xx the application's failure. `operation-id` says the key, `operation-origin` whether the answer is `first`, `attached` or `replayed`.",
    "parameters": [
      {"name": "Idempotency-Key", "in": "header", "description": "The operation id; needed for persist methods, made and told otherwise", "schema": {"type": "string", "minLength": 1, "maxLength": 255}},
      {"name": "Prefer", "in": "header", "description": "`wait=N` seconds, 60 unless told, at most 600; `respond-async` for 0", "schema": {"type": "string"}}],
    "requestBody": {"content": {"*/*": {}}},
    "responses": {
      "202": {"$ref": "#/components/responses/OperationLives"},
      "2XX": {"description": "The sealed value, as the handler answered it", "content": {"*/*": {}}},
      "default": {"$ref": "#/components/responses/OperationFailed"}}}},
"/v1/operations/{key}/outcome": {
  "parameters": [{"name": "key", "in": "path", "required": true, "schema": {"type": "string"}}],
  "get": {
    "operationId": "getOutcome", "tags": ["operations"], "summary": "The outcome of a call, without acting",
    "parameters": [{"name": "wait", "in": "query", "description": "Seconds", "schema": {"type": "integer", "minimum": 0, "maximum": 600, "default": 0}}],
    "responses": {
      "202": {"$ref": "#/components/responses/OperationLives"},
      "2XX": {"description": "The sealed value", "content": {"*/*": {}}},
      "default": {"$ref": "#/components/responses/OperationFailed"}}}}
)json";

inline constexpr std::string_view kResponses = R"json("OperationLives": {
  "description": "It has not ended: ask at `Location`, or repeat the call with the same key",
  "content": {"application/json": {"schema": {"type": "object", "additionalProperties": false, "required": ["operation", "id"], "properties": {
    "operation": {"type": "string"}, "id": {"$ref": "#/components/schemas/Id"}}}}}},
"OperationFailed": {
  "description": "A problem of ours, or the sealed failure of the application with its own status",
  "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}, "*/*": {}}}
)json";

}  // namespace postrider::rpc_door
