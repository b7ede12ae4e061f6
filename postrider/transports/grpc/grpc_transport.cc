#include "postrider/transports/grpc/grpc_transport.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "postrider/base/check.h"
#include "postrider/transports/grpc/grpc_connection.h"
#include "postrider/transports/net/own_calls.h"
#include "postrider/transports/net/recent_set.h"
#include "postrider/transports/net/resolver.h"
#include "postrider/transports/net/target.h"
#include "postrider/transports/net/wire_options.h"

namespace postrider {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kProvenMax = 4096;  // authorities that are remembered to have answered

GrpcConnectionSettings connection_settings(const GrpcTransportOptions& options) {
  return {.stream = {.connect_time_out = options.connect_time_out,
                     .tls_time_out = options.tls_time_out,
                     .protocol = TlsProtocol::kHttp2,
                     .descriptors_max = options.descriptors_max},
          .greeting_time_out = options.greeting_time_out,
          .ping_time_out = options.ping_time_out,
          .streams_max = options.streams_max,
          .calls_per_connection = options.calls_per_connection_max,
          .head_bytes_max = options.reply_head_bytes_max};
}

Result<void> check(const GrpcTransportOptions& options) {
  if (const auto good = check_connecting(options); !good) return good;
  const auto counts =
      check_counts({{options.streams_max, "streams_max"},
                    {options.calls_per_connection_max, "calls_per_connection_max"}});
  if (!counts) return counts;
  return check_spans({{options.greeting_time_out, "greeting_time_out"},
                      {options.ping_time_out, "ping_time_out"},
                      {options.call_time_out_max, "call_time_out_max"},
                      {options.idle_time_out, "idle_time_out"}});
}

}  // namespace

// One authority: its connection, and the calls that wait for a stream. Forgotten when it has
// neither.
struct GrpcChannel : Hook<struct CrowdedChannel> {
  bool crowded() const { return Hook<CrowdedChannel>::is_linked(); }
  std::string key;
  std::uint64_t id = 0;                  // for the resolver
  std::shared_ptr<OriginHost> host;      // shared with streams under way
  GrpcConnection* connection = nullptr;  // for new calls; older ones may still have calls
  bool resolving = false;
  bool answers = false;  // a connection came about
  LinkedList<GrpcCall, WaitingCall> waiting;
};

class GrpcTransport::Impl final : public GrpcConnectionOwner {
 public:
  Impl(asio::io_context& loop, GrpcTransportOptions options, Ended ended, Reach reach)
      : loop_(loop),
        options_(std::move(options)),
        settings_(connection_settings(options_)),
        ended_(std::move(ended)),
        guard_(std::move(reach.guard)),
        origins_(std::move(reach.usual)),
        own_(
            loop, [this] { sweep(); }, [this] { flush(); }) {
    if (!options_.now) options_.now = steady_now;
  }
  Result<void> open();

  void start(AttemptId attempt, WireRequest request);
  void abort(AttemptId attempt);
  void sweep();
  void close();
  std::size_t connections() const { return connections_.size(); }
  std::size_t waiting() const { return waiting_; }
  GrpcTransportCounts counts() const { return counts_; }

  // GrpcConnectionOwner
  void call_ended(GrpcCall& call, WireReply reply) override;
  void connection_changed(GrpcConnection& connection) override;
  void connection_ended(GrpcConnection& connection, WireEnd end, bool reached) override;
  Timestamp now() override { return options_.now(); }
  void note_due(Timestamp due) override { own_.note_due(now(), due); }
  void flush() override;

 private:
  using ChannelRef = std::shared_ptr<GrpcChannel>;

  ChannelRef channel_of(std::string_view origin, std::string_view trust);
  GrpcCall* find(AttemptId attempt);
  void tell(GrpcCall& call, WireEnd end);
  void tell_soon();
  void wait(GrpcCall& call, GrpcChannel& channel);
  void leave_waiting(GrpcCall& call);
  void serve(GrpcChannel& channel);
  bool serve_one(GrpcChannel& channel);
  void open_connection(GrpcChannel& channel);
  void resolved(GrpcChannel& channel, const Addresses& addresses);
  void fail_waiting(GrpcChannel& channel, WireEnd end);
  bool make_room();
  bool has_room(const GrpcChannel& channel);
  void stand_in_line(GrpcChannel& channel);
  void serve_crowd();
  bool is_held(const GrpcChannel& channel) const;
  void drop(GrpcConnection& connection);
  void forget_if_unused(GrpcChannel& channel);
  void expire(GrpcCall& call);
  Timestamp sweep_calls();
  Timestamp sweep_connections();

