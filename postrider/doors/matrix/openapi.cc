#include "postrider/doors/matrix/openapi.h"

#include <string_view>

namespace postrider::matrix_door {
namespace {

constexpr std::string_view kPathsText = R"json("/v1/matrix/seen/{server}": {
  "parameters": [{"name": "server", "in": "path", "required": true, "description": "The name of a Matrix server", "schema": {"type": "string"}}],
  "post": {
    "operationId": "seeMatrixServer", "tags": ["matrix"], "summary": "The server is alive: what waits for it is sent now",
    "responses": {
      "204": {"description": "Heard"},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/matrix/inbound": {
  "post": {
    "operationId": "mirrorMatrixRequest", "tags": ["matrix"], "summary": "A request of another server, mirrored by the reverse proxy in front of the homeserver",
    "description": "When the server that signed it backs off, the signature is verified with the server's keys, and a valid one is a sign of life. Else nothing is looked at. `Authorization` and body are those of the mirrored request.",
    "security": [],
    "parameters": [
      {"name": "X-Original-Method", "in": "header", "required": true, "schema": {"type": "string"}},
      {"name": "X-Original-URI", "in": "header", "required": true, "description": "Path and query as they were sent", "schema": {"type": "string"}}],
    "requestBody": {"required": false, "content": {"application/json": {"schema": {}}}},
    "responses": {
      "204": {"description": "Verified, or not needed"},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/matrix/events/{id}": {
  "parameters": [{"name": "id", "in": "path", "required": true, "description": "The id of an event", "schema": {"type": "string"}}],
  "get": {
    "operationId": "findMatrixEvent", "tags": ["matrix"], "summary": "Which servers have the event, are owed it or refused it",
    "description": "An event of the host API is found by its id as long as its key is kept, with all its servers. One that came through the egress is looked for among what waits and among dead letters: what was delivered is not found there, and an answer that is not complete says where the next one goes on.",
    "parameters": [{"name": "cursor", "in": "query", "description": "`next` of the last answer", "schema": {"type": "string"}}],
    "responses": {
      "200": {"description": "What is known", "content": {"application/json": {"schema": {
        "type": "object", "required": ["event_id", "found", "servers", "complete"],
        "properties": {
          "event_id": {"type": "string"},
          "found": {"type": "string", "enum": ["ledger", "walk"]},
          "servers": {"type": "array", "items": {
            "type": "object", "required": ["server", "state"],
            "properties": {
              "server": {"type": "string"},
              "state": {"type": "string", "enum": ["delivered", "owed", "refused", "expired", "superseded", "unknown"]},
              "reason": {"type": "string"}}}},
          "complete": {"type": "boolean"},
          "next": {"type": "string"}}}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/matrix/rooms/{server}": {
  "parameters": [{"name": "server", "in": "path", "required": true, "description": "The name of a Matrix server", "schema": {"type": "string"}}],
  "get": {
    "operationId": "listMatrixRooms", "tags": ["matrix"], "summary": "The rooms of which a server is owed events",
    "description": "So many events are counted for one answer; one that is not complete says where the next one goes on, and a room may be in several.",
    "parameters": [{"name": "cursor", "in": "query", "description": "`next` of the last answer", "schema": {"type": "string"}}],
    "responses": {
      "200": {"description": "What waits", "content": {"application/json": {"schema": {
        "type": "object", "required": ["server", "rooms", "complete"],
        "properties": {
          "server": {"type": "string"},
          "rooms": {"type": "array", "items": {
            "type": "object", "required": ["room_id", "events", "oldest_at"],
            "properties": {
              "room_id": {"type": "string"},
              "events": {"type": "integer", "minimum": 1},
              "oldest_at": {"$ref": "#/components/schemas/Time"}}}},
          "complete": {"type": "boolean"},
          "next": {"type": "string"}}}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/matrix/edus": {
  "post": {
    "operationId": "sendMatrixUnits", "tags": ["matrix"], "summary": "Ephemeral units of a homeserver, with the servers that they are for",
    "description": "Up to 100 units. Presence and receipts are taken apart: each value is kept for itself, and of values with one key the last goes. A unit has no id: the same call again adds it again.",
    "requestBody": {"required": true, "content": {"application/json": {"schema": {
      "type": "object", "required": ["edus"], "additionalProperties": false,
      "properties": {"edus": {"type": "array", "minItems": 1, "maxItems": 100, "items": {"$ref": "#/components/schemas/MatrixUnit"}}}}}}},
    "responses": {
      "202": {"description": "Durable", "content": {"application/json": {"schema": {
        "type": "object", "required": ["edus", "durability"],
        "properties": {
          "edus": {"type": "array", "items": {
            "type": "object", "required": ["servers", "values"],
            "properties": {
              "servers": {"type": "integer", "minimum": 0},
              "values": {"type": "integer", "minimum": 0, "description": "That the unit was taken apart into"},
              "why": {"type": "string", "description": "Why it goes to no server"}}}},
          "durability": {"type": "string", "enum": ["synced"]}}}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/matrix/events": {
  "post": {
    "operationId": "sendMatrixEvents", "tags": ["matrix"], "summary": "Events of a homeserver, with the servers that they are for",
    "description": "Up to 100 events, each of which is kept once with a reference for each server. The key of an event is its id: the same call again adds nothing, and completes what was interrupted.",
    "requestBody": {"required": true, "content": {"application/json": {"schema": {
      "type": "object", "required": ["events"], "additionalProperties": false,
      "properties": {"events": {"type": "array", "minItems": 1, "maxItems": 100, "items": {"$ref": "#/components/schemas/MatrixEvent"}}}}}}},
    "responses": {
      "202": {"description": "Durable", "content": {"application/json": {"schema": {
        "type": "object", "required": ["events", "durability"],
        "properties": {
          "events": {"type": "array", "items": {
            "type": "object", "required": ["event_id", "servers"],
            "properties": {
              "event_id": {"type": "string"},
              "servers": {"type": "integer", "minimum": 0},
              "why": {"type": "string", "description": "Why it goes to no server"}}}},
          "durability": {"type": "string", "enum": ["synced"]}}}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}}
)json";

constexpr std::string_view kSchemasText = R"json("MatrixEvent": {
  "type": "object", "required": ["event"], "additionalProperties": false,
  "properties": {
    "event": {"type": "object", "description": "The event as it is signed; it is carried byte for byte"},
    "servers": {"type": "array", "maxItems": 50000, "items": {"type": "string"}, "description": "In the room before the event"},
    "partial_state_servers": {"type": "array", "maxItems": 50000, "items": {"type": "string"}, "description": "Of a room whose state is known in part: those that the join told, and they count"},
    "send_on_behalf_of": {"type": "string", "description": "The server in whose name it is sent"},
    "rescinded_invitee": {"type": "string", "description": "A user whose invitation this leave takes back"},
    "out_of_band": {"type": "boolean", "description": "It is not sent"},
    "proactively_send": {"type": "boolean", "description": "false: it is not sent"},
    "position": {"type": "integer", "minimum": 1, "description": "Where it stands in the host's stream"}}},
"MatrixUnit": {
  "type": "object", "required": ["edu"], "additionalProperties": false,
  "properties": {
    "edu": {"type": "object", "description": "`edu_type` and `content`"},
    "servers": {"type": "array", "maxItems": 50000, "items": {"type": "string"}},
    "key": {"type": "string", "minLength": 1, "maxLength": 255, "description": "Of a unit of one value, instead of the key that its content has"},
    "urgent": {"type": "boolean", "description": "It does not wait for others to travel with"},
    "expires_in": {"type": "string", "description": "7d at most; typing: 30s when nothing is said"}}}
)json";

}  // namespace

api::OpenapiPart openapi_part() { return {.paths = kPathsText, .schemas = kSchemasText}; }

}  // namespace postrider::matrix_door
