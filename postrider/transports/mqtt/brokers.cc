#include "postrider/transports/mqtt/brokers.h"

#include <unordered_set>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace postrider {
namespace {

// Whether an answer says that it will never be taken, however often it comes.
bool is_refusal(AnswerCode code) {
  switch (code) {
    case AnswerCode::kAccepted:
    case AnswerCode::kDone:
    case AnswerCode::kNothing:
    case AnswerCode::kPending:
    case AnswerCode::kBusy:
    case AnswerCode::kUnavailable:
    case AnswerCode::kFull:
    case AnswerCode::kNoRoom: return false;
    case AnswerCode::kConflict:
    case AnswerCode::kKeyExpired:
    case AnswerCode::kNotFound:
    case AnswerCode::kDisabled:
    case AnswerCode::kEnded:
    case AnswerCode::kMayHaveRun:
    case AnswerCode::kChanged:
    case AnswerCode::kInvalid:
    case AnswerCode::kTooLarge:
    case AnswerCode::kNotEmpty: return true;
  }
  return false;
}

}  // namespace

class Brokers::Impl : public std::enable_shared_from_this<Brokers::Impl> {
 public:
  Impl(boost::asio::io_context& loop, Hooks hooks) : loop_(loop), hooks_(std::move(hooks)) {}
  Result<void> add(BrokerOptions options);

  void start(AttemptId attempt, WireRequest request);
  void abort(AttemptId attempt);
  std::size_t connections() const;
  std::vector<BrokerState> states() const;

 private:
  struct Broker {
    std::string name;
    std::string source;
    std::string refusal;  // the last one
    BrokerCounts counts;
    std::unique_ptr<MqttTransport> transport;
  };

  Broker* find(std::string_view name);
  void arrived(Broker& broker, std::string_view topic, std::string_view bytes,
               const MqttTransport::Durable& durable);
  void answered(Broker& broker, const Answer& answer, const MqttTransport::Durable& durable);

  boost::asio::io_context& loop_;
  Hooks hooks_;
  std::vector<std::unique_ptr<Broker>> brokers_;  // few, and callbacks point to them
  std::unordered_set<std::uint64_t> nowhere_;     // without a broker, and not told yet
};

Result<void> Brokers::Impl::add(BrokerOptions options) {
  auto broker = std::make_unique<Broker>();
  Broker& it = *broker;
  it.name = std::move(options.name);
  it.source = std::move(options.source);
  auto made = MqttTransport::make(
      loop_, std::move(options.mqtt), hooks_.ended,
      [this, &it](std::string_view topic, std::string_view bytes,
                  const MqttTransport::Durable& durable) { arrived(it, topic, bytes, durable); });
  if (!made) return fail(made.error().code, "broker '" + it.name + "': " + made.error().detail);
  it.transport = std::move(*made);
  brokers_.push_back(std::move(broker));
  return {};
}

Brokers::Impl::Broker* Brokers::Impl::find(std::string_view name) {
  for (const auto& broker : brokers_) {
    if (broker->name == name) return broker.get();
  }
  return nullptr;
}

void Brokers::Impl::start(AttemptId attempt, WireRequest request) {
  const std::size_t blank = request.target.find(' ');
  Broker* broker = find(std::string_view(request.target).substr(0, blank));
  if (broker != nullptr && blank != std::string::npos) {
    request.target.erase(0, blank + 1);
    return broker->transport->start(attempt, std::move(request));
  }
  nowhere_.insert(attempt.value());
  boost::asio::post(loop_, [weak = weak_from_this(), attempt] {
    const auto self = weak.lock();
    if (self == nullptr || self->nowhere_.erase(attempt.value()) == 0) return;
    WireReply reply;
    reply.end = WireEnd::kNoName;
    self->hooks_.ended(attempt, std::move(reply));
  });
}

void Brokers::Impl::abort(AttemptId attempt) {
  if (nowhere_.erase(attempt.value()) != 0) return;
  for (const auto& broker : brokers_) broker->transport->abort(attempt);
}

std::size_t Brokers::Impl::connections() const {
  std::size_t all = 0;
  for (const auto& broker : brokers_) all += broker->transport->connections();
  return all;
}

std::vector<BrokerState> Brokers::Impl::states() const {
  std::vector<BrokerState> out;
  for (const auto& broker : brokers_) {
    const bool ready = broker->transport->ready();
    out.push_back({.name = broker->name,
                   .ready = ready,
                   .problem = ready ? broker->refusal : broker->transport->problem(),
                   .counts = broker->counts});
  }
  return out;
}

// What nobody will ever be able to read is acknowledged: the broker would send it again for ever.
void Brokers::Impl::arrived(Broker& broker, std::string_view topic, std::string_view bytes,
                            const MqttTransport::Durable& durable) {
  auto arrival = hooks_.arrival({.source = broker.source, .topic = topic, .bytes = bytes});
  if (!arrival) {
    const bool unknown = arrival.error().code == ErrorCode::kNotFound;
    ++(unknown ? broker.counts.unknown : broker.counts.malformed);
    return durable(true);
  }
  const bool posted = hooks_.post(
      std::move(*arrival), [weak = weak_from_this(), &broker, durable](const Answer& answer) {
        if (const auto self = weak.lock()) self->answered(broker, answer, durable);
      });
  if (posted) return;
  ++broker.counts.put_off;
  durable(false);
}

void Brokers::Impl::answered(Broker& broker, const Answer& answer,
                             const MqttTransport::Durable& durable) {
  if (answer.code == AnswerCode::kUnavailable) {
    ++broker.counts.put_off;
    return durable(false);
  }
  if (is_refusal(answer.code)) {
    ++broker.counts.refused;
    broker.refusal = "an event was refused: " + answer.detail;
  } else {
    ++broker.counts.taken;
  }
  durable(true);
}

Brokers::Brokers(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Brokers::~Brokers() = default;

Result<std::unique_ptr<Brokers>> Brokers::make(boost::asio::io_context& loop,
                                               std::vector<BrokerOptions> brokers, Hooks hooks) {
  auto impl = std::make_shared<Impl>(loop, std::move(hooks));
  for (BrokerOptions& broker : brokers) {
    if (const auto added = impl->add(std::move(broker)); !added)
      return tl::unexpected<Error>(added.error());
  }
  return std::unique_ptr<Brokers>(new Brokers(std::move(impl)));
}

void Brokers::start(AttemptId attempt, WireRequest request) {
  impl_->start(attempt, std::move(request));
}
void Brokers::abort(AttemptId attempt) { impl_->abort(attempt); }
std::size_t Brokers::connections() const { return impl_->connections(); }
std::vector<BrokerState> Brokers::states() const { return impl_->states(); }

}  // namespace postrider
