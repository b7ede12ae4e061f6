// Batches as the profile makes them: which messages leave together, what stands in the request, and
// what an answer to several of them means.
#include "postrider/profiles/webhook/batch.h"

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

#include "postrider/profiles/webhook/profile.h"
#include "postrider/profiles/webhook/rules.h"
#include "postrider/profiles/webhook/settings.h"
#include "postrider/profiles/webhook/table.h"
#include "postrider/protocols/web/body_signature.h"
#include "postrider/protocols/web/standard_webhooks.h"

namespace postrider::webhook {
namespace {

constexpr const char* kBatchSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr IdKey kBatchKey = {0x5E, 0x11};
constexpr Timestamp kEngineNow(1'000'000);
constexpr Timestamp kWallNow(1'614'265'330'999);

// Messages of one destination; the first one leads.
class WebhookBatch : public ::testing::Test {
 private:
  struct Made {
    Message message;
    State state;
    std::shared_ptr<const Opaque> parsed;
  };

 protected:
  void configure_with(NamedTexts settings) {
    settings.insert(settings.begin(), {"url", "https://example.com/hook"});
    const Result<Policy> configured = configure(settings);
    ASSERT_TRUE(configured) << configured.error().detail;
    policy_ = *configured;
    destination_ = {
        .name = "shop", .profile = "webhook", .settings = std::move(settings), .removed = false};
  }
  void SetUp() override { configure_with({{"batch_max", "50"}, {"secret", kBatchSecret}}); }

  void add(std::string_view body, const NamedTexts& attributes = {}) {
    auto made = std::make_unique<Made>();
    Message fields;
    fields.id = MessageId::make(DestinationId(7), 0, 0, Sequence(made_.size() + 1));
    fields.accepted = kEngineNow - 2s;
    made->message =
        encode_message(fields, attributes.empty() ? "" : encode_texts(attributes), body);
    auto read = kWebhook.door.read(made->message.body, made->message.attributes);
    EXPECT_TRUE(read);
    if (read) made->parsed = std::move(*read);
    made_.push_back(std::move(made));
  }

  postrider::Facts facts(std::size_t place) const {
    const Made& made = *made_.at(place);
    postrider::Facts out{made.message, made.state, destination_, policy_, kEngineNow, kWallNow};
    out.values.parsed = made.parsed.get();
    out.ids = &codec_;
    return out;
  }
  std::string id(std::size_t place) const { return codec_.text(made_.at(place)->message.id); }

  // The places of the members that were chosen, the leader included.
  std::vector<std::size_t> composed(std::uint32_t members_max = 50) const {
    std::vector<postrider::Facts> candidates;
    for (std::size_t i = 1; i < made_.size(); ++i) candidates.push_back(facts(i));
    std::vector<std::size_t> out = {0};
    for (const std::size_t place : kWebhook.wire.compose(facts(0), candidates, members_max))
      out.push_back(place + 1);
    return out;
  }

  template <class Question>
  auto with_batch(std::size_t followers, std::uint32_t claim, const Question& ask) const {
    std::vector<postrider::Facts> list;
    for (std::size_t i = 1; i <= followers; ++i) list.push_back(facts(i));
    const Batch batch{list, claim};
    postrider::Facts leader = facts(0);
    leader.batch = &batch;
    return ask(leader);
  }

  WireRequest request(std::size_t followers, std::uint32_t claim = 3) const {
    return with_batch(followers, claim, [](const postrider::Facts& leader) {
      return kWebhook.wire.encode(leader, AttemptKind::kSend);
    });
  }
  Reading reading(std::size_t followers, const WireReply& reply, std::uint16_t attempts = 1) {
    made_.at(0)->state.attempts = attempts;
    return with_batch(followers, 3, [&reply](const postrider::Facts& leader) {
      return kWebhook.wire.classify(leader, AttemptKind::kSend, reply);
    });
  }
  Reading answered(std::size_t followers, int status, std::uint16_t attempts = 1) {
    return reading(followers, {.end = WireEnd::kAnswered, .status = status}, attempts);
  }