  asio::io_context& loop_;
  GrpcTransportOptions options_;
  GrpcConnectionSettings settings_;
  Ended ended_;
  AddressGuard guard_;
  OriginHosts origins_;
  std::unique_ptr<Resolver> resolver_;
  OwnCalls own_;
  bool closed_ = false;
  bool telling_ = false;
  Timestamp recently_;  // of the last start or sweep
  std::uint64_t next_channel_ = 1;
  std::size_t waiting_ = 0;
  bool serving_ = false;
  RecentSet proven_{kProvenMax};  // keys of channels whose last connection came about
  // Channels that stand in line for a connection: those that are proven go first.
  LinkedList<GrpcChannel, CrowdedChannel> proven_crowd_;
  LinkedList<GrpcChannel, CrowdedChannel> crowd_;
  GrpcTransportCounts counts_;
  std::unordered_map<std::uint64_t, std::unique_ptr<GrpcCall>> calls_;
  std::vector<GrpcCall*> told_;  // have ended and are not told yet, in order
  // Shared with the connections of a channel: old ones outlive its place here.
  std::unordered_map<std::string, ChannelRef> channels_;
  std::unordered_map<std::uint64_t, GrpcChannel*> channels_by_id_;
  std::unordered_map<GrpcConnection*, std::unique_ptr<GrpcConnection>> connections_;
};

Result<void> GrpcTransport::Impl::open() {
  auto resolver = Resolver::make(
      loop_, resolver_options(options_), options_.now,
      [this](Resolver::Token id, const Addresses& addresses) {
        const auto found = channels_by_id_.find(id);
        if (found != channels_by_id_.end() && found->second->resolving)
          resolved(*found->second, addresses);
      },
      [this] { flush(); });
  if (!resolver) return tl::unexpected(resolver.error());
  resolver_ = std::move(*resolver);
  return {};
}

GrpcTransport::Impl::ChannelRef GrpcTransport::Impl::channel_of(std::string_view origin,
                                                                std::string_view trust) {
  std::string key(origin);
  if (!trust.empty()) key.append("\n").append(trust);
  auto found = channels_.find(key);
  if (found != channels_.end()) return found->second;
  auto channel = std::make_shared<GrpcChannel>();
  channel->key = std::move(key);
  channel->id = next_channel_++;
  channel->host = std::make_shared<OriginHost>();
  origins_.fill(*channel->host, origin, trust);
  channels_.emplace(channel->key, channel);
  channels_by_id_.emplace(channel->id, channel.get());
  return channel;
}

GrpcCall* GrpcTransport::Impl::find(AttemptId attempt) {
  const auto found = calls_.find(attempt.value());
  return found == calls_.end() ? nullptr : found->second.get();
}

void GrpcTransport::Impl::start(AttemptId attempt, WireRequest request) {
  if (closed_) return;
  recently_ = now();
  const GrpcReplyLimits limits{.head_bytes_max = options_.reply_head_bytes_max,
                               .message_bytes_max = options_.reply_bytes_max,
                               .text_bytes_max = options_.message_bytes_max};
  const auto [place, fresh] = calls_.try_emplace(
      attempt.value(), std::make_unique<GrpcCall>(attempt, std::move(request), limits));
  POSTRIDER_CHECK(fresh);  // an attempt starts once
  GrpcCall& call = *place->second;
  const Duration given = call.request.time_out;
  const Duration most = options_.call_time_out_max;
  call.due = recently_ + (given.count() > 0 ? std::min(given, most) : most);
  call.held_due = recently_ + std::min(options_.held_back_after, (call.due - recently_) / 4);
  note_due(call.held_due);
  const std::string_view origin = origin_of(call.request.target);
  const auto path = path_of(call.request.target, origin);
  if (origin.empty() || !path || path->needs_slash) {
    tell(call, WireEnd::kNoName);
  } else if (call.request.body.size() > options_.request_bytes_max) {
    tell(call, WireEnd::kForbidden);
  } else {
    call.path = path->path;
    const ChannelRef channel = channel_of(origin, call.request.trust);
    wait(call, *channel);
    serve(*channel);
  }
  tell_soon();
}

