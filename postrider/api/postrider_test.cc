// The library from outside: what a program says is what the far side gets.
#include "postrider/api/postrider.h"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

namespace postrider {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);

// What was started, in order; the test says when each ends.
struct Wire {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::pair<AttemptId, WireRequest>> started;
  boost::asio::io_context* loop = nullptr;
  Node::Ended ended;

  std::vector<std::string> bodies(std::size_t count) {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, kPatience, [&] { return started.size() >= count; }));
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
    NodeOptions options;
    options.store.directory = directory_ + "/data";
    options.free_bytes_min = 0;
    auto opened =
        Postrider::open(options, [this](boost::asio::io_context& loop, Node::Ended ended) {
          wire.loop = &loop;
          wire.ended = std::move(ended);
          return Result<std::unique_ptr<Transport>>(std::make_unique<WireTransport>(wire));
        });
    if (opened) rider = std::move(*opened);
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
