// The library from outside: what a program says is what the far side gets.
#include "postrider/node/postrider.h"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include "postrider/model/records/keys.h"
#include "postrider/model/records/records.h"
#include "postrider/stores/rocks/rocks_store.h"

namespace postrider {
namespace {

constexpr auto kLibraryPatience = std::chrono::seconds(20);

// What was started, in order; the test says when each ends.
struct Wire {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::pair<AttemptId, WireRequest>> started;
  boost::asio::io_context* loop = nullptr;
  Node::Ended ended;

  std::vector<std::string> bodies(std::size_t count) {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, kLibraryPatience, [&] { return started.size() >= count; }));
    std::vector<std::string> out;
    for (const auto& [attempt, request] : started) out.emplace_back(request.body);
    return out;
  }
  void take(std::size_t index) {
    const std::lock_guard lock(mutex);
    boost::asio::post(*loop, [this, attempt = started[index].first] {
      ended(attempt, {.end = WireEnd::kAnswered, .status = 200});
    });
  }
};

class WireTransport final : public Transport {
 public:
  explicit WireTransport(Wire& wire) : wire_(wire) {}
  void start(AttemptId attempt, WireRequest request) override {
    const std::lock_guard lock(wire_.mutex);
    wire_.started.emplace_back(attempt, std::move(request));
    wire_.changed.notify_all();
  }
  void abort(AttemptId /*attempt*/) override {}

 private:
  Wire& wire_;
};

class LibraryTest : public ::testing::Test {
 protected:
  LibraryTest() {
    std::string pattern = testing::TempDir() + "postrider_library_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    if (auto opened = open("data", wire)) rider = std::move(*opened);
  }
  std::string directory(const std::string& name) const { return directory_ + "/" + name; }
  Result<std::unique_ptr<Postrider>> open(const std::string& name, Wire& out) const {
    NodeOptions options;
    options.store.directory = directory(name);
    options.free_bytes_min = 0;
    return Postrider::open(options, [&out](boost::asio::io_context& loop, Node::Ended ended) {
      out.loop = &loop;
      out.ended = std::move(ended);
      return Result<std::unique_ptr<Transport>>(std::make_unique<WireTransport>(out));
    });
  }
  static MessageId send(Postrider& to, const std::string& body) {
    Configure configure;
    configure.config = {
        .name = "shop", .profile = "webhook", .settings = {{"url", "http://127.0.0.1:1/"}}};
    EXPECT_EQ(to.call(configure).code, AnswerCode::kDone);
    Submit submit;
    submit.destination = "shop";
    submit.body = body;
    const Answer answer = to.call(submit);
    EXPECT_EQ(answer.code, AnswerCode::kAccepted);
    return answer.id;
  }
  // Changes a closed store behind the engine's back.
  void change(const std::string& name, const std::function<void(WriteBatch&)>& with) const {
    StoreOptions options;
    options.directory = directory(name);
    auto store = RocksStore::open(options);
    ASSERT_TRUE(store) << store.error().detail;
    const auto epoch = (*store)->acquire(0);
    ASSERT_TRUE(epoch);
    WriteBatch batch;
    with(batch);
    ASSERT_EQ((*store)->write(*epoch, batch).outcome, CommitOutcome::kDurable);
    ASSERT_TRUE((*store)->close());
  }
  ~LibraryTest() override {
    rider.reset();
    std::filesystem::remove_all(directory_);
  }

  Wire wire;
  std::unique_ptr<Postrider> rider;

 private:
  std::string directory_;
};

