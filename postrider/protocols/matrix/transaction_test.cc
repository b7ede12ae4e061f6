#include "postrider/protocols/matrix/transaction.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace postrider::matrix {
namespace {

constexpr TransactionLimits kLimits;

std::string body_of(std::string_view pdus, std::string_view edus) {
  return "{\"edus\":" + std::string(edus) +
         ",\"origin\":\"us\",\"origin_server_ts\":1,\"pdus\":" + std::string(pdus) + "}";
}

std::string list_of(std::string_view item, std::size_t count) {
  std::string list = "[";
  for (std::size_t i = 0; i < count; ++i) list += (i > 0 ? "," : "") + std::string(item);
  return list + "]";
}

constexpr std::string_view kPdu = R"({"type":"x","content":{}})";
constexpr std::string_view kEdu = R"({"content":{},"edu_type":"m.x"})";

// req: matrix.egress.4, matrix.cj.2
TEST(ReadTransaction, CutsItemsOutAsTheyCame) {
  const std::string_view first =
      R"({ "type": "m.x" , "n":[1.50, -0, 1e400, 123456789012345678901],"t":"\u0041\/[}]\"" })";
  const std::string_view second = R"({"type":"y"})";
  const std::string_view edu = R"({"edu_type":"m.typing","content":{"b":1, "a":2}})";
  const std::string body = " { \"pdus\" : [ " + std::string(first) + " , " + std::string(second) +
                           "\n] ,\"edus\":[" + std::string(edu) +
                           "],\"origin\":\"us\",\"other\":[1,{}],\"origin_server_ts\":5} ";
  const Result<Transaction> found = read_transaction(body, kLimits);
  ASSERT_TRUE(found) << found.error().detail;
  EXPECT_EQ(found->origin, "us");
  ASSERT_EQ(found->pdus.size(), 2U);
  EXPECT_EQ(found->pdus[0].bytes, first);
  EXPECT_EQ(found->pdus[1].bytes, second);
  ASSERT_EQ(found->edus.size(), 1U);
  EXPECT_EQ(found->edus[0].bytes, edu);
  for (const TransactionItem& item : found->pdus) {
    EXPECT_EQ(item.fault, ItemFault::kNone);
    EXPECT_GE(item.bytes.data(), body.data());
    EXPECT_LE(item.bytes.data() + item.bytes.size(), body.data() + body.size());
  }
}

TEST(ReadTransaction, TakesAbsentLists) {
  for (const std::string_view body : {"{}", R"({"origin":"us"})", R"({"pdus":[],"edus":[]})"}) {
    const Result<Transaction> found = read_transaction(body, kLimits);
    ASSERT_TRUE(found) << body;
    EXPECT_TRUE(found->pdus.empty() && found->edus.empty());
  }
}

// req: matrix.egress.8
TEST(ReadTransaction, NamesItemsThatCannotBeSent) {
  const std::string large = R"({"type":"x","body":")" + std::string(65'536, 'x') + "\"}";
  const std::string body =
      body_of("[5," + std::string(kPdu) + ",{\"type\":7}," + large + ",[{}],null]",
              R"([{"content":{}},{"edu_type":"m.x"},{"edu_type":"m.x","content":"text"},)" +
                  std::string(kEdu) + ",\"x\"]");
  const Result<Transaction> found = read_transaction(body, kLimits);
  ASSERT_TRUE(found) << found.error().detail;
  const auto faults = [](const std::vector<TransactionItem>& items) {
    std::vector<ItemFault> all;
    for (const TransactionItem& item : items) all.push_back(item.fault);
    return all;
  };
  EXPECT_EQ(
      faults(found->pdus),
      (std::vector<ItemFault>{ItemFault::kNoObject, ItemFault::kNone, ItemFault::kNoType,
                              ItemFault::kTooLarge, ItemFault::kNoObject, ItemFault::kNoObject}));
  EXPECT_EQ(faults(found->edus), (std::vector<ItemFault>{ItemFault::kNoType, ItemFault::kNoContent,
                                                         ItemFault::kNoContent, ItemFault::kNone,
                                                         ItemFault::kNoObject}));
  EXPECT_EQ(found->pdus[3].bytes, large);
  for (const ItemFault fault : faults(found->edus)) EXPECT_FALSE(reason_of(fault).empty());
}

