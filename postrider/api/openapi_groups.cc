// The paths of /openapi.json for groups and fan-out. JSON as it is served.
#include "postrider/api/openapi.h"

namespace postrider::api {
namespace {

constexpr std::string_view kGroupPaths = R"json("/v1/groups": {
  "get": {
    "operationId": "listGroups", "tags": ["groups"], "summary": "Groups of destinations, by name",
    "parameters": [{"$ref": "#/components/parameters/Cursor"}, {"$ref": "#/components/parameters/Limit"}],
    "responses": {
      "200": {"description": "A page", "content": {"application/json": {"schema": {
        "type": "object", "additionalProperties": false, "required": ["groups"], "properties": {
          "groups": {"type": "array", "items": {"$ref": "#/components/schemas/Group"}}, "next": {"type": "string"}}}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/groups/{name}": {
  "parameters": [{"$ref": "#/components/parameters/Name"}],
  "get": {
    "operationId": "getGroup", "tags": ["groups"], "summary": "One group, with its members and what each subscribes to",
    "responses": {
      "200": {"description": "The group", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Group"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}},
  "put": {
    "operationId": "putGroup", "tags": ["groups"], "summary": "Make a group, or replace it as a whole",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
    "requestBody": {"required": true, "content": {"application/json": {"schema": {
      "type": "object", "additionalProperties": false, "required": ["members"], "properties": {
        "members": {"type": "array", "maxItems": 1000, "items": {"$ref": "#/components/schemas/GroupMember"}},
        "skip_closed": {"type": "boolean", "description": "Leave out members that take no new messages; else one of them refuses the whole"}}}}}},
    "responses": {
      "200": {"$ref": "#/components/responses/GroupDone"},
      "default": {"$ref": "#/components/responses/Problem"}}},
  "delete": {
    "operationId": "deleteGroup", "tags": ["groups"], "summary": "Remove the group; its destinations and messages stay",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
    "responses": {
      "200": {"$ref": "#/components/responses/GroupDone"},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/groups/{name}/members": {
  "parameters": [{"$ref": "#/components/parameters/Name"}],
  "post": {
    "operationId": "addMembers", "tags": ["groups"], "summary": "Add members, or change what they subscribe to; makes the group when there is none",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
    "requestBody": {"required": true, "content": {"application/json": {"schema": {
      "type": "object", "additionalProperties": false, "required": ["members"], "properties": {
        "members": {"type": "array", "maxItems": 1000, "items": {"$ref": "#/components/schemas/GroupMember"}}}}}}},
    "responses": {
      "200": {"$ref": "#/components/responses/GroupDone"},
      "default": {"$ref": "#/components/responses/Problem"}}},
  "delete": {
    "operationId": "removeMember", "tags": ["groups"], "summary": "Remove one member",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"},
      {"name": "destination", "in": "query", "required": true, "schema": {"type": "string"}}],
    "responses": {
      "200": {"$ref": "#/components/responses/GroupDone"},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/groups/{name}/messages": {
  "parameters": [{"$ref": "#/components/parameters/Name"}],
  "post": {
    "operationId": "fanOut", "tags": ["groups"], "summary": "One message for each member that subscribes to its type: for all of them, or for none",
    "description": "202 is sent after all messages are durable in one commit. The key covers the whole: the same key gets the same ids.",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}<<message_parameters>>],
    "requestBody": {"required": true, "content": {"application/json": {"schema": {
      "type": "object", "additionalProperties": false, "properties": {
        "type": {"type": "string", "maxLength": 128, "pattern": "^[A-Za-z0-9._-]+$", "description": "Without one only members that subscribe to everything are served"},
        "body": {"description": "A text is sent as it is, any other value as compact JSON"}, "body_base64": {"type": "string"},
        <<message_fields>>
        "attributes": {"type": "object", "additionalProperties": {"type": "string"}},
        "lane": {"type": "integer", "minimum": 0, "maximum": 15}, "priority": {"type": "integer", "minimum": 0, "maximum": 65535},
        "not_before": {"type": "string"}, "delay": {"type": "string"}, "expires_at": {"type": "string"}, "expires_in": {"type": "string"}}}}}},
    "responses": {
      "202": {"description": "Durable for all", "headers": {"Idempotency-Replayed": {"$ref": "#/components/headers/Replayed"}}, "content": {"application/json": {"schema": {
        "type": "object", "additionalProperties": false, "required": ["id", "members", "skipped", "group", "durability"], "properties": {
          "id": {"$ref": "#/components/schemas/JobId"}, "members": {"$ref": "#/components/schemas/FanoutMembers"},
          "skipped": {"type": "array", "items": {"type": "string"}}, "group": {"type": "string"}, "durability": {"const": "synced"}}}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}}
)json";

}  // namespace

std::string_view openapi_group_paths() { return kGroupPaths; }

}  // namespace postrider::api
