#include "postrider/doors/device/openapi.h"

namespace postrider::device_door {
namespace {

constexpr std::string_view kPaths = R"json("/message/enqueue": {
  "post": {
    "operationId": "enqueueCommand", "tags": ["device"], "summary": "Hand in a command for a device",
    "description": "Answered after the command is durable. The same correlationId and phase with the same content is the same command (200), with other content it is a conflict (409).",
    "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/DeviceCommand"}}}},
    "responses": {
      "201": {"$ref": "#/components/responses/DeviceMessage"},
      "200": {"$ref": "#/components/responses/DeviceMessage"},
      "default": {"$ref": "#/components/responses/DeviceError"}}}},
"/messages/enqueue": {
  "post": {
    "operationId": "enqueueCommands", "tags": ["device"], "summary": "Hand in up to 1,000 commands; each has a result of its own, in order",
    "requestBody": {"required": true, "content": {"application/json": {"schema": {"type": "object", "additionalProperties": false, "required": ["messages"], "properties": {
      "messages": {"type": "array", "items": {"$ref": "#/components/schemas/DeviceCommand"}}}}}}},
    "responses": {
      "200": {"description": "What became of each", "content": {"application/json": {"schema": {"type": "object", "additionalProperties": false, "required": ["results"], "properties": {
        "results": {"type": "array", "items": {"type": "object", "additionalProperties": false, "required": ["status"], "properties": {
          "status": {"type": "integer", "description": "As if it had been handed in alone"},
          "message": {"$ref": "#/components/schemas/DeviceMessage"}, "error": {"type": "string"}}}}}}}}},
      "default": {"$ref": "#/components/responses/DeviceError"}}}},
"/message/{id}": {
  "parameters": [{"name": "id", "in": "path", "required": true, "description": "A correlation id, or the id of a message, as a ULID or as /v1 shows it", "schema": {"type": "string"}}],
  "get": {
    "operationId": "getCommand", "tags": ["device"], "summary": "A command that lives; 404 once it has ended",
    "parameters": [{"$ref": "#/components/parameters/MeterPhase"}],
    "responses": {
      "200": {"$ref": "#/components/responses/DeviceMessage"},
      "default": {"$ref": "#/components/responses/DeviceError"}}}},
