#include "postrider/protocols/matrix/answer.h"

#include <gtest/gtest.h>

#include "postrider/protocols/matrix/event.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::matrix {
namespace {

constexpr Timestamp kAnswerWall(1'700'000'000'000);

// req: matrix.txn.8
TEST(SendAnswer, NamesTheEventsWithAnError) {
  const auto errors = read_send_answer(
      R"({"pdus":{"$a":{},"$b":{"error":"no room"},"$c":{"errcode":"M_FORBIDDEN","error":"banned\nhere"}}})");
  ASSERT_TRUE(errors);
  EXPECT_EQ(*errors,
            (std::vector<PduError>{{"$b", "no room"}, {"$c", "M_FORBIDDEN: banned here"}}));
}

// req: matrix.txn.8
TEST(SendAnswer, ThatIsAnObjectIsASuccessWhateverElseItSays) {
  for (const std::string_view body :
       {"{}", R"({"pdus":{}})", R"({"pdus":[]})", R"({"pdus":null})", R"({"pdus":"x"})",
        R"({"pdus":{"$a":null,"$b":[],"$c":"error","$d":{"error":5},"$e":{"error":""}}})",
        R"( {"x":{"y":1.5e3}} )", R"({"pdus":{},"pdus":{}})", R"( {"a":{"b":1,"b":2}})"}) {
    const auto errors = read_send_answer(body);
    ASSERT_TRUE(errors) << body;
    EXPECT_TRUE(errors->empty()) << body;
  }
}

// req: matrix.http.5
TEST(SendAnswer, ThatIsNoObjectWithinTheLimitIsAFailure) {
  for (const std::string& body :
       {std::string(), std::string("OK"), std::string("<html>"), std::string("[]"),
        std::string("\"x\""), std::string("{\"a\":NaN}"), std::string("{\"a\":Infinity}"),
        std::string("{\"pdus\":{"), std::string("[{\"a\":1,\"a\":2}]"),
        "{\"x\":\"" + std::string(2'000'000, 'x') + "\"}"})
    EXPECT_FALSE(read_send_answer(body)) << body.substr(0, 40);
}

TEST(SendAnswer, HasTextsOfOthersCutAndCleaned) {
  const auto errors =
      read_send_answer(R"({"pdus":{"$a\u0007":{"error":")" + std::string(5000, 'x') + "\"}}}");
  ASSERT_TRUE(errors);
  EXPECT_LE(errors->at(0).text.size(), kErrorTextBytesMax);
  EXPECT_EQ(errors->at(0).event_id, "$a");
}

// req: matrix.txn.8, matrix.pdu.3
TEST(ErrorsOf, AreMatchedByTheIdsOfAllVersions) {
  const std::vector<std::string> events = {
      R"({"type":"m.room.message","sender":"@a:b","room_id":"!r","origin":"b","content":{}})",
      R"({"type":"m.room.message","sender":"@a:b","room_id":"!s","origin":"b","content":{}})",
      R"({"type":"m.room.message","sender":"@a:b","room_id":"!t","event_id":"$1:b","content":{}})",
      R"({"type":"m.room.message","sender":"@a:b","room_id":"!u","content":{}})", "no JSON"};
  const std::vector<std::string_view> pdus(events.begin(), events.end());
  ASSERT_EQ(event_ids(events[0]).size(), 3U);
  const std::vector<PduError> errors = {{event_ids(events[0])[1], "of version 10"},
                                        {event_ids(events[1])[0], "of version 12"},
                                        {"$1:b", "of version 1"},
                                        {"$unknown", "of no event of ours"}};
  const auto found = errors_of(pdus, errors);
  ASSERT_EQ(found.size(), 5U);
  EXPECT_EQ(found[0], "of version 10");
  EXPECT_EQ(found[1], "of version 12");
  EXPECT_EQ(found[2], "of version 1");
  EXPECT_EQ(found[3], std::nullopt);
  EXPECT_EQ(found[4], std::nullopt);
  for (const auto& none : errors_of(pdus, {})) EXPECT_EQ(none, std::nullopt);
}

TEST(RefusalBody, IsReadAsFarAsItGoes) {
  EXPECT_EQ(read_refusal(R"({"errcode":"M_UNKNOWN","error":"x","retry_after_ms":1500})"),
            (Refusal{"M_UNKNOWN", "x", Duration(1500)}));
  for (const std::string_view body :
       {"", "text", "[]", "{}", R"({"errcode":5,"error":[],"retry_after_ms":"x"})"})
    EXPECT_EQ(read_refusal(body), Refusal{}) << body;
  EXPECT_EQ(to_text({"M_UNKNOWN", "x", {}}), "M_UNKNOWN: x");
  EXPECT_EQ(to_text({"M_UNKNOWN", "", {}}), "M_UNKNOWN");
  EXPECT_EQ(to_text({"", "x", {}}), "x");
  EXPECT_EQ(to_text({}), "");
}

struct HoldCase {
  const char* name;
  std::string header;
  std::string body;
  Duration want;
};
class Hold : public ::testing::TestWithParam<HoldCase> {};

// req: matrix.http.4
TEST_P(Hold, IsAsLongAsTheReceiverSaysWithinAnHour) {
  EXPECT_EQ(hold_of(GetParam().header, GetParam().body, kAnswerWall), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Holds, Hold,
    ::testing::Values(
        HoldCase{"Seconds", "7", "", 7s}, HoldCase{"Zero", "0", "", 0s},
        HoldCase{"HeaderGoesFirst", "7", R"({"retry_after_ms":1})", 7s},
        HoldCase{"Date", to_http_date(kAnswerWall + Duration(90s)), "", 90s},
        HoldCase{"DateOfThePast", to_http_date(kAnswerWall - Duration(90s)), "", 0s},
        HoldCase{"DateOfNextYear", to_http_date(kAnswerWall + Duration(365 * 24h)), "", 1h},
        HoldCase{"AYear", "31536000", "", 1h},
        HoldCase{"Endless", "99999999999999999999999999", "", 1h},
        HoldCase{"Negative", "-5", "", 5s}, HoldCase{"Word", "soon", "", 5s},
        HoldCase{"Nothing", "", "", 5s}, HoldCase{"Body", "", R"({"retry_after_ms":2500})", 2500ms},
        HoldCase{"BodyBehindABadHeader", "-5", R"({"retry_after_ms":2500})", 2500ms},
        HoldCase{"NegativeBody", "", R"({"retry_after_ms":-1})", 5s},
        HoldCase{"BodyOfAYear", "", R"({"retry_after_ms":31536000000})", 1h},
        HoldCase{"BodyBeyondIntegers", "", R"({"retry_after_ms":99999999999999999999999})", 5s},
        HoldCase{"BodyIsAList", "", R"([1])", 5s}),
    [](const auto& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace postrider::matrix
