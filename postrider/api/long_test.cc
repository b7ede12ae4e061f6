// Long answers: lists and exports that are made, counted and sent in pieces, over real sockets.
#include <boost/json.hpp>

#include "postrider/api/http_api_testing.h"
#include "postrider/servers/http/http_server_testing.h"

namespace postrider::api {
namespace {

constexpr std::size_t kBodyBytes = 200'000;
constexpr int kLetters = 12;

class ApiLong : public ApiRig {
 protected:
  void start(std::uint64_t held_bytes_max = 256ULL << 20) {
    wire.limits.held_bytes_max = held_bytes_max;
    wire.handler = handler;
    wire.start();
  }
  void make_letters(int count, std::size_t body_bytes) {
    make_destination("shop");
    const std::string body(body_bytes, 'x');
    for (int i = 0; i < count; ++i) {
      const Reply reply = post("/v1/messages", R"({"destination":"shop","body":")" + body + "\"}");
      ASSERT_EQ(reply.status, 202) << reply.body;
      answer_last(400);
    }
  }
  bool until(const std::function<bool()>& done) {
    return wire.pump_until([&] {
      settle();
      api->tick();
      return done();
    });
  }
  std::optional<HttpReply> next_reply(RawClient& client) {
    std::optional<HttpReply> found;
    until([&] {
      client.receive();
      found = take_reply(client.received);
      return found || client.ended;
    });
    return found;
  }
  static std::string ask(const std::string& target) {
    return "GET " + target + " HTTP/1.1\r\nhost: localhost\r\n\r\n";
  }
  static std::size_t lines_of(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  HttpRig wire;
};

// req: api.long.1
TEST_F(ApiLong, ExportsThatNobodyReadsAreNotMade) {
  make_letters(kLetters, kBodyBytes);
  start();
  const auto client = wire.connect(4096);
  std::string many;
  for (int i = 0; i < 64; ++i) many += ask("/v1/dead-letters/export");
  client->send(many);
  std::uint64_t most = 0;
  for (int i = 0; i < 300; ++i) {
    settle();
    api->tick();
    wire.pump();
    most = std::max(most, wire.server->held_bytes());
  }
  // One question of the first, and what of it is on its way: not 64 times 3 MB.
  EXPECT_LE(most, 3'000'000U);
  // Others do not notice.
  const auto other = wire.connect();
  other->send(ask("/livez"));
  EXPECT_EQ(next_reply(*other)->status, 200);
  // And whoever reads gets all of it.
  for (int i = 0; i < 3; ++i) {
    const auto reply = next_reply(*client);
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, 200);
    EXPECT_EQ(lines_of(reply->body), static_cast<std::size_t>(kLetters));
    EXPECT_GT(reply->body.size(), kLetters * kBodyBytes * 4 / 3);
  }
}

// req: api.long.1
TEST_F(ApiLong, AnExportIsTheSameHoweverItIsCut) {
  make_letters(90, 10);
  start();
  const auto page = [&](const std::string& query) {
    const auto client = wire.connect();
    client->send(ask("/v1/dead-letters/export" + query));
    const auto reply = next_reply(*client);
    EXPECT_TRUE(reply && reply->status == 200);
    return reply ? reply->body : std::string();
  };
  const std::string whole = page("");
  EXPECT_EQ(lines_of(whole), 90U);
  std::string pieces;
  std::string next;
  do {
    std::string part = page("?limit=7" + (next.empty() ? "" : "&cursor=" + next));
    next.clear();
    const std::size_t mark = part.find("{\"next\":\"");
    if (mark != std::string::npos) {
      next = part.substr(mark + 9, part.find('"', mark + 9) - mark - 9);
      part.resize(mark);
      EXPECT_EQ(lines_of(part), 7U);
    }
    pieces += part;
  } while (!next.empty());
  EXPECT_EQ(pieces, whole);
}

// req: api.long.2
TEST_F(ApiLong, WithoutMemoryAnExportIsRefusedOrWaits) {
  make_letters(kLetters, kBodyBytes);
  memory = 0;
  EXPECT_EQ(get("/v1/dead-letters/export").problem(), "busy");
  memory = SIZE_MAX;
  const RigRequest request{"GET", "/v1/dead-letters/export", "", {}};
  const auto exchange = send(request);
  exchange->reads = false;
  settle();
  ASSERT_TRUE(exchange->begun);
  exchange->memory = 0;
  exchange->reads = true;
  settle();
  EXPECT_FALSE(exchange->ended) << "it has begun, so it waits";
  exchange->memory = SIZE_MAX;
  api->tick();
  settle();
  EXPECT_TRUE(exchange->ended);
  EXPECT_EQ(lines_of(exchange->text), static_cast<std::size_t>(kLetters));
}

// req: api.long.1
TEST_F(ApiLong, AListOfAThousandIsWholeJsonInPieces) {
  make_destination("shop");
  ASSERT_EQ(post("/v1/destinations/shop/pause").status, 200);
  for (int i = 0; i < 1100; ++i) submit("shop");
  const RigRequest request{"GET", "/v1/messages?limit=1000", "", {}};
  const auto exchange = send(request);
  exchange->reads = false;
  settle();
  EXPECT_TRUE(exchange->begun && !exchange->ended);
  EXPECT_LT(exchange->text.size(), 200'000U) << "no more is made than is read";
  exchange->reads = true;
  settle();
  EXPECT_TRUE(exchange->ended);
  const Reply reply = reply_of(request, *exchange);
  EXPECT_EQ(checker->check("GET", "/v1/messages", 200, "application/json", reply.body), "");
  EXPECT_EQ(reply.json().at("messages").as_array().size(), 1000U);
  const Reply rest = get("/v1/messages?limit=1000&cursor=" + reply.text("next"));
  EXPECT_EQ(rest.json().at("messages").as_array().size(), 100U);
}

// req: api.long.3
TEST_F(ApiLong, AnAnswerThatIsInterruptedIsCutAndNotEnded) {
  make_letters(kLetters, kBodyBytes);
  start();
  const auto client = wire.connect(4096);
  client->send(ask("/v1/dead-letters/export"));
  ASSERT_TRUE(until([&] {
    client->receive();
    return client->received.size() > 100'000;
  }));
  host->drain();
  EXPECT_TRUE(until([&] {
    client->receive();
    return client->ended;
  }));
  EXPECT_FALSE(client->received.ends_with("0\r\n\r\n"));
}

// req: api.long.2
TEST_F(ApiLong, LookingForAMessageNeedsRoomForItsBody) {
  make_destination("shop");
  const std::string id = submit("shop");
  for (const std::string path : {"", "/explain", "/timeline"}) {
    memory = options.body_bytes_max - 1;
    const Reply refused = get("/v1/messages/" + id + path);
    EXPECT_EQ(refused.problem(), "busy");
    EXPECT_EQ(refused.header("Retry-After"), "1");
    memory = options.body_bytes_max;
    EXPECT_EQ(get("/v1/messages/" + id + path).status, 200);
  }
}

}  // namespace
}  // namespace postrider::api