 private:
  Policy policy_;
  DestinationConfig destination_;
  IdCodec codec_{kBatchKey};
  std::vector<std::unique_ptr<Made>> made_;
};

std::string header_of(const WireRequest& request, std::string_view name) {
  std::string found = "absent";
  for (const auto& [key, value] : request.headers.list()) {
    if (key != name) continue;
    EXPECT_EQ(found, "absent") << name << " is there twice";
    found = value;
  }
  return found;
}

using Places = std::vector<std::size_t>;

// req: webhook.batch.1
TEST_F(WebhookBatch, TakesAsManyAsItMay) {
  for (int i = 0; i < 60; ++i) add("1");
  EXPECT_EQ(composed(1), Places({0}));
  EXPECT_EQ(composed(3), Places({0, 1, 2}));
  EXPECT_EQ(composed(50).size(), 50U);
}

// req: webhook.batch.2
TEST_F(WebhookBatch, TakesAsManyBytesAsItMay) {
  const std::string body = "\"" + std::string(298, 'x') + "\"";
  for (int i = 0; i < 4; ++i) add(body);
  const std::size_t three = request(2).body.size();
  for (const std::size_t most : {three - 1, three, three + 1}) {
    configure_with({{"batch_max", "50"}, {"batch_bytes_max", std::to_string(most)}});
    EXPECT_EQ(composed().size(), most < three ? 2U : 3U) << most;
    EXPECT_LE(request(composed().size() - 1).body.size(), most);
  }
}

// req: webhook.batch.2
TEST_F(WebhookBatch, ALargeMessageGoesAlone) {
  configure_with({{"batch_max", "50"}, {"batch_bytes_max", "1024"}});
  add("\"" + std::string(5000, 'x') + "\"");
  add("1");
  EXPECT_EQ(composed(), Places({0}));
}

// req: webhook.batch.1, webhook.batch.4, webhook.batch.7
TEST_F(WebhookBatch, IsOneRequestWithOneIdAndOneSignature) {
  add(R"({"n":1})");
  add("not json", {{"content-type", "text/plain"}, {"traceparent", "00-1"}, {"order-key", "k"}});
  const WireRequest whole = request(1);
  EXPECT_EQ(whole.verb, "POST");
  EXPECT_EQ(whole.target, "https://example.com/hook");
  const std::string at = "2021-02-25T15:02:08.999Z";
  EXPECT_EQ(whole.body, R"([{"id":")" + id(0) + R"(","timestamp":")" + at +
                            R"(","data":{"n":1}},{"id":")" + id(1) + R"(","timestamp":")" + at +
                            R"(","content_type":"text/plain",)" +
                            R"("attributes":{"traceparent":"00-1"},"data_base64":"bm90IGpzb24="}])");
  EXPECT_EQ(header_of(whole, "content-type"), "application/json");
  EXPECT_EQ(header_of(whole, "webhook-id"), id(0) + "-3");
  EXPECT_EQ(header_of(whole, "webhook-timestamp"), "1614265330");
  const auto keys = parse_webhook_secrets(kBatchSecret);
  ASSERT_TRUE(keys);
  const std::string name = id(0) + "-3";
  EXPECT_EQ(header_of(whole, "webhook-signature"),
            webhook_signatures(*keys, {.id = name, .timestamp = "1614265330", .body = whole.body},
                               kWallNow));
  EXPECT_EQ(header_of(whole, "traceparent"), "absent") << "it belongs to one member";
  EXPECT_NE(header_of(request(1, 4), "webhook-id"), name);
}

// req: webhook.batch.1
TEST_F(WebhookBatch, OfOneIsAnArrayToo) {
  add("1");
  EXPECT_TRUE(request(0).body.starts_with("[{\"id\":\"" + id(0)));
  EXPECT_TRUE(request(0).body.ends_with("\"data\":1}]"));
}

