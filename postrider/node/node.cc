#include "postrider/node/node.h"

#include <algorithm>
#include <sys/random.h>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/model/records/keys.h"
#include "postrider/model/records/records.h"
#include "postrider/profiles/all.h"
#include "postrider/profiles/all_work.h"
#include "postrider/runtime/first_transport.h"
#include "postrider/runtime/reclaimer.h"
#include "postrider/runtime/reserve.h"
#include "postrider/runtime/switch_transport.h"
#include "postrider/runtime/system_entropy.h"
#include "postrider/shard/limits.h"
#include "postrider/stores/rocks/rocks_store.h"
#include "postrider/transports/discovery/discovery_transport.h"
#include "postrider/transports/login/login_transport.h"
#include "postrider/transports/work/work_transport.h"

namespace postrider {
namespace {

// Whose share of the door the brokers use. No token can have it, for it is no name of a tenant.
constexpr std::string_view kBrokerTenant = "(brokers)";

// Reads the key of ids from the store, or draws one for a store that holds nothing yet; the first
// commit writes it. Records without a meta record are damage: under a new key every message of
// theirs would have another name.
Result<IdKey> id_key_of(BlockingStore& store) {
  const Scan first{.first = "", .last = "\xFF", .limit = 1};
  POSTRIDER_TRY(found, store.read({.keys = {keys::meta()}, .scans = {first}}));
  const std::optional<Blob>* const meta = found.get(keys::meta());
  if (meta != nullptr && meta->has_value()) {
    POSTRIDER_TRY(decoded, decode_meta((*meta)->view()));
    return id_key_of(decoded);
  }
  if (const Rows* rows = found.scan(first); rows != nullptr && !rows->rows.empty())
    return fail(ErrorCode::kCorrupt, "the store has records, but its meta record is gone");
  IdKey key{};
  if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size()))
    return fail(ErrorCode::kUnavailable, "the system gives no random bytes for the key of ids");
  return key;
}

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  // So few bytes come whole or, before the machine has any, not at all: then zero is a seed, too.
  if (::getrandom(&seed, sizeof seed, 0) < 0) seed = 0;
  return seed;
}

// Bounds on connections are those of the whole process, so each loop gets its part.
HttpTransportOptions http_part(const NodeOptions& options) {
  HttpTransportOptions part = options.transport;
  const std::uint32_t loops = std::max(options.transport_loops, 1U);
  part.connections_max = std::max(part.connections_max / loops, 1U);
  part.idle_connections_max /= loops;
  part.waiting_max = std::max(part.waiting_max / loops, 1U);
  return part;
}

GrpcTransportOptions grpc_part(const NodeOptions& options) {
  GrpcTransportOptions part = with_shared(options.grpc, options.transport);
  const std::uint32_t loops = std::max(options.transport_loops, 1U);
  part.connections_max = std::max(part.connections_max / loops, 1U);
  part.waiting_max = std::max(part.waiting_max / loops, 1U);
  return part;
}

Reserve reserve_of(const NodeOptions& options) {
  return {options.store.directory + "/RESERVE", options.reserve_bytes};
}

// The one place that names the database.
Result<std::unique_ptr<EmbeddedStore>> open_usual_store(const StoreOptions& options) {
  POSTRIDER_TRY(store, RocksStore::open(options));
  return std::unique_ptr<EmbeddedStore>(std::move(store));
}

// Opening writes what the logs hold into tables: the reserve is for that, too.
Result<std::unique_ptr<EmbeddedStore>> open_store(const NodeOptions& options) {
  const OpenStore open = options.open_store ? options.open_store : open_usual_store;
  auto store = open(options.store);
  const bool full = !store && store.error().code == ErrorCode::kLimit;
  if (!full || !reserve_of(options).give()) return store;
  return open(options.store);
}

DiscoveryOptions discovery_part(const NodeOptions& options, const Clock& clock) {
  const HttpTransportOptions& shared = options.transport;
  DiscoveryOptions part;
  part.srv.ares = {.servers = shared.name_servers,
                   .ask_time_out = shared.name_time_out,
                   .asks_max = shared.name_asks_max};
  part.srv.ttl_max = shared.name_ttl_max;
  part.seed = static_cast<std::uint64_t>(clock.read().wall.ms());
  return part;
}

