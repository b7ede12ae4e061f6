#include "postrider/node/postrider.h"

#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "postrider/runtime/system_clock.h"

namespace postrider {
namespace {

constexpr Duration kLibraryLooksAtSpace(100);  // in a second a quick disk is full
constexpr Duration kLookAtEnd(5);
constexpr Duration kLookAtLog(20);
constexpr std::uint32_t kLogRows = 200;

Answer refused(Door door) {
  Answer answer;
  answer.code = AnswerCode::kUnavailable;
  switch (door) {
    case Door::kOpen: break;
    case Door::kBusy:
    case Door::kTenantBusy: answer.detail = "too much waits already; ask again soon"; break;
    case Door::kNoSpace: answer.detail = "the disk has no room for new messages"; break;
    case Door::kRestarting: answer.detail = "the store is being opened again"; break;
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
    node_->loop().every(kLibraryLooksAtSpace, [this] { node_->look_at_space(); });
    node_->loop().every(kLookAtLog, [this] { look_at_log(); });
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
  void follow(const LogPosition& from, Told told) {
    auto follower = std::make_shared<Follower>();
    follower->told = std::move(told);
    follower->next = from;
    const std::lock_guard lock(mutex_);
    wanted_ = std::move(follower);
  }

  Timestamp wall() const { return clock_.read().wall; }
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
  struct Follower {  // of the log
    Told told;
    LogPosition next;
    bool asking = false;
    bool at_end = false;
    std::uint64_t seen = 0;  // the version of the log that it has read to its end
  };

  void look_at_log() {
    {
      const std::lock_guard lock(mutex_);
      if (wanted_) follower_ = std::move(wanted_);
    }
    if (!follower_ || follower_->asking) return;
    const std::uint64_t version = node_->host().log_version();
    if (follower_->at_end && follower_->seen == version) return;
    Query query;
    query.what = Query::What::kLog;
    query.from = follower_->next;
    query.limit = kLogRows;
    const Door door = node_->host().post(
        {}, std::move(query),
        [this, it = follower_, version](const Answer& answer) { take_log(*it, version, answer); });
    follower_->asking = door == Door::kOpen;
  }
  void take_log(Follower& follower, std::uint64_t version, const Answer& answer) {
    follower.asking = false;
    const auto* page = std::get_if<LogPage>(&answer.view);
    if (page == nullptr || follower_.get() != &follower) return;
    follower.next = page->next;
    follower.at_end = page->at_end;
    follower.seen = version;
    for (const LogEntry& entry : page->entries) follower.told(entry);
    if (!page->at_end) look_at_log();
  }

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
  std::shared_ptr<Follower> follower_;  // of the loop's thread; shared with its open query
  std::mutex mutex_;                    // guards the four below
  std::shared_ptr<Follower> wanted_;
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
void Postrider::follow(const LogPosition& from, Told told) { impl_->follow(from, std::move(told)); }
Timestamp Postrider::wall() const { return impl_->wall(); }
CommitCounters Postrider::commits() const { return impl_->commits(); }
StoreMemory Postrider::store_memory() const { return impl_->store_memory(); }
Result<void> Postrider::close(Duration patience) { return impl_->close(patience); }

}  // namespace postrider
