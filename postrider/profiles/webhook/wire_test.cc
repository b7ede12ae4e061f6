#include "postrider/profiles/webhook/wire.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "postrider/model/spec_tables_testing.h"
#include "postrider/profiles/webhook/profile.h"
#include "postrider/profiles/webhook/rules.h"
#include "postrider/profiles/webhook/settings.h"
#include "postrider/protocols/web/http_text.h"
#include "postrider/protocols/web/standard_webhooks.h"

namespace postrider::webhook {
namespace {

constexpr const char* kUrl = "https://example.com/hook?x=1";
constexpr const char* kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr const char* kOtherSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
constexpr Timestamp kWall(1'614'265'330'999);
constexpr MessageId kId = MessageId::make(DestinationId(0x123456789AB), 3, 7, Sequence(42));

constexpr IdKey kKey = {0x5E, 0x11};
std::string shown() { return IdCodec(kKey).text(kId); }

// A message and a destination that a profile function can be asked about.
struct Case {
  postrider::Facts facts() const {
    auto read = kWebhook.door.read(message.body, message.attributes);
    parsed = read ? std::move(*read) : nullptr;
    postrider::Facts out{message, state, destination, policy, now, wall};
    out.values.parsed = parsed.get();
    out.ids = codec.get();
    out.secrets = secrets.get();
    return out;
  }
  // What is worked out beforehand must not change a byte.
  WireRequest request() const {
    WireRequest request = kWebhook.wire.encode(facts(), AttemptKind::kSend);
    const std::shared_ptr<const Opaque> prepared = kWebhook.settings.prepare(destination.settings);
    postrider::Facts quick = facts();
    quick.values.prepared = prepared.get();
    const WireRequest same = kWebhook.wire.encode(quick, AttemptKind::kSend);
    EXPECT_EQ(same.headers.text(), request.headers.text());
    EXPECT_EQ(same.target, request.target);
    EXPECT_EQ(same.trust, request.trust);
    EXPECT_EQ(same.body, request.body);
    EXPECT_EQ(same.time_out, request.time_out);
    EXPECT_EQ(same.held_back, request.held_back);
    return request;
  }
  Reading reading(const WireReply& reply) const {
    return kWebhook.wire.classify(facts(), AttemptKind::kSend, reply);
  }

