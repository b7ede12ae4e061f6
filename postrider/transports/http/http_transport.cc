#include "postrider/transports/http/http_transport.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "postrider/base/check.h"
#include "postrider/transports/http/connection.h"
#include "postrider/transports/http/origins.h"
#include "postrider/transports/http/waiters.h"
#include "postrider/transports/net/own_calls.h"
#include "postrider/transports/net/resolver.h"
#include "postrider/transports/net/target.h"
#include "postrider/transports/net/wire_options.h"

namespace postrider {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kSpareExchangesMax = 1024;

ConnectionSettings connection_settings(const HttpTransportOptions& options) {
  return {.connect_time_out = options.connect_time_out,
          .tls_time_out = options.tls_time_out,
          .first_byte_time_out = options.first_byte_time_out,
          .reply = {.head_bytes_max = options.reply_head_bytes_max,
                    .body_bytes_max = options.reply_bytes_max,
                    .excerpt_bytes_max = options.excerpt_bytes_max,
                    .interim_max = options.interim_replies_max},
          .descriptors_max = options.descriptors_max,
          .keeps = options.idle_per_host_max > 0 && options.idle_connections_max > 0};
}

Result<void> check(const HttpTransportOptions& options) {
  if (const auto good = check_connecting(options); !good) return good;
  return check_spans({{options.exchange_time_out_max, "exchange_time_out_max"}});
}

}  // namespace

class HttpTransport::Impl final : public ConnectionOwner {
 public:
  Impl(asio::io_context& loop, HttpTransportOptions options, Ended ended, Reach reach)
      : loop_(loop),
        options_(std::move(options)),
        settings_(connection_settings(options_)),
        ended_(std::move(ended)),
        guard_(std::move(reach.guard)),
        origins_(std::move(reach.usual), options_.unused_hosts_max),
        waiters_(options_.connections_max, options_.waiting_max),
        own_(
            loop, [this] { sweep(); }, [this] { flush(); }) {
    if (!options_.now) options_.now = steady_now;
  }
  Result<void> open();

  void start(AttemptId attempt, WireRequest request);
  void abort(AttemptId attempt);
  void sweep();
  void close();
  std::size_t connections() const { return connections_; }
  std::size_t idle_connections() const { return idle_; }
  std::size_t waiting() const { return waiters_.size(); }
  HttpTransportCounts counts() const { return counts_; }

  // ConnectionOwner
  void replied(Connection& connection, bool keep) override;
  void failed(Connection& connection, WireEnd end, bool repeatable) override;
  void lost(Connection& connection) override;
  void resumed() override { ++counts_.resumptions; }
  bool make_room() override;
  Timestamp now() override { return options_.now(); }
  void note_due(Timestamp due) override { own_.note_due(recently_, due); }
  void flush() override;

 private:
  Exchange& take_exchange(AttemptId attempt, WireRequest request);
  Exchange* find(std::uint64_t attempt);
  void free_exchange(Exchange& exchange);
  std::optional<WireEnd> aim(Exchange& exchange);
  void begin(Exchange& exchange);
  void resolved(Exchange& exchange, const Addresses& addresses);
  void find_connection(Exchange& exchange);
  bool send_on_idle(Exchange& exchange);
  bool has_room(const Origin& origin);
  void open_connection(Exchange& exchange);
  void hold(Exchange& exchange);
  bool is_held(const Exchange& exchange) const;
  Timestamp due_of(const Exchange& exchange) const;
  void wait(Exchange& exchange);
  void serve_waiting();
  void tell(Exchange& exchange, WireEnd end);
  void tell_soon();
  void note_answers(Origin& origin, bool answers);
  void keep(Connection& connection);
  void leave_idle(Connection& connection);
  void drop(Connection& connection);
  void expire(Exchange& exchange, bool whole);
  Timestamp sweep_exchanges();
  Timestamp sweep_idle();