// req: lib.order.1
TEST_F(LibraryTest, MessagesOfOneKeyGoOneAfterTheOther) {
  ASSERT_NE(rider, nullptr);
  Configure configure;
  configure.config = {
      .name = "shop", .profile = "webhook", .settings = {{"url", "http://127.0.0.1:1/"}}};
  ASSERT_EQ(rider->call(configure).code, AnswerCode::kDone);
  const auto send = [&](const std::string& body, const std::string& key) {
    Submit submit;
    submit.destination = "shop";
    submit.attributes = encode_attributes({.order_key = key});
    submit.body = body;
    return rider->call(submit).code;
  };
  ASSERT_EQ(send("a1", "a"), AnswerCode::kAccepted);
  ASSERT_EQ(send("a2", "a"), AnswerCode::kAccepted);
  ASSERT_EQ(send("b1", "b"), AnswerCode::kAccepted);
  EXPECT_EQ(wire.bodies(2), (std::vector<std::string>{"a1", "b1"}));
  wire.take(0);
  EXPECT_EQ(wire.bodies(3), (std::vector<std::string>{"a1", "b1", "a2"}));
  EXPECT_EQ(send("c", std::string(129, 'k')), AnswerCode::kInvalid);
}

// The first message of a fresh store has the same address in each of them.
// req: engine.name.7
TEST_F(LibraryTest, TwoStoresShowNoCommonIdAndEachGoesOnWithItsOwn) {
  ASSERT_NE(rider, nullptr);
  Wire other_wire;
  auto other = open("other", other_wire);
  ASSERT_TRUE(other) << other.error().detail;
  const MessageId one = send(*rider, "1");
  const MessageId two = send(**other, "2");
  ASSERT_EQ(one, two) << "the attack needs equal addresses";
  const std::string shown = rider->shown(one);
  EXPECT_NE(shown, (*other)->shown(two));
  EXPECT_EQ(rider->parse_id(shown), one);
  EXPECT_NE((*other)->parse_id(shown), two) << "what the other shows is nothing here";
  EXPECT_FALSE(rider->parse_id("x"));
  EXPECT_EQ(wire.bodies(1), std::vector<std::string>{"1"});
  EXPECT_EQ(other_wire.bodies(1), std::vector<std::string>{"2"});
  EXPECT_EQ(wire.started[0].second.headers.find("webhook-id"), shown);
  EXPECT_EQ(other_wire.started[0].second.headers.find("webhook-id"), (*other)->shown(two));

  ASSERT_TRUE(rider->close(Duration(0)));
  rider.reset();
  Wire again_wire;
  auto again = open("data", again_wire);
  ASSERT_TRUE(again) << again.error().detail;
  EXPECT_EQ(again_wire.bodies(1), std::vector<std::string>{"1"});
  EXPECT_EQ(again_wire.started[0].second.headers.find("webhook-id"), shown);
  EXPECT_EQ((*again)->parse_id(shown), one);
}

// Under another key everything that lives would go on under another name.
// req: engine.name.8
TEST_F(LibraryTest, AStoreThatLostTheKeyOfItsIdsIsRefused) {
  ASSERT_NE(rider, nullptr);
  send(*rider, "1");
  ASSERT_TRUE(rider->close(Duration(0)));
  rider.reset();
  const auto refusal = [this] {
    Wire none;
    const auto opened = open("data", none);
    return opened ? std::string() : opened.error().detail;
  };
  EXPECT_EQ(refusal(), "");
  change("data", [](WriteBatch& batch) { batch.put(keys::meta(), encode_meta(Meta())); });
  EXPECT_NE(refusal().find("the meta record has no key for message ids"), std::string::npos);
  change("data", [](WriteBatch& batch) { batch.put(keys::meta(), "?"); });
  EXPECT_NE(refusal().find("meta record"), std::string::npos);
  change("data", [](WriteBatch& batch) { batch.remove(keys::meta()); });
  EXPECT_NE(refusal().find("its meta record is gone"), std::string::npos);
}

// req: lib.order.1
TEST(MessageAttributes, SayWhatTheyAreGivenAndNothingElse) {
  EXPECT_EQ(encode_attributes({}), "");
  const auto texts = decode_texts(encode_attributes({.content_type = "text/plain",
                                                     .order_key = "k",
                                                     .event_id = "e",
                                                     .headers = {{"x-one", "1"}}}));
  ASSERT_TRUE(texts);
  EXPECT_EQ(*texts, (NamedTexts{{"content-type", "text/plain"},
                                {"order-key", "k"},
                                {"event-id", "e"},
                                {"header.x-one", "1"}}));
}

}  // namespace
}  // namespace postrider