void GrpcTransport::Impl::wait(GrpcCall& call, GrpcChannel& channel) {
  // One authority leaves some of the room to the others.
  const std::size_t kept = channel.waiting.empty() ? 0 : options_.waiting_max / 8;
  if (waiting_ >= options_.waiting_max - kept) return tell(call, WireEnd::kHeldBack);
  call.channel = &channel;
  channel.waiting.push_back(call);
  ++waiting_;
}

void GrpcTransport::Impl::leave_waiting(GrpcCall& call) {
  call.Hook<WaitingCall>::unlink();
  --waiting_;
}

void GrpcTransport::Impl::serve(GrpcChannel& channel) {
  while (!channel.waiting.empty() && serve_one(channel)) continue;
  forget_if_unused(channel);
}

// False when those who wait have to wait longer, or have just been told that it is in vain.
bool GrpcTransport::Impl::serve_one(GrpcChannel& channel) {
  if (channel.connection != nullptr && channel.connection->retired()) {
    GrpcConnection& old = *std::exchange(channel.connection, nullptr);
    if (old.idle()) drop(old);
  }
  GrpcConnection* connection = channel.connection;
  if (connection == nullptr) {
    if (!channel.resolving && !channel.crowded()) open_connection(channel);
    return false;
  }
  if (!connection->ready() || connection->pinging() || connection->full()) return false;
  // A connection that was silent for long may be dead without our knowing; a call on it would be
  // one of unknown outcome.
  if (connection->idle() && now() - connection->heard() >= options_.ping_after) {
    connection->ping();
    return false;
  }
  GrpcCall& call = channel.waiting.front();
  leave_waiting(call);
  ++counts_.calls;
  connection->submit(call, *channel.host);
  return true;
}

void GrpcTransport::Impl::open_connection(GrpcChannel& channel) {
  const OriginHost& host = *channel.host;
  if (host.kind == HostKind::kNonsense) return fail_waiting(channel, WireEnd::kNoName);
  if (!host.trusted) return fail_waiting(channel, WireEnd::kNoTls);
  if (host.kind == HostKind::kAddress) return resolved(channel, {host.address});
  channel.resolving = true;
  const Resolver::Found found = resolver_->ask(host.name, channel.id);
  switch (found.how) {
    case Resolver::Found::How::kKnown: return resolved(channel, *found.addresses);
    case Resolver::Found::How::kHeldBack:
      channel.resolving = false;
      return fail_waiting(channel, WireEnd::kHeldBack);
    case Resolver::Found::How::kLater: break;
  }
  note_due(now() + OwnCalls::kFine);
}

void GrpcTransport::Impl::resolved(GrpcChannel& channel, const Addresses& addresses) {
  channel.resolving = false;
  if (channel.waiting.empty()) return forget_if_unused(channel);
  if (addresses.empty()) return fail_waiting(channel, WireEnd::kNoName);
  Addresses usable = permitted(guard_, addresses, channel.host->prefers_v4);
  if (usable.empty()) return fail_waiting(channel, WireEnd::kForbidden);
  if (!has_room(channel)) return stand_in_line(channel);
  auto fresh = std::make_unique<GrpcConnection>(loop_, settings_, *this, channels_.at(channel.key));
  GrpcConnection& connection = *fresh;
  connections_.emplace(&connection, std::move(fresh));
  channel.connection = &connection;
  ++counts_.connects;
  connection.connect(channel.host, std::move(usable));
}

// Some are kept for authorities that are known to answer. One that is not used is given up.
bool GrpcTransport::Impl::has_room(const GrpcChannel& channel) {
  const std::size_t kept = proven_.contains(channel.key) ? 0 : options_.connections_max / 8;
  const std::size_t most = options_.connections_max - kept;
  while (connections_.size() >= most) {
    if (!make_room()) return false;
  }
  return true;
}

void GrpcTransport::Impl::stand_in_line(GrpcChannel& channel) {
  (proven_.contains(channel.key) ? proven_crowd_ : crowd_).push_back(channel);
}

void GrpcTransport::Impl::serve_crowd() {
  if (serving_ || closed_) return;
  serving_ = true;
  for (auto* crowd : {&proven_crowd_, &crowd_}) {
    while (!crowd->empty() && has_room(crowd->front())) {
      GrpcChannel& channel = crowd->front();
      crowd->pop_front();
      serve(channel);
    }
  }
  serving_ = false;
}