  asio::io_context& loop_;
  HttpTransportOptions options_;
  ConnectionSettings settings_;
  Ended ended_;
  AddressGuard guard_;
  Origins origins_;
  Waiters waiters_;
  std::unique_ptr<Resolver> resolver_;
  OwnCalls own_;
  // The time of the last start or sweep: good enough for ages, and free.
  Timestamp recently_;
  bool closed_ = false;
  bool serving_ = false;
  bool telling_ = false;
  std::size_t connections_ = 0;
  std::size_t idle_ = 0;
  HttpTransportCounts counts_;
  boost::unordered_flat_map<std::uint64_t, std::unique_ptr<Exchange>> exchanges_;
  std::vector<std::unique_ptr<Exchange>> spare_;
  std::vector<Exchange*> told_;             // have ended and are not told yet, in order
  std::vector<std::uint64_t> sweep_found_;  // keeps its memory
  LinkedList<Connection, AnyConnection> all_;
  LinkedList<Connection, IdleConnection> idle_list_;  // longest idle first
};

Result<void> HttpTransport::Impl::open() {
  auto resolver = Resolver::make(
      loop_, resolver_options(options_), options_.now,
      [this](Resolver::Token attempt, const Addresses& addresses) {
        Exchange* exchange = find(attempt);
        if (exchange != nullptr && exchange->place == Place::kResolving)
          resolved(*exchange, addresses);
      },
      [this] { flush(); });
  if (!resolver) return tl::unexpected(resolver.error());
  resolver_ = std::move(*resolver);
  return {};
}

Exchange* HttpTransport::Impl::find(std::uint64_t attempt) {
  const auto found = exchanges_.find(attempt);
  return found == exchanges_.end() ? nullptr : found->second.get();
}

Exchange& HttpTransport::Impl::take_exchange(AttemptId attempt, WireRequest request) {
  std::unique_ptr<Exchange> exchange;
  if (spare_.empty()) {
    exchange = std::make_unique<Exchange>();
  } else {
    exchange = std::move(spare_.back());
    spare_.pop_back();
  }
  exchange->attempt = attempt;
  exchange->request = std::move(request);
  Exchange& out = *exchange;
  const bool fresh = exchanges_.try_emplace(attempt.value(), std::move(exchange)).second;
  POSTRIDER_CHECK(fresh);  // an attempt starts once
  return out;
}

void HttpTransport::Impl::free_exchange(Exchange& exchange) {
  if (exchange.origin != nullptr) origins_.leave(*exchange.origin);
  const auto found = exchanges_.find(exchange.attempt.value());
  std::unique_ptr<Exchange> owned = std::move(found->second);
  exchanges_.erase(found);
  if (spare_.size() >= kSpareExchangesMax) return;
  owned->request = WireRequest{};
  owned->reply = WireReply{};
  owned->origin = nullptr;
  owned->addresses.clear();
  owned->place = Place::kResolving;
  owned->repeated = false;
  owned->maybe_sent = false;
  spare_.push_back(std::move(owned));
}

void HttpTransport::Impl::start(AttemptId attempt, WireRequest request) {
  if (closed_) return;
  recently_ = now();
  Exchange& exchange = take_exchange(attempt, std::move(request));
  const Duration given = exchange.request.time_out;
  const Duration most = options_.exchange_time_out_max;
  exchange.due = recently_ + (given.count() > 0 ? std::min(given, most) : most);
  note_due(exchange.due);
  if (const auto end = aim(exchange)) {
    tell(exchange, *end);
  } else {
    begin(exchange);
  }
  tell_soon();
}

// Finds out where the request goes; an end when it can go nowhere.
std::optional<WireEnd> HttpTransport::Impl::aim(Exchange& exchange) {
  const WireRequest& request = exchange.request;
  const std::string_view name = origin_of(request.target);
  const auto path = path_of(request.target, name);
  if (name.empty() || !path) return WireEnd::kNoName;
  if (request.body.size() > options_.request_bytes_max) return WireEnd::kForbidden;
  exchange.path = *path;
  exchange.origin = &origins_.take(name, request.trust, request.via);
  if (exchange.origin->kind == HostKind::kNonsense) return WireEnd::kNoName;
  if (!exchange.origin->trusted) return WireEnd::kNoTls;
  return std::nullopt;
}