// req: webhook.batch.5
TEST_F(WebhookBatch, OfCloudEventsHasTheirFormat) {
  configure_with({{"batch_max", "50"},
                  {"batch_format", "cloudevents"},
                  {"format", "cloudevents"},
                  {"event_source", "shop"}});
  add("1");
  add("2", {{"ce-Type", "paid"}, {"event-id", "e7"}});
  const WireRequest whole = request(1);
  const std::string at = "2021-02-25T15:02:08.999Z";
  EXPECT_EQ(header_of(whole, "content-type"), "application/cloudevents-batch+json");
  EXPECT_EQ(header_of(whole, "ce-id"), "absent") << "those are of one event";
  EXPECT_EQ(whole.body,
            R"([{"specversion":"1.0","id":")" + id(0) +
                R"(","source":"shop","type":"message","time":")" + at +
                R"(","datacontenttype":"application/json","data":1},)" +
                R"({"specversion":"1.0","id":")" + id(1) +
                R"(","source":"shop","type":"paid","time":")" + at +
                R"(","datacontenttype":"application/json","eventid":"e7","data":2}])");
}

// req: webhook.batch.7
TEST_F(WebhookBatch, IsSignedByItsBodyWhereThatIsTheStyle) {
  configure_with({{"batch_max", "2"},
                  {"signature", "hmac-sha256-body"},
                  {"secret", "s"},
                  {"id_header", "x-event"}});
  add("1", {{"event-id", "mine"}});
  add("2");
  const WireRequest whole = request(1);
  EXPECT_EQ(header_of(whole, "x-device-messaging-signature"), body_signature("s", whole.body));
  EXPECT_EQ(header_of(whole, "x-event"), id(0) + "-3");
  EXPECT_EQ(header_of(whole, "webhook-id"), "absent");
}

// req: webhook.batch.12
TEST_F(WebhookBatch, AMessageWithHeadersOfItsOwnGoesAlone) {
  add("1");
  add("2", {{"header.x-shop", "7"}});
  add("3");
  EXPECT_EQ(composed(), Places({0, 2}));
  EXPECT_EQ(header_of(request(1), "x-shop"), "absent");
}

// req: webhook.batch.12
TEST_F(WebhookBatch, HeadersOfTheOnlyMemberAreSent) {
  add("1", {{"header.x-shop", "7"}, {"header.webhook-id", "forged"}, {"ce-type", "paid"}});
  add("2");
  EXPECT_EQ(composed(), Places({0}));
  const WireRequest alone = request(0);
  EXPECT_EQ(header_of(alone, "x-shop"), "7");
  EXPECT_EQ(header_of(alone, "webhook-id"), id(0) + "-3");
  EXPECT_EQ(header_of(alone, "ce-type"), "absent");
  EXPECT_NE(alone.body.find(R"("ce-type":"paid")"), std::string::npos);
}

// req: webhook.batch.9
TEST_F(WebhookBatch, ARejectionOfSeveralHalvesThem) {
  add("1");
  add("2");
  for (const char* reject : {"dead", "retry", "strict"}) {
    configure_with({{"batch_max", "50"}, {"reject", reject}});
    for (const int status : {400, 401, 404, 413, 422}) {
      const Reading several = answered(1, status);
      EXPECT_EQ(several.signal, On::kStaleRoute) << status;
      EXPECT_TRUE(several.splits);
      EXPECT_EQ(several.outcome.failure, FailureClass::kRejected);
      EXPECT_EQ(several.outcome.reason, "HTTP " + std::to_string(status));
      const Reading alone = answered(0, status);
      EXPECT_EQ(alone.signal, std::string_view(reject) == "retry" ? On::kFailed : On::kRejected);
      EXPECT_FALSE(alone.splits);
    }
  }
}

