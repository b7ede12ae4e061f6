// The schemas of /openapi.json: what goes in and what comes out. Objects of answers are closed, so
// that the tests find every field that is not described.
#include "postrider/api/openapi.h"

namespace postrider::api {
namespace {

constexpr std::string_view kParameters =
    R"json(  "IdempotencyKey": {"name": "Idempotency-Key", "in": "header", "description": "1 to 255 printable characters, plain or in quotes. A UUID of version 7 is recognised as too old when nobody can tell any more.", "schema": {"type": "string"}},
  "EvenIfItRan": {"name": "even_if_it_ran", "in": "query", "description": "Send it again although it may have been done already (409 may-have-run without); for device commands", "schema": {"type": "boolean"}},
  "Id": {"name": "id", "in": "path", "required": true, "schema": {"$ref": "#/components/schemas/Id"}},
  "Name": {"name": "name", "in": "path", "required": true, "schema": {"type": "string"}},
  "Wait": {"name": "wait", "in": "query", "description": "Seconds to wait for the end of the message", "schema": {"type": "integer", "minimum": 0, "maximum": 600, "default": 0}},
  "Body": {"name": "body", "in": "query", "description": "With the body", "schema": {"type": "boolean"}},
  "Cursor": {"name": "cursor", "in": "query", "description": "`next` of the page before", "schema": {"type": "string"}},
  "Limit": {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}}
)json";

