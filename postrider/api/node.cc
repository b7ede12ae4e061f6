#include "postrider/api/node.h"

#include <algorithm>
#include <sys/random.h>
#include <utility>

#include "postrider/profiles/all.h"
#include "postrider/runtime/reserve.h"

namespace postrider {
namespace {

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  // So few bytes come whole or, before the machine has any, not at all: then zero is a seed, too.
  if (::getrandom(&seed, sizeof seed, 0) < 0) seed = 0;
  return seed;
}

// Bounds on connections are those of the whole process, so each loop gets its part.
Node::MakeTransport http_maker(const NodeOptions& options) {
  HttpTransportOptions part = options.transport;
  const std::uint32_t loops = std::max(options.transport_loops, 1U);
  part.connections_max = std::max(part.connections_max / loops, 1U);
  part.idle_connections_max /= loops;
  part.waiting_max = std::max(part.waiting_max / loops, 1U);
  return [part](boost::asio::io_context& loop,
                Node::Ended ended) -> Result<std::unique_ptr<Transport>> {
    POSTRIDER_TRY(made, HttpTransport::make(loop, part, std::move(ended)));
    return std::unique_ptr<Transport>(std::move(made));
  };
}

}  // namespace

class Node::Impl {
 public:
  Impl(std::unique_ptr<RocksStore> store, const NodeOptions& options, const Clock& clock)
      : free_bytes_min_(options.free_bytes_min),
        reserve_(options.store.directory + "/RESERVE", options.reserve_bytes),
        store_(std::move(store)),
        loop_(clock),
        committer_(*store_, [this] { loop_.wake(); }) {}

  Result<void> make_transport(std::uint32_t loops, const MakeTransport& make);
  Result<void> start(HostOptions host, const Clock& clock);
  bool look_at_space();

  std::uint64_t free_bytes_min_;
  Reserve reserve_;
  std::unique_ptr<RocksStore> store_;
  Loop loop_;
  Committer committer_;
  std::unique_ptr<Transport> transport_;
  SpreadTransport* spread_ = nullptr;  // the same, when it has loops of its own
  std::unique_ptr<Host> host_;
  std::function<void()> hook_;
  bool has_space_ = true;
};

Result<void> Node::Impl::make_transport(std::uint32_t loops, const MakeTransport& make) {
  const Ended ended = [this](AttemptId attempt, WireReply reply) {
    host_->attempt_ended(attempt, std::move(reply));
  };
  if (loops == 0) {
    POSTRIDER_TRY(made, make(loop_.context(), ended));
    transport_ = std::move(made);
    return {};
  }
  POSTRIDER_TRY(made, SpreadTransport::make(loops, make, ended, [this] { loop_.wake(); }));
  spread_ = made.get();
  transport_ = std::move(made);
  return {};
}

Result<void> Node::Impl::start(HostOptions host, const Clock& clock) {
  if (host.shard.engine.profiles.empty()) host.shard.engine.profiles = all_profiles();
  if (host.shard.engine.seed == 0) host.shard.engine.seed = random_seed();
  host_ = std::make_unique<Host>(std::move(host), committer_, *transport_, clock,
                                 [this] { loop_.wake(); });
  if (host_->state() == Host::State::kStopped)
    return fail(ErrorCode::kUnavailable, host_->failure());
  loop_.drive(*host_, [this] {
    committer_.poll();
    if (spread_ != nullptr) spread_->poll();
    if (hook_) hook_();
  });
  look_at_space();
  return {};
}

bool Node::Impl::look_at_space() {
  const auto bytes = store_->free_bytes();
  // Once too little, an eighth more is asked for, so that the door does not flutter.
  const std::uint64_t wanted = has_space_ ? free_bytes_min_ : free_bytes_min_ + free_bytes_min_ / 8;
  has_space_ = bytes.has_value() && *bytes >= wanted;
  if (host_->state() == Host::State::kRestarting) {
    reserve_.give();  // the disk is full: the room is for the ends of what we have
  } else if (has_space_ && !reserve_.is_held() && *bytes >= wanted + reserve_.bytes()) {
    static_cast<void>(reserve_.hold());  // if not now, then the next time
  }
  host_->set_space(has_space_);
  return has_space_;
}

Result<std::unique_ptr<Node>> Node::open(NodeOptions options, const Clock& clock,
                                         MakeTransport make) {
  POSTRIDER_TRY(store, RocksStore::open(options.store));
  auto impl = std::make_unique<Impl>(std::move(store), options, clock);
  if (!make) make = http_maker(options);
  if (const auto made = impl->make_transport(options.transport_loops, make); !made)
    return tl::unexpected<Error>(made.error());
  if (const auto started = impl->start(std::move(options.host), clock); !started)
    return tl::unexpected<Error>(started.error());
  return std::unique_ptr<Node>(new Node(std::move(impl)));
}

Node::Node(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Node::~Node() = default;
Loop& Node::loop() { return impl_->loop_; }
Host& Node::host() { return *impl_->host_; }
RocksStore& Node::store() { return *impl_->store_; }
Committer& Node::committer() { return impl_->committer_; }
const Transport& Node::transport() const { return *impl_->transport_; }
void Node::before_turn(std::function<void()> hook) { impl_->hook_ = std::move(hook); }
bool Node::look_at_space() { return impl_->look_at_space(); }

Result<void> Node::close() {
  impl_->committer_.stop();
  impl_->committer_.poll();
  return impl_->store_->close();
}

}  // namespace postrider