// The ways out of one loop. What HTTP ends is looked at by those that stand in front of it, one
// behind the other.
Node::MakeTransport usual_maker(const NodeOptions& options, const Clock& clock) {
  return [http_options = http_part(options), grpc_options = grpc_part(options),
          discovery_options = discovery_part(options, clock),
          &clock](boost::asio::io_context& loop,
                  Node::Ended ended) -> Result<std::unique_ptr<Transport>> {
    auto login = std::make_unique<LoginTransport>(clock, LoginTransportOptions{}, ended);
    POSTRIDER_TRY(discovery,
                  DiscoveryTransport::make(loop, clock, discovery_options,
                                           [it = login.get()](AttemptId attempt, WireReply reply) {
                                             it->inner_ended(attempt, std::move(reply));
                                           }));
    POSTRIDER_TRY(http,
                  HttpTransport::make(loop, http_options,
                                      [it = discovery.get()](AttemptId attempt, WireReply reply) {
                                        it->inner_ended(attempt, std::move(reply));
                                      }));
    POSTRIDER_TRY(grpc, GrpcTransport::make(loop, grpc_options, ended));
    POSTRIDER_TRY(work, WorkTransport::make(loop, WorkTransportOptions{}, all_work(),
                                            std::move(ended)));
    login->over(*http);
    discovery->over(*http);
    auto ways = std::make_unique<SwitchTransport>(std::move(http));
    ways->add_login(std::move(login));
    ways->add_scheme("matrix://", std::move(discovery));
    ways->add("CALL", std::move(grpc));
    ways->add(std::string(kWorkVerb), std::move(work));
    return std::unique_ptr<Transport>(std::move(ways));
  };
}

}  // namespace

GrpcTransportOptions with_shared(GrpcTransportOptions options, const HttpTransportOptions& shared) {
  options.waiting_max = shared.waiting_max;
  options.descriptors_max = shared.descriptors_max;
  options.connect_time_out = shared.connect_time_out;
  options.tls_time_out = shared.tls_time_out;
  options.call_time_out_max = shared.exchange_time_out_max;
  options.reply_head_bytes_max = shared.reply_head_bytes_max;
  options.allow = shared.allow;
  options.name_servers = shared.name_servers;
  options.name_time_out = shared.name_time_out;
  options.addresses_max = shared.addresses_max;
  options.held_back_after = shared.held_back_after;
  options.names_max = shared.names_max;
  options.names_asking_max = shared.names_asking_max;
  options.name_asks_max = shared.name_asks_max;
  options.name_ttl_max = shared.name_ttl_max;
  options.name_negative_ttl = shared.name_negative_ttl;
  options.name_patience = shared.name_patience;
  options.name_stale_max = shared.name_stale_max;
  options.name_silence_min = shared.name_silence_min;
  options.name_silence_max = shared.name_silence_max;
  options.trust_file = shared.trust_file;
  return options;
}

MqttTransportOptions with_shared(MqttTransportOptions options, const HttpTransportOptions& shared) {
  options.allow = shared.allow;
  options.name_servers = shared.name_servers;
  if (options.trust_file.empty()) options.trust_file = shared.trust_file;
  return options;
}

class Node::Impl {
 public:
  Impl(std::unique_ptr<EmbeddedStore> store, const NodeOptions& options, const Clock& clock)
      : id_key_(options.host.shard.engine.id_key),
        clock_(clock),
        free_bytes_min_(options.free_bytes_min),
        reserve_(reserve_of(options)),
        store_(std::move(store)),
        reclaimer_([this] { return store_->reclaim(); }, [this] { store_->end_reclaim(); }),
        loop_(clock),
        committer_(*store_, [this] { loop_.wake(); }) {}

  Result<void> make_transport(const NodeOptions& options, const MakeTransport& make);
  Result<void> make_brokers(const NodeOptions& options, const Ended& ended);
  Result<void> start(HostOptions host_options, const Clock& clock);
  Result<void> seat_stations(const NodeOptions& options);
  bool look_at_space();
  Host& host(std::uint32_t shard) {
    POSTRIDER_CHECK(shard < hosts_.size());
    return *hosts_[shard];
  }

