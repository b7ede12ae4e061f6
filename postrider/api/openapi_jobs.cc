// The paths of /openapi.json for groups of dead letters, jobs and the audit. JSON as it is served.
#include "postrider/api/openapi.h"

namespace postrider::api {
namespace {

constexpr std::string_view kJobPaths = R"json("/v1/dead-letters/groups": {
  "get": {
    "operationId": "listDeadGroups", "tags": ["dead letters"], "summary": "How many there are, by destination, phase and cause",
    "parameters": [{"name": "destination", "in": "query", "schema": {"type": "string"}}, {"$ref": "#/components/parameters/Limit"}],
    "responses": {
      "200": {"description": "The groups, the largest first", "content": {"application/json": {"schema": {
        "type": "object", "additionalProperties": false, "required": ["groups", "letters", "unlisted_groups", "others", "unreadable"], "properties": {
          "groups": {"type": "array", "items": {
            "type": "object", "additionalProperties": false, "required": ["destination_id", "phase", "count", "example"], "properties": {
              "destination": {"type": "string"}, "destination_id": {"$ref": "#/components/schemas/DestinationId"},
              "phase": {"enum": ["dead", "expired", "parked"]}, "cause": {"$ref": "#/components/schemas/Failure"},
              "count": {"$ref": "#/components/schemas/Count"},
              "first_at": {"$ref": "#/components/schemas/Time"}, "last_at": {"$ref": "#/components/schemas/Time"},
              "reason": {"type": "string"}, "example": {"$ref": "#/components/schemas/Id"}}}},
          "letters": {"$ref": "#/components/schemas/Count"}, "unlisted_groups": {"$ref": "#/components/schemas/Count"},
          "others": {"$ref": "#/components/schemas/Count"}, "unreadable": {"$ref": "#/components/schemas/Count"}}}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/dead-letters/export": {
  "get": {
    "operationId": "exportDeadLetters", "tags": ["dead letters"], "summary": "Dead letters with their bodies, one JSON object per line",
    "description": "A page. Its last line is {\"next\": …} when there is more.",
    "parameters": [{"$ref": "#/components/parameters/Cursor"},
      {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 100}}],
    "responses": {
      "200": {"description": "Letters", "content": {"application/x-ndjson": {"schema": {"oneOf": [{"$ref": "#/components/schemas/LetterLine"},
        {"type": "object", "additionalProperties": false, "required": ["next"], "properties": {"next": {"type": "string"}}}]}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/dead-letters/import": {
  "post": {
    "operationId": "importDeadLetters", "tags": ["dead letters"], "summary": "Lines of an export become new messages, each once",
    "parameters": [{"$ref": "#/components/parameters/EvenIfItRan"}],
    "requestBody": {"required": true, "content": {"application/x-ndjson": {"schema": {"$ref": "#/components/schemas/LetterLine"}}}},
    "responses": {
      "200": {"description": "One line per line", "content": {"application/x-ndjson": {"schema": {"$ref": "#/components/schemas/LineAnswer"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/jobs": {
  "post": {
    "operationId": "startJob", "tags": ["jobs"], "summary": "One action for everything that a filter names; or count what that would be",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
    "requestBody": {"required": true, "content": {"application/json": {"schema": {
      "type": "object", "additionalProperties": false, "required": ["action"], "properties": {
        "action": {"enum": ["redrive", "drop", "retry", "cancel", "resend"]}, "filter": {"$ref": "#/components/schemas/JobFilter"},
        "rate": {"type": "integer", "minimum": 1, "maximum": 100000, "description": "Actions per second; 100 when it is left out"},
        "all": {"type": "boolean", "description": "Everything there is: needed when the filter names nothing and it is no dry run"},
        "dry_run": {"type": "boolean"}, "reason": {"type": "string", "maxLength": 200},
        "every": {"type": "string", "description": "A duration like 24h, for redrive: begin anew so long after each beginning"},
        "even_if_it_ran": {"type": "boolean", "description": "Send again also what may have been done already; device commands that may have are refused otherwise"}}}}}},
    "responses": {
      "200": {"description": "What it would be", "content": {"application/json": {"schema": {
        "type": "object", "additionalProperties": false, "required": ["dry_run", "action", "matched", "looked", "complete", "rate", "forecast_ms"], "properties": {
          "dry_run": {"type": "boolean"}, "action": {"enum": ["redrive", "drop", "retry", "cancel", "resend"]},
          "matched": {"$ref": "#/components/schemas/Count"}, "looked": {"$ref": "#/components/schemas/Count"}, "complete": {"type": "boolean"},
          "rate": {"$ref": "#/components/schemas/Count"}, "forecast_ms": {"$ref": "#/components/schemas/Count"}}}}}},
      "202": {"description": "The job is durable and runs", "headers": {"Idempotency-Replayed": {"$ref": "#/components/headers/Replayed"}}, "content": {"application/json": {"schema": {
        "type": "object", "additionalProperties": false, "required": ["id", "action", "durability"], "properties": {
          "id": {"$ref": "#/components/schemas/JobId"}, "action": {"enum": ["redrive", "drop", "retry", "cancel", "resend"]}, "durability": {"const": "synced"}}}}}},
      "default": {"$ref": "#/components/responses/Problem"}}},
  "get": {
    "operationId": "listJobs", "tags": ["jobs"], "summary": "Jobs, the newest first",
    "parameters": [{"$ref": "#/components/parameters/Limit"}],
    "responses": {
      "200": {"description": "The jobs", "content": {"application/json": {"schema": {
        "type": "object", "additionalProperties": false, "required": ["jobs"], "properties": {
          "jobs": {"type": "array", "items": {"$ref": "#/components/schemas/Job"}}}}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/jobs/{id}": {
  "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"$ref": "#/components/schemas/JobId"}}],
  "get": {
    "operationId": "getJob", "tags": ["jobs"], "summary": "How far a job is",
    "responses": {
      "200": {"description": "The job", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Job"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/jobs/{id}/cancel": {
  "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"$ref": "#/components/schemas/JobId"}}],
  "post": {
    "operationId": "cancelJob", "tags": ["jobs"], "summary": "Stop it before its next page; what it did stays",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
    "responses": {
      "200": {"description": "What came of it", "content": {"application/json": {"schema": {
        "type": "object", "additionalProperties": false, "required": ["id", "answer"], "properties": {
          "id": {"$ref": "#/components/schemas/JobId"}, "answer": {"enum": ["done", "nothing"]}, "detail": {"type": "string"}}}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/holds": {
  "get": {
    "operationId": "listHolds", "tags": ["holds"], "summary": "What keeps destinations paused, by name",
    "responses": {
      "200": {"description": "The holds", "content": {"application/json": {"schema": {
        "type": "object", "additionalProperties": false, "required": ["holds"], "properties": {
          "holds": {"type": "array", "items": {
            "type": "object", "additionalProperties": false, "required": ["name", "since"], "properties": {
              "name": {"type": "string"}, "reason": {"type": "string"}, "destination_prefix": {"type": "string"}, "profile": {"type": "string"},
              "tenant": {"type": "string"}, "actor": {"type": "string"}, "since": {"$ref": "#/components/schemas/Time"}}}}}}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/holds/{name}": {
  "parameters": [{"$ref": "#/components/parameters/Name"}],
  "put": {
    "operationId": "putHold", "tags": ["holds"], "summary": "Pause every destination that it fits, for as long as it stands",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
    "requestBody": {"required": true, "content": {"application/json": {"schema": {
      "type": "object", "additionalProperties": false, "properties": {
        "reason": {"type": "string", "maxLength": 200}, "destination_prefix": {"type": "string"}, "profile": {"type": "string"}, "tenant": {"type": "string"}}}}}},
    "responses": {
      "200": {"$ref": "#/components/responses/HoldDone"},
      "default": {"$ref": "#/components/responses/Problem"}}},
  "delete": {
    "operationId": "deleteHold", "tags": ["holds"], "summary": "What it paused goes on, unless another hold fits",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
    "responses": {
      "200": {"$ref": "#/components/responses/HoldDone"},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/audit": {
  "get": {
    "operationId": "listAudit", "tags": ["audit"], "summary": "What operators did, the oldest first or the newest",
    "parameters": [{"name": "order", "in": "query", "description": "Which comes first; oldest is the default. A cursor goes on in the order in which it was made", "schema": {"enum": ["oldest", "newest"]}}, {"$ref": "#/components/parameters/Cursor"}, {"$ref": "#/components/parameters/Limit"}],
    "responses": {
      "200": {"description": "A page", "content": {"application/json": {"schema": {
        "type": "object", "additionalProperties": false, "required": ["audit"], "properties": {
          "audit": {"type": "array", "items": {
            "type": "object", "additionalProperties": false, "required": ["at", "actor", "action", "target"], "properties": {
              "at": {"$ref": "#/components/schemas/Time"}, "actor": {"type": "string"}, "action": {"type": "string"}, "target": {"type": "string"},
              "reason": {"type": "string"}, "effect": {"type": "string"}}}},
          "next": {"type": "string"}}}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}}
)json";

}  // namespace

std::string_view openapi_job_paths() { return kJobPaths; }

}  // namespace postrider::api