// req: matrix.egress.8
TEST(ReadTransaction, TakesAnItemOfTheLargestSize) {
  const std::string head = R"({"type":"x","b":")";
  const std::string item = head + std::string(65'536 - head.size() - 2, 'x') + "\"}";
  ASSERT_EQ(item.size(), 65'536U);
  const std::string body = body_of("[" + item + "]", "[]");
  EXPECT_EQ(read_transaction(body, kLimits)->pdus[0].fault, ItemFault::kNone);
}

// req: matrix.txn.1
TEST(ReadTransaction, TakesFiftyPdusAndAHundredEdus) {
  EXPECT_TRUE(read_transaction(body_of(list_of(kPdu, 50), list_of(kEdu, 100)), kLimits));
  for (const std::string& body :
       {body_of(list_of(kPdu, 51), "[]"), body_of("[]", list_of(kEdu, 101))}) {
    const Result<Transaction> found = read_transaction(body, kLimits);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::kLimit);
  }
}

TEST(ReadTransaction, HasTheLimitsThatAreGiven) {
  const std::string body = body_of(list_of(kPdu, 2), "[]");
  EXPECT_TRUE(read_transaction(body, {.bytes_max = body.size(), .pdus_max = 2}));
  EXPECT_FALSE(read_transaction(body, {.bytes_max = body.size() - 1, .pdus_max = 2}));
  EXPECT_FALSE(read_transaction(body, {.pdus_max = 1}));
}

TEST(ReadTransaction, OfMoreThanTheLargestSizeIsRefused) {
  std::string body = body_of("[]", "[]");
  body.append(kLimits.bytes_max - body.size(), ' ');
  EXPECT_EQ(body.size(), 13'107'200U);
  EXPECT_TRUE(read_transaction(body, kLimits));
  body.push_back(' ');
  ASSERT_FALSE(read_transaction(body, kLimits));
  EXPECT_EQ(read_transaction(body, kLimits).error().code, ErrorCode::kLimit);
}

std::string item_of_depth(std::size_t depth) {
  return R"({"type":"x","a":)" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
}

// req: matrix.cj.3
TEST(ReadTransaction, TakesAHundredLevels) {
  EXPECT_TRUE(read_transaction(body_of("[" + item_of_depth(98) + "]", "[]"), kLimits));
  const Result<Transaction> deep =
      read_transaction(body_of("[" + item_of_depth(99) + "]", "[]"), kLimits);
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code, ErrorCode::kLimit);
  const Result<Transaction> deep_and_large = read_transaction(
      body_of("[[" + std::string(40'000, '[') + std::string(40'000, ']') + "]]", "[]"), kLimits);
  ASSERT_FALSE(deep_and_large);
  EXPECT_EQ(deep_and_large.error().code, ErrorCode::kLimit);
}

struct BrokenCase {
  const char* name;
  std::string body;
  ErrorCode code = ErrorCode::kInvalid;
};
class BrokenTransaction : public ::testing::TestWithParam<BrokenCase> {};

