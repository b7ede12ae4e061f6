// NDJSON: many messages, answered line by line, in order and within bounds.
#include "postrider/api/batch.h"

#include <boost/json.hpp>

#include "postrider/api/http_api_testing.h"

namespace postrider::api {
namespace {

class ApiBatch : public ApiRig {
 protected:
  void SetUp() override {
    options.lines_waiting_max = 8;
    options.line_bytes_max = 1000;
    ApiRig::SetUp();
    make_destination("shop");
  }
  static std::string line(const std::string& more = {}) {
    return R"({"destination":"shop","body":"x")" + more + "}\n";
  }
  // All answers, each held against the description.
  std::vector<std::string> answers(const Stream& batch) {
    std::vector<std::string> lines = batch.lines();
    for (const std::string& one : lines) EXPECT_EQ(checker->check_schema("LineAnswer", one), "");
    return lines;
  }
  static std::int64_t number_of(const std::string& answer) {
    return boost::json::parse(answer).at("line").as_int64();
  }
};

// req: api.ndjson.1
TEST_F(ApiBatch, AnswersEachLineInOrder) {
  const Stream batch = stream();
  batch.sink(line() + "{\"destination\":\"nowhere\",\"body\":1}\n\n{nonsense\n" + line(), false);
  batch.sink(line(R"(,"lane":99)"), false);
  batch.sink(R"({"destination":"shop","body":"without an end"})", true);
  settle();
  EXPECT_EQ(batch.exchange->response->status, 200);
  EXPECT_EQ(batch.exchange->response->content_type, "application/x-ndjson");
  EXPECT_TRUE(batch.exchange->ended);
  const auto lines = answers(batch);
  ASSERT_EQ(lines.size(), 6U);
  const std::array<std::int64_t, 6> numbers = {1, 2, 4, 5, 6, 7};
  for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(number_of(lines[i]), numbers[i]);
  EXPECT_NE(lines[1].find("problem:not-found"), std::string::npos) << lines[1];
  EXPECT_NE(lines[2].find("problem:malformed-json"), std::string::npos) << lines[2];
  EXPECT_NE(lines[4].find("problem:invalid-field"), std::string::npos) << lines[4];
  EXPECT_NE(lines[5].find("\"id\":"), std::string::npos);
  EXPECT_EQ(transport.started.size(), 3U);
}

TEST_F(ApiBatch, DoesNotCareHowTheBytesAreCut) {
  const std::string all = line() + "\r\n" + line() + line();
  for (std::size_t piece = 1; piece < 40; piece += 6) {
    const Stream batch = stream();
    for (std::size_t at = 0; at < all.size(); at += piece)
      batch.sink(std::string_view(all).substr(at, piece), false);
    batch.sink("", true);
    settle();
    EXPECT_EQ(answers(batch).size(), 3U) << piece;
    EXPECT_TRUE(batch.exchange->ended);
  }
}

// req: api.ndjson.2
TEST_F(ApiBatch, AnAnswerThatIsReadyEarlyWaitsForThoseBeforeIt) {
  store.held = true;
  const Stream batch = stream();
  batch.sink(line() + "{bad\n", false);
  settle();
  api->tick();
  EXPECT_EQ(batch.exchange->text, "") << "line 2 is known, line 1 is not";
  store.release();
  settle();
  EXPECT_EQ(answers(batch).size(), 2U);
  EXPECT_FALSE(batch.exchange->ended) << "more may come";
  batch.sink("", true);
  EXPECT_TRUE(batch.exchange->ended);
}

// req: api.ndjson.3
TEST_F(ApiBatch, StopsReadingWhileTooManyLinesWait) {
  store.held = true;
  const Stream batch = stream();
  std::string seven;
  for (int i = 0; i < 7; ++i) seven += line();
  batch.sink(seven, false);
  EXPECT_FALSE(batch.exchange->paused) << "7 of 8";
  batch.sink(line(), false);
  EXPECT_TRUE(batch.exchange->paused) << "8 of 8";
  batch.sink(seven + seven + seven, false);
  settle();
  EXPECT_EQ(batch.exchange->pauses, 1);
  store.release();
  settle();
  EXPECT_FALSE(batch.exchange->paused);
  batch.sink("", true);
  settle();
  const auto lines = answers(batch);
  EXPECT_EQ(lines.size(), 29U) << "nothing was forgotten meanwhile";
  for (std::size_t i = 0; i < lines.size(); ++i)
    EXPECT_EQ(number_of(lines[i]), static_cast<std::int64_t>(i) + 1);
  EXPECT_TRUE(batch.exchange->ended);
}

TEST_F(ApiBatch, WaitsAtAFullDoorInsteadOfRefusing) {
  host_options.tenant_waiting_max = 3;
  open();
  make_destination("shop");
  store.held = true;
  const Stream batch = stream();
  std::string ten;
  for (int i = 0; i < 10; ++i) ten += line();
  batch.sink(ten, true);
  settle();
  EXPECT_TRUE(batch.exchange->paused);
  store.release();
  for (int i = 0; i < 10; ++i) pass(100ms);
  const auto lines = answers(batch);
  ASSERT_EQ(lines.size(), 10U);
  for (const std::string& one : lines) EXPECT_NE(one.find("\"id\":"), std::string::npos) << one;
  EXPECT_TRUE(batch.exchange->ended);
}

TEST_F(ApiBatch, StopsReadingWhileTheClientTakesNoAnswers) {
  const Stream batch = stream();
  batch.exchange->reads = false;
  std::string sent;
  // A refusal is about 200 bytes; 256 KiB of them are more than may wait.
  for (int i = 0; i < 3000 && !batch.exchange->paused; ++i) batch.sink("{bad\n", false);
  EXPECT_TRUE(batch.exchange->paused);
  batch.exchange->reads = true;
  api->tick();
  EXPECT_FALSE(batch.exchange->paused);
}

// req: api.ndjson.4
TEST_F(ApiBatch, BoundsALine) {
  const auto padded = [](std::size_t size) {
    const std::string head = R"({"destination":"shop","body":")";
    return head + std::string(size - head.size() - 2, 'x') + "\"}";
  };
  const Stream batch = stream();
  batch.sink(padded(999) + "\n" + padded(1000) + "\n" + padded(1001) + "\n", false);
  // One that has no end yet is answered at once and not kept.
  batch.sink(std::string(600, 'x'), false);
  batch.sink(std::string(600, 'x'), false);
  batch.sink(std::string(5000, 'x'), false);
  batch.sink("x\n" + line(), true);
  settle();
  const auto lines = answers(batch);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_NE(lines[0].find("\"id\":"), std::string::npos);
  EXPECT_NE(lines[1].find("\"id\":"), std::string::npos);
  EXPECT_NE(lines[2].find("problem:too-large"), std::string::npos);
  EXPECT_NE(lines[3].find("problem:too-large"), std::string::npos);
  EXPECT_NE(lines[4].find("\"id\":"), std::string::npos);
  EXPECT_EQ(number_of(lines[4]), 5);
}

// The end of a line that was refused, and good lines behind it, come while the client takes no
// answers: they wait, and none is dropped.
// req: api.ndjson.4
TEST_F(ApiBatch, KeepsLinesBehindALongOneWhileItMustWait) {
  options.lines_waiting_max = 5000;
  open();
  make_destination("shop");
  store.held = true;
  const Stream batch = stream();
  batch.exchange->reads = false;
  std::string bad;
  for (int i = 0; i < 2000; ++i) bad += "{bad\n";
  batch.sink(line() + bad, false);
  batch.sink(std::string(1001, 'x'), false);
  EXPECT_FALSE(batch.exchange->paused);
  store.release();
  settle();  // more is told now than a client may leave unread
  ASSERT_GT(batch.exchange->unsent(), 256U * 1024);
  batch.sink("xxx\n" + line() + line(), true);
  batch.exchange->reads = true;
  api->tick();
  settle();
  const auto lines = answers(batch);
  ASSERT_EQ(lines.size(), 2004U);
  EXPECT_NE(lines[2001].find("problem:too-large"), std::string::npos) << lines[2001];
  EXPECT_NE(lines[2002].find("\"id\":"), std::string::npos) << lines[2002];
  EXPECT_NE(lines[2003].find("\"id\":"), std::string::npos) << lines[2003];
  EXPECT_TRUE(batch.exchange->ended);
}

// req: api.ndjson.6
TEST_F(ApiBatch, BoundsTheBytesOfLinesThatWait) {
  options.lines_waiting_max = 1000;
  options.line_bytes_max = 512 * 1024;
  open();
  make_destination("shop");
  store.held = true;
  const Stream batch = stream();
  const std::string large =
      R"({"destination":"shop","body":")" + std::string(256 * 1024 - 2, 'x') + "\"}\n";
  std::size_t sent = 0;
  while (!batch.exchange->paused && sent < 100) {
    batch.sink(large, false);
    ++sent;
  }
  EXPECT_EQ(sent, 16U) << "4 MiB";
  EXPECT_GE(batch.exchange->kept, sent * 256 * 1024);
  EXPECT_LE(batch.exchange->kept, (sent + 1) * large.size());
  store.release();
  settle();
  EXPECT_FALSE(batch.exchange->paused);
  EXPECT_EQ(batch.exchange->kept, Batches::kKeptMin);
  batch.sink("", true);
  EXPECT_EQ(answers(batch).size(), sent);
}