  IdKey id_key_;
  const Clock& clock_;
  std::uint64_t free_bytes_min_;
  Reserve reserve_;
  std::unique_ptr<EmbeddedStore> store_;
  Reclaimer reclaimer_;
  Loop loop_;
  Committer committer_;
  std::unique_ptr<Transport> transport_;
  SpreadTransport* spread_ = nullptr;         // the part of it that has loops of its own
  const Brokers* brokers_ = nullptr;          // the part of it that speaks MQTT
  std::shared_ptr<const Secrets> secrets_;    // shared with the engine
  std::unique_ptr<LoopWire> wire_;            // null: there is no station
  std::vector<std::unique_ptr<Host>> hosts_;  // by the number of their shard
  std::function<void()> hook_;
  bool has_space_ = true;
};

Result<void> Node::Impl::make_transport(const NodeOptions& options, const MakeTransport& make) {
  Ended ended = [this](AttemptId attempt, WireReply reply) {
    host(0).attempt_ended(attempt, std::move(reply));
  };
  // Only what goes to a broker has a question before it.
  std::unique_ptr<FirstTransport> first;
  if (!options.brokers.empty()) {
    first = std::make_unique<FirstTransport>(std::move(ended));
    ended = [it = first.get()](AttemptId attempt, WireReply reply) {
      it->inner_ended(attempt, std::move(reply));
    };
  }
  if (options.transport_loops == 0) {
    POSTRIDER_TRY(made, make(loop_.context(), ended));
    transport_ = std::move(made);
  } else {
    POSTRIDER_TRY(made, SpreadTransport::make(options.transport_loops, make, ended,
                                              [this] { loop_.wake(); }));
    spread_ = made.get();
    transport_ = std::move(made);
  }
  if (first == nullptr) return {};
  if (const auto made = make_brokers(options, ended); !made) return made;
  first->over(std::move(transport_));
  transport_ = std::move(first);
  return {};
}

Result<void> Node::Impl::make_brokers(const NodeOptions& options, const Ended& ended) {
  std::vector<BrokerOptions> all = options.brokers;
  for (BrokerOptions& broker : all)
    broker.mqtt = with_shared(std::move(broker.mqtt), options.transport);
  Brokers::Hooks hooks;
  hooks.ended = ended;
  hooks.post = [this](Arrived arrived, Host::Done done) {
    return host(0).post(kBrokerTenant, std::move(arrived), std::move(done)) == Door::kOpen;
  };
  hooks.arrival = options.arrival;
  if (!hooks.arrival)
    hooks.arrival = [](const BrokerEvent& /*event*/) -> Result<Arrived> {
      return fail(ErrorCode::kNotFound, "no profile reads it");
    };
  POSTRIDER_TRY(made, Brokers::make(loop_.context(), std::move(all), std::move(hooks)));
  brokers_ = made.get();
  auto ways = std::make_unique<SwitchTransport>(std::move(transport_));
  ways->add("PUBLISH", std::move(made));
  transport_ = std::move(ways);
  return {};
}

Result<void> Node::Impl::start(HostOptions host_options, const Clock& clock) {
  EngineOptions& engine = host_options.shard.engine;
  if (engine.profiles.empty()) engine.profiles = all_profiles();
  if (engine.seed == 0) engine.seed = random_seed();
  hosts_.push_back(std::make_unique<Host>(std::move(host_options), committer_, *transport_, clock,
                                          [this] { loop_.wake(); }));
  if (host(0).state() == Host::State::kStopped)
    return fail(ErrorCode::kUnavailable, host(0).failure());
  loop_.drive(host(0), [this] {
    committer_.poll();
    if (spread_ != nullptr) spread_->poll();
    if (hook_) hook_();
  });
  look_at_space();
  return {};
}

