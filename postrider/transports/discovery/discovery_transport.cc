#include "postrider/transports/discovery/discovery_transport.h"

#include <algorithm>
#include <utility>

#include <boost/asio/io_context.hpp>

#include "postrider/base/check.h"
#include "postrider/base/hash.h"

namespace postrider {
namespace {

// Attempts of the engine count from 1, and those of logins have the bit above; these are ours.
constexpr std::uint64_t kDiscoveryBit = 1ULL << 62;
constexpr std::uint32_t kWellKnownBytes = matrix::kWellKnownBytesMax + 1;  // more is too much
constexpr int kOk = 200;
constexpr int kTooMany = 429;
constexpr int kServerErrors = 500;

WireReply not_found(WireEnd end, std::string_view why) {
  WireReply reply;
  reply.end = end;
  reply.body = "discovery: " + std::string(why);
  return reply;
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// Nothing of the request has left, so it may go to another target.
bool may_go_on(WireEnd end) {
  switch (end) {
    case WireEnd::kRefused:
    case WireEnd::kNoName:
    case WireEnd::kNoTls:
    case WireEnd::kForbidden: return true;
    case WireEnd::kAnswered:
    case WireEnd::kTimedOut:
    case WireEnd::kReset:
    case WireEnd::kNoLogin:
    case WireEnd::kHeldBack: return false;
  }
  POSTRIDER_CHECK(false);
}

std::string_view header_of(const WireReply& reply, std::string_view name) {
  const std::string* found = find_text(reply.headers, name);
  return found == nullptr ? std::string_view() : std::string_view(*found);
}

std::string place_of(const matrix::Endpoint& endpoint) {
  return endpoint.host + ":" + std::to_string(endpoint.port);
}

}  // namespace

struct DiscoveryTransport::Request {
  WireRequest request;
  std::string uri;
  Timestamp due;  // boot time; of the whole exchange, the lookup included
  matrix::ServerRoute route;
  std::size_t next = 0;  // of its endpoints
  std::optional<WireReply> first_failure;
};

struct DiscoveryTransport::Lookup {
  explicit Lookup(const matrix::ServerName& name) : server(name.host), machine(name) {}
  std::string server;
  matrix::Discovery machine;
  std::string trust;  // of the request that asked first
  Timestamp due;      // boot time
  std::string url;    // of the well-known object, behind redirects
  std::uint32_t redirects = 0;
  bool begun = false;
  std::vector<AttemptId> waiting;  // in order
};

struct DiscoveryTransport::WellKnown {
  std::optional<matrix::ServerName> delegated;
  Timestamp until;  // boot time
  // The end of the last good object's life, of boot time; not set: there was none.
  Timestamp good_until;
  std::list<std::string>::iterator place;
};

DiscoveryTransport::DiscoveryTransport(boost::asio::io_context& loop, const Clock& clock,
                                       DiscoveryOptions options, Ended ended)
    : clock_(clock),
      options_(std::move(options)),
      ended_(std::move(ended)),
      own_(
          loop, [this] { sweep(); }, [this] { flush(); }),
      rng_(options_.seed) {}

Result<std::unique_ptr<DiscoveryTransport>> DiscoveryTransport::make(boost::asio::io_context& loop,
                                                                     const Clock& clock,
                                                                     DiscoveryOptions options,
                                                                     Ended ended) {
  std::unique_ptr<DiscoveryTransport> made(
      new DiscoveryTransport(loop, clock, std::move(options), std::move(ended)));
  POSTRIDER_TRY(srv, SrvResolver::make(
                         loop, made->options_.srv, [&clock] { return clock.read().boot; },
                         [it = made.get()](SrvResolver::Token token, const SrvFound& found) {
                           const auto asked = it->asked_.extract(token);
                           if (asked.empty()) return;
                           it->take_srv(*asked.mapped(), found);
                           it->proceed(*asked.mapped());
                           it->flush();
                         }));
  made->srv_ = std::move(srv);
  return made;
}

DiscoveryTransport::~DiscoveryTransport() { close(); }

void DiscoveryTransport::close() {
  closed_ = true;
  own_.cancel();
  if (srv_ != nullptr) srv_->close();
}

void DiscoveryTransport::start(AttemptId attempt, WireRequest request) {
  if (!matrix::is_matrix_target(request.target)) return inner_->start(attempt, std::move(request));
  if (closed_) return;
  POSTRIDER_CHECK((attempt.value() & kDiscoveryBit) == 0);
  Result<matrix::MatrixTarget> target = matrix::parse_matrix_target(request.target);
  if (!target) {
    tell(attempt, not_found(WireEnd::kNoName, target.error().detail));
    return own_.flush_soon();
  }
  Lookup* const lookup = lookup_of(target->server, request);
  auto fresh = std::make_unique<Request>();
  const Duration given = request.time_out;
  fresh->due = given.count() > 0 ? clock_.read().boot + given : Timestamp::never();
  fresh->request = std::move(request);
  fresh->uri = std::move(target->uri);
  if (lookup == nullptr) {
    tell(attempt, not_found(WireEnd::kHeldBack, "too many servers are looked for"));
    return own_.flush_soon();
  }
  const bool is_new = requests_.try_emplace(attempt.value(), std::move(fresh)).second;
  POSTRIDER_CHECK(is_new);  // an attempt starts once
  lookup->waiting.push_back(attempt);
  if (!std::exchange(lookup->begun, true)) proceed(*lookup);
  if (!told_.empty()) own_.flush_soon();
}

// One with the same host and port is under way or is begun; null: there are too many.
DiscoveryTransport::Lookup* DiscoveryTransport::lookup_of(const matrix::ServerName& server,
                                                          const WireRequest& request) {
  std::string key = server.host;
  if (server.port) key.append(":").append(std::to_string(*server.port));
  const auto found = lookups_.find(key);
  if (found != lookups_.end()) return found->second.get();
  if (lookups_.size() >= options_.lookups_max) return nullptr;
  auto lookup = std::make_unique<Lookup>(server);
  lookup->server = key;
  lookup->trust = request.trust;
  lookup->due = clock_.read().boot + options_.lookup_time_out;
  return lookups_.emplace(std::move(key), std::move(lookup)).first->second.get();
}

// Answers what is known; the rest is asked, and it goes on when the answer comes.
void DiscoveryTransport::proceed(Lookup& lookup) {
  while (true) {
    switch (lookup.machine.asks()) {
      case matrix::Discovery::Asks::kWellKnown:
        if (!answer_well_known(lookup)) return;
        break;
      case matrix::Discovery::Asks::kSrv:
        if (!answer_srv(lookup)) return;
        break;
      case matrix::Discovery::Asks::kNothing: return finish(lookup, WireEnd::kNoName);
    }
  }
}

bool DiscoveryTransport::answer_well_known(Lookup& lookup) {
  const auto known = well_known_.find(lookup.server);
  if (known != well_known_.end() && clock_.read().boot < known->second.until) {
    lookup.machine.well_known(known->second.delegated);
    return true;
  }
  ++counts_.well_knowns;
  fetch(lookup, "https://" + lookup.machine.question() + std::string(matrix::kWellKnownPath));
  return false;
}

bool DiscoveryTransport::answer_srv(Lookup& lookup) {
  const std::uint64_t token = kDiscoveryBit | next_ask_++;
  const std::optional<SrvFound> found = srv_->ask(lookup.machine.question(), token);
  if (found && found->how == SrvFound::How::kHeldBack) {
    finish(lookup, WireEnd::kHeldBack);
    return false;
  }
  if (found) {
    take_srv(lookup, *found);
    return true;
  }
  asked_.emplace(token, &lookup);
  own_.note_due(clock_.read().boot, clock_.read().boot + OwnCalls::kFine);
  return false;
}

void DiscoveryTransport::take_srv(Lookup& lookup, const SrvFound& found) {
  std::vector<matrix::SrvRecord> records;
  for (const SrvTarget& target : found.targets)
    records.push_back({.target = target.host,
                       .port = target.port,
                       .priority = target.priority,
                       .weight = target.weight});
  switch (found.how) {
    case SrvFound::How::kRecords:
    case SrvFound::How::kNone: break;
    case SrvFound::How::kSilent:
    case SrvFound::How::kHeldBack: return lookup.machine.srv_failed();
  }
  // Requests of one server go to its targets in one order, so that they share connections.
  Rng rng(hash64(lookup.machine.question(), options_.seed));
  lookup.machine.srv(std::move(records), rng);
}

void DiscoveryTransport::fetch(Lookup& lookup, std::string url) {
  const Timestamp now = clock_.read().boot;
  const AttemptId attempt(kDiscoveryBit | next_ask_++);
  asked_.emplace(attempt.value(), &lookup);
  WireRequest request;
  request.verb = "GET";
  request.target = url;
  request.headers.add("accept", "application/json");
  request.time_out = std::max(lookup.due - now, Duration(1));
  request.trust = lookup.trust;
  request.reply_bytes = kWellKnownBytes;
  if (lookup.redirects == 0 && options_.well_known_port != 443)
    request.via = lookup.machine.question() + ":" + std::to_string(options_.well_known_port);
  lookup.url = std::move(url);
  inner_->start(attempt, std::move(request));
}

void DiscoveryTransport::fetched(Lookup& lookup, const WireReply& reply) {
  if (reply.end == WireEnd::kHeldBack) return finish(lookup, WireEnd::kHeldBack);
  const bool answered = reply.end == WireEnd::kAnswered;
  const Instant now = clock_.read();
  if (answered && is_redirect(reply.status) && lookup.redirects < matrix::kRedirectsMax &&
      now.boot < lookup.due) {
    Result<std::string> url = matrix::redirect_of(lookup.url, header_of(reply, "location"));
    if (url) {
      ++lookup.redirects;
      return fetch(lookup, std::move(*url));
    }
  }
  const auto before = well_known_.find(lookup.server);
  WellKnown known;
  if (before != well_known_.end()) known = before->second;
  Result<matrix::ServerName> delegated = fail(ErrorCode::kInvalid, "no object");
  if (answered && reply.status == kOk) delegated = matrix::read_well_known(reply.body);
  if (delegated) {
    const Duration life = matrix::life_of({.cache_control = header_of(reply, "cache-control"),
                                           .expires = header_of(reply, "expires")},
                                          options_.times, now.wall, rng_);
    known.delegated = std::move(*delegated);
    known.until = now.boot + life;
    known.good_until = known.until;
  } else {
    // One that cannot be had for the moment is believed a little longer: without it the request
    // would go to a machine that serves no Matrix.
    const bool temporary = !answered || reply.status >= kServerErrors || reply.status == kTooMany;
    const bool recent = known.good_until.is_set() &&
                        now.boot - known.good_until <= options_.times.success_remembered;
    if (!temporary || !recent) known.delegated.reset();
    known.until = now.boot + matrix::failure_life(known.good_until, options_.times, now.boot, rng_);
  }
  remember(lookup.server, known);
  lookup.machine.well_known(known.delegated);
  proceed(lookup);
}

void DiscoveryTransport::remember(const std::string& server, const WellKnown& known) {
  const auto found = well_known_.find(server);
  if (found != well_known_.end()) {
    well_known_order_.erase(found->second.place);
    well_known_.erase(found);
  }
  while (well_known_.size() >= std::max(options_.servers_max, 1U)) {
    well_known_.erase(well_known_order_.front());
    well_known_order_.pop_front();
  }
  WellKnown kept = known;
  kept.place = well_known_order_.insert(well_known_order_.end(), server);
  well_known_.emplace(server, std::move(kept));
}

// All who waited go on together. `end` is what becomes of them without a route.
void DiscoveryTransport::finish(Lookup& lookup, WireEnd end) {
  const std::optional<matrix::ServerRoute> route = lookup.machine.route();
  const std::string problem(lookup.machine.problem().empty() ? "held back by our own limits"
                                                             : lookup.machine.problem());
  const std::vector<AttemptId> waiting = std::move(lookup.waiting);
  const std::string key = lookup.server;  // the map frees the original while it looks
  lookups_.erase(key);
  const Timestamp now = clock_.read().boot;
  for (const AttemptId attempt : waiting) {
    const auto found = requests_.find(attempt.value());
    if (route && now < found->second->due) {
      found->second->route = *route;
      send(attempt, *found->second);
      continue;
    }
    requests_.erase(found);
    tell(attempt, not_found(end, route ? "it took too long" : problem));
  }
}

void DiscoveryTransport::send(AttemptId attempt, Request& request) {
  const matrix::Endpoint& endpoint = request.route.endpoints[request.next];
  ++request.next;
  WireRequest out = request.request;
  out.target = "https://" + request.route.authority + request.uri;
  out.via = place_of(endpoint);
  if (out.via == request.route.authority) out.via.clear();
  if (request.due != Timestamp::never())
    out.time_out = std::max(request.due - clock_.read().boot, Duration(1));
  // The last one has nowhere else to go: what becomes of it is told as it is.
  if (request.next == request.route.endpoints.size() && !request.first_failure)
    requests_.erase(attempt.value());
  inner_->start(attempt, std::move(out));
}

void DiscoveryTransport::inner_ended(AttemptId attempt, WireReply reply) {
  if ((attempt.value() & kDiscoveryBit) != 0) {
    const auto asked = asked_.extract(attempt.value());
    if (!asked.empty()) fetched(*asked.mapped(), reply);
    return flush();
  }
  const auto found = requests_.empty() ? requests_.end() : requests_.find(attempt.value());
  if (found == requests_.end()) return ended_(attempt, std::move(reply));
  Request& request = *found->second;
  const bool more = request.next < request.route.endpoints.size();
  if (may_go_on(reply.end) && more && clock_.read().boot < request.due) {
    if (!request.first_failure) request.first_failure = std::move(reply);
    ++counts_.fallbacks;
    return send(attempt, request);
  }
  // Of several failures the first is told: that target is the one that should have worked.
  if (may_go_on(reply.end) && request.first_failure) reply = std::move(*request.first_failure);
  requests_.erase(found);
  ended_(attempt, std::move(reply));
}

void DiscoveryTransport::tell(AttemptId attempt, WireReply reply) {
  told_.push_back({attempt, std::move(reply)});
}

// Outside of everything else: whoever is told may start and abort others.
void DiscoveryTransport::flush() {
  while (!told_.empty() && !closed_) {
    Told told = std::move(told_.front());
    told_.pop_front();
    ended_(told.attempt, std::move(told.reply));
  }
}

void DiscoveryTransport::abort(AttemptId attempt) {
  if (requests_.erase(attempt.value()) > 0) {
    for (const auto& [server, lookup] : lookups_) std::erase(lookup->waiting, attempt);
  }
  std::erase_if(told_, [&](const Told& told) { return told.attempt == attempt; });
  inner_->abort(attempt);
}

void DiscoveryTransport::sweep() {
  if (closed_) return;
  srv_->sweep();
  const Timestamp now = clock_.read().boot;
  if (srv_->busy()) own_.sweep_again(now, now, true);
  flush();
}

}  // namespace postrider