// Whether what it waits for is a place of ours, and not the peer.
bool GrpcTransport::Impl::is_held(const GrpcChannel& channel) const {
  return channel.crowded() || (channel.resolving && resolver_->waits(channel.host->name));
}

void GrpcTransport::Impl::fail_waiting(GrpcChannel& channel, WireEnd end) {
  while (!channel.waiting.empty()) {
    GrpcCall& call = channel.waiting.front();
    leave_waiting(call);
    tell(call, end);
  }
  forget_if_unused(channel);
}

bool GrpcTransport::Impl::make_room() {
  GrpcConnection* longest = nullptr;
  for (const auto& [connection, owned] : connections_) {
    const bool unused = connection->idle() && connection->channel().waiting.empty();
    if (unused && (longest == nullptr || connection->heard() < longest->heard()))
      longest = connection;
  }
  if (longest != nullptr) drop(*longest);
  return longest != nullptr;
}

// It may be on the stack right now, so it dies a little later.
void GrpcTransport::Impl::drop(GrpcConnection& connection) {
  connection.close();
  const auto found = connections_.find(&connection);
  POSTRIDER_CHECK(found != connections_.end());
  std::shared_ptr<GrpcConnection> dead = std::move(found->second);  // handlers must be copyable
  connections_.erase(found);
  GrpcChannel& channel = connection.channel();
  if (channel.connection == &connection) channel.connection = nullptr;
  forget_if_unused(channel);
  asio::post(loop_, [dead] {});
}

void GrpcTransport::Impl::forget_if_unused(GrpcChannel& channel) {
  if (channel.connection != nullptr || channel.resolving || !channel.waiting.empty()) return;
  if (channel.crowded()) channel.Hook<CrowdedChannel>::unlink();
  const auto found = channels_.find(channel.key);
  if (found == channels_.end() || found->second.get() != &channel) return;
  const ChannelRef kept = found->second;  // callers up the stack still use it
  channels_by_id_.erase(channel.id);
  channels_.erase(found);
  asio::post(loop_, [kept] {});
}

void GrpcTransport::Impl::connection_changed(GrpcConnection& connection) {
  GrpcChannel& channel = connection.channel();
  if (connection.ready() && !std::exchange(channel.answers, true)) proven_.add(channel.key);
  if (connection.retired() && channel.connection == &connection) channel.connection = nullptr;
  if (connection.retired() && connection.idle()) drop(connection);
  serve(channel);
}

void GrpcTransport::Impl::connection_ended(GrpcConnection& connection, WireEnd end, bool reached) {
  GrpcChannel& channel = connection.channel();
  const bool current = channel.connection == &connection;
  drop(connection);
  if (!current) return;
  // One that was there before may be there again; what was never there is told to all who wait.
  if (reached) return serve(channel);
  if (end != WireEnd::kHeldBack) proven_.remove(channel.key);
  fail_waiting(channel, end);
}

void GrpcTransport::Impl::call_ended(GrpcCall& call, WireReply reply) {
  call.reply = std::move(reply);
  call.place = GrpcPlace::kTelling;
  told_.push_back(&call);
}

void GrpcTransport::Impl::tell(GrpcCall& call, WireEnd end) {
  WireReply reply;
  reply.end = end;
  call_ended(call, std::move(reply));
}

void GrpcTransport::Impl::tell_soon() {
  if (!told_.empty() && !telling_) own_.flush_soon();
}

// Tells all that has ended, outside of everything else: whoever is told may call us again.
void GrpcTransport::Impl::flush() {
  if (telling_) return;
  serve_crowd();
  telling_ = true;
  for (std::size_t i = 0; i < told_.size() && !closed_; ++i) {
    const auto found = calls_.find(told_[i]->attempt.value());
    const std::unique_ptr<GrpcCall> call = std::move(found->second);
    calls_.erase(found);
    if (call->place == GrpcPlace::kTelling) ended_(call->attempt, std::move(call->reply));
  }
  told_.clear();
  telling_ = false;
}

void GrpcTransport::Impl::abort(AttemptId attempt) {
  GrpcCall* call = find(attempt);
  if (call == nullptr) return;
  const GrpcPlace place = std::exchange(call->place, GrpcPlace::kDropped);
  if (place == GrpcPlace::kTelling) return;  // its turn comes, and nothing is told
  if (place == GrpcPlace::kWaiting) leave_waiting(*call);
  GrpcConnection* connection = call->connection;
  if (connection != nullptr) connection->cancel(*call);
  calls_.erase(attempt.value());
  if (connection != nullptr) connection_changed(*connection);
  tell_soon();
}