constexpr std::string_view kResponses =
    R"json(  "Problem": {"description": "What is wrong, and what to do next", "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}},
  "MessageDone": {"description": "What it came to", "headers": {"Idempotency-Replayed": {"$ref": "#/components/headers/Replayed"}}, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/MessageDone"}}}},
  "DestinationDone": {"description": "What it came to", "headers": {"Idempotency-Replayed": {"$ref": "#/components/headers/Replayed"}}, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/DestinationDone"}}}},
  "HoldDone": {"description": "What it came to", "headers": {"Idempotency-Replayed": {"$ref": "#/components/headers/Replayed"}}, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/HoldDone"}}}},
  "GroupDone": {"description": "What it came to", "headers": {"Idempotency-Replayed": {"$ref": "#/components/headers/Replayed"}}, "content": {"application/json": {"schema": {
    "type": "object", "additionalProperties": false, "required": ["name", "answer"], "properties": {
      "name": {"type": "string"}, "answer": {"$ref": "#/components/schemas/Done"}, "detail": {"type": "string"}}}}}},
  "State": {"description": "How it is", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/State"}}}}
)json";

constexpr std::string_view kSchemas =
    R"json(  "Id": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
  "DestinationId": {"type": "string", "pattern": "^[0-9a-f]{11}$", "description": "What the ids of its messages begin with"},
  "Time": {"type": "string", "format": "date-time", "pattern": "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$"},
  "Count": {"type": "integer", "minimum": 0},
  "Duration": {"type": "string", "description": "A whole number and one of ms, s, m, h, d"},
  "Phase": {"enum": ["queued", "in-flight", "awaiting", "backoff", "parked", "delivered", "dead", "expired", "cancelled", "indeterminate"]},
  "Failure": {"enum": ["none", "connect", "timeout", "server", "throttled", "rejected", "gone", "other", "expired", "held-back"]},
  "Place": {"enum": ["window", "disk", "on-the-wire", "at-peer", "sleeping", "parked", "ended", "quarantine"]},
  "Next": {"enum": ["attempt", "outcome", "news", "operator", "nothing"], "description": "What happens next"},
  "Health": {"enum": ["normal", "wait", "probe", "paused", "disabled", "deep", "catch-up"]},
  "Done": {"enum": ["done", "nothing", "pending"], "description": "nothing: it was so already; pending: happens unless an open attempt succeeds, or when it can"},

  "Message": {"type": "object", "additionalProperties": false, "oneOf": [{"required": ["destination"]}, {"required": ["to"]}], "properties": {
    "destination": {"type": "string", "description": "A name without a destination is made like the longest template that it fits"},
    "to": {"type": "array", "minItems": 1, "maxItems": 16000, "uniqueItems": true, "items": {"type": "string"}, "description": "Instead of destination: one message for each, all of them or none; not in NDJSON. More than 1,000 are cut into parts, each of which is accepted as a whole, with the keys KEY#1, KEY#2 and so on"},
    "skip_closed": {"type": "boolean", "description": "With to: destinations that take no new messages are left out and told, instead of refusing the whole"},
    "body": {"description": "A text is sent as it is, any other value as compact JSON"},
    "body_base64": {"type": "string", "description": "Instead of body: any bytes"},
    <<message_fields>>
    "attributes": {"type": "object", "additionalProperties": {"type": "string"}, "description": "What the destination's profile is told about the message, by the profile's own names<<message_short>>"},
    "lane": {"type": "integer", "minimum": 0, "maximum": 15},
    "priority": {"type": "integer", "minimum": 0, "maximum": 65535, "description": "Higher first; a FIFO lane has none"},
    "not_before": {"type": "string", "format": "date-time"}, "delay": {"$ref": "#/components/schemas/Duration"},
    "expires_at": {"type": "string", "format": "date-time"}, "expires_in": {"$ref": "#/components/schemas/Duration"}}},
  "MessageLine": {"description": "A Message; it may also have idempotency_key", "type": "object", "required": ["destination"], "properties": {
    "idempotency_key": {"type": "string"}}},
  "Accepted": {"type": "object", "additionalProperties": false, "required": ["id", "destination", "durability"], "properties": {
    "id": {"$ref": "#/components/schemas/Id"}, "destination": {"type": "string"}, "durability": {"const": "synced"}}},
  "AcceptedList": {"type": "object", "additionalProperties": false, "required": ["id", "members", "skipped", "parts", "durability"], "properties": {
    "id": {"$ref": "#/components/schemas/JobId"}, "members": {"$ref": "#/components/schemas/FanoutMembers"}, "skipped": {"type": "array", "items": {"type": "string"}},
    "parts": {"type": "integer", "minimum": 1}, "durability": {"const": "synced"}}},
  "LineAnswer": {"oneOf": [
    {"type": "object", "additionalProperties": false, "required": ["line", "id"], "properties": {
      "line": {"type": "integer", "minimum": 1}, "id": {"$ref": "#/components/schemas/Id"}, "replayed": {"type": "boolean", "description": "true, or absent"}}},
    {"type": "object", "additionalProperties": false, "required": ["line", "problem"], "properties": {
      "line": {"type": "integer", "minimum": 1}, "problem": {"$ref": "#/components/schemas/Problem"}}}]},
  "Resent": {"type": "object", "additionalProperties": false, "required": ["id", "resends", "durability"], "properties": {
    "id": {"$ref": "#/components/schemas/Id"}, "resends": {"$ref": "#/components/schemas/Id"}, "durability": {"const": "synced"}}},
  "Redriven": {"type": "object", "additionalProperties": false, "required": ["id", "redrives", "durability"], "properties": {
    "id": {"$ref": "#/components/schemas/Id"}, "redrives": {"$ref": "#/components/schemas/Id"}, "durability": {"const": "synced"}}},
  "MessageDone": {"type": "object", "additionalProperties": false, "required": ["id", "answer"], "properties": {
    "id": {"$ref": "#/components/schemas/Id"}, "answer": {"$ref": "#/components/schemas/Done"}, "detail": {"type": "string"}}},
  "Explanation": {"type": "object", "additionalProperties": false, "required": ["id", "phase", "state", "place", "why", "next", "attempts", "health"], "properties": {
    "id": {"$ref": "#/components/schemas/Id"},
    "destination": {"type": "string", "description": "Absent when it was removed"},
    "phase": {"$ref": "#/components/schemas/Phase"},
    "state": {"type": "string", "description": "The profile's own word"},
    "place": {"$ref": "#/components/schemas/Place"},
    "why": {"type": "string"},
    "next": {"$ref": "#/components/schemas/Next"},
    "next_at": {"$ref": "#/components/schemas/Time"},
    "accepted_at": {"$ref": "#/components/schemas/Time"}, "since": {"$ref": "#/components/schemas/Time"}, "expires_at": {"$ref": "#/components/schemas/Time"},
    "attempts": {"$ref": "#/components/schemas/Count"},
    "last_failure": {"$ref": "#/components/schemas/Failure"}, "last_outcome": {"type": "string"},
    "health": {"$ref": "#/components/schemas/Health"},
    "cancel_wanted": {"type": "boolean", "description": "true, or absent"},
    "redrives": {"$ref": "#/components/schemas/Id"}, "fanout": {"$ref": "#/components/schemas/JobId"},
    <<message_explained>>
    "gap": {"$ref": "#/components/schemas/Id", "description": "A message before it in its order that was parked out of the way"},
    "batch": {"$ref": "#/components/schemas/OpenBatch"},
    "last_attempts": {"$ref": "#/components/schemas/AttemptList"}, "earlier_attempts": {"$ref": "#/components/schemas/Count", "description": "That are not in last_attempts"}}},
  "OpenBatch": {"type": "object", "additionalProperties": false, "required": ["leader", "number", "attempts", "members"],
    "description": "The messages that leave in one request, while it is open; absent in lists", "properties": {
    "leader": {"$ref": "#/components/schemas/Id"},
    "number": {"$ref": "#/components/schemas/Count", "description": "With the leader's id it names these members for ever"},
    "attempts": {"$ref": "#/components/schemas/Count", "description": "Of the leader"},
    "members": {"type": "array", "minItems": 1, "maxItems": 512, "items": {"$ref": "#/components/schemas/Id"}, "description": "The leader first"}}},
  "AttemptList": {"type": "array", "description": "The newest attempts, oldest first; absent when there was one, and it delivered, and in lists",
    "items": {"$ref": "#/components/schemas/Attempt"}},
  "Attempt": {"type": "object", "additionalProperties": false, "required": ["at", "outcome"], "properties": {
    "at": {"$ref": "#/components/schemas/Time"}, "took_ms": {"$ref": "#/components/schemas/Count"},
    "outcome": {"$ref": "#/components/schemas/AttemptOutcome"}, "failure": {"$ref": "#/components/schemas/Failure"}, "reason": {"type": "string"}}},
  "AttemptOutcome": {"enum": ["open", "failed", "delivered", "given-up"], "description": "given-up: its outcome was not waited for, or a restart forgot it"},
  "MessageView": {"type": "object", "additionalProperties": false, "required": ["id", "phase", "state", "place", "why", "next", "attempts", "health", "lane", "priority", "has_body"], "properties": {
    "id": {"$ref": "#/components/schemas/Id"}, "destination": {"type": "string"},
    "phase": {"$ref": "#/components/schemas/Phase"}, "state": {"type": "string"},
    "place": {"$ref": "#/components/schemas/Place"}, "why": {"type": "string"},
    "next": {"$ref": "#/components/schemas/Next"}, "next_at": {"$ref": "#/components/schemas/Time"},
    "accepted_at": {"$ref": "#/components/schemas/Time"}, "since": {"$ref": "#/components/schemas/Time"}, "expires_at": {"$ref": "#/components/schemas/Time"},
    "attempts": {"$ref": "#/components/schemas/Count"},
    "last_failure": {"$ref": "#/components/schemas/Failure"}, "last_outcome": {"type": "string"},
    "health": {"$ref": "#/components/schemas/Health"}, "cancel_wanted": {"type": "boolean", "description": "true, or absent"}, "redrives": {"$ref": "#/components/schemas/Id"}, "fanout": {"$ref": "#/components/schemas/JobId"}, "gap": {"$ref": "#/components/schemas/Id"},
    "last_attempts": {"$ref": "#/components/schemas/AttemptList"}, "earlier_attempts": {"$ref": "#/components/schemas/Count"},
    "lane": {"$ref": "#/components/schemas/Count"}, "priority": {"$ref": "#/components/schemas/Count"},
    "not_before": {"$ref": "#/components/schemas/Time"}, "first_attempt_at": {"$ref": "#/components/schemas/Time"},
    <<message_view>>
    "has_body": {"type": "boolean", "description": "An ended message keeps none, unless it is a dead letter"},
    "body_bytes": {"$ref": "#/components/schemas/Count"},
    "body": {"type": "string"}, "body_base64": {"type": "string", "description": "When it is not UTF-8"}}},
  "MessagePage": {"type": "object", "additionalProperties": false, "required": ["messages"], "properties": {
    "messages": {"type": "array", "items": {"$ref": "#/components/schemas/Explanation"}}, "next": {"type": "string"}}},
  "Timeline": {"type": "object", "additionalProperties": false, "required": ["id", "attempts", "entries"], "properties": {
    "id": {"$ref": "#/components/schemas/Id"}, "destination": {"type": "string"}, "attempts": {"$ref": "#/components/schemas/Count"},
    "entries": {"type": "array", "items": {"type": "object", "additionalProperties": false, "required": ["what"], "properties": {
      "at": {"$ref": "#/components/schemas/Time"}, "what": {"type": "string"}, "detail": {"type": "string"}}}}}},
  "Operation": {"type": "object", "additionalProperties": false, "required": ["key", "answer"], "properties": {
    "key": {"type": "string"}, "answer": {"enum": ["accepted", "done", "nothing", "pending"]},
    "id": {"type": "string", "pattern": "^([0-9a-f]{16}){1,2}$", "description": "Of a message; of a fan-out or a job when it has 16 digits"}, "detail": {"type": "string"},
    "members": {"$ref": "#/components/schemas/FanoutMembers"}, "skipped": {"type": "array", "items": {"type": "string"}}}},

  "DestinationConfig": {"type": "object", "additionalProperties": false, "anyOf": [{"required": ["profile", "settings"]}, {"required": ["like"]}], "properties": {
    "profile": {"type": "string"},
    "like": {"type": "string", "description": "A template, BEGINNING*, whose profile and settings hold; settings given here go before its own"},
    "settings": {"type": "object", "description": "GET /v1/profiles/{name} lists them; headers may be an object of their own"}}},
  "Limits": {"type": "object", "additionalProperties": false, "minProperties": 1, "properties": {
    "in_flight_max": {}, "rate": {}, "burst": {}, "time_out": {}, "ladder": {}, "jitter_percent": {}, "budget": {}, "retry_after_max": {}, "strikes_max": {}, "wait_base": {}, "wait_max": {}, "disable_after": {}}},
  "Rotation": {"type": "object", "additionalProperties": false, "required": ["secret"], "properties": {
    "secret": {"type": "string", "description": "The new one: whsec_ and base64 of 24 to 64 bytes"},
    "overlap": {"type": "string", "default": "24h", "description": "A duration: how long the old ones still sign"}}},
  "Pause": {"type": "object", "additionalProperties": false, "properties": {"reason": {"type": "string"}}},
  "DestinationDone": {"type": "object", "additionalProperties": false, "required": ["destination", "answer"], "properties": {
    "destination": {"type": "string"}, "answer": {"$ref": "#/components/schemas/Done"}, "detail": {"type": "string"}}},
  "HoldDone": {"type": "object", "additionalProperties": false, "required": ["name", "answer"], "properties": {
    "name": {"type": "string"}, "answer": {"$ref": "#/components/schemas/Done"}, "detail": {"type": "string"}}},
  "Destination": {"type": "object", "additionalProperties": false, "required": ["name", "profile", "settings", "secrets", "hidden_settings", "health", "strikes", "in_window", "open_attempts", "owed", "draining"], "properties": {
    "name": {"type": "string"}, "destination_id": {"$ref": "#/components/schemas/DestinationId"}, "profile": {"type": "string"},
    "like": {"type": "string", "description": "The template whose settings hold for it"}, "template": {"type": "boolean", "description": "true, or absent: it takes no messages, has no id, and its settings hold for all that are like it"},
    "settings": {"type": "object", "additionalProperties": {"type": "string"}, "description": "That hold for it; secrets are ***"},
    "secrets": {"$ref": "#/components/schemas/Count"}, "old_secret_until": {"$ref": "#/components/schemas/Time"}, "hidden_settings": {"$ref": "#/components/schemas/Count"},
    "health": {"$ref": "#/components/schemas/Health"}, "health_since": {"$ref": "#/components/schemas/Time"},
    "reason": {"type": "string"}, "strikes": {"$ref": "#/components/schemas/Count"},
    "closed_until": {"$ref": "#/components/schemas/Time"}, "failing_since": {"$ref": "#/components/schemas/Time"}, "seen_at": {"$ref": "#/components/schemas/Time"},
    "in_window": {"$ref": "#/components/schemas/Count"}, "open_attempts": {"$ref": "#/components/schemas/Count"},
    "owed": {"type": "boolean", "description": "Messages wait on disk"}, "draining": {"type": "boolean"},
    "in_flight_max": {"$ref": "#/components/schemas/Count"}, "in_flight_now": {"$ref": "#/components/schemas/Count"}, "counted_since": {"$ref": "#/components/schemas/Time"},
    "delivered": {"$ref": "#/components/schemas/Count"}, "failed": {"$ref": "#/components/schemas/Count"},
    "delivered_last_minute": {"$ref": "#/components/schemas/Count"}, "failed_last_minute": {"$ref": "#/components/schemas/Count"},
    "delivered_last_ten_minutes": {"$ref": "#/components/schemas/Count"}, "failed_last_ten_minutes": {"$ref": "#/components/schemas/Count"},
    "success_percent": {"type": "integer", "minimum": 0, "maximum": 100, "description": "Of the attempts of the last ten minutes, rounded down; absent when there was none"},
    "degraded": {"type": "boolean", "description": "Its health is normal, and a third or more of the attempts of the last ten minutes failed, at least two"},
    "last_failure": {"$ref": "#/components/schemas/Failure"}, "last_failure_at": {"$ref": "#/components/schemas/Time"}, "last_error": {"type": "string"},
    "next_at": {"$ref": "#/components/schemas/Time"}}},
  "DestinationPage": {"type": "object", "additionalProperties": false, "required": ["destinations"], "properties": {
    "destinations": {"type": "array", "items": {"$ref": "#/components/schemas/Destination"}}, "next": {"type": "string"}}},

  "QueuePage": {"type": "object", "additionalProperties": false, "required": ["queues"], "properties": {
    "queues": {"type": "array", "items": {"type": "object", "additionalProperties": false, "required": ["destination_id", "live", "on_disk", "in_use", "health"], "properties": {
      "destination": {"type": "string"}, "destination_id": {"$ref": "#/components/schemas/DestinationId"},
      "live": {"$ref": "#/components/schemas/Count"}, "on_disk": {"type": "boolean", "description": "Some of them are on disk only"},
      "oldest_at": {"$ref": "#/components/schemas/Time"}, "in_use": {"$ref": "#/components/schemas/Count"}, "health": {"$ref": "#/components/schemas/Health"}}}},
    "next": {"type": "string"}}},

  "Shape": {"type": "object", "additionalProperties": false, "required": ["ages_s", "destinations", "looked_at"], "properties": {
    "ages_s": {"type": "array", "items": {"$ref": "#/components/schemas/Count"}, "description": "Upper bounds of the columns in seconds; the last column has none"},
    "destinations": {"type": "array", "items": {"type": "object", "additionalProperties": false, "required": ["destination_id", "counts", "total", "phases", "states"], "properties": {
      "name": {"type": "string"}, "profile": {"type": "string"}, "destination_id": {"$ref": "#/components/schemas/DestinationId"},
      "counts": {"type": "array", "items": {"$ref": "#/components/schemas/Count"}}, "total": {"$ref": "#/components/schemas/Count"},
      "phases": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Count"}},
      "states": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Count"}, "description": "By the profile's own names; none is 0"},
      "methods": {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Count"}}, "description": "The same by method, where the profile has several"},
      "oldest_at": {"$ref": "#/components/schemas/Time"}, "next_at": {"$ref": "#/components/schemas/Time"}}}},
    "looked_at": {"$ref": "#/components/schemas/Count"}, "next": {"type": "string"}}},

  "DeadLetter": {"type": "object", "additionalProperties": false, "required": ["id", "destination_id", "phase", "cause", "attempts"], "properties": {
    "id": {"$ref": "#/components/schemas/Id"}, "destination_id": {"$ref": "#/components/schemas/DestinationId"},
    "phase": {"enum": ["dead", "expired", "parked"]}, "at": {"$ref": "#/components/schemas/Time"},
    "cause": {"$ref": "#/components/schemas/Failure"}, "attempts": {"$ref": "#/components/schemas/Count"}, "reason": {"type": "string"}}},
  "DeadLetterPage": {"type": "object", "additionalProperties": false, "required": ["dead_letters"], "properties": {
    "dead_letters": {"type": "array", "items": {"$ref": "#/components/schemas/DeadLetter"}}, "next": {"type": "string"}}},

  "LetterLine": {"type": "object", "additionalProperties": false, "required": ["id", "body_base64"], "properties": {
    "id": {"$ref": "#/components/schemas/Id"}, "destination": {"type": "string"},
    "lane": {"$ref": "#/components/schemas/Count"}, "priority": {"$ref": "#/components/schemas/Count"},
    "attributes_base64": {"type": "string"}, "body_base64": {"type": "string"},
    "phase": {"enum": ["dead", "expired"]}, "cause": {"$ref": "#/components/schemas/Failure"}, "attempts": {"$ref": "#/components/schemas/Count"},
    "reason": {"type": "string"}, "accepted_at": {"$ref": "#/components/schemas/Time"}, "died_at": {"$ref": "#/components/schemas/Time"},
    "may_have_run": {"type": "boolean", "description": "Of device commands: to send it again might do it twice"}}},
  "JobId": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
  "GroupMember": {"type": "object", "additionalProperties": false, "required": ["destination"], "properties": {
    "destination": {"type": "string"},
    "types": {"type": "array", "maxItems": 64, "items": {"type": "string"}, "description": "Event types of at most 128 characters, or beginnings like invoice.*; none: everything"}}},
  "Group": {"type": "object", "additionalProperties": false, "required": ["name", "skip_closed", "changed_at", "members"], "properties": {
    "name": {"type": "string"}, "skip_closed": {"type": "boolean"}, "changed_at": {"$ref": "#/components/schemas/Time"},
    "members": {"type": "array", "items": {"$ref": "#/components/schemas/GroupMember"}}}},
  "FanoutMembers": {"type": "array", "items": {"type": "object", "additionalProperties": false, "required": ["destination", "message"], "properties": {
    "destination": {"type": "string"}, "message": {"$ref": "#/components/schemas/Id"}}}},
  "JobFilter": {"type": "object", "additionalProperties": false, "properties": {
    "destination": {"type": "string"}, "destination_prefix": {"type": "string"}, "phase": {"$ref": "#/components/schemas/Phase"},
    "cause": {"$ref": "#/components/schemas/Failure"}, "since": {"$ref": "#/components/schemas/Time"}, "until": {"$ref": "#/components/schemas/Time"},
    "reason_prefix": {"type": "string"}}},
  "Job": {"type": "object", "additionalProperties": false, "required": ["id", "action", "filter", "state", "rate", "created_at", "looked", "done", "refused"], "properties": {
    "id": {"$ref": "#/components/schemas/JobId"}, "action": {"enum": ["redrive", "drop", "retry", "cancel", "resend"]}, "filter": {"$ref": "#/components/schemas/JobFilter"},
    "state": {"enum": ["running", "waiting", "done", "cancelled"]}, "every_ms": {"$ref": "#/components/schemas/Count"},
    "rounds": {"$ref": "#/components/schemas/Count"}, "next_at": {"$ref": "#/components/schemas/Time"}, "rate": {"$ref": "#/components/schemas/Count"},
    "created_at": {"$ref": "#/components/schemas/Time"}, "finished_at": {"$ref": "#/components/schemas/Time"},
    "actor": {"type": "string"}, "reason": {"type": "string"}, "expected": {"$ref": "#/components/schemas/Count"},
    "looked": {"$ref": "#/components/schemas/Count"}, "done": {"$ref": "#/components/schemas/Count"}, "refused": {"$ref": "#/components/schemas/Count"},
    "last_refusal": {"type": "string"}, "even_if_it_ran": {"type": "boolean", "description": "true, or absent"}, "remaining_ms": {"$ref": "#/components/schemas/Count"}}},

  "Event": {"type": "object", "additionalProperties": false, "required": ["kind", "event"], "properties": {
    "event": {"type": "string", "description": "Its id, as in `id:`; a reader goes on behind it"},
    "destination": {"type": "string", "description": "Its name, also when it was removed since"},
    "latency_ms": {"type": "integer", "minimum": 0, "description": "Of an end: since the message was accepted"},
    "kind": {"enum": ["end", "destination-closed", "destination-disabled", "destination-open", "parked", "removed", "quarantined", "late", "altered", "unsent", "alarm", "gap", "fell-behind"]},
    "at": {"$ref": "#/components/schemas/Time"}, "destination_id": {"$ref": "#/components/schemas/DestinationId"}, "id": {"$ref": "#/components/schemas/Id"},
    "phase": {"$ref": "#/components/schemas/Phase"}, "attempts": {"$ref": "#/components/schemas/Count"},
    "cause": {"$ref": "#/components/schemas/Failure"}, "reason": {"type": "string"}, "detail": {"type": "string"}}},
  "Stats": {"type": "object", "additionalProperties": false, "required": ["conservation", "dead_letters", "quarantined", "removed_by_retention", "in_window", "open_attempts", "destinations_in_memory", "restoring", "clock_doubt_s", "since_start", "process"], "properties": {
    "conservation": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Count"}, "required": ["accepted", "delivered", "dead", "expired", "cancelled", "indeterminate", "live"]},
    "dead_letters": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Count"}},
    "fanout": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Count"}},
    "quarantined": {"$ref": "#/components/schemas/Count"}, "jobs_running": {"$ref": "#/components/schemas/Count"},
    "history": {"type": "object", "additionalProperties": false, "required": ["messages", "bytes"], "properties": {
      "messages": {"$ref": "#/components/schemas/Count"}, "bytes": {"$ref": "#/components/schemas/Count"}}},
    "removed_by_retention": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Count"}},
    "in_window": {"$ref": "#/components/schemas/Count"}, "open_attempts": {"$ref": "#/components/schemas/Count"},
    "destinations_in_memory": {"$ref": "#/components/schemas/Count"}, "restoring": {"type": "boolean"}, "clock_doubt_s": {"$ref": "#/components/schemas/Count"},
    "states": {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Count"}}},
    "since_start": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Count"}},
    "process": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Count"}}}},
  "State": {"type": "object", "additionalProperties": false, "required": ["state"], "properties": {
    "state": {"enum": ["alive", "ready", "restoring", "busy"]}, "clock_doubt_s": {"$ref": "#/components/schemas/Count"}}},
  "WhoAmI": {"type": "object", "additionalProperties": false, "required": ["tenant", "tenant_is", "scopes", "version"], "properties": {
    "tenant": {"type": "string"}, "tenant_is": {"type": "string", "description": "What a tenant is, and is not"}, "scopes": {"type": "array", "items": {"enum": ["submit", "read", "operate", "receive"]}},
    "version": {"type": "string", "description": "Of the daemon"}}},
  "ProfileList": {"type": "object", "additionalProperties": false, "required": ["profiles"], "properties": {
    "profiles": {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}}}},
  "Profile": {"type": "object", "required": ["name", "states", "methods", "settings", "health"], "properties": {
    "name": {"type": "string"}, "states": {"type": "array", "items": {}}, "methods": {"type": "array", "items": {}}, "settings": {"type": "array", "items": {}}, "health": {"type": "array", "items": {}}}},
  "Problem": {"type": "object", "additionalProperties": false, "required": ["type", "title", "status", "detail"], "properties": {
    "type": {"type": "string", "pattern": "^urn:postrider:problem:[a-z-]+$"},
    "title": {"type": "string"}, "status": {"type": "integer", "minimum": 400, "maximum": 599},
    "detail": {"type": "string", "description": "What to do next"},
    "field": {"type": "string", "description": "Of the body, or the parameter"},
    "suggestion": {"type": "string", "description": "What was probably meant"}}}
)json";

}  // namespace

OpenapiPart openapi_components() {
  return {.paths = {}, .parameters = kParameters, .responses = kResponses, .schemas = kSchemas};
}

}  // namespace postrider::api
