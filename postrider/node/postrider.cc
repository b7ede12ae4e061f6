#include "postrider/node/postrider.h"

#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "postrider/runtime/system_clock.h"

namespace postrider {
namespace {

constexpr Duration kLookAtSpace(100);  // in a second a quick disk is full
constexpr Duration kLookAtEnd(5);

Answer refused(Door door) {
  Answer answer;
  answer.code = AnswerCode::kUnavailable;
  switch (door) {
    case Door::kOpen: break;
    case Door::kBusy:
    case Door::kTenantBusy: answer.detail = "too much waits already; ask again soon"; break;
    case Door::kNoSpace: answer.detail = "the disk has no room for new messages"; break;
    case Door::kRestarting: answer.detail = "the store is being taken again"; break;
    case Door::kStopping: answer.detail = "it is stopping"; break;
  }
  return answer;
}

}  // namespace

std::string encode_attributes(const MessageAttributes& attributes) {
  NamedTexts texts;
  const auto add = [&texts](std::string_view name, const std::string& value) {
    if (!value.empty()) texts.emplace_back(name, value);
  };
  add("content-type", attributes.content_type);
  add("order-key", attributes.order_key);
  add("event-id", attributes.event_id);
  for (const auto& [name, value] : attributes.headers) texts.emplace_back("header." + name, value);
  return texts.empty() ? std::string() : encode_texts(texts);
}

class Postrider::Impl {
 public:
  Result<void> open(NodeOptions options, Node::MakeTransport make) {
    POSTRIDER_TRY(node, Node::open(std::move(options), clock_, std::move(make)));
    node_ = std::move(node);
    ids_.emplace(node_->id_key());
    node_->before_turn([this] { take_asked(); });
    node_->loop().every(kLookAtSpace, [this] { node_->look_at_space(); });
    thread_ = std::thread([this] { node_->loop().run(); });
    return {};
  }
  ~Impl() { static_cast<void>(close(Duration(0))); }

  void ask(Event event, Done done) {
    {
      const std::lock_guard lock(mutex_);
      asked_.push_back({std::move(event), std::move(done)});
    }
    node_->loop().wake();
  }

  std::string shown(MessageId id) const {
    const std::lock_guard lock(ids_mutex_);
    return ids_->text(id);
  }
  std::optional<MessageId> parse_id(std::string_view text) const {
    const std::lock_guard lock(ids_mutex_);
    return ids_->parse(text);
  }
  CommitCounters commits() const { return node_->committer().counters(); }
  StoreMemory store_memory() const { return node_->store().memory(); }

  Result<void> close(Duration patience) {
    if (!thread_.joinable()) return {};
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
      give_up_at_ = clock_.read().boot + patience;
    }
    node_->loop().wake();
    thread_.join();
    const std::string failure = node_->host().failure();
    const auto closed = node_->close();
    if (!failure.empty()) return fail(ErrorCode::kUnavailable, failure);
    return closed;
  }

 private:
  struct Asked {
    Event event;
    Done done;
  };

  void take_asked() {
    std::vector<Asked> asked;
    bool closing = false;
    {
      const std::lock_guard lock(mutex_);
      asked.swap(asked_);
      closing = closing_;
    }
    for (Asked& one : asked) {
      const Door door = node_->host().post({}, std::move(one.event), one.done);
      if (door != Door::kOpen) one.done(refused(door));
    }
    if (closing && !draining_) begin_to_close();
  }
  void begin_to_close() {
    draining_ = true;
    node_->host().drain();
    node_->loop().every(kLookAtEnd, [this] {
      if (clock_.read().boot >= give_up_at_) node_->host().give_up();
      if (node_->host().state() == Host::State::kStopped) node_->loop().stop();
    });
  }

  SystemClock clock_;
  std::unique_ptr<Node> node_;
  mutable std::mutex ids_mutex_;
  std::optional<IdCodec> ids_;  // callers' own, beside the engine's and the host's
  std::thread thread_;
  std::mutex mutex_;  // guards the three below
  std::vector<Asked> asked_;
  bool closing_ = false;
  Timestamp give_up_at_;
  bool draining_ = false;  // of the loop's thread
};

Result<std::unique_ptr<Postrider>> Postrider::open(NodeOptions options, Node::MakeTransport make) {
  auto impl = std::make_unique<Impl>();
  if (const auto opened = impl->open(std::move(options), std::move(make)); !opened)
    return tl::unexpected<Error>(opened.error());
  return std::unique_ptr<Postrider>(new Postrider(std::move(impl)));
}

Postrider::Postrider(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Postrider::~Postrider() = default;
void Postrider::ask(Event event, Done done) { impl_->ask(std::move(event), std::move(done)); }

Answer Postrider::call(Event event) {
  std::promise<Answer> promise;
  std::future<Answer> answer = promise.get_future();
  ask(std::move(event), [&promise](Answer given) { promise.set_value(std::move(given)); });
  return answer.get();
}

std::string Postrider::shown(MessageId id) const { return impl_->shown(id); }
std::optional<MessageId> Postrider::parse_id(std::string_view text) const {
  return impl_->parse_id(text);
}
CommitCounters Postrider::commits() const { return impl_->commits(); }
StoreMemory Postrider::store_memory() const { return impl_->store_memory(); }
Result<void> Postrider::close(Duration patience) { return impl_->close(patience); }

}  // namespace postrider
