#include "postrider/transports/mqtt/mqtt_transport.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mosquitto.h>

#include "postrider/base/check.h"
#include "postrider/transports/mqtt/mqtt_link.h"
#include "postrider/transports/net/own_calls.h"
#include "postrider/transports/net/resolver.h"
#include "postrider/transports/net/wire_options.h"

namespace postrider {
namespace {

namespace asio = boost::asio;

constexpr Duration kSweep{100};                // one connection, so a fine sweep costs nothing
constexpr std::size_t kClientIdBytesMax = 64;  // brokers must take 23, and take more
constexpr std::size_t kTopicBytesMax = 65'535;

bool is_topic(const std::string& topic) {
  return !topic.empty() && topic.size() <= kTopicBytesMax &&
         topic.find('\0') == std::string::npos &&
         mosquitto_pub_topic_check(topic.c_str()) == MOSQ_ERR_SUCCESS &&
         mosquitto_validate_utf8(topic.c_str(), static_cast<int>(topic.size())) == MOSQ_ERR_SUCCESS;
}

Result<TlsContext> tls_of(const MqttTransportOptions& options, const HostReading& host) {
  auto context = options.trust.empty() ? tls_context_of_file(options.trust_file)
                                       : tls_context_of_pem(options.trust);
  if (!context) return fail(context.error().code, "trust: " + context.error().detail);
  const bool is_address = host.kind == HostKind::kAddress;
  std::string name = is_address ? to_string(host.address) : options.host;
  if (name.ends_with('.')) name.pop_back();  // certificates do not have it
  if (const auto bound = bind_tls_context(*context, name, is_address); !bound)
    return tl::unexpected(bound.error());
  return std::move(*context);
}

}  // namespace

Result<void> check_mqtt_options(const MqttTransportOptions& options) {
  const auto bad = [](const std::string& what) { return fail(ErrorCode::kInvalid, what); };
  if (read_host(options.host).kind == HostKind::kNonsense)
    return bad("host: '" + options.host + "' is none");
  if (options.port == 0) return bad("port must not be 0");
  const std::size_t size = options.client_id.size();
  if (size == 0 || size > kClientIdBytesMax) return bad("client_id must have 1 to 64 bytes");
  for (const std::string& filter : options.subscriptions) {
    if (filter.find('\0') != std::string::npos ||
        mosquitto_sub_topic_check(filter.c_str()) != MOSQ_ERR_SUCCESS)
      return bad("subscriptions: '" + filter + "' is no filter");
  }
  const auto counts =
      check_counts({{options.publishes_max, "publishes_max"}, {options.events_max, "events_max"}});
  if (!counts) return counts;
  if (options.publishes_max > 65'535) return bad("publishes_max must be at most 65535");
  const auto spans = check_spans({{options.connect_time_out, "connect_time_out"},
                                  {options.publish_time_out_max, "publish_time_out_max"},
                                  {options.back_off_min, "back_off_min"}});
  if (!spans) return spans;
  if (options.keep_alive < 5s || options.keep_alive > 65'535s)
    return bad("keep_alive must be 5 s to 65535 s");
  if (options.back_off_max < options.back_off_min) return bad("back_off_max is below back_off_min");
  return {};
}

class MqttTransport::Impl final : public MqttLinkUser,
                                  public std::enable_shared_from_this<MqttTransport::Impl> {
 public:
  Impl(asio::io_context& loop, MqttTransportOptions options, Ended ended, Arrived arrived)
      : loop_(loop),
        options_(std::move(options)),
        ended_(std::move(ended)),
        arrived_(std::move(arrived)),
        timer_(loop) {
    if (!options_.now) options_.now = steady_now;
  }
  Result<void> open();

  void start(AttemptId attempt, const WireRequest& request);
  void abort(AttemptId attempt);
  std::size_t connections() const { return link_ == nullptr ? 0 : 1; }
  bool ready() const { return state_ == State::kReady; }
  const std::string& problem() const { return problem_; }
  MqttTransportCounts counts() const { return counts_; }
  void sweep();
  void close();

  // MqttLinkUser
  void link_ready() override;
  void link_arrived() override;
  void link_published(std::vector<int> ids) override;
  void link_lost(std::string why) override;

 private:
  enum class State : std::uint8_t { kBackingOff, kResolving, kConnecting, kReady, kClosed };
  struct Publish {
    AttemptId attempt;
    Timestamp due;
    std::uint64_t writes = 0;  // of the link, when it was given to it
    bool wanted = true;        // false: aborted, or has timed out
  };
  struct Told {
    AttemptId attempt;
    WireReply reply;
  };

  std::optional<WireEnd> begin(AttemptId attempt, const WireRequest& request);
  void connect();
  void resolved(const Addresses& addresses);
  void back_off(std::string why);
  void tell(AttemptId attempt, WireEnd end);
  void tell_soon();
  void flush();
  void drop_link();
  void settled(std::uint64_t round, bool durable);
  void arm();

  asio::io_context& loop_;
  MqttTransportOptions options_;
  Ended ended_;
  Arrived arrived_;
  std::optional<AddressGuard> guard_;
  std::unique_ptr<Resolver> resolver_;
  asio::steady_timer timer_;
  HostReading host_;
  MqttLinkSettings link_settings_;
  std::unique_ptr<MqttLink> link_;
  State state_ = State::kBackingOff;
  std::string problem_ = "not connected yet";
  Timestamp state_due_;  // of backing off and of connecting
  Duration delay_{0};
  std::size_t next_address_ = 0;
  std::uint64_t asked_ = 0;
  Timestamp tended_;
  bool telling_ = false;
  bool tell_posted_ = false;
  // Events handed up together. A round ends when all its events are durable, or with its link.
  std::uint64_t round_ = 0;
  std::size_t undurable_ = 0;
  bool all_durable_ = true;
  bool handing_up_ = false;
  MqttTransportCounts counts_;
  std::unordered_map<int, Publish> publishes_;  // by the id of the link
  std::vector<Told> told_;
};

Result<void> MqttTransport::Impl::open() {
  POSTRIDER_TRY(reach, make_reach(options_.allow, ""));  // TLS is a context of its own
  guard_ = std::move(reach.guard);
  host_ = read_host(options_.host);
  link_settings_ = {.client_id = options_.client_id,
                    .user = options_.user,
                    .password = options_.password,
                    .keep_alive_seconds = static_cast<int>(options_.keep_alive / 1s),
                    .subscriptions = options_.subscriptions,
                    .events_max = options_.events_max};
  if (options_.tls) {
    POSTRIDER_TRY(context, tls_of(options_, host_));
    link_settings_.tls = context;
  }
  ResolverOptions resolving;
  resolving.servers = options_.name_servers;
  auto resolver = Resolver::make(
      loop_, resolving, options_.now,
      [this](Resolver::Token token, const Addresses& addresses) {
        if (state_ == State::kResolving && token == asked_) resolved(addresses);
      },
      [this] { flush(); });
  if (!resolver) return tl::unexpected(resolver.error());
  resolver_ = std::move(*resolver);
  asio::post(loop_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->sweep();
  });
  return {};
}

void MqttTransport::Impl::connect() {
  state_due_ = options_.now() + options_.connect_time_out;
  if (host_.kind == HostKind::kAddress) return resolved({host_.address});
  state_ = State::kResolving;
  const Resolver::Found found = resolver_->ask(options_.host, ++asked_);
  if (found.how == Resolver::Found::How::kKnown) resolved(*found.addresses);
}

// Each connection goes to the next address.
void MqttTransport::Impl::resolved(const Addresses& addresses) {
  if (addresses.empty()) return back_off("the broker's name does not resolve");
  const Addresses usable = permitted(*guard_, addresses, false);
  if (usable.empty()) return back_off("the broker's address is not allowed");
  const IpAddress& address = usable[next_address_++ % usable.size()];
  state_ = State::kConnecting;
  ++counts_.connects;
  link_ = std::make_unique<MqttLink>(loop_, link_settings_, *this);
  const auto begun = link_->connect(to_string(address), options_.port);
  if (!begun) back_off(begun.error().detail);
}

void MqttTransport::Impl::drop_link() {
  link_.reset();
  ++round_;
  undurable_ = 0;
}

void MqttTransport::Impl::back_off(std::string why) {
  drop_link();
  state_ = State::kBackingOff;
  problem_ = std::move(why);
  delay_ = std::clamp(delay_ * 2, options_.back_off_min, options_.back_off_max);
  state_due_ = options_.now() + delay_;
}

void MqttTransport::Impl::link_ready() {
  state_ = State::kReady;
  state_due_ = Timestamp::never();
  delay_ = Duration(0);
  problem_.clear();
}

void MqttTransport::Impl::link_lost(std::string why) {
  for (const auto& [id, publish] : publishes_) {
    if (!publish.wanted) continue;
    tell(publish.attempt, link_->has_left(publish.writes) ? WireEnd::kReset : WireEnd::kRefused);
  }
  publishes_.clear();
  back_off(std::move(why));
  flush();
}

void MqttTransport::Impl::link_published(std::vector<int> ids) {
  for (const int id : ids) {
    const auto found = publishes_.find(id);
    if (found == publishes_.end()) continue;
    ++counts_.published;
    if (found->second.wanted) tell(found->second.attempt, WireEnd::kAnswered);
    publishes_.erase(found);
  }
  flush();
}

void MqttTransport::Impl::link_arrived() {
  const std::vector<MqttEvent> events = link_->take_events();
  const std::uint64_t round = ++round_;
  undurable_ = events.size();
  all_durable_ = true;
  handing_up_ = true;  // the round does not end under our feet
  for (const MqttEvent& event : events) {
    if (round_ != round) break;
    if (event.bytes.size() > options_.event_bytes_max) {
      ++counts_.oversized;
      settled(round, true);
      continue;
    }
    ++counts_.events;
    arrived_(event.topic, event.bytes,
             [weak = weak_from_this(), round, told = false](bool durable) mutable {
               const auto self = weak.lock();
               if (self == nullptr || std::exchange(told, true)) return;
               self->settled(round, durable);
             });
  }
  handing_up_ = false;
  if (round_ == round && undurable_ == 0) settled(round, true);
}

void MqttTransport::Impl::settled(std::uint64_t round, bool durable) {
  if (round != round_ || link_ == nullptr) return;  // of a link that is no more
  all_durable_ = all_durable_ && durable;
  if (undurable_ > 0) --undurable_;
  if (undurable_ > 0 || handing_up_) return;
  ++round_;
  if (all_durable_) return link_->release();
  link_lost("an event could not be stored");
}

// An end when it cannot be published.
std::optional<WireEnd> MqttTransport::Impl::begin(AttemptId attempt, const WireRequest& request) {
  if (!is_topic(request.target)) return WireEnd::kNoName;
  if (request.body.size() > options_.publish_bytes_max) return WireEnd::kForbidden;
  const bool room = publishes_.size() < options_.publishes_max;
  if (state_ != State::kReady || !room) return WireEnd::kRefused;
  const auto id = link_->publish(request.target, request.body);
  if (!id) return WireEnd::kRefused;
  const Duration most = options_.publish_time_out_max;
  const Duration given = request.time_out.count() > 0 ? std::min(request.time_out, most) : most;
  publishes_[*id] = {attempt, options_.now() + given, link_->writes()};
  return std::nullopt;
}

// The library copies what it is given.
void MqttTransport::Impl::start(AttemptId attempt, const WireRequest& request) {
  if (state_ == State::kClosed) return;
  if (const auto end = begin(attempt, request)) tell(attempt, *end);
  tell_soon();
}

void MqttTransport::Impl::abort(AttemptId attempt) {
  for (auto& [id, publish] : publishes_) {
    if (publish.attempt == attempt) publish.wanted = false;
  }
  std::erase_if(told_, [&](const Told& told) { return told.attempt == attempt; });
}

void MqttTransport::Impl::tell(AttemptId attempt, WireEnd end) {
  WireReply reply;
  reply.end = end;
  told_.push_back({attempt, std::move(reply)});
}

void MqttTransport::Impl::tell_soon() {
  if (told_.empty() || telling_ || tell_posted_) return;
  tell_posted_ = true;
  asio::post(loop_, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->tell_posted_ = false;
    self->flush();
  });
}

// Tells all that has ended, outside of everything else: whoever is told may call us again.
void MqttTransport::Impl::flush() {
  if (telling_) return;
  telling_ = true;
  while (!told_.empty() && state_ != State::kClosed) {
    Told told = std::move(told_.front());
    told_.erase(told_.begin());
    ended_(told.attempt, std::move(told.reply));
  }
  telling_ = false;
}

void MqttTransport::Impl::sweep() {
  if (state_ == State::kClosed) return;
  const Timestamp now = options_.now();
  resolver_->sweep();
  if (state_ == State::kClosed) return;
  if (state_due_ <= now) {
    if (state_ == State::kBackingOff) {
      connect();
    } else {
      back_off("the broker does not answer");
    }
  }
  for (auto& [id, publish] : publishes_) {
    if (!publish.wanted || publish.due > now) continue;
    publish.wanted = false;  // the broker may still have it, or get it
    tell(publish.attempt, WireEnd::kTimedOut);
  }
  if (link_ != nullptr && now - tended_ >= 1s) {
    tended_ = now;
    link_->tend();
  }
  arm();
  flush();
}

void MqttTransport::Impl::arm() {
  timer_.expires_after(kSweep);
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const auto self = weak.lock();
    if (error || self == nullptr) return;
    self->sweep();
  });
}