// req: webhook.batch.8, webhook.batch.10, webhook.batch.11
TEST_F(WebhookBatch, OtherAnswersMeanWhatTheyMeanOfOne) {
  add("1");
  add("2");
  EXPECT_EQ(answered(1, 204, 9).signal, On::kAnswered);
  EXPECT_EQ(answered(1, 410, 9).signal, On::kNoRoute);
  for (const int status : {429, 503}) {
    const WireReply busy{
        .end = WireEnd::kAnswered, .status = status, .headers = {{"retry-after", "7"}}};
    EXPECT_EQ(reading(1, busy, 9).signal, On::kFailed) << status;
    EXPECT_EQ(reading(1, busy, 9).retry_after, Duration(7s));
  }
  for (const WireEnd end : {WireEnd::kRefused, WireEnd::kNoName, WireEnd::kNoTls,
                            WireEnd::kForbidden, WireEnd::kHeldBack})
    EXPECT_EQ(reading(1, {.end = end}, 9).signal, On::kFailed);
}

// req: webhook.batch.10
TEST_F(WebhookBatch, IsHalvedWhenItFailsTheThirdTime) {
  add("1");
  add("2");
  std::vector<WireReply> failures = {{.end = WireEnd::kTimedOut}, {.end = WireEnd::kReset}};
  for (const int status : {500, 502, 408, 425, 302})
    failures.push_back({.end = WireEnd::kAnswered, .status = status});
  for (const WireReply& reply : failures) {
    for (std::uint16_t attempts = 1; attempts <= 4; ++attempts) {
      const Reading several = reading(1, reply, attempts);
      EXPECT_EQ(several.splits, attempts >= 3) << reply.status << " after " << attempts;
      EXPECT_EQ(several.signal, attempts >= 3 ? On::kStaleRoute : On::kFailed);
      EXPECT_EQ(reading(0, reply, attempts).signal, On::kFailed) << "alone it goes on";
    }
  }
}

// Any member may be to blame for what would be the end of the first one.
// req: webhook.batch.10
TEST_F(WebhookBatch, IsHalvedBeforeItsFirstMemberEnds) {
  add("1");
  add("2");
  configure_with({{"batch_max", "50"}, {"attempts_max", "2"}});
  EXPECT_FALSE(answered(1, 500, 1).splits);
  EXPECT_TRUE(answered(1, 500, 2).splits);
  configure_with({{"batch_max", "50"}, {"on_poison", "park"}, {"poison_after", "1"}});
  EXPECT_TRUE(answered(1, 500, 1).splits);
  configure_with({{"batch_max", "50"}, {"poison_after", "1"}});
  EXPECT_FALSE(answered(1, 500, 1).splits) << "nobody is set aside";
}

// req: webhook.batch.16
TEST_F(WebhookBatch, IsAMethodOfItsOwn) {
  const auto method = [this](const NamedTexts& settings) {
    configure_with(settings);
    const postrider::Facts any = facts(0);
    return kWebhook.door
        .admit({.destination = any.destination,
                .policy = any.policy,
                .lane = 0,
                .attributes = {},
                .body = "1"})
        ->method;
  };
  add("1");
  EXPECT_EQ(method({}), kPostMethod);
  EXPECT_EQ(method({{"batch_max", "0"}}), kPostMethod);
  EXPECT_EQ(method({{"batch_max", "1"}}), kBatchMethod);
  // Without a batch it is a request like any other.
  configure_with({});
  EXPECT_EQ(kWebhook.wire.encode(facts(0), AttemptKind::kSend).body, "1");
}

// req: webhook.batch.13
TEST(WebhookBatchRows, AReceiptEndsNoOpenBatch) {
  for (const StateIndex state : {kSending, kWaiting, kAgain}) {
    const Transition* row = find_row(kBatchRows, state, On::kConfirmed);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->verb, Do::kIgnore);
    EXPECT_EQ(row->raise, Raise::kSeen);
  }
  for (const StateIndex state : {kQueued, kParked, kAside})
    EXPECT_EQ(find_row(kBatchRows, state, On::kConfirmed)->verb, Do::kComplete);
}

}  // namespace
}  // namespace postrider::webhook