void HttpTransport::Impl::begin(Exchange& exchange) {
  if (send_on_idle(exchange)) return;
  const Origin& origin = *exchange.origin;
  if (origin.kind == HostKind::kAddress) return resolved(exchange, {origin.address});
  exchange.place = Place::kResolving;
  const Resolver::Found found = resolver_->ask(origin.name, exchange.attempt.value());
  switch (found.how) {
    case Resolver::Found::How::kKnown: return resolved(exchange, *found.addresses);
    case Resolver::Found::How::kHeldBack: return tell(exchange, WireEnd::kHeldBack);
    case Resolver::Found::How::kLater: break;
  }
  hold(exchange);
  note_due(recently_ + OwnCalls::kFine);
}

void HttpTransport::Impl::resolved(Exchange& exchange, const Addresses& addresses) {
  if (addresses.empty()) return tell(exchange, WireEnd::kNoName);
  exchange.addresses = permitted(guard_, addresses, exchange.origin->prefers_v4);
  if (exchange.addresses.empty()) return tell(exchange, WireEnd::kForbidden);
  find_connection(exchange);
}

// While an origin has waiters, it has neither an idle connection nor room for a new one, so nobody
// overtakes.
void HttpTransport::Impl::find_connection(Exchange& exchange) {
  if (send_on_idle(exchange)) return;
  if (!exchange.origin->waiting.empty() || !has_room(*exchange.origin)) return wait(exchange);
  open_connection(exchange);
}

bool HttpTransport::Impl::send_on_idle(Exchange& exchange) {
  // A repeated exchange has met one connection that was cut off; its siblings may be cut off too.
  if (exchange.origin->idle.empty() || exchange.repeated || exchange.request.once) return false;
  Connection& connection = *exchange.origin->idle.back();
  leave_idle(connection);
  ++counts_.reuses;
  connection.send(exchange);
  return true;
}

// Kept connections are given up for it.
bool HttpTransport::Impl::has_room(const Origin& origin) {
  const std::size_t most = waiters_.connections_max(origin);
  if (connections_ - idle_ >= most) return false;
  while (connections_ >= most) make_room();
  return true;
}

void HttpTransport::Impl::open_connection(Exchange& exchange) {
  ++connections_;
  ++counts_.connects;
  Origin& origin = *exchange.origin;
  origins_.add_user(origin);
  ++origin.connections;
  waiters_.changed(origin);
  const Connection::Ref connection(
      new Connection(loop_, settings_, *this, origin));  // counted, keeps itself
  connection->born = recently_;
  all_.push_back(*connection);
  connection->connect(exchange);
}

// It needs a place of ours. If it does not get one soon, it is told so, while there is time: the
// destination is not to blame, and the attempt must not time out as if it were.
void HttpTransport::Impl::hold(Exchange& exchange) {
  const Timestamp now = options_.now();
  exchange.held_due = now + std::min(options_.held_back_after, (exchange.due - now) / 4);
  note_due(exchange.held_due);
}

bool HttpTransport::Impl::is_held(const Exchange& exchange) const {
  return exchange.place == Place::kWaiting ||
         (exchange.place == Place::kResolving && resolver_->waits(exchange.origin->name));
}

void HttpTransport::Impl::wait(Exchange& exchange) {
  if (!waiters_.has_room(*exchange.origin)) return tell(exchange, WireEnd::kHeldBack);
  exchange.place = Place::kWaiting;
  hold(exchange);
  waiters_.add(exchange);
}

void HttpTransport::Impl::serve_waiting() {
  if (serving_) return;  // a connection that fails at once comes back here
  serving_ = true;
  while (Exchange* exchange = waiters_.next(connections_ - idle_)) {
    waiters_.remove(*exchange);
    if (send_on_idle(*exchange)) continue;
    POSTRIDER_CHECK(has_room(*exchange->origin));  // that is what next() looks at
    open_connection(*exchange);
  }
  serving_ = false;
}

// Known to answer: it did, the last time. Then it may use places that are kept for such.
void HttpTransport::Impl::note_answers(Origin& origin, bool answers) {
  if (std::exchange(origin.answers, answers) != answers) waiters_.changed(origin);
}

void HttpTransport::Impl::tell(Exchange& exchange, WireEnd end) {
  // After a first round that may have arrived, nobody can say any more that nothing was sent.
  const bool nothing_sent = end == WireEnd::kRefused || end == WireEnd::kNoName ||
                            end == WireEnd::kNoTls || end == WireEnd::kForbidden ||
                            end == WireEnd::kHeldBack;
  exchange.reply.end = nothing_sent && exchange.maybe_sent ? WireEnd::kReset : end;
  exchange.place = Place::kTelling;
  told_.push_back(&exchange);
}

