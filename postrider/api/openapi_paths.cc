// The paths of /openapi.json. JSON as it is served; one operation after the other, as in the table
// of routes.
#include "postrider/api/openapi.h"

namespace postrider::api {
namespace {

constexpr std::string_view kPaths = R"json("/v1/messages": {
  "post": {
    "operationId": "submit", "tags": ["messages"], "summary": "Submit one message, or many as NDJSON",
    "description": "202 is sent after the message is durable, never before. As application/x-ndjson, each line is a message, and each line of the answer tells what became of one, in order; line n has the key KEY#n unless it names its own. Blank lines are counted and not answered.",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}<<message_parameters>>, {"$ref": "#/components/parameters/Wait"}],
    "requestBody": {"required": true, "content": {
      "application/json": {"schema": {"$ref": "#/components/schemas/Message"}},
      "application/x-ndjson": {"schema": {"$ref": "#/components/schemas/MessageLine"}}}},
    "responses": {
      "202": {"description": "Durable; with `wait`: where it is when the time is over", "headers": {"Idempotency-Replayed": {"$ref": "#/components/headers/Replayed"}}, "content": {"application/json": {"schema": {"oneOf": [{"$ref": "#/components/schemas/Accepted"}, {"$ref": "#/components/schemas/AcceptedList"}, {"$ref": "#/components/schemas/MessageView"}]}}}},
      "200": {"description": "With `wait`: the message has ended. Of NDJSON: one line per line", "headers": {"Idempotency-Replayed": {"$ref": "#/components/headers/Replayed"}}, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/MessageView"}}, "application/x-ndjson": {"schema": {"$ref": "#/components/schemas/LineAnswer"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}},
  "get": {
    "operationId": "listMessages", "tags": ["messages"], "summary": "Messages that live, parked ones among them",
    "description": "Follow `next` until it is absent; a page may be short, or empty, and not the last.",
    "parameters": [
      {"name": "destination", "in": "query", "schema": {"type": "string"}},
      {"name": "phase", "in": "query", "schema": {"enum": ["queued", "in-flight", "awaiting", "backoff", "parked"]}},
      {"name": "older_than", "in": "query", "description": "A duration like 10m", "schema": {"type": "string"}},
      {"$ref": "#/components/parameters/Cursor"}, {"$ref": "#/components/parameters/Limit"}],
    "responses": {
      "200": {"description": "A page", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/MessagePage"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/messages/{id}": {
  "parameters": [{"$ref": "#/components/parameters/Id"}],
  "get": {
    "operationId": "getMessage", "tags": ["messages"], "summary": "One message, live or ended",
    "parameters": [{"$ref": "#/components/parameters/Body"}, {"$ref": "#/components/parameters/Wait"}],
    "responses": {
      "202": {"description": "With `wait`: the time is over and it lives", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/MessageView"}}}},
      "200": {"description": "The message", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/MessageView"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/messages/{id}/timeline": {
  "parameters": [{"$ref": "#/components/parameters/Id"}],
  "get": {
    "operationId": "getTimeline", "tags": ["messages"], "summary": "What is recorded of its life, and what comes next",
    "responses": {
      "200": {"description": "The timeline", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Timeline"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/messages/{id}/explain": {
  "parameters": [{"$ref": "#/components/parameters/Id"}],
  "get": {
    "operationId": "explainMessage", "tags": ["messages"], "summary": "Where it is, why, and what happens next",
    "responses": {
      "200": {"description": "The explanation", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Explanation"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/messages/{id}/cancel": {
  "parameters": [{"$ref": "#/components/parameters/Id"}],
  "post": {
    "operationId": "cancelMessage", "tags": ["messages"], "summary": "Stop it; pending while an attempt is open",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
    "responses": {
      "200": {"$ref": "#/components/responses/MessageDone"},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/messages/{id}/retry": {
  "parameters": [{"$ref": "#/components/parameters/Id"}],
  "post": {
    "operationId": "retryMessage", "tags": ["messages"], "summary": "End its back-off, or revive it when it is parked",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
    "responses": {
      "200": {"$ref": "#/components/responses/MessageDone"},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/messages/{id}/resend": {
  "parameters": [{"$ref": "#/components/parameters/Id"}],
  "post": {
    "operationId": "resendMessage", "tags": ["messages"], "summary": "A new message with the content of one that lives or is a dead letter",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}, {"$ref": "#/components/parameters/EvenIfItRan"}],
    "responses": {
      "202": {"description": "The new message is durable", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Resent"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/operations/{key}": {
  "parameters": [{"name": "key", "in": "path", "required": true, "schema": {"type": "string"}}],
  "get": {
    "operationId": "getOperation", "tags": ["operations"], "summary": "What became of an Idempotency-Key, without acting",
    "responses": {
      "200": {"description": "It was used", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Operation"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}},
  "delete": {
    "operationId": "cancelOperation", "tags": ["operations"], "summary": "Cancel the message of an Idempotency-Key",
    "responses": {
      "200": {"$ref": "#/components/responses/MessageDone"},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/destinations": {
  "get": {
    "operationId": "listDestinations", "tags": ["destinations"], "summary": "Destinations, in a stable order",
    "parameters": [
      {"name": "prefix", "in": "query", "description": "Of the name", "schema": {"type": "string"}},
      {"name": "health", "in": "query", "schema": {"$ref": "#/components/schemas/Health"}},
      {"name": "busy", "in": "query", "description": "Only those with something to do, lately or now, and those that are not well", "schema": {"type": "boolean"}},
      {"name": "degraded", "in": "query", "description": "Only those that are open and of whose latest attempts a third or more failed", "schema": {"type": "boolean"}},
      {"$ref": "#/components/parameters/Cursor"}, {"$ref": "#/components/parameters/Limit"}],
    "responses": {
      "200": {"description": "A page", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/DestinationPage"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/destinations/{name}": {
  "parameters": [{"$ref": "#/components/parameters/Name"}],
  "put": {
    "operationId": "putDestination", "tags": ["destinations"], "summary": "Create or change a destination",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
    "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/DestinationConfig"}}}},
    "responses": {
      "200": {"$ref": "#/components/responses/DestinationDone"},
      "default": {"$ref": "#/components/responses/Problem"}}},
  "get": {
    "operationId": "getDestination", "tags": ["destinations"], "summary": "One destination; secrets are never shown",
    "responses": {
      "200": {"description": "The destination", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Destination"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}},
  "delete": {
    "operationId": "deleteDestination", "tags": ["destinations"], "summary": "Remove it; refused while it has messages",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"},
      {"name": "drain", "in": "query", "description": "Take no new messages, and remove it when it is empty", "schema": {"type": "boolean"}}],
    "responses": {
      "200": {"$ref": "#/components/responses/DestinationDone"},
      "202": {"$ref": "#/components/responses/DestinationDone"},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/destinations/{name}/pause": {
  "parameters": [{"$ref": "#/components/parameters/Name"}],
  "post": {
    "operationId": "pauseDestination", "tags": ["destinations"], "summary": "Hold its messages",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
    "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pause"}}}},
    "responses": {
      "200": {"$ref": "#/components/responses/DestinationDone"},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/destinations/{name}/resume": {
  "parameters": [{"$ref": "#/components/parameters/Name"}],
  "post": {
    "operationId": "resumeDestination", "tags": ["destinations"], "summary": "End a pause, or enable it again",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
    "responses": {
      "200": {"$ref": "#/components/responses/DestinationDone"},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/destinations/{name}/wake": {
  "parameters": [{"$ref": "#/components/parameters/Name"}],
  "post": {
    "operationId": "wakeDestination", "tags": ["destinations"], "summary": "Look now whether it is there again",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
    "responses": {
      "200": {"$ref": "#/components/responses/DestinationDone"},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/destinations/{name}/seen": {
  "parameters": [{"$ref": "#/components/parameters/Name"}],
  "post": {
    "operationId": "seeDestination", "tags": ["destinations"], "summary": "A sign of life: something was heard of it",
    "responses": {
      "200": {"$ref": "#/components/responses/DestinationDone"},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/destinations/{name}/limits": {
  "parameters": [{"$ref": "#/components/parameters/Name"}],
  "patch": {
    "operationId": "patchLimits", "tags": ["destinations"], "summary": "Change limits and leave the other settings; null is the default",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
    "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Limits"}}}},
    "responses": {
      "200": {"$ref": "#/components/responses/DestinationDone"},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/destinations/{name}/test": {
  "parameters": [{"$ref": "#/components/parameters/Name"}],
  "post": {
    "operationId": "testDestination", "tags": ["destinations"], "summary": "Send a small signed message {\"type\": \"postrider.test\"}",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
    "responses": {
      "202": {"description": "Durable", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Accepted"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/destinations/{name}/rotate": {
  "parameters": [{"$ref": "#/components/parameters/Name"}],
  "post": {
    "operationId": "rotateSecret", "tags": ["destinations"], "summary": "A new secret; the old ones sign too until the overlap is over",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
    "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Rotation"}}}},
    "responses": {
      "200": {"$ref": "#/components/responses/DestinationDone"},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/dead-letters": {
  "get": {
    "operationId": "listDeadLetters", "tags": ["dead letters"], "summary": "Parked messages, then the dead and the expired",
    "parameters": [
      {"name": "destination_id", "in": "query", "description": "Of the destination that has this one, as it tells", "schema": {"$ref": "#/components/schemas/DestinationId"}},
      {"$ref": "#/components/parameters/Cursor"}, {"$ref": "#/components/parameters/Limit"}],
    "responses": {
      "200": {"description": "A page", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/DeadLetterPage"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/dead-letters/{id}": {
  "parameters": [{"$ref": "#/components/parameters/Id"}],
  "get": {
    "operationId": "getDeadLetter", "tags": ["dead letters"], "summary": "One dead letter",
    "parameters": [{"$ref": "#/components/parameters/Body"}],
    "responses": {
      "200": {"description": "The dead letter", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/MessageView"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}},
  "delete": {
    "operationId": "dropDeadLetter", "tags": ["dead letters"], "summary": "Remove it for good",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
    "responses": {
      "200": {"$ref": "#/components/responses/MessageDone"},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/dead-letters/{id}/redrive": {
  "parameters": [{"$ref": "#/components/parameters/Id"}],
  "post": {
    "operationId": "redriveDeadLetter", "tags": ["dead letters"], "summary": "Send it again, as a new message; a parked one is revived",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}, {"$ref": "#/components/parameters/EvenIfItRan"}],
    "responses": {
      "202": {"description": "A new message is durable", "headers": {"Idempotency-Replayed": {"$ref": "#/components/headers/Replayed"}}, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Redriven"}}}},
      "200": {"$ref": "#/components/responses/MessageDone"},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/events": {
  "get": {
    "operationId": "followEvents", "tags": ["events"], "summary": "Ends and notices as server-sent events",
    "description": "`data` of an event is an Event. A client that comes back with Last-Event-ID misses nothing; `fell-behind` tells that retention was faster. A client that does not read is cut.",
    "parameters": [
      {"name": "from", "in": "query", "description": "Without Last-Event-ID; now is the default", "schema": {"enum": ["start", "now"]}},
      {"name": "until", "in": "query", "description": "The answer ends at the end of the log", "schema": {"enum": ["now"]}},
      {"name": "destination", "in": "query", "description": "Of this one only", "schema": {"type": "string"}},
      {"name": "kind", "in": "query", "description": "Kinds of events, or phases of ends, separated by commas", "schema": {"type": "string"}},
      {"name": "Last-Event-ID", "in": "header", "schema": {"type": "string"}}],
    "responses": {
      "200": {"description": "Events", "content": {"text/event-stream": {"schema": {"$ref": "#/components/schemas/Event"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/queues": {
  "get": {
    "operationId": "listQueues", "tags": ["status"], "summary": "How many messages of each destination live, and when the oldest was accepted",
    "description": "Destinations without messages are not there. One may come twice: then the older of both is its oldest.",
    "parameters": [{"$ref": "#/components/parameters/Cursor"}, {"$ref": "#/components/parameters/Limit"}],
    "responses": {
      "200": {"description": "A page", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/QueuePage"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/shape": {
  "get": {
    "operationId": "getShape", "tags": ["status"], "summary": "How old the messages are that live, by destination",
    "parameters": [
      {"name": "destination", "in": "query", "description": "Of this one only", "schema": {"type": "string"}},
      {"$ref": "#/components/parameters/Cursor"},
      {"name": "limit", "in": "query", "description": "Messages to look at for one answer", "schema": {"type": "integer", "minimum": 1, "maximum": 100000, "default": 20000}}],
    "responses": {
      "200": {"description": "Counts; with `next` only of a part", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Shape"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/stats": {
  "get": {
    "operationId": "getStats", "tags": ["status"], "summary": "Counters: accepted = delivered + dead + expired + cancelled + indeterminate + live",
    "responses": {
      "200": {"description": "The numbers", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Stats"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/profiles": {
  "get": {
    "operationId": "listProfiles", "tags": ["profiles"], "summary": "The profiles there are",
    "responses": {
      "200": {"description": "The profiles", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ProfileList"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/profiles/{name}": {
  "parameters": [{"$ref": "#/components/parameters/Name"}],
  "get": {
    "operationId": "getProfile", "tags": ["profiles"], "summary": "The tables that run, and the settings a destination may have",
    "responses": {
      "200": {"description": "The profile", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Profile"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/whoami": {
  "get": {
    "operationId": "whoAmI", "tags": ["status"], "summary": "What the caller may do",
    "responses": {
      "200": {"description": "The caller", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/WhoAmI"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/metrics": {
  "get": {
    "operationId": "getMetrics", "tags": ["status"], "summary": "For Prometheus",
    "responses": {
      "200": {"description": "Metrics", "content": {"text/plain": {"schema": {"type": "string"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/livez": {
  "get": {
    "operationId": "getLivez", "tags": ["status"], "summary": "Whether the process answers", "security": [{}],
    "responses": {
      "200": {"$ref": "#/components/responses/State"},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/readyz": {
  "get": {
    "operationId": "getReadyz", "tags": ["status"], "summary": "Whether it takes messages", "security": [{}],
    "responses": {
      "200": {"$ref": "#/components/responses/State"},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/openapi.json": {
  "get": {
    "operationId": "getOpenapi", "tags": ["status"], "summary": "This description",
    "responses": {
      "200": {"description": "OpenAPI 3.1", "content": {"application/json": {"schema": {"type": "object"}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}}
)json";

}  // namespace

std::string_view openapi_paths() { return kPaths; }

}  // namespace postrider::api
