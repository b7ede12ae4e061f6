#include "postrider/transports/wire/loop_wire.h"

#include <algorithm>
#include <array>
#include <set>
#include <unistd.h>
#include <unordered_map>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "postrider/base/check.h"
#include "postrider/transports/net/own_calls.h"
#include "postrider/transports/net/resolver.h"
#include "postrider/transports/net/wire_options.h"
#include "postrider/transports/wire/datagram_line.h"
#include "postrider/transports/wire/line_address.h"
#include "postrider/transports/wire/line_tls.h"
#include "postrider/transports/wire/listener_line.h"
#include "postrider/transports/wire/stream_line.h"

namespace postrider {
namespace {

constexpr std::size_t kScratchBytes = 65'536;  // the largest datagram fits

}  // namespace

class LoopWire::Impl final : public LineKeeper {
 public:
  Impl(boost::asio::io_context& loop, LoopWireOptions options, Reach reach, Tell tell)
      : loop_(loop),
        options_(std::move(options)),
        rules_{options_.limits, options_.connect_time_out, options_.tls_time_out, options_.linger},
        reach_(std::move(reach)),
        tell_(std::move(tell)),
        own_(
            loop, [this] { sweep(); }, [] {}) {}
  ~Impl() override {
    own_.cancel();
    if (resolver_ != nullptr) resolver_->close();
    for (auto& [number, entry] : lines_) {
      if (entry.line != nullptr) entry.line->cut();
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<void> make_resolver();
  void open(LineId line, LineOrder order);
  void write(LineId line, std::string bytes, std::string_view to);
  void hold(LineId line, bool held);
  void close(LineId line);
  void sweep();

  void line_opened(LineId line, std::string peer) override;
  void line_took(LineId line, std::string_view bytes, std::string_view from) override;
  void line_drained(LineId line) override;
  void line_ended(LineId line, LineEnd end, std::string detail) override;
  void line_gone(LineId line) override;
  void line_accepted(LineId listener, int descriptor, std::string peer) override;
  void line_due(LineId line, Timestamp at) override;
  bool permits(const IpAddress& address) const override { return reach_.guard.permits(address); }
  std::span<char> scratch() override { return scratch_; }
  Timestamp now() const override { return options_.now(); }
  void datagram_lost() override { ++counts_.datagrams_lost; }

  std::size_t lines() const { return lines_.size(); }
  LoopWireCounts counts_;

 private:
  struct Entry {
    std::shared_ptr<WireLine> line;      // null: refused, which is told soon
    LineId listener;                     // of an accepted one
    bool told = false;                   // that it is open
    bool closed = false;                 // lingers
    Timestamp due = Timestamp::never();  // in dues_
    // Of a name that is asked for: how to go on when it is known.
    std::function<void(const Addresses&)> resolved;
    // Of a listener: for what it accepts.
    TlsContext tls;
    std::string pinned;
  };

  Entry* find(LineId line);
  void refuse(LineId line, LineEnd end, std::string detail);
  void open_listener(LineId line, const LineOrder& order, const LineAddress& address);
  void open_datagrams(LineId line, const LineOrder& order, const LineAddress& address);
  void open_stream(LineId line, const LineOrder& order, const LineAddress& address);
  void go_on(const std::shared_ptr<StreamLine>& stream, const LineOrder& order,
             const LineAddress& address, const Addresses& found);
  template <class Line>
  bool may_go(Line& line, const LineOrder& order, const Addresses& found, Addresses& out);
  void resolve(LineId line, const std::string& name, std::function<void(const Addresses&)> then);
  Result<LineSecurity> security_of(const LineOrder& order, const LineAddress& address);
  Result<LineIdentity> identity_of(const std::string& name);
  Result<TlsContext> trust();

  boost::asio::io_context& loop_;
  LoopWireOptions options_;
  LineRules rules_;
  Reach reach_;
  Tell tell_;
  OwnCalls own_;
  std::unique_ptr<Resolver> resolver_;
  std::unordered_map<std::uint64_t, Entry> lines_;
  std::set<std::pair<Timestamp, std::uint64_t>> dues_;
  std::uint64_t last_accepted_ = 0;
  std::array<char, kScratchBytes> scratch_{};
  // Handlers that were posted watch it weakly: the wire may be gone when they come.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

Result<void> LoopWire::Impl::make_resolver() {
  POSTRIDER_TRY(resolver, Resolver::make(
                              loop_, {.servers = options_.name_servers}, options_.now,
                              [this](Resolver::Token token, const Addresses& addresses) {
                                Entry* const entry = find(LineId(token));
                                if (entry == nullptr || !entry->resolved) return;
                                std::exchange(entry->resolved, nullptr)(addresses);
                              },
                              [] {}));
  resolver_ = std::move(resolver);
  return {};
}

LoopWire::Impl::Entry* LoopWire::Impl::find(LineId line) {
  const auto found = lines_.find(line.value());
  return found == lines_.end() ? nullptr : &found->second;
}

// Its place is kept until it is told, unless its owner closes it first.
void LoopWire::Impl::refuse(LineId line, LineEnd end, std::string detail) {
  lines_[line.value()].line = nullptr;
  boost::asio::post(loop_,
                    [this, alive = std::weak_ptr(alive_), line, end, text = std::move(detail)] {
                      if (!alive.expired() && find(line) != nullptr) line_ended(line, end, text);
                    });
}

void LoopWire::Impl::open(LineId line, LineOrder order) {
  POSTRIDER_CHECK(line.is_set() && (line.value() & kAcceptedLine) == 0 && find(line) == nullptr);
  if (lines_.size() >= options_.limits.lines_max) {
    ++counts_.refused;
    return refuse(line, LineEnd::kFull, "as many lines are open as may be");
  }
  const auto address = parse_line_address(order.address);
  if (!address) return refuse(line, LineEnd::kBadAddress, address.error().detail);
  if (!order.group.empty())
    return refuse(line, LineEnd::kBadAddress, "multicast groups cannot be joined yet");
  if (!order.peer_key.empty() && order.peer_key.size() != kPeerKeyBytes)
    return refuse(line, LineEnd::kBadAddress, "the key of a far side has 32 bytes (SHA-256)");
  const bool stays_here = order.listens || address->kind == LineAddress::Kind::kUnix;
  if (order.foreign && stays_here && address->kind != LineAddress::Kind::kUdp)
    return refuse(line, LineEnd::kForbidden, "a foreign address names no place of this machine");
  switch (address->kind) {
    case LineAddress::Kind::kSocks5:
      return refuse(line, LineEnd::kBadAddress, "SOCKS5 proxies cannot be used yet");
    case LineAddress::Kind::kUdp: return open_datagrams(line, order, *address);
    case LineAddress::Kind::kTcp:
    case LineAddress::Kind::kUnix:
      if (order.listens) return open_listener(line, order, *address);
      return open_stream(line, order, *address);
  }
}

void LoopWire::Impl::open_listener(LineId line, const LineOrder& order,
                                   const LineAddress& address) {
  const bool by_file = address.kind == LineAddress::Kind::kUnix;
  if (!by_file && address.host.kind != HostKind::kAddress)
    return refuse(line, LineEnd::kBadAddress, "a listener has an address and no name");
  Entry entry;
  if (address.tls || !order.tls.empty()) {
    const auto identity = identity_of(order.tls);
    if (!identity) return refuse(line, LineEnd::kNoTls, identity.error().detail);
    auto context = listener_context(*identity, !order.peer_key.empty());
    if (!context) return refuse(line, LineEnd::kNoTls, context.error().detail);
    entry.tls = std::move(*context);
    entry.pinned = order.peer_key;
  }
  const auto listener = std::make_shared<ListenerLine>(loop_, line, *this);
  entry.line = listener;
  lines_[line.value()] = std::move(entry);
  if (by_file)
    return listener->listen(place_of_unix(address.path, address.abstract),
                            address.abstract ? "" : address.path);
  listener->listen(place_of({address.host.address, address.port}), {});
}

void LoopWire::Impl::open_datagrams(LineId line, const LineOrder& order,
                                    const LineAddress& address) {
  if (!order.tls.empty() || !order.peer_key.empty())
    return refuse(line, LineEnd::kNoTls, "datagrams have no TLS");
  const auto made = std::make_shared<DatagramLine>(loop_, line, *this, rules_, order.foreign);
  lines_[line.value()].line = made;
  if (order.listens) {
    if (address.host.kind != HostKind::kAddress)
      return made->fail(LineEnd::kBadAddress, "a listener has an address and no name");
    return made->listen(place_of({address.host.address, address.port}));
  }
  const auto then = [this, made, order, port = address.port](const Addresses& found) {
    Addresses addresses;
    if (may_go(*made, order, found, addresses)) made->connect(place_of({addresses[0], port}));
  };
  if (address.host.kind == HostKind::kAddress) return then({address.host.address});
  resolve(line, address.name, then);
}

void LoopWire::Impl::open_stream(LineId line, const LineOrder& order, const LineAddress& address) {
  const auto made = std::make_shared<StreamLine>(loop_, line, *this, rules_);
  lines_[line.value()].line = made;
  if (address.kind == LineAddress::Kind::kUnix || address.host.kind == HostKind::kAddress)
    return go_on(made, order, address, {address.host.address});
  resolve(line, address.name, [this, made, order, address](const Addresses& found) {
    go_on(made, order, address, found);
  });
}

void LoopWire::Impl::go_on(const std::shared_ptr<StreamLine>& stream, const LineOrder& order,
                           const LineAddress& address, const Addresses& found) {
  auto security = security_of(order, address);
  if (!security) return stream->fail(LineEnd::kNoTls, security.error().detail);
  if (address.kind == LineAddress::Kind::kUnix)
    return stream->connect({place_of_unix(address.path, address.abstract)}, std::move(*security));
  Addresses addresses;
  if (!may_go(*stream, order, found, addresses)) return;
  std::vector<SocketPlace> places;
  places.reserve(addresses.size());
  for (const IpAddress& one : addresses) places.push_back(place_of({one, address.port}));
  stream->connect(std::move(places), std::move(*security));
}

template <class Line>
bool LoopWire::Impl::may_go(Line& line, const LineOrder& order, const Addresses& found,
                            Addresses& out) {
  out = order.foreign ? permitted(reach_.guard, found, false) : found;
  if (!out.empty()) return true;
  if (found.empty()) {
    line.fail(LineEnd::kNoName, "the name has no address");
  } else {
    line.fail(LineEnd::kForbidden, "the address is private, and none of those that are allowed");
  }
  return false;
}

void LoopWire::Impl::resolve(LineId line, const std::string& name,
                             std::function<void(const Addresses&)> then) {
  const Resolver::Found found = resolver_->ask(name, line.value());
  switch (found.how) {
    case Resolver::Found::How::kKnown: return then(*found.addresses);
    case Resolver::Found::How::kHeldBack:
      return refuse(line, LineEnd::kNoName, "too many names wait to be asked for");
    case Resolver::Found::How::kLater: break;
  }
  find(line)->resolved = std::move(then);
  own_.note_due(now(), now());
}

Result<LineIdentity> LoopWire::Impl::identity_of(const std::string& name) {
  if (name.empty()) return fail(ErrorCode::kInvalid, "TLS for others needs a key and certificate");
  if (!options_.secret) return fail(ErrorCode::kInvalid, "there is no secret '" + name + "'");
  POSTRIDER_TRY(pem, options_.secret(name));
  return read_line_identity(pem);
}

Result<TlsContext> LoopWire::Impl::trust() {
  if (reach_.usual != nullptr) return reach_.usual;
  POSTRIDER_TRY(context, tls_context_of_file(""));
  reach_.usual = context;
  return reach_.usual;
}

Result<LineSecurity> LoopWire::Impl::security_of(const LineOrder& order,
                                                 const LineAddress& address) {
  if (!address.tls && order.tls.empty()) {
    if (!order.peer_key.empty())
      return fail(ErrorCode::kInvalid, "a key of the far side needs TLS");
    return LineSecurity{};
  }
  LineIdentity identity;
  if (!order.tls.empty()) {
    POSTRIDER_TRY(read, identity_of(order.tls));
    identity = std::move(read);
  }
  POSTRIDER_TRY(context, trust());
  const bool by_address = address.host.kind == HostKind::kAddress;
  const LinePeer peer{.name = by_address ? to_string(address.host.address) : address.name,
                      .is_address = by_address,
                      .pinned = order.peer_key};
  POSTRIDER_TRY(stream, call_by_tls(context, order.tls.empty() ? nullptr : &identity, peer));
  return LineSecurity{std::move(stream), order.peer_key};
}

void LoopWire::Impl::write(LineId line, std::string bytes, std::string_view to) {
  Entry* const entry = find(line);
  if (entry != nullptr && entry->line != nullptr && !entry->closed)
    entry->line->write(std::move(bytes), to);
}

void LoopWire::Impl::hold(LineId line, bool held) {
  Entry* const entry = find(line);
  if (entry != nullptr && entry->line != nullptr && !entry->closed) entry->line->hold(held);
}

void LoopWire::Impl::close(LineId line) {
  Entry* const entry = find(line);
  if (entry == nullptr || entry->closed) return;
  if (entry->line == nullptr || entry->line->close()) return line_gone(line);
  entry->closed = true;
}

void LoopWire::Impl::line_opened(LineId line, std::string peer) {
  Entry* const entry = find(line);
  if (entry == nullptr || entry->closed) return;
  entry->told = true;
  const LineId listener = entry->listener;
  tell_(station::LineOpened{line, listener, std::move(peer)});
}

void LoopWire::Impl::line_took(LineId line, std::string_view bytes, std::string_view from) {
  tell_(station::LineTook{line, bytes, from});
}

void LoopWire::Impl::line_drained(LineId line) { tell_(station::LineDrained{line}); }

// A far side that does not get through its handshake was never told of, so its end is not either.
void LoopWire::Impl::line_ended(LineId line, LineEnd end, std::string detail) {
  Entry* const entry = find(line);
  if (entry == nullptr) return;
  const bool unknown = entry->listener.is_set() && !entry->told;
  line_gone(line);
  if (!unknown) tell_(station::LineClosed{line, end, std::move(detail)});
}

void LoopWire::Impl::line_gone(LineId line) {
  line_due(line, Timestamp::never());
  lines_.erase(line.value());
}

void LoopWire::Impl::line_accepted(LineId listener, int descriptor, std::string peer) {
  if (lines_.size() >= options_.limits.lines_max) {
    ++counts_.refused;
    ::close(descriptor);
    return;
  }
  const Entry* const entry = find(listener);
  POSTRIDER_CHECK(entry != nullptr);
  LineSecurity security;
  if (entry->tls != nullptr) {
    auto tls = answer_by_tls(entry->tls);
    if (!tls) {
      ::close(descriptor);
      return;
    }
    security = {std::move(*tls), entry->pinned};
  }
  ++counts_.accepted;
  const LineId line(kAcceptedLine | ++last_accepted_);
  const auto made = std::make_shared<StreamLine>(loop_, line, *this, rules_);
  Entry& fresh = lines_[line.value()];
  fresh.line = made;
  fresh.listener = listener;
  made->adopt(descriptor, std::move(peer), std::move(security));
}

void LoopWire::Impl::line_due(LineId line, Timestamp at) {
  Entry* const entry = find(line);
  if (entry == nullptr || entry->due == at) return;
  dues_.erase({entry->due, line.value()});
  entry->due = at;
  if (at == Timestamp::never()) return;
  dues_.emplace(at, line.value());
  own_.note_due(now(), at);
}

void LoopWire::Impl::sweep() {
  resolver_->sweep();
  while (!dues_.empty() && dues_.begin()->first <= now()) {
    const LineId line(dues_.begin()->second);
    const std::shared_ptr<WireLine> due = lines_.at(line.value()).line;
    line_due(line, Timestamp::never());
    due->time_out();
  }
  if (dues_.empty() && !resolver_->busy()) return;
  own_.sweep_again(now(), dues_.empty() ? Timestamp::never() : dues_.begin()->first,
                   resolver_->busy());
}

Result<std::unique_ptr<LoopWire>> LoopWire::make(boost::asio::io_context& loop,
                                                 LoopWireOptions options, Tell tell) {
  if (auto good = check_counts({{options.limits.lines_max, "lines_max"}}); !good)
    return fail(good.error().code, good.error().detail);
  if (auto good = check_spans({{options.connect_time_out, "connect_time_out"},
                               {options.tls_time_out, "tls_time_out"},
                               {options.linger, "linger"}});
      !good)
    return fail(good.error().code, good.error().detail);
  POSTRIDER_TRY(reach, make_reach(options.allow, options.trust_file));
  if (!options.now) options.now = steady_now;
  auto impl = std::make_unique<Impl>(loop, std::move(options), std::move(reach), std::move(tell));
  if (auto made = impl->make_resolver(); !made) return fail(made.error().code, made.error().detail);
  return std::unique_ptr<LoopWire>(new LoopWire(std::move(impl)));
}

LoopWire::LoopWire(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LoopWire::~LoopWire() = default;
void LoopWire::open(LineId line, LineOrder order) { impl_->open(line, std::move(order)); }
void LoopWire::write(LineId line, std::string bytes, std::string_view to) {
  impl_->write(line, std::move(bytes), to);
}
void LoopWire::hold(LineId line, bool held) { impl_->hold(line, held); }
void LoopWire::close(LineId line) { impl_->close(line); }
std::size_t LoopWire::lines() const { return impl_->lines(); }
LoopWireCounts LoopWire::counts() const { return impl_->counts_; }
void LoopWire::sweep() { impl_->sweep(); }

}  // namespace postrider