void HttpTransport::Impl::tell_soon() {
  if (!told_.empty() && !telling_) own_.flush_soon();
}

// Tells all that has ended, outside of everything else: whoever is told may call us again.
void HttpTransport::Impl::flush() {
  if (telling_) return;
  telling_ = true;
  for (std::size_t i = 0; i < told_.size() && !closed_; ++i) {
    Exchange& exchange = *told_[i];
    const bool wanted = exchange.place == Place::kTelling;
    const AttemptId attempt = exchange.attempt;
    WireReply reply = std::move(exchange.reply);
    free_exchange(exchange);
    if (wanted) ended_(attempt, std::move(reply));
  }
  told_.clear();
  telling_ = false;
}

void HttpTransport::Impl::replied(Connection& connection, bool keep_it) {
  Exchange& exchange = connection.release_exchange();
  tell(exchange, WireEnd::kAnswered);
  Origin& origin = connection.origin();
  note_answers(origin, true);
  const bool old = recently_ - connection.born >= options_.connection_life_max;
  // Its place may be wanted by another origin; else those go first who wait for this one.
  Exchange* next = waiters_.next(connections_ - idle_ - 1);
  const bool wanted = next != nullptr && next->origin != &origin;
  if (!keep_it || old || wanted) {
    drop(connection);
    serve_waiting();
  } else if (origin.waiting.empty()) {
    keep(connection);
  } else {
    next = &origin.waiting.front();
    waiters_.remove(*next);
    ++counts_.reuses;
    connection.send(*next);
  }
}

void HttpTransport::Impl::failed(Connection& connection, WireEnd end, bool repeatable) {
  Exchange& exchange = connection.release_exchange();
  // A kept connection that was cut off says nothing: most receivers close what is idle.
  if (end != WireEnd::kHeldBack && !repeatable) note_answers(connection.origin(), false);
  drop(connection);
  if (repeatable && !exchange.repeated && !exchange.request.once) {
    exchange.repeated = true;
    ++counts_.repeats;
    begin(exchange);
  } else {
    tell(exchange, end);
  }
  serve_waiting();
}

void HttpTransport::Impl::lost(Connection& connection) {
  leave_idle(connection);
  drop(connection);
  serve_waiting();
}

bool HttpTransport::Impl::make_room() {
  if (idle_list_.empty()) return false;
  Connection& oldest = idle_list_.front();
  leave_idle(oldest);
  drop(oldest);
  return true;
}

void HttpTransport::Impl::keep(Connection& connection) {
  Origin& origin = connection.origin();
  if (origin.idle.size() >= options_.idle_per_host_max || options_.idle_connections_max == 0)
    return drop(connection);
  if (idle_ >= options_.idle_connections_max) make_room();
  origin.idle.push_back(&connection);
  connection.idle_since = recently_;
  idle_list_.push_back(connection);
  ++idle_;
  note_due(recently_ + options_.idle_time_out);
}

void HttpTransport::Impl::leave_idle(Connection& connection) {
  std::vector<Connection*>& idle = connection.origin().idle;
  // From the end: the one used last is the one that is wanted most.
  const auto found = std::find(idle.rbegin(), idle.rend(), &connection);
  POSTRIDER_CHECK(found != idle.rend());
  idle.erase(std::next(found).base());
  connection.Hook<IdleConnection>::unlink();
  --idle_;
}

void HttpTransport::Impl::drop(Connection& connection) {
  --connections_;
  Origin& origin = connection.origin();
  --origin.connections;
  waiters_.changed(origin);
  connection.close();
  origins_.leave(origin);
}

void HttpTransport::Impl::abort(AttemptId attempt) {
  Exchange* exchange = find(attempt.value());
  if (exchange == nullptr) return;
  const Place place = std::exchange(exchange->place, Place::kDropped);
  if (place == Place::kTelling) return;  // its turn comes, and nothing is told
  if (place == Place::kWaiting) waiters_.remove(*exchange);
  if (place == Place::kConnection) {
    Connection& connection = *exchange->connection;
    connection.release_exchange();
    drop(connection);
  }
  free_exchange(*exchange);
  serve_waiting();
  tell_soon();
}