void GrpcTransport::Impl::expire(GrpcCall& call) {
  if (call.place == GrpcPlace::kWaiting) {
    const bool held = is_held(*call.channel);
    const bool asking = call.channel->resolving;
    leave_waiting(call);
    return tell(call, held ? WireEnd::kHeldBack : asking ? WireEnd::kNoName : WireEnd::kRefused);
  }
  GrpcConnection& connection = *call.connection;
  const bool sent = connection.cancel(call);
  tell(call, sent ? WireEnd::kTimedOut : WireEnd::kRefused);
  // Slow, or dead? The next calls should not have to find out.
  if (connection.heard() <= call.submitted) connection.ping();
  connection_changed(connection);
}

Timestamp GrpcTransport::Impl::sweep_calls() {
  const auto lives = [](const GrpcCall& call) {
    return call.place == GrpcPlace::kWaiting || call.place == GrpcPlace::kStream;
  };
  Timestamp next = Timestamp::never();
  std::vector<GrpcCall*> found;
  for (const auto& [attempt, call] : calls_) {
    if (!lives(*call)) continue;
    const bool held = call->place == GrpcPlace::kWaiting &&
                      (call->held_due > recently_ || is_held(*call->channel));
    const Timestamp due = held ? std::min(call->due, call->held_due) : call->due;
    if (due <= recently_) {
      found.push_back(call.get());
    } else {
      next = std::min(next, due);
    }
  }
  for (GrpcCall* call : found) {
    if (lives(*call)) expire(*call);
  }
  return next;
}

Timestamp GrpcTransport::Impl::sweep_connections() {
  std::vector<GrpcConnection*> all;
  for (const auto& [connection, owned] : connections_) all.push_back(connection);
  Timestamp next = Timestamp::never();
  for (GrpcConnection* connection : all) {
    if (!connections_.contains(connection)) continue;
    if (connection->due() <= recently_) {
      connection->time_out(recently_);
      if (!connections_.contains(connection)) continue;
    }
    const bool unused =
        connection->ready() && connection->idle() && connection->channel().waiting.empty();
    const Timestamp idle_due =
        unused ? connection->heard() + options_.idle_time_out : Timestamp::never();
    if (idle_due <= recently_) {
      drop(*connection);
    } else {
      next = std::min({next, idle_due, connection->due()});
    }
  }
  return next;
}

void GrpcTransport::Impl::sweep() {
  if (closed_) return;
  recently_ = now();
  resolver_->sweep();
  if (closed_) return;  // it tells, too
  Timestamp next = sweep_calls();
  next = std::min(next, sweep_connections());
  if (!calls_.empty() || !connections_.empty() || resolver_->busy())
    own_.sweep_again(recently_, next, resolver_->busy());
  flush();
}

void GrpcTransport::Impl::close() {
  if (closed_) return;
  closed_ = true;
  own_.cancel();
  resolver_->close();
  for (const auto& [connection, owned] : connections_) connection->close();
  // What is being told right now is still in use; the destructor frees all.
}

GrpcTransport::GrpcTransport(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GrpcTransport::~GrpcTransport() { close(); }

Result<std::unique_ptr<GrpcTransport>> GrpcTransport::make(asio::io_context& loop,
                                                           GrpcTransportOptions options,
                                                           Ended ended) {
  if (const auto good = check(options); !good) return tl::unexpected(good.error());
  POSTRIDER_TRY(reach, make_reach(options.allow, options.trust_file));
  auto impl = std::make_unique<Impl>(loop, std::move(options), std::move(ended), std::move(reach));
  if (const auto opened = impl->open(); !opened) return tl::unexpected(opened.error());
  return std::unique_ptr<GrpcTransport>(new GrpcTransport(std::move(impl)));
}

void GrpcTransport::start(AttemptId attempt, WireRequest request) {
  impl_->start(attempt, std::move(request));
}
void GrpcTransport::abort(AttemptId attempt) { impl_->abort(attempt); }
std::size_t GrpcTransport::connections() const { return impl_->connections(); }
std::size_t GrpcTransport::waiting() const { return impl_->waiting(); }
GrpcTransportCounts GrpcTransport::counts() const { return impl_->counts(); }
void GrpcTransport::sweep() { impl_->sweep(); }
void GrpcTransport::close() { impl_->close(); }

}  // namespace postrider