// req: api.ndjson.6
TEST_F(ApiBatch, WithoutMemoryOneShortLineAtATime) {
  options.line_bytes_max = 512 * 1024;
  open();
  make_destination("shop");
  const std::string longer =
      R"({"destination":"shop","body":")" + std::string(20'000, 'x') + "\"}\n";
  const Stream batch = stream();
  store.held = true;
  batch.exchange->memory = 0;
  batch.sink(line() + line() + longer + line(), false);
  settle();
  EXPECT_TRUE(batch.exchange->paused) << "one waits";
  store.release();
  settle();
  EXPECT_FALSE(batch.exchange->paused);
  batch.sink(longer.substr(0, 17'000), false);
  batch.sink(longer.substr(17'000) + line(), true);
  settle();
  const auto lines = answers(batch);
  ASSERT_EQ(lines.size(), 6U);
  for (const std::size_t good : {0U, 1U, 3U, 5U})
    EXPECT_NE(lines[good].find("\"id\":"), std::string::npos) << lines[good];
  for (const std::size_t busy : {2U, 4U})
    EXPECT_NE(lines[busy].find("problem:busy"), std::string::npos) << lines[busy];
  EXPECT_TRUE(batch.exchange->ended);
}

// req: api.ndjson.6
TEST_F(ApiBatch, ABatchNeedsRoomToBegin) {
  memory = Batches::kKeptMin - 1;
  const Stream refused = stream();
  EXPECT_EQ(refused.exchange->response->status, 503);
  EXPECT_FALSE(refused.exchange->begun);
  memory = Batches::kKeptMin;
  EXPECT_EQ(stream().exchange->response->status, 200);
}

// req: api.ndjson.5
TEST_F(ApiBatch, LinesHaveKeysOfTheirOwnOrOfTheWhole) {
  const std::string own = line(R"(,"idempotency_key":"k")");
  Stream batch = stream();
  batch.sink(
      own + own + line(R"(,"lane":1,"idempotency_key":"k")") + line(R"(,"idempotency_key":"")"),
      true);
  settle();
  auto lines = answers(batch);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_NE(lines[1].find("\"replayed\":true"), std::string::npos) << lines[1];
  EXPECT_NE(lines[2].find("problem:key-conflict"), std::string::npos) << lines[2];
  EXPECT_NE(lines[3].find("problem:invalid-key"), std::string::npos) << lines[3];

  std::vector<std::string> first;
  for (int i = 0; i < 2; ++i) {
    batch = stream({{"idempotency-key", "whole"}});
    batch.sink(line() + line(), true);
    settle();
    lines = answers(batch);
    ASSERT_EQ(lines.size(), 2U);
    const auto id = [](const std::string& text) {
      return std::string(boost::json::parse(text).at("id").as_string());
    };
    if (i == 0) first = {id(lines[0]), id(lines[1])};
    EXPECT_EQ(id(lines[0]), first[0]);
    EXPECT_EQ(id(lines[1]), first[1]);
  }
  EXPECT_NE(first[0], first[1]);
  EXPECT_EQ(get("/v1/operations/whole%232").text("id"), first[1]);
}

TEST_F(ApiBatch, ChecksTheHeadBeforeItReadsAnything) {
  const auto refused = [&](RigHeaders headers, const std::string& target = "/v1/messages") {
    const Stream batch = stream(std::move(headers), target);
    batch.sink(line(), true);
    settle();
    EXPECT_TRUE(batch.exchange->response->close);
    return batch.exchange->response->body;
  };
  EXPECT_NE(refused({{"idempotency-key", std::string(241, 'k')}}).find("invalid-key"),
            std::string::npos);
  EXPECT_NE(refused({{"accept", "text/html"}}).find("not-acceptable"), std::string::npos);
  EXPECT_NE(refused({}, "/v1/messages?x=1").find("unknown-parameter"), std::string::npos);
  options.tokens = {{.name = "r", .tenant = "t", .secret = "token-r", .may_read = true}};
  open();
  EXPECT_NE(refused({}).find("unauthorized"), std::string::npos);
  EXPECT_NE(refused({{"authorization", "Bearer token-r"}}).find("forbidden"), std::string::npos);
  EXPECT_TRUE(transport.started.empty());
}

TEST_F(ApiBatch, SurvivesAClientThatGoesAway) {
  store.held = true;
  const Stream batch = stream();
  batch.sink(line() + line(), false);
  batch.exchange->left = true;
  api->tick();
  store.release();
  settle();
  batch.sink(line(), true);
  settle();
  EXPECT_EQ(transport.started.size(), 2U) << "what was accepted is delivered";
}

TEST_F(ApiBatch, TellsOfAnInterruptionLineByLine) {
  const Stream batch = stream();
  store.next_outcome = CommitOutcome::kFailed;
  batch.sink(line() + line(), false);
  settle();
  pass(5s);
  batch.sink(line(), true);
  settle();
  const auto lines = answers(batch);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_NE(lines[0].find("problem:interrupted"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("problem:interrupted"), std::string::npos) << lines[1];
  EXPECT_NE(lines[2].find("\"id\":"), std::string::npos) << lines[2];
}

TEST_F(ApiBatch, OutlivesTheApi) {
  store.held = true;
  const Stream batch = stream();
  batch.sink(line(), false);
  api.reset();
  store.release();
  settle();
  EXPECT_EQ(batch.lines().size(), 1U);
  batch.sink(line(), true);
}

}  // namespace
}  // namespace postrider::api