// req: matrix.cj.2
TEST_P(BrokenTransaction, IsRefusedAsAWhole) {
  const Result<Transaction> found = read_transaction(GetParam().body, kLimits);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, GetParam().code);
  EXPECT_FALSE(found.error().detail.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Broken, BrokenTransaction,
    ::testing::Values(
        BrokenCase{"Nothing", ""}, BrokenCase{"Text", "hello"}, BrokenCase{"List", "[]"},
        BrokenCase{"Cut", R"({"pdus":[{"type":"x")"}, BrokenCase{"CutInText", R"({"pdus":["x)"},
        BrokenCase{"CutInEscape", "{\"pdus\":[\"x\\"}, BrokenCase{"CutBeforeEnd", R"({"pdus":[])"},
        BrokenCase{"Behind", "{} x"}, BrokenCase{"TwoBodies", "{}{}"},
        BrokenCase{"NoComma", R"({"pdus":[{"type":"x"} {"type":"y"}]})"},
        BrokenCase{"EmptyPlace", R"({"pdus":[{"type":"x"},,{"type":"y"}]})"},
        BrokenCase{"LastComma", R"({"pdus":[{"type":"x"},]})"},
        BrokenCase{"LastCommaOfBody", R"({"pdus":[],})"}, BrokenCase{"NoColon", R"({"pdus"[]})"},
        BrokenCase{"NoName", R"({5:[]})"}, BrokenCase{"NoValue", R"({"pdus":})"},
        BrokenCase{"WrongBracket", R"({"pdus":[{"type":"x"]}})"},
        BrokenCase{"WrongEnd", R"({"pdus":[}})"}, BrokenCase{"PdusAreAnObject", R"({"pdus":{}})"},
        BrokenCase{"PdusAreNull", R"({"pdus":null})"},
        BrokenCase{"EdusAreAText", R"({"edus":"x"})"},
        BrokenCase{"OriginIsANumber", R"({"origin":5})"},
        BrokenCase{"TwoPdus", R"({"pdus":[],"pdus":[]})", ErrorCode::kConflict},
        BrokenCase{"TwoPdusByEscape", R"({"pdus":[],"pd\u0075s":[]})", ErrorCode::kConflict},
        BrokenCase{"NameTwiceInside", R"({"pdus":[{"type":"x","a":{"b":1,"b":2}}]})",
                   ErrorCode::kConflict},
        BrokenCase{"NameTwiceInOther", R"({"x":{"b":1,"b":2}})", ErrorCode::kConflict},
        BrokenCase{"InvalidUtf8", "{\"pdus\":[{\"type\":\"\xFF\"}]}"},
        BrokenCase{"InvalidUtf8InName", "{\"\xFF\":1}"},
        BrokenCase{"LoneSurrogate", R"({"pdus":[{"type":"\ud800"}]})"},
        BrokenCase{"NotANumber", R"({"pdus":[{"type":"x","a":NaN}]})"},
        BrokenCase{"Control", "{\"pdus\":[{\"type\":\"\n\"}]}"}),
    [](const auto& given) { return std::string(given.param.name); });

// req: matrix.txn.2
TEST(AppendTransaction, HasItsMembersInCanonicalOrder) {
  const std::vector<std::string_view> pdus = {kPdu, R"({"type":"y","x":1.0})"};
  const std::vector<std::string_view> edus = {kEdu};
  std::string body;
  append_transaction(body, {.origin = "us\"x",
                            .origin_server_ts = Timestamp(1'700'000'000'000),
                            .pdus = pdus,
                            .edus = edus});
  EXPECT_EQ(body, "{\"edus\":[" + std::string(kEdu) +
                      "],\"origin\":\"us\\\"x\",\"origin_server_ts\":1700000000000,\"pdus\":[" +
                      std::string(kPdu) + ",{\"type\":\"y\",\"x\":1.0}]}");
  body.clear();
  append_transaction(body,
                     {.origin = "us", .origin_server_ts = Timestamp(1), .pdus = {}, .edus = {}});
  EXPECT_EQ(body, R"({"origin":"us","origin_server_ts":1,"pdus":[]})");
}

// req: matrix.egress.4
RC_GTEST_PROP(AppendTransaction, IsReadAgainAsItWas, ()) {
  const auto drawn = [](std::string_view kind) {
    std::vector<std::string> items;
    for (int left = *rc::gen::inRange(0, 5); left > 0; --left) {
      const std::string body =
          *rc::gen::element<std::string>("\"}]{[,:\"", "[{},[]]", "\"\\\"\\\\\"", "1.0", " 5 ");
      items.push_back("{ " + std::string(kind) + ":\"t\",\"content\":{},\"x\":" + body + "}");
    }
    return items;
  };
  const std::vector<std::string> pdus = drawn("\"type\"");
  const std::vector<std::string> edus = drawn("\"edu_type\"");
  const std::vector<std::string_view> pdu_views(pdus.begin(), pdus.end());
  const std::vector<std::string_view> edu_views(edus.begin(), edus.end());
  std::string body;
  append_transaction(
      body,
      {.origin = "us", .origin_server_ts = Timestamp(1), .pdus = pdu_views, .edus = edu_views});
  const Result<Transaction> found = read_transaction(body, kLimits);
  RC_ASSERT(found.has_value());
  RC_ASSERT(found->pdus.size() == pdus.size());
  RC_ASSERT(found->edus.size() == edus.size());
  for (std::size_t i = 0; i < pdus.size(); ++i) RC_ASSERT(found->pdus[i].bytes == pdus[i]);
  for (std::size_t i = 0; i < edus.size(); ++i) RC_ASSERT(found->edus[i].bytes == edus[i]);
}

}  // namespace
}  // namespace postrider::matrix