void MqttTransport::Impl::close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  timer_.cancel();
  resolver_->close();
  if (link_ != nullptr) link_->say_goodbye();
  drop_link();
}

MqttTransport::MqttTransport(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
MqttTransport::~MqttTransport() { close(); }

Result<std::unique_ptr<MqttTransport>> MqttTransport::make(asio::io_context& loop,
                                                           MqttTransportOptions options,
                                                           Ended ended, Arrived arrived) {
  if (const auto good = check_mqtt_options(options); !good) return tl::unexpected(good.error());
  auto impl =
      std::make_shared<Impl>(loop, std::move(options), std::move(ended), std::move(arrived));
  if (const auto opened = impl->open(); !opened) return tl::unexpected(opened.error());
  return std::unique_ptr<MqttTransport>(new MqttTransport(std::move(impl)));
}

void MqttTransport::start(AttemptId attempt, WireRequest request) {
  const WireRequest taken = std::move(request);
  impl_->start(attempt, taken);
}
void MqttTransport::abort(AttemptId attempt) { impl_->abort(attempt); }
std::size_t MqttTransport::connections() const { return impl_->connections(); }
bool MqttTransport::ready() const { return impl_->ready(); }
std::string MqttTransport::problem() const { return impl_->problem(); }
MqttTransportCounts MqttTransport::counts() const { return impl_->counts(); }
void MqttTransport::sweep() { impl_->sweep(); }
void MqttTransport::close() { impl_->close(); }

}  // namespace postrider
