// The paths of the device profile in /openapi.json: JSON as it is served. Their errors are
// {"error": "…"}, as callers of the service know them whose place it takes.
#include "postrider/api/openapi.h"

namespace postrider::api {
namespace {

constexpr std::string_view kPaths = R"json({
"/message/enqueue": {
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
})json";

}  // namespace

std::string_view openapi_device_paths() { return kPaths; }

}  // namespace postrider::api
