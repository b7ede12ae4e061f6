// HttpDoor: what a profile adds to the API over HTTP, and Desk: what its routes may use of the API.
// The API holds the doors that it is given, puts their routes behind its own table and knows no
// profile by name. Everything is on the loop's thread.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "postrider/api/json_names.h"
#include "postrider/api/message_words.h"
#include "postrider/api/problems.h"
#include "postrider/api/router.h"
#include "postrider/base/time.h"
#include "postrider/model/event.h"
#include "postrider/model/seams/clock.h"
#include "postrider/runtime/host.h"
#include "postrider/servers/http/http_server.h"

namespace postrider::api {

// What an answer needs when it comes.
struct Waiting {
  HttpExchangePtr exchange;
  std::size_t route;  // of the API's whole table
  Timestamp began;
};

// A request while it is looked at.
struct Call {
  const HttpRequest& request;
  Waiting waiting;
  std::string_view tenant;
  std::string_view actor;
  std::span<const std::string> mailboxes;  // that the token is bound to; empty: to none
  std::string capture;                     // what the path has for {…}
  std::string second;                      // what it has for another {…}
  UrlQuery query;
  OperationKey key;

  Caller caller() {
    return {.ticket = {}, .key = std::move(key), .said = {}, .actor = std::string(actor)};
  }
};

// Outlives the doors that it was given to.
class Desk {
 public:
  Desk() = default;
  virtual ~Desk() = default;
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  virtual Host& host() = 0;
  virtual const Clock& clock() const = 0;
  // Each request is answered exactly once, by one of these two.
  virtual void finish(const Waiting& waiting, HttpResponse response) = 0;
  // In the words of the route: a problem, or what HttpDoor::refusal makes of it.
  virtual void refuse(const Waiting& waiting, const Problem& problem, bool close = false) = 0;
  // Room for an answer of so many bytes; false: there is none, and the request is answered.
  virtual bool reserve(const Waiting& waiting, std::size_t bytes) = 0;
  // The body as a JSON object; good until the next one is read.
  virtual Checked<JsonValue> root_of(const Call& call) = 0;
  // Waits for the end of a message or for something in a mailbox, over restarts of the shard. Then
  // `done` is called once: with kDone, with kPending when the time is over, or with kBusy when too
  // many wait already; not at all when the client has gone.
  virtual void await(const Waiting& waiting, std::string_view tenant, Await event,
                     std::function<void(const Answer&)> done) = 0;
  // How long an accepted message waited until it was durable, for /metrics.
  virtual void took(Duration duration) = 0;
};

// A door's part of /openapi.json: members of the objects of the same names, as JSON and without the
// braces around them. Empty: none.
struct OpenapiPart {
  std::string_view paths;
  std::string_view parameters;
  std::string_view responses;
  std::string_view schemas;
  // What the words of the door (message_words.h) add to descriptions of the API's own.
  std::string_view message_fields = {};      // members of a message that is handed over
  std::string_view message_view = {};        // members of a message that is shown whole
  std::string_view message_explained = {};   // members of an explanation
  std::string_view message_parameters = {};  // of requests with messages: elements of the list
  std::string_view message_short = {};       // "a, b and c": the fields that stand for attributes
};

class HttpDoor {
 public:
  HttpDoor() = default;
  virtual ~HttpDoor() = default;
  HttpDoor(const HttpDoor&) = delete;
  HttpDoor& operator=(const HttpDoor&) = delete;

  // The same rows for as long as the door exists. `route` is an index into them.
  virtual std::span<const RouteRow> routes() const = 0;
  virtual OpenapiPart openapi() const = 0;
  // Null: the door adds no words to messages. The same for as long as the program runs.
  virtual const MessageWords* words() const { return nullptr; }
  // Once, before anything else of the following.
  virtual void open(Desk& desk) = 0;
  virtual void handle(std::size_t route, Call& call) = 0;

  // What can be told before the body is asked for. True: the request is answered.
  virtual bool refuse_head(std::size_t /*route*/, Call& /*call*/) { return false; }
  // A problem on routes with Errors::kOwn.
  virtual HttpResponse refusal(const Problem& problem) const { return problem_response(problem); }
  // Whether /metrics needs no token.
  virtual bool opens_metrics() const { return false; }
  virtual void append_metrics(std::string& /*out*/) const {}
  virtual void tick() {}  // several times a second
};

}  // namespace postrider::api