// Before the first turn. The wire goes where HTTP may go, and finds names as it does.
Result<void> Node::Impl::seat_stations(const NodeOptions& options) {
  secrets_ = options.host.shard.engine.secrets;
  if (options.stations.empty()) return {};
  const auto given = options.host.shard.engine.profiles;
  const auto profiles = given.empty() ? all_profiles() : given;
  std::vector<std::unique_ptr<Station>> stations;
  const Secrets none;
  for (const auto& [name, settings] : options.stations) {
    const auto found = std::find_if(profiles.begin(), profiles.end(),
                                    [&](const ProfileSpec* one) { return one->name == name; });
    if (found == profiles.end() || (*found)->make_station == nullptr)
      return fail(ErrorCode::kInvalid, "there is no profile '" + name + "' with a station");
    auto station = (*found)->make_station(settings, secrets_ ? *secrets_ : none);
    if (!station)
      return fail(station.error().code, "stations." + name + ": " + station.error().detail);
    stations.push_back(std::move(*station));
  }
  LoopWireOptions wire;
  wire.limits = options.host.stations.lines;
  wire.connect_time_out = options.transport.connect_time_out;
  wire.tls_time_out = options.transport.tls_time_out;
  wire.allow = options.transport.allow;
  wire.name_servers = options.transport.name_servers;
  wire.trust_file = options.transport.trust_file;
  wire.secret = [this](std::string_view name) -> Result<std::string> {
    const std::string_view bytes = secrets_ ? secrets_->find(name) : std::string_view();
    if (bytes.empty())
      return fail(ErrorCode::kNotFound, "there is no secret '" + std::string(name) + "'");
    return std::string(bytes);
  };
  POSTRIDER_TRY(
      made, LoopWire::make(loop_.context(), std::move(wire),
                           [this](const station::Happened& happened) { host(0).line(happened); }));
  wire_ = std::move(made);
  host(0).seat(std::move(stations), *wire_);
  return {};
}

bool Node::Impl::look_at_space() {
  const auto bytes = store_->free_bytes();
  // Once too little, an eighth more is asked for, so that the door does not flutter.
  const std::uint64_t wanted = has_space_ ? free_bytes_min_ : free_bytes_min_ + free_bytes_min_ / 8;
  has_space_ = bytes.has_value() && *bytes >= wanted;
  if (host(0).state() == Host::State::kRestarting) {
    static_cast<void>(reserve_.give());  // the disk is full: room for the ends of what we have
  } else if (has_space_ && !reserve_.is_held() && *bytes >= wanted + reserve_.bytes()) {
    static_cast<void>(reserve_.hold());  // if not now, then the next time
  }
  static_cast<void>(reclaimer_.look(has_space_, clock_.read().boot));
  host(0).set_space(has_space_);
  return has_space_;
}

Result<std::unique_ptr<Node>> Node::open(NodeOptions options, const Clock& clock,
                                         MakeTransport make) {
  if (const auto legal = check_limits(options.host.shard); !legal)
    return tl::unexpected<Error>(legal.error());
  POSTRIDER_TRY(store, open_store(options));
  const Result<IdKey> id_key = id_key_of(*store);
  if (!id_key) {
    const bool damaged = id_key.error().code == ErrorCode::kCorrupt;
    return fail(id_key.error().code, options.store.directory + ": " + id_key.error().detail +
                                         (damaged ? "; restore it from a backup" : ""));
  }
  options.host.shard.engine.id_key = *id_key;
  options.host.shard.seeds = system_entropy;
  auto impl = std::make_unique<Impl>(std::move(store), options, clock);
  if (!make) make = usual_maker(options, clock);
  if (const auto made = impl->make_transport(options, make); !made)
    return tl::unexpected<Error>(made.error());
  if (const auto started = impl->start(options.host, clock); !started)
    return tl::unexpected<Error>(started.error());
  if (const auto seated = impl->seat_stations(options); !seated)
    return tl::unexpected<Error>(seated.error());
  return std::unique_ptr<Node>(new Node(std::move(impl)));
}

Node::Node(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Node::~Node() = default;
Loop& Node::loop() { return impl_->loop_; }
Host& Node::host(std::uint32_t shard) { return impl_->host(shard); }
EmbeddedStore& Node::store() { return *impl_->store_; }
Committer& Node::committer() { return impl_->committer_; }
const Transport& Node::transport() const { return *impl_->transport_; }
const Brokers* Node::brokers() const { return impl_->brokers_; }
const LoopWire* Node::wire() const { return impl_->wire_.get(); }
void Node::set_secrets(std::shared_ptr<const Secrets> secrets) {
  impl_->secrets_ = secrets;
  host().set_secrets(std::move(secrets));
}
const IdKey& Node::id_key() const { return impl_->id_key_; }
void Node::before_turn(std::function<void()> hook) { impl_->hook_ = std::move(hook); }
bool Node::look_at_space() { return impl_->look_at_space(); }

Result<void> Node::close() {
  impl_->committer_.stop();
  impl_->committer_.poll();
  return impl_->store_->close();
}

}  // namespace postrider