"/message/{id}/history": {
  "parameters": [{"name": "id", "in": "path", "required": true, "description": "A correlation id, or the id of a message, as a ULID or as /v1 shows it", "schema": {"type": "string"}}],
  "get": {
    "operationId": "getCommandHistory", "tags": ["device"], "summary": "What became of a command, until 7 days after its end",
    "parameters": [{"$ref": "#/components/parameters/MeterPhase"}],
    "responses": {
      "200": {"description": "Its history", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/DeviceHistory"}}}},
      "default": {"$ref": "#/components/responses/DeviceError"}}}},
"/message/cancel": {
  "post": {
    "operationId": "cancelCommand", "tags": ["device"], "summary": "Cancel a command, of all phases, while it waits",
    "requestBody": {"required": true, "content": {"application/json": {"schema": {"type": "object", "additionalProperties": false, "required": ["correlationId"], "properties": {"correlationId": {"type": "string"}}}}}},
    "responses": {
      "200": {"description": "What it came to", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/DeviceCancelled"}}}},
      "default": {"$ref": "#/components/responses/DeviceError"}}}},
"/messages/cancel": {
  "post": {
    "operationId": "cancelCommands", "tags": ["device"], "summary": "Cancel up to 1,000; answered in the order asked",
    "requestBody": {"required": true, "content": {"application/json": {"schema": {"type": "object", "additionalProperties": false, "required": ["correlationIds"], "properties": {"correlationIds": {"type": "array", "items": {"type": "string"}}}}}}},
    "responses": {
      "200": {"description": "What each came to", "content": {"application/json": {"schema": {"type": "array", "items": {"$ref": "#/components/schemas/DeviceCancelled"}}}}},
      "default": {"$ref": "#/components/responses/DeviceError"}}}},
"/token/generate": {
  "post": {
    "operationId": "generateToken", "tags": ["device"], "summary": "Have a token made for a meter; a lost reply is told as such, and not asked for again",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
    "requestBody": {"required": true, "content": {"application/json": {"schema": {"type": "object", "additionalProperties": false, "required": ["type", "pluginId", "issueDateString", "device"], "properties": {"type": {"type": "string", "enum": ["TOP_UP_KWH", "CLEAR_CREDIT", "CLEAR_TAMPER", "SET_POWER_LIMIT"]}, "pluginId": {"type": "string"}, "issueDateString": {"type": "string", "format": "date-time"}, "correlationId": {"type": "string", "maxLength": 128}, "device": {"type": "object", "additionalProperties": false, "required": ["externalReference"], "properties": {"externalReference": {"type": "string"}, "decoderKey": {"type": "string"}}}, "payload": {"type": "object", "additionalProperties": false, "properties": {"kwh": {"type": "number"}, "powerLimit": {"type": "number"}}}}}}}},
    "responses": {
      "200": {"description": "The token", "content": {"application/json": {"schema": {"type": "object", "required": ["token"], "properties": {"token": {"type": "string"}}}}}},
      "default": {"$ref": "#/components/responses/DeviceError"}}}},
"/ingress/{plugin}": {
  "parameters": [{"$ref": "#/components/parameters/Plugin"}],
  "post": {
    "operationId": "takeEvent", "tags": ["device"], "summary": "An event of a network server; 204 says that it is durable", "security": [{}],
    "description": "Needs the plugin's shared secret in its header when it has one. An event that comes twice is taken once.",
    "parameters": [{"name": "event", "in": "query", "required": true, "description": "up, join, ack, txack, log, status; others are counted and left", "schema": {"type": "string"}}],
    "requestBody": {"required": true, "content": {
      "application/json": {"schema": {"type": "object"}},
      "application/octet-stream": {"schema": {"type": "string", "description": "The same as protobuf"}}}},
    "responses": {
      "204": {"description": "Durable, or known already"},
      "default": {"$ref": "#/components/responses/DeviceError"}}}},
"/ingress/{plugin}/replay": {
  "parameters": [{"$ref": "#/components/parameters/Plugin"}],
  "post": {
    "operationId": "replayEvents", "tags": ["device"], "summary": "Take stored events of a plugin once more, in the order of their arrival",
    "requestBody": {"required": true, "content": {"application/json": {"schema": {"type": "object", "additionalProperties": false, "required": ["since"], "properties": {
      "since": {"type": "string", "format": "date-time"}, "until": {"type": "string", "format": "date-time"}}}}}},
    "responses": {
      "200": {"description": "How many", "content": {"application/json": {"schema": {"type": "object", "additionalProperties": false, "required": ["replayed"], "properties": {"replayed": {"$ref": "#/components/schemas/Count"}}}}}},
      "default": {"$ref": "#/components/responses/DeviceError"}}}},
"/healthz": {
  "get": {
    "operationId": "getHealthz", "tags": ["device"], "summary": "Whether the process answers", "security": [{}],
    "responses": {
      "200": {"description": "It does", "content": {"application/json": {"schema": {"type": "object", "additionalProperties": false, "required": ["status"], "properties": {"status": {"const": "ok"}}}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}}
)json";

constexpr std::string_view kParameters =
    R"json("Plugin": {"name": "plugin", "in": "path", "required": true, "schema": {"type": "string"}},
  "MeterPhase": {"name": "phase", "in": "query", "description": "Without it the one without a phase, else the lowest", "schema": {"enum": ["A", "B", "C"]}}
)json";

constexpr std::string_view kResponses =
    R"json("DeviceMessage": {"description": "The command", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/DeviceMessage"}}}},
  "DeviceError": {"description": "What is wrong", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/DeviceError"}}}}
)json";

