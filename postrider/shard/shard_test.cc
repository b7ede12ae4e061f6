#include "postrider/shard/shard.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/profiles/all.h"
#include "postrider/stores/memory.h"

namespace postrider {
namespace {

constexpr Timestamp kStart(1'800'000'000'000);

// A shard over the memory store, with a clock that stands where the test puts it.
class ShardTest : public ::testing::Test {
 protected:
  void SetUp() override { reopen(); }

  void reopen(const IdKey& id_key = {1}) {
    shard_.reset();
    ShardOptions options;
    options.engine.profiles = all_profiles();
    options.engine.id_key = id_key;
    auto shard = Shard::open(options, store_, instant(),
                             [this](Action&& action) { take(std::move(action)); });
    ASSERT_TRUE(shard.has_value());
    shard_ = std::move(*shard);
    shard_->turn(instant());
  }
  Instant instant() const { return {now_, now_}; }
  void take(Action&& action) {
    if (auto* start = std::get_if<StartAttempt>(&action)) started_.push_back(std::move(*start));
    if (auto* reply = std::get_if<Reply>(&action))
      answers_[reply->ticket.value()] = std::move(reply->answer);
    if (auto* abort = std::get_if<AbortAttempt>(&action)) aborted_.push_back(abort->attempt);
  }
  Answer ask(Event event) {
    const Ticket ticket(++last_ticket_);
    std::visit(
        [&](auto& e) {
          if constexpr (requires { e.caller; }) e.caller.ticket = ticket;
          if constexpr (requires { e.ticket; }) e.ticket = ticket;
        },
        event);
    EXPECT_TRUE(shard_->post(std::move(event)));
    shard_->turn(instant());
    EXPECT_TRUE(answers_.contains(ticket.value()));
    return answers_[ticket.value()];
  }
  void tell(Event event) {
    EXPECT_TRUE(shard_->post(std::move(event)));
    shard_->turn(instant());
  }
  void advance(Duration by) {
    const Timestamp until = now_ + by;
    for (auto next = shard_->next_deadline(); next && *next <= until;
         next = shard_->next_deadline()) {
      now_ = std::max(now_, *next);
      shard_->turn(instant());
    }
    now_ = until;
    shard_->turn(instant());
  }
  Answer configure(const std::string& name, NamedTexts settings = {}) {
    settings.emplace_back("url", "https://example.com/hook");
    settings.emplace_back("jitter_percent", "0");
    return ask(
        Configure{.config = {.name = name, .profile = "webhook", .settings = std::move(settings)}});
  }
  MessageId submit(const std::string& destination, const std::string& body = "{}") {
    const Answer answer = ask(Submit{.destination = destination, .body = body});
    EXPECT_EQ(answer.code, AnswerCode::kAccepted) << answer.detail;
    return answer.id;
  }
  void answer_last(int status) {
    tell(AttemptEnded{started_.back().attempt, {.end = WireEnd::kAnswered, .status = status}});
  }
  Counters counters() {
    return std::get<Stats>(ask(Query{.what = Query::What::kStats}).view).counters;
  }
  Explanation explain(MessageId id) {
    return std::get<Explanation>(ask(Query{.what = Query::What::kExplain, .id = id}).view);
  }

  MemoryStore store_;
  Timestamp now_ = kStart;
  std::uint64_t last_ticket_ = 0;
  std::unique_ptr<Shard> shard_;
  std::vector<StartAttempt> started_;
  std::vector<AttemptId> aborted_;
  std::map<std::uint64_t, Answer> answers_;
};

TEST_F(ShardTest, DeliversAMessageAndRemembersItsEnd) {
  ASSERT_EQ(configure("a").code, AnswerCode::kDone);
  const MessageId id = submit("a");
  ASSERT_EQ(started_.size(), 1U);
  EXPECT_EQ(explain(id).phase, Phase::kInFlight);
  answer_last(204);
  EXPECT_EQ(counters().delivered, 1U);
  EXPECT_EQ(counters().live(), 0U);
  EXPECT_EQ(explain(id).phase, Phase::kDelivered);
}

TEST_F(ShardTest, RetriesAndForgetsNothingOverARestart) {
  configure("a");
  const MessageId id = submit("a");
  answer_last(500);
  EXPECT_EQ(explain(id).phase, Phase::kBackoff);
  reopen();
  EXPECT_EQ(explain(id).phase, Phase::kBackoff);
  advance(5s);
  ASSERT_EQ(started_.size(), 2U);
  answer_last(500);
  advance(30s);
  ASSERT_EQ(started_.size(), 3U);
  answer_last(200);
  EXPECT_EQ(explain(id).phase, Phase::kDelivered);
  EXPECT_EQ(explain(id).attempts, 3);
}

// req: engine.name.7, engine.name.8
TEST_F(ShardTest, IdsGoOutUnderTheKeyOfTheStoreAndUnderNoOther) {
  configure("a");
  const MessageId id = submit("a");
  EXPECT_EQ(started_.back().request.headers.find("webhook-id"), IdCodec({1}).text(id));
  reopen();
  EXPECT_EQ(shard_->fate(), Shard::Fate::kRunning);
  EXPECT_EQ(started_.size(), 2U) << "the attempt that was forgotten is made again";
  EXPECT_EQ(started_.back().request.headers.find("webhook-id"), IdCodec({1}).text(id));
  reopen({2});
  EXPECT_EQ(shard_->fate(), Shard::Fate::kStop);
  EXPECT_NE(shard_->fate_reason().find("another key"), std::string::npos);
  EXPECT_EQ(started_.size(), 2U);
}

TEST_F(ShardTest, APausedDestinationHoldsAndResumes) {
  configure("a");
  EXPECT_EQ(ask(Pause{.destination = "a"}).code, AnswerCode::kDone);
  const MessageId first = submit("a");
  const MessageId second = submit("a");
  EXPECT_TRUE(started_.empty());
  reopen();
  EXPECT_TRUE(started_.empty());
  EXPECT_EQ(ask(Resume{.destination = "a"}).code, AnswerCode::kDone);
  ASSERT_EQ(started_.size(), 1U);  // slowly
  EXPECT_EQ(started_[0].message, first);
  answer_last(204);
  ASSERT_EQ(started_.size(), 2U);
  EXPECT_EQ(started_[1].message, second);
}

}  // namespace
}  // namespace postrider