void HttpTransport::Impl::expire(Exchange& exchange, bool whole) {
  const bool held = is_held(exchange);
  switch (exchange.place) {
    case Place::kResolving: return tell(exchange, held ? WireEnd::kHeldBack : WireEnd::kNoName);
    case Place::kWaiting: waiters_.remove(exchange); return tell(exchange, WireEnd::kHeldBack);
    case Place::kConnection: return exchange.connection->time_out(whole);
    case Place::kTelling:
    case Place::kDropped: return;
  }
}

Timestamp HttpTransport::Impl::due_of(const Exchange& exchange) const {
  switch (exchange.place) {
    case Place::kTelling:
    case Place::kDropped: return Timestamp::never();
    case Place::kConnection: return std::min(exchange.due, exchange.connection->phase_due());
    case Place::kWaiting: return std::min(exchange.due, exchange.held_due);
    case Place::kResolving: break;
  }
  // Once the question is asked, the answer may take its time.
  const bool waits = exchange.held_due > recently_ || is_held(exchange);
  return waits ? std::min(exchange.due, exchange.held_due) : exchange.due;
}

Timestamp HttpTransport::Impl::sweep_exchanges() {
  Timestamp next = Timestamp::never();
  sweep_found_.clear();
  for (const auto& [attempt, exchange] : exchanges_) {
    const Timestamp due = due_of(*exchange);
    if (due <= recently_) {
      sweep_found_.push_back(attempt);
    } else {
      next = std::min(next, due);
    }
  }
  // One that ends makes room for another, so each is looked at again before it is touched.
  for (const std::uint64_t attempt : sweep_found_) {
    Exchange* exchange = find(attempt);
    if (exchange != nullptr && due_of(*exchange) <= recently_)
      expire(*exchange, exchange->due <= recently_);
  }
  return next;
}

Timestamp HttpTransport::Impl::sweep_idle() {
  while (!idle_list_.empty()) {
    const Timestamp due = idle_list_.front().idle_since + options_.idle_time_out;
    if (due > recently_) return due;
    make_room();
  }
  return Timestamp::never();
}

void HttpTransport::Impl::sweep() {
  if (closed_) return;
  recently_ = now();
  resolver_->sweep();
  if (closed_) return;  // it tells, too
  Timestamp next = sweep_exchanges();
  next = std::min(next, sweep_idle());
  serve_waiting();  // some may have wanted a place that an idle one had
  if (!exchanges_.empty() || idle_ > 0 || resolver_->busy())
    own_.sweep_again(recently_, next, resolver_->busy());
  flush();
}

void HttpTransport::Impl::close() {
  if (closed_) return;
  closed_ = true;
  own_.cancel();
  resolver_->close();
  idle_list_.clear();
  while (!all_.empty()) all_.front().close();
  connections_ = 0;
  idle_ = 0;
  // What is being told right now is still in use; the destructor frees all.
}

HttpTransport::HttpTransport(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpTransport::~HttpTransport() { close(); }

Result<std::unique_ptr<HttpTransport>> HttpTransport::make(asio::io_context& loop,
                                                           HttpTransportOptions options,
                                                           Ended ended) {
  if (const auto good = check(options); !good) return tl::unexpected(good.error());
  POSTRIDER_TRY(reach, make_reach(options.allow, options.trust_file));
  auto impl = std::make_unique<Impl>(loop, std::move(options), std::move(ended), std::move(reach));
  if (const auto opened = impl->open(); !opened) return tl::unexpected(opened.error());
  return std::unique_ptr<HttpTransport>(new HttpTransport(std::move(impl)));
}

void HttpTransport::start(AttemptId attempt, WireRequest request) {
  impl_->start(attempt, std::move(request));
}
void HttpTransport::abort(AttemptId attempt) { impl_->abort(attempt); }
std::size_t HttpTransport::connections() const { return impl_->connections(); }
std::size_t HttpTransport::idle_connections() const { return impl_->idle_connections(); }
std::size_t HttpTransport::waiting() const { return impl_->waiting(); }
HttpTransportCounts HttpTransport::counts() const { return impl_->counts(); }
void HttpTransport::sweep() { impl_->sweep(); }
void HttpTransport::close() { impl_->close(); }

}  // namespace postrider
