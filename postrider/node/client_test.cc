#include "postrider/include/postrider/client.h"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace postrider {
namespace {

using std::chrono_literals::operator""h;

class ClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name =
        (std::filesystem::temp_directory_path() / "postrider-client-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
    open();
  }
  void TearDown() override {
    client.reset();
    std::filesystem::remove_all(directory_);
  }

  void open() {
    auto opened = Client::open(
        {.directory = directory_, .free_bytes_min = 0, .patience = std::chrono::milliseconds(0)});
    ASSERT_TRUE(opened) << opened.error().detail;
    client = std::move(*opened);
  }
  void put_shop() {
    const auto put = client->put({.name = "shop", .settings = {{"url", "https://shop.example/"}}});
    ASSERT_TRUE(put) << put.error().detail;
  }
  // Not before an hour, so that nothing leaves the process.
  Result<Submitted> submit(const std::string& body, const std::string& key = "") {
    return client->submit({.destination = "shop", .body = body, .key = key, .delay = 1h});
  }

  struct Heard {
    std::mutex mutex;
    std::condition_variable came;
    std::vector<Ended> ends;
    void wait_for(std::size_t count) {
      std::unique_lock lock(mutex);
      came.wait(lock, [&] { return ends.size() >= count; });
    }
  };
  void listen(Heard& heard, std::string_view position = {}) {
    const auto following = client->on_end(
        [&heard](const Ended& end) {
          const std::lock_guard lock(heard.mutex);
          heard.ends.push_back(end);
          heard.came.notify_all();
        },
        position);
    ASSERT_TRUE(following) << following.error().detail;
  }

  std::string directory_;
  std::unique_ptr<Client> client;
};

// req: lib.client.1
TEST_F(ClientTest, SubmittingTwiceWithOneKeyIsSubmittingOnce) {
  put_shop();
  const auto first = submit("a", "k");
  const auto again = submit("a", "k");
  ASSERT_TRUE(first && again);
  EXPECT_FALSE(first->repeated);
  EXPECT_TRUE(again->repeated);
  EXPECT_EQ(again->id, first->id);
  const auto other = submit("b", "k");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kConflict);
  const auto without = submit("a");
  ASSERT_TRUE(without);
  EXPECT_NE(without->id, first->id);
}

// req: lib.client.3
TEST_F(ClientTest, WhatIsWrongIsNamed) {
  const auto nowhere = submit("a");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, ErrorCode::kNotFound);
  const auto put = client->put({.name = "shop", .settings = {{"url", "ftp://shop.example"}}});
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, ErrorCode::kInvalid);
  EXPECT_NE(put.error().detail.find("url"), std::string::npos) << put.error().detail;
  const auto following = client->on_end([](const Ended&) {}, "not a position");
  ASSERT_FALSE(following);
  EXPECT_EQ(following.error().code, ErrorCode::kInvalid);
}

// req: lib.client.4
TEST_F(ClientTest, ExplainsAndCancelsByTheOuterId) {
  put_shop();
  const auto sent = submit("a");
  ASSERT_TRUE(sent);
  const auto standing = client->explain(sent->id);
  ASSERT_TRUE(standing) << standing.error().detail;
  EXPECT_EQ(standing->destination, "shop");
  EXPECT_EQ(standing->phase, "queued");
  EXPECT_FALSE(standing->ended);
  EXPECT_GT(standing->next_at, standing->accepted);
  const auto cancelled = client->cancel(sent->id);
  ASSERT_TRUE(cancelled) << cancelled.error().detail;
  EXPECT_EQ(*cancelled, Cancelled::kNow);
  EXPECT_EQ(client->cancel(sent->id).value(), Cancelled::kTooLate);
  EXPECT_EQ(client->explain(sent->id).value().phase, "cancelled");
  EXPECT_EQ(client->explain("nonsense").error().code, ErrorCode::kInvalid);
}

// req: lib.client.5
TEST_F(ClientTest, ReadsAMailboxAndConfirms) {
  ASSERT_TRUE(client->put({.name = "inbox", .profile = "mailbox", .settings = {}}));
  for (const char* body : {"one", "two", "three"})
    ASSERT_TRUE(client->submit({.destination = "inbox", .body = body}));
  const auto first = client->read("inbox", {}, 2);
  ASSERT_TRUE(first) << first.error().detail;
  ASSERT_EQ(first->messages.size(), 2U);
  EXPECT_EQ(first->messages[0].body, "one");
  EXPECT_TRUE(first->more);
  const auto second = client->read("inbox", first->cursor);
  ASSERT_TRUE(second);
  ASSERT_EQ(second->messages.size(), 1U);
  EXPECT_EQ(second->messages[0].body, "three");
  EXPECT_EQ(client->confirm("inbox", {first->messages[0].id, first->messages[1].id}).value(), 2U);
  EXPECT_EQ(client->confirm("inbox", {first->messages[0].id}).value(), 0U) << "harmless";
  ASSERT_TRUE(client->close());
  client.reset();
  open();
  EXPECT_EQ(client->read("inbox").value().messages.size(), 1U);
  EXPECT_EQ(client->read("nobody").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(client->read("inbox", "nonsense").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(client->confirm("inbox", {"nonsense"}).error().code, ErrorCode::kInvalid);
}

// req: lib.client.2
TEST_F(ClientTest, TellsEachEndBehindAPositionOnce) {
  put_shop();
  Heard before;
  listen(before);
  const std::string first = submit("a").value().id;
  const std::string second = submit("b").value().id;
  ASSERT_TRUE(client->cancel(first));
  before.wait_for(1);
  const std::string position = before.ends[0].position;
  EXPECT_EQ(before.ends[0].id, first);
  EXPECT_EQ(before.ends[0].phase, "cancelled");
  ASSERT_TRUE(client->close());
  client.reset();

  open();
  ASSERT_TRUE(client->cancel(second));
  Heard after;
  listen(after, position);
  const std::string third = submit("c").value().id;
  ASSERT_TRUE(client->cancel(third));
  after.wait_for(2);
  EXPECT_EQ(after.ends[0].id, second);
  EXPECT_EQ(after.ends[1].id, third);
  EXPECT_EQ(before.ends.size(), 1U);
}

}  // namespace
}  // namespace postrider