constexpr std::string_view kSchemas =
    R"json("DeviceCommand": {"type": "object", "additionalProperties": false, "required": ["commandType", "priority", "pluginId", "device"], "properties": {
    "commandType": {"enum": ["READ_VOLTAGE", "READ_CURRENT", "READ_POWER", "READ_POWER_LIMIT", "READ_CREDIT", "READ_VERSION", "READ_DATE", "READ_TIME", "TURN_ON", "TURN_OFF", "SET_DATE", "SET_TIME", "CLEAR_CREDIT", "CLEAR_TAMPER", "SET_POWER_LIMIT", "TOP_UP_KWH", "DELIVER_PREEXISTING_TOKEN"]},
    "priority": {"type": "integer", "minimum": 0, "maximum": 65535, "description": "The larger goes first"},
    "pluginId": {"type": "string"},
    "networkId": {"oneOf": [{"type": "integer", "minimum": 0, "maximum": 4294967295}, {"const": null}]},
    "correlationId": {"type": "string", "description": "1 to 128 bytes"}, "phase": {"enum": ["A", "B", "C"]},
    "requestData": {"type": "object", "additionalProperties": false, "properties": {
      "token": {"type": "string"},
      "payload": {"type": "object", "description": "{year, month, day} or {hour, minute, second?}"}}},
    "device": {"type": "object", "additionalProperties": false, "required": ["type", "externalReference"], "properties": {
      "type": {"const": "ELECTRICITY_METER"}, "externalReference": {"type": "string"},
      "relayNode": {"type": "object", "additionalProperties": false, "required": ["id"], "properties": {
        "id": {"type": "string", "description": "A number is taken too"}, "externalReference": {"type": "string"}, "snr": {"type": "number"}, "rssi": {"type": "number"}}}}},
    "expiresAt": {"type": "string", "format": "date-time", "description": "Nothing is sent after it"},
    "supersedeKey": {"type": "string", "description": "Older commands of the device with this key are cancelled while they wait"}}},
  "DeviceMessage": {"type": "object", "required": ["id", "deliveryQueueId"], "description": "The command as it was handed in, with tokens masked, and what became of it so far", "properties": {
    "id": {"$ref": "#/components/schemas/Ulid"}, "deliveryQueueId": {"type": "string"},
    "deliveryStatus": {"enum": ["QUEUED", "SENT_TO_NS", "DELIVERED_TO_NS", "SENT_TO_DEVICE", "TO_RETRY", "DELIVERY_SUCCESSFUL", "DELIVERY_FAILED"]},
    "response": {"type": "object"}, "retryCount": {"$ref": "#/components/schemas/Count"}, "failureHistory": {"type": "array", "items": {}},
    "outcome": {"enum": ["executed", "refused", "failed", "expired", "cancelled", "unknown"]}, "mayHaveRun": {"type": "boolean"},
    "makesToken": {"type": "boolean", "description": "true, or absent: POST /token/generate asked for it"}}},
  "DeviceHistory": {"type": "object", "required": ["id"], "properties": {"id": {"$ref": "#/components/schemas/Ulid"},
    "runs": {"type": "array", "description": "When it was sent again: each time with what became of it, the oldest first", "items": {"type": "object", "required": ["id", "acceptedAt", "deliveryStatus"], "properties": {
      "id": {"$ref": "#/components/schemas/Ulid"}, "acceptedAt": {"type": "string"}, "deliveryStatus": {"type": "string"}, "outcome": {"type": "string"}, "mayHaveRun": {"type": "boolean"}}}}}},
  "Ulid": {"type": "string", "pattern": "^[0-7][0-9A-HJKMNP-TV-Z]{25}$"},
  "DeviceCancelled": {"type": "object", "additionalProperties": false, "required": ["correlationId", "result"], "properties": {
    "correlationId": {"type": "string"}, "result": {"enum": ["CANCELLED", "NOT_CANCELLABLE", "NOT_FOUND"]}}},
  "DeviceError": {"type": "object", "additionalProperties": false, "required": ["error"], "properties": {"error": {"type": "string"}}}
)json";

}  // namespace

api::OpenapiPart openapi_part() {
  return {.paths = kPaths, .parameters = kParameters, .responses = kResponses, .schemas = kSchemas};
}

}  // namespace postrider::device_door