  DestinationConfig destination;
  Policy policy;
  Message message;
  State state;
  Timestamp now{1000};
  Timestamp wall = kWall;
  std::shared_ptr<Secrets> secrets;
  std::shared_ptr<const IdCodec> codec = std::make_shared<IdCodec>(kKey);
  mutable std::shared_ptr<const Opaque> parsed = {};  // of the last facts
};

Case given(NamedTexts settings = {}, const NamedTexts& attributes = {},
           std::string_view body = "{\"test\": 2432232314}") {
  settings.insert(settings.begin(), {"url", kUrl});
  Case c;
  const Result<Policy> configured = configure(settings);
  EXPECT_TRUE(configured);
  if (configured) c.policy = *configured;
  c.destination = {
      .name = "shop", .profile = "webhook", .settings = std::move(settings), .removed = false};
  Message fields;
  fields.id = kId;
  c.message = encode_message(fields, encode_texts(attributes), body);
  return c;
}

std::string header(const WireRequest& request, std::string_view name) {
  std::string found = "absent";
  for (const auto& [key, value] : request.headers.list()) {
    if (key != name) continue;
    EXPECT_EQ(found, "absent") << name << " is there twice";
    found = value;
  }
  return found;
}

WireReply answer(int status, NamedTexts headers = {}, std::string body = "") {
  return {.end = WireEnd::kAnswered,
          .status = status,
          .headers = std::move(headers),
          .body = std::move(body)};
}

SpecTable table(std::string_view heading) {
  const std::optional<SpecTable> found =
      find_table(read_spec_tables("docs/spec/webhook.md"), heading);
  EXPECT_TRUE(found) << heading;
  return found.value_or(SpecTable());
}

bool fits(const std::string& range, int status) {
  if (range == "else") return true;
  const std::size_t dash = range.find('-');
  const int low = std::stoi(range);
  const int high = dash == std::string::npos ? low : std::stoi(range.substr(dash + 1));
  return status >= low && status <= high;
}

struct Readings {
  Reading usual;
  Reading retrying;
  Reading strict;
};

std::string named(const Readings& readings) {
  return std::string(name_of(readings.usual.signal)) + " " +
         std::string(name_of(readings.usual.outcome.failure)) + " " +
         std::string(name_of(readings.retrying.signal)) + " " +
         std::string(name_of(readings.strict.signal)) + " " +
         (readings.usual.retry_after ? "yes" : "no");
}

// What the document says of a status, in the same words.
std::string expected(const SpecTable& codes, int status) {
  for (std::size_t row = 0; row < codes.rows.size(); ++row) {
    if (!fits(codes.cell(row, "status"), status)) continue;
    return codes.cell(row, "signal") + " " + codes.cell(row, "class") + " " +
           codes.cell(row, "with reject = retry") + " " + codes.cell(row, "with reject = strict") +
           " " + codes.cell(row, "retry-after");
  }
  return "no row";
}

std::vector<int> disagreements(const SpecTable& codes) {
  const Case usual = given();
  const Case retrying = given({{"reject", "retry"}});
  const Case strict = given({{"reject", "strict"}});
  std::vector<int> statuses;
  for (int status = -1; status <= 1000; ++status) {
    const WireReply reply = answer(status, {{"retry-after", "7"}});
    const Readings readings{usual.reading(reply), retrying.reading(reply), strict.reading(reply)};
    if (named(readings) != expected(codes, status)) statuses.push_back(status);
  }
  return statuses;
}

// req: webhook.answer.1, webhook.answer.2, webhook.answer.3, webhook.answer.4
// req: webhook.answer.5, webhook.answer.6, webhook.answer.7, webhook.answer.9, webhook.answer.10
// req: webhook.retry-after.1
TEST(WebhookClassify, EveryStatusMeansWhatTheDocumentSays) {
  EXPECT_EQ(disagreements(table("Status codes")), std::vector<int>());
}

TEST(WebhookClassify, AnyChangeOfTheDocumentIsFound) {
  const SpecTable codes = table("Status codes");
  for (std::size_t row = 0; row < codes.rows.size(); ++row) {
    for (std::size_t column = 0; column < codes.columns.size(); ++column) {
      SpecTable changed = codes;
      std::string& cell = changed.rows[row][column];
      if (column > 0) cell = cell == "yes" ? "no" : cell == "no" ? "yes" : cell.insert(0, "other-");
      if (column == 0) cell = cell == "else" ? "1-999" : cell.insert(0, "1");
      EXPECT_FALSE(disagreements(changed).empty()) << row << "," << column;
    }
  }
}

// req: webhook.certainty.3
TEST(WebhookClassify, AnyStatusIsAnswered) {
  for (int status = 100; status <= 599; ++status) {
    EXPECT_EQ(given().reading(answer(status)).outcome.certainty, Certainty::kAnswered);
  }
}

std::map<std::string, WireEnd> wire_ends() {
  return {{"refused", WireEnd::kRefused},    {"no-name", WireEnd::kNoName},
          {"no-tls", WireEnd::kNoTls},       {"forbidden", WireEnd::kForbidden},
          {"no-login", WireEnd::kNoLogin},   {"held-back", WireEnd::kHeldBack},
          {"timed-out", WireEnd::kTimedOut}, {"reset", WireEnd::kReset}};
}

// req: webhook.answer.8, webhook.certainty.1, webhook.certainty.2, webhook.reason.1
TEST(WebhookClassify, EveryEndWithoutAStatusMeansWhatTheDocumentSays) {
  const SpecTable ends = table("Ends of the exchange without a status");
  const std::map<std::string, WireEnd> known = wire_ends();
  ASSERT_EQ(ends.rows.size(), known.size());
  for (std::size_t row = 0; row < ends.rows.size(); ++row) {
    const auto end = known.find(ends.cell(row, "end"));
    ASSERT_NE(end, known.end()) << ends.cell(row, "end");
    // What a transport left behind says nothing then. What is held back never reached one, and
    // its body is our own reason.
    const Reading reading = given().reading({.end = end->second,
                                             .status = 429,
                                             .headers = {{"retry-after", "7"}},
                                             .body = end->second == WireEnd::kHeldBack ? "" : "x"});
    EXPECT_EQ(name_of(reading.signal), ends.cell(row, "signal")) << end->first;
    EXPECT_EQ(name_of(reading.outcome.failure), ends.cell(row, "class")) << end->first;
    EXPECT_EQ(name_of(reading.outcome.certainty), ends.cell(row, "certainty")) << end->first;
    EXPECT_EQ(reading.outcome.reason, ends.cell(row, "reason"));
    EXPECT_EQ(reading.retry_after, std::nullopt);
  }
}

// req: webhook.retry-after.1, webhook.retry-after.2
TEST(WebhookClassify, ReadsTheWishFromTheWallClock) {
  const auto wish = [](int status, const std::string& text) {
    return given().reading(answer(status, {{"retry-after", text}})).retry_after;
  };
  EXPECT_EQ(wish(429, "120"), Duration(120s));
  EXPECT_EQ(wish(503, "120"), Duration(120s));
  EXPECT_EQ(wish(503, "Thu, 25 Feb 2021 15:03:10 GMT"), Duration(60s - 999ms))
      << "a minute after the full second of the wall time";
  EXPECT_EQ(wish(503, "soon"), std::nullopt);
  EXPECT_EQ(given().reading(answer(503)).retry_after, std::nullopt);
}

// req: webhook.reason.1, webhook.reason.2, webhook.reason.3
TEST(WebhookClassify, TheReasonIsShortAndClean) {
  const auto reason = [](int status, const std::string& body) {
    return given().reading(answer(status, {}, body)).outcome.reason;
  };
  EXPECT_EQ(reason(503, ""), "HTTP 503");
  EXPECT_EQ(reason(503, "\x1B[2J\r\n down \n"), "HTTP 503: [2J down");
  EXPECT_EQ(reason(200, "thanks"), "HTTP 200") << "nobody needs to know why something went well";
  EXPECT_EQ(reason(500, std::string(189, 'x')).size(), 199U);
  EXPECT_EQ(reason(500, std::string(190, 'x')).size(), kReasonBytesMax);
  EXPECT_EQ(reason(500, std::string(191, 'x')).size(), kReasonBytesMax);
  EXPECT_EQ(reason(410, "gone"), "HTTP 410: gone");
}

// req: webhook.request.1, webhook.request.6
TEST(WebhookEncode, PostsTheBodyAsItIs) {
  const std::string body("\0{\xFF}\n", 5);
  const Case with_body = given({{"time_out", "3s"}}, {}, body);
  const WireRequest request = with_body.request();
  EXPECT_EQ(request.verb, "POST");
  EXPECT_EQ(request.target, kUrl);
  EXPECT_EQ(request.body, body);
  EXPECT_EQ(request.owner, with_body.message.record);
  EXPECT_EQ(request.time_out, 3s);
  EXPECT_EQ(header(request, "user-agent"), "Postrider");
  EXPECT_EQ(header(given({{"headers.User-Agent", "Acme"}}).request(), "user-agent"), "Acme");
}

// req: webhook.request.2
TEST(WebhookEncode, TheContentTypeIsTheMessagesThenTheDestinations) {
  EXPECT_EQ(header(given().request(), "content-type"), "application/json");
  EXPECT_EQ(header(given({{"content_type", "text/plain"}}).request(), "content-type"),
            "text/plain");
  EXPECT_EQ(
      header(given({{"content_type", "text/plain"}}, {{"content-type", "image/png"}}).request(),
             "content-type"),
      "image/png");
}

// req: webhook.request.3, webhook.request.5
TEST(WebhookEncode, CustomHeadersAreSentAndTheMessagesWin) {
  const Case both = given({{"headers.X-A", "destination"}, {"headers.X-B", "destination"}},
                          {{"header.x-b", "message"},
                           {"header.X-C", "message"},
                           {"traceparent", "00-1-2-01"},
                           {"tracestate", "a=b"}});
  const WireRequest request = both.request();
  EXPECT_EQ(header(request, "x-a"), "destination");
  EXPECT_EQ(header(request, "x-b"), "message");
  EXPECT_EQ(header(request, "x-c"), "message");
  EXPECT_EQ(header(request, "traceparent"), "00-1-2-01");
  EXPECT_EQ(header(request, "tracestate"), "a=b");
}

// The destination may have been configured anew after the message was admitted.
// req: webhook.request.4
TEST(WebhookEncode, ForbiddenHeadersAreNotSentWhateverWasAdmitted) {
  const Case sly = given({{"secret", kSecret}}, {{"header.Webhook-Signature", "v1,forged"},
                                                 {"header.webhook-id", "forged"},
                                                 {"header.Host", "forged"},
                                                 {"header.content-length", "0"},
                                                 {"header.content-type", "forged"}});
  const WireRequest request = sly.request();
  for (const auto& [name, value] : request.headers.list())
    EXPECT_EQ(value.find("forged"), std::string::npos) << name;
  EXPECT_EQ(header(request, "webhook-id"), shown());
  EXPECT_EQ(header(request, "content-length"), "absent");
  EXPECT_EQ(header(request, "content-type"), "application/json");
}

// req: webhook.request.8
TEST(WebhookEncode, FillsInWhatAnEventLacks) {
  Case event = given({{"format", "cloudevents"}, {"event_type", "order.paid"}});
  event.message.accepted = event.now - 250ms;
  const WireRequest request = event.request();
  EXPECT_EQ(header(request, "ce-specversion"), "1.0");
  EXPECT_EQ(header(request, "ce-id"), shown());
  EXPECT_EQ(header(request, "ce-source"), "postrider");
  EXPECT_EQ(header(request, "ce-type"), "order.paid");
  EXPECT_EQ(header(request, "ce-time"), to_rfc3339(kWall - 250ms));
  EXPECT_EQ(header(request, "content-type"), "application/json");

  const WireRequest own = given({{"format", "cloudevents"}},
                                {{"ce-type", "own"}, {"ce-id", "7"}, {"ce-subject", "cart"}})
                              .request();
  EXPECT_EQ(header(own, "ce-type"), "own");
  EXPECT_EQ(header(own, "ce-id"), "7");
  EXPECT_EQ(header(own, "ce-subject"), "cart");
  EXPECT_EQ(header(own, "webhook-id"), shown()) << "the message keeps its own name";

  const WireRequest plain = given({}, {{"ce-type", "own"}}).request();
  EXPECT_EQ(header(plain, "ce-type"), "own");
  EXPECT_EQ(header(plain, "ce-id"), "absent");
}

// req: webhook.wire.3
TEST(WebhookEncode, NamesTheAuthoritiesOfTheDestination) {
  const std::string pem = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n";
  EXPECT_EQ(given({{"trust", pem}}).request().trust, pem);
  EXPECT_EQ(given().request().trust, "");
  EXPECT_FALSE(configure({{"url", kUrl}, {"trust", "a private key"}}));
}

// req: webhook.signature.1, webhook.signature.2, webhook.signature.5, webhook.signature.6
TEST(WebhookEncode, SignsWhatItSends) {
  const Case signing = given({{"secret", kSecret}});
  const WireRequest request = signing.request();
  EXPECT_EQ(header(request, "webhook-id"), shown());
  EXPECT_EQ(header(request, "webhook-timestamp"), "1614265330");
  const auto keys = parse_webhook_secrets(kSecret);
  ASSERT_TRUE(keys);
  EXPECT_EQ(
      header(request, "webhook-signature"),
      webhook_signatures(
          *keys, {.id = shown(), .timestamp = "1614265330", .body = signing.message.body}, kWall));
}

// Computed apart from this code, with `openssl enc -aes-128-ecb` and Python's hmac.
// req: webhook.signature.2
TEST(WebhookEncode, SignatureOfAKnownMessage) {
  EXPECT_EQ(shown(), "70bad5c64e446228a62a293f89f6bf61");
  EXPECT_EQ(header(given({{"secret", kSecret}}).request(), "webhook-signature"),
            "v1,VX2dU2QTRtf45xIvhn/zet9Y1nM76uCpLbSm/MIPImA=");
}

// The value was computed apart from this code, with Python's hmac.
// req: engine.secret.2, webhook.signature.13
TEST(WebhookEncode, SignsWithWhatAKeyFileHolds) {
  Case named = given({{"secret_name", "billing"}});
  named.secrets = std::make_shared<Secrets>();
  named.secrets->put("billing", kSecret);
  EXPECT_EQ(named.request().headers.text(), given({{"secret", kSecret}}).request().headers.text());
  EXPECT_TRUE(named.request().held_back.empty());
  const std::string both = std::string(kOtherSecret) + " " + kSecret;
  named.secrets->put("billing", both);
  EXPECT_EQ(named.request().headers.text(), given({{"secret", both}}).request().headers.text());
  Case body = given({{"secret_name", "billing"}, {"signature", "hmac-sha256-body"}});
  body.secrets = std::make_shared<Secrets>();
  body.secrets->put("billing", "any text");
  EXPECT_EQ(header(body.request(), "x-device-messaging-signature"),
            header(given({{"secret", "any text"}, {"signature", "hmac-sha256-body"}}).request(),
                   "x-device-messaging-signature"));
}

// req: engine.secret.3, webhook.signature.13
TEST(WebhookEncode, HoldsBackWhatItCannotSign) {
  Case named = given({{"secret_name", "billing"}});
  EXPECT_EQ(named.request().held_back, "there is no secret 'billing'");
  EXPECT_EQ(header(named.request(), "webhook-signature"), "absent");
  named.secrets = std::make_shared<Secrets>();
  EXPECT_EQ(named.request().held_back, "there is no secret 'billing'");
  named.secrets->put("billing", "no-signing-secret");
  const std::string why = named.request().held_back;
  EXPECT_NE(why, "");
  EXPECT_EQ(why.find("no-signing-secret"), std::string::npos) << "the secret is not repeated";
  const Case unsigned_one = given({{"secret_name", "billing"}, {"signature", "none"}});
  EXPECT_EQ(header(unsigned_one.request(), "webhook-signature"), "absent");
  Case body = given({{"secret_name", "billing"}, {"signature", "hmac-sha256-body"}});
  EXPECT_EQ(body.request().held_back, "there is no secret 'billing'");
  WireReply reply;
  reply.end = WireEnd::kHeldBack;
  reply.body = why;
  EXPECT_EQ(named.reading(reply).outcome.reason, why);
  EXPECT_EQ(named.reading(reply).outcome.failure, FailureClass::kHeldBack);
}

// req: webhook.signature.10, webhook.signature.11
TEST(WebhookEncode, SignsTheBodyForThoseWhoKnowThatOnly) {
  const NamedTexts settings = {{"secret", "s3cret"},
                               {"signature", "hmac-sha256-body"},
                               {"id_header", "X-Device-Messaging-Event-Id"}};
  const WireRequest request = given(settings, {{"event-id", "01HV7Z"}}, "{\"a\":1}").request();
  EXPECT_EQ(header(request, "x-device-messaging-signature"),
            "sha256=5910e62016ef5034272c926c27071992a465c2335cecf41851bda071577f4f6d");
  EXPECT_EQ(header(request, "x-device-messaging-event-id"), "01HV7Z");
  for (const char* name : {"webhook-id", "webhook-timestamp", "webhook-signature", "event-id"})
    EXPECT_EQ(header(request, name), "absent") << name;
  EXPECT_EQ(header(given(settings).request(), "x-device-messaging-event-id"), shown());

  NamedTexts other = settings;
  other.push_back({"signature_header", "X-Sum"});
  EXPECT_TRUE(header(given(other).request(), "x-sum").starts_with("sha256="));
  EXPECT_EQ(header(given(other).request(), "x-device-messaging-signature"), "absent");
}

// req: webhook.signature.11
TEST(WebhookEncode, SendsTheEventIdBesideTheStandardsHeaders) {
  const WireRequest request =
      given({{"secret", kSecret}, {"id_header", "X-Event"}}, {{"event-id", "7"}}).request();
  EXPECT_EQ(header(request, "x-event"), "7");
  EXPECT_EQ(header(request, "webhook-id"), shown());
  EXPECT_NE(header(request, "webhook-signature"), "absent");
  EXPECT_EQ(header(given({}, {{"event-id", "7"}}).request(), "event-id"), "absent");
  // Settings may have changed since the message was admitted.
  const Case sly =
      given({{"secret", "x"}, {"signature", "hmac-sha256-body"}, {"id_header", "X-E"}},
            {{"header.X-E", "forged"}, {"header.X-Device-Messaging-Signature", "forged"}});
  for (const auto& [name, value] : sly.request().headers.list()) EXPECT_NE(value, "forged") << name;
}

// req: webhook.signature.3
TEST(WebhookEncode, RotatesSecrets) {
  const std::string old_one = header(given({{"secret", kSecret}}).request(), "webhook-signature");
  const std::string new_one =
      header(given({{"secret", kOtherSecret}}).request(), "webhook-signature");
  ASSERT_NE(old_one, new_one);
  const std::string both =
      header(given({{"secret", std::string(kOtherSecret) + " " + kSecret}}).request(),
             "webhook-signature");
  EXPECT_EQ(both, new_one + " " + old_one);
}

// req: webhook.signature.12
TEST(WebhookEncode, AnOldSecretSignsUntilItsEnd) {
  const std::string fresh =
      header(given({{"secret", kOtherSecret}}).request(), "webhook-signature");
  const std::string old_one = header(given({{"secret", kSecret}}).request(), "webhook-signature");
  const auto signatures = [](Timestamp end, NamedTexts attributes) {
    const std::string list = std::string(kOtherSecret) + " " + kSecret + "@" + to_rfc3339(end);
    return header(given({{"secret", list}}, std::move(attributes)).request(), "webhook-signature");
  };
  // Both ways of encoding: with what was prepared, and message by message.
  for (const NamedTexts& attributes : {NamedTexts(), NamedTexts{{"header.x-a", "1"}}}) {
    EXPECT_EQ(signatures(kWall + 1ms, attributes), fresh + " " + old_one);
    EXPECT_EQ(signatures(kWall, attributes), fresh);
    EXPECT_EQ(signatures(kWall - 24h, attributes), fresh);
  }
}

// req: webhook.signature.5, webhook.signature.6
TEST(WebhookEncode, TheIdStaysAndTheTimestampMoves) {
  Case signing = given({{"secret", kSecret}});
  const WireRequest first = signing.request();
  signing.wall = kWall + 1h;
  signing.now = signing.now + 1h;
  signing.state.attempts = 5;
  signing.message =
      *decode_message(Blob::copy_of(signing.message.record.view()));  // as after a restart
  const WireRequest second = signing.request();
  EXPECT_EQ(header(first, "webhook-id"), header(second, "webhook-id"));
  EXPECT_EQ(header(second, "webhook-timestamp"), "1614268930");
  EXPECT_NE(header(first, "webhook-signature"), header(second, "webhook-signature"));
  EXPECT_EQ(first.body, second.body);
}

// req: webhook.signature.7
TEST(WebhookEncode, SignsNothingWhenToldSoOrWithoutASecret) {
  for (const Case& unsigned_one : {given({{"secret", kSecret}, {"signature", "none"}}), given()}) {
    const WireRequest request = unsigned_one.request();
    EXPECT_EQ(header(request, "webhook-signature"), "absent");
    EXPECT_EQ(header(request, "webhook-id"), shown());
    EXPECT_EQ(header(request, "webhook-timestamp"), "1614265330");
  }
}

// req: webhook.signature.8
TEST(WebhookEncode, ThePrefixOfTheHeadersIsASetting) {
  const Case acme = given({{"secret", kSecret}, {"header_prefix", "X-Acme-"}},
                          {{"header.webhook-id", "free now"}});
  const WireRequest request = acme.request();
  EXPECT_EQ(header(request, "x-acme-id"), shown());
  EXPECT_EQ(header(request, "x-acme-timestamp"), "1614265330");
  EXPECT_TRUE(header(request, "x-acme-signature").starts_with("v1,"));
  EXPECT_EQ(header(request, "webhook-signature"), "absent");
  EXPECT_EQ(header(request, "webhook-id"), "free now");
}

TEST(WebhookEncode, AttributesThatCannotBeReadAreLeftOut) {
  Case odd = given();
  odd.message.attributes = "\x05";  // a text of five bytes that is not there
  EXPECT_EQ(header(odd.request(), "content-type"), "application/json");
}

Result<Admission> admitted(const Case& c, std::uint8_t lane, std::string_view attributes) {
  POSTRIDER_TRY(parsed, kWebhook.door.read("{}", attributes));
  return kWebhook.door.admit({.destination = c.destination,
                              .policy = c.policy,
                              .lane = lane,
                              .attributes = attributes,
                              .body = "{}",
                              .values = {.parsed = parsed.get()}});
}

std::string admission(const NamedTexts& attributes, NamedTexts settings = {}) {
  const Result<Admission> answer =
      admitted(given(std::move(settings)), 0, encode_texts(attributes));
  return answer ? "admitted" : answer.error().detail;
}

// req: webhook.request.3, webhook.request.5, webhook.request.7
TEST(WebhookAdmit, KnowsItsAttributes) {
  EXPECT_EQ(admission({}), "admitted");
  EXPECT_EQ(admission({{"content-type", "text/plain"},
                       {"traceparent", "x"},
                       {"tracestate", "y"},
                       {"header.x-a", "z"}}),
            "admitted");
  EXPECT_EQ(admission({{"content_type", "text/plain"}}),
            "unknown attribute 'content_type', did you mean 'content-type'?");
  EXPECT_EQ(admission({{"header", "x"}}), "unknown attribute 'header', did you mean 'header.*'?");
  EXPECT_EQ(admission({{"zzz", "x"}}), "unknown attribute 'zzz'");
}

// req: webhook.request.4
TEST(WebhookAdmit, RefusesWhatCouldNotBeSent) {
  EXPECT_EQ(admission({{"header.webhook-signature", "v1,x"}}),
            "header.webhook-signature: this header cannot be set");
  EXPECT_EQ(admission({{"header.acme-id", "x"}}, {{"header_prefix", "acme-"}}),
            "header.acme-id: this header cannot be set");
  EXPECT_EQ(admission({{"header.x", "a\r\nb"}}),
            "header.x: the value must be printable ASCII without line breaks");
  EXPECT_EQ(admission({{"traceparent", "a\nb"}}),
            "traceparent: the value must be printable ASCII without line breaks");
  EXPECT_EQ(admission({{"content-type", ""}}), "content-type: the value must be a media type");
  EXPECT_EQ(admission({{"content-type", "a\nb"}}), "content-type: the value must be a media type");
  EXPECT_EQ(admission({{"header.a b", "x"}}), "header.a b: it is not the name of a header");
  EXPECT_EQ(admission({{"header.x", std::string(kHeaderValueBytesMax, 'x')}}), "admitted");
  EXPECT_NE(admission({{"header.x", std::string(kHeaderValueBytesMax + 1, 'x')}}), "admitted");
}

TEST(WebhookAdmit, LimitsTheNumberOfHeaders) {
  NamedTexts attributes;
  for (std::size_t i = 0; i < kCustomHeadersMax; ++i)
    attributes.push_back({"header.x" + std::to_string(i), "1"});
  EXPECT_EQ(admission(attributes), "admitted");
  attributes.push_back({"header.y", "1"});
  EXPECT_EQ(admission(attributes), "a message may have 32 headers of its own at most");
}

TEST(WebhookAdmit, RefusesBytesThatAreNoAttributes) { EXPECT_FALSE(admitted(given(), 0, "\x05")); }

// req: webhook.order.2
TEST(WebhookAdmit, AnOrderKeyIsAGateOfItsLane) {
  const auto gate_of = [](const std::string& destination, std::uint8_t lane, const char* key,
                          const char* order = "none") {
    Case c = given({{"order", order}});
    c.destination.name = destination;
    const auto admission = admitted(c, lane, encode_texts({{"order-key", key}}));
    EXPECT_TRUE(admission);
    return admission ? admission->gates[0] : Gate();
  };
  const Gate gate = gate_of("shop", 0, "a");
  EXPECT_NE(gate.name, 0U);
  EXPECT_TRUE(gate.lasting);
  EXPECT_TRUE(gate.ordered);
  EXPECT_EQ(gate.limits.in_use_max, 1U);
  EXPECT_EQ(kWebhook.gates.limits(gate.name, default_policy()), gate.limits);
  EXPECT_EQ(gate_of("shop", 0, "a").name, gate.name);
  EXPECT_NE(gate_of("shop", 0, "b").name, gate.name);
  EXPECT_NE(gate_of("shop", 1, "a").name, gate.name);
  EXPECT_NE(gate_of("stop", 0, "a").name, gate.name);
  EXPECT_EQ(gate_of("shop", 0, "a", "fifo").name, 0U) << "a FIFO lane has its order already";
}

// req: webhook.order.2, webhook.signature.11
TEST(WebhookAdmit, BoundsOrderKeysAndEventIds) {
  for (const char* name : {"order-key", "event-id"}) {
    EXPECT_EQ(admission({{name, "x"}}), "admitted");
    EXPECT_EQ(admission({{name, std::string(128, 'x')}}), "admitted");
    for (const std::string& bad : {std::string(), std::string(129, 'x'), std::string("a\nb")})
      EXPECT_EQ(admission({{name, bad}}),
                std::string(name) + ": the value must be 1 to 128 bytes of printable ASCII");
  }
}

TEST(WebhookProfile, IsWiredTogether) {
  EXPECT_EQ(kWebhook.name, "webhook");
  EXPECT_EQ(kWebhook.settings.configure, configure);
  EXPECT_EQ(kWebhook.wire.judge(given().facts()).signal, On::kDue);
  EXPECT_EQ(kWebhook.methods.size(), 2U);
  EXPECT_FALSE(kWebhook.methods[0].durable_intent);
  EXPECT_TRUE(kWebhook.methods[1].durable_intent);
}

}  // namespace
}  // namespace postrider::webhook
