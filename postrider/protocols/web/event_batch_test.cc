#include "postrider/protocols/web/event_batch.h"

#include <gtest/gtest.h>

#include "postrider/protocols/web/base64.h"

namespace postrider {
namespace {

constexpr std::size_t kAll = 1 << 20;
constexpr Timestamp kAccepted(1'614'265'330'999);

BatchMember member(std::string_view id, std::string_view body,
                   std::string_view type = "application/json") {
  return {.id = id, .at = kAccepted, .content_type = type, .body = body, .source = "shop", .type = "paid"};
}

std::string body_of(BatchFormat format, const std::vector<BatchMember>& members) {
  EventBatch batch(format);
  for (const BatchMember& each : members) EXPECT_TRUE(batch.append(each, kAll));
  EXPECT_EQ(batch.members(), members.size());
  std::string text = batch.finish();
  EXPECT_EQ(batch.members(), 0U);
  return text;
}

// req: webhook.batch.4
TEST(EventBatchArray, HasOneObjectForEachMessage) {
  EXPECT_EQ(body_of(BatchFormat::kArray, {member("a", R"({"n": 1})"), member("b", "2")}),
            R"([{"id":"a","timestamp":"2021-02-25T15:02:10.999Z","data":{"n": 1}},)"
            R"({"id":"b","timestamp":"2021-02-25T15:02:10.999Z","data":2}])");
}

// req: webhook.batch.4
TEST(EventBatchArray, SaysWhatIsUnusual) {
  BatchMember odd = member("a", "[]", "application/vnd.x+json");
  odd.attributes = {{"traceparent", "00-1"}, {"ce-type", "a \"b\""}};
  EXPECT_EQ(body_of(BatchFormat::kArray, {odd}),
            R"([{"id":"a","timestamp":"2021-02-25T15:02:10.999Z",)"
            R"("content_type":"application/vnd.x+json",)"
            R"("attributes":{"traceparent":"00-1","ce-type":"a \"b\""},"data":[]}])");
}

// req: webhook.batch.5
TEST(EventBatchEvents, AreTheFormatOfCloudEvents) {
  BatchMember named = member("b", "true");
  named.attributes = {{"id", "own"}, {"traceparent", "00-1"}, {"data", "no"}, {"type", "lost"}};
  EXPECT_EQ(body_of(BatchFormat::kCloudEvents, {member("a", "1"), named}),
            R"([{"specversion":"1.0","id":"a","source":"shop","type":"paid",)"
            R"("time":"2021-02-25T15:02:10.999Z","datacontenttype":"application/json","data":1},)"
            R"({"specversion":"1.0","id":"own","source":"shop","type":"lost",)"
            R"("time":"2021-02-25T15:02:10.999Z","datacontenttype":"application/json",)"
            R"("traceparent":"00-1","data":true}])");
}

// req: webhook.batch.6
TEST(EventBatchData, WhatIsNoJsonGoesAsBase64) {
  const std::string bytes("a\0\xFF", 3);
  const auto data = [](const BatchMember& one) {
    const std::string text = body_of(BatchFormat::kArray, {one});
    const std::size_t at = text.find("\"data");
    return text.substr(at, text.size() - at - 2);
  };
  EXPECT_EQ(data(member("a", bytes, "application/octet-stream")),
            R"("data_base64":"YQD/")");
  EXPECT_EQ(data(member("a", "1", "text/plain")), R"("data_base64":"MQ==")") << "its type decides";
  EXPECT_EQ(data(member("a", "{oops")), R"("data_base64":"e29vcHM=")") << "and what it really is";
  EXPECT_EQ(data(member("a", "1]")), R"("data_base64":"MV0=")") << "nothing breaks out";
  EXPECT_EQ(data(member("a", "")), R"("data_base64":"")");
  EXPECT_EQ(data(member("a", " {\"a\":1,\"a\":2}\n")), "\"data\": {\"a\":1,\"a\":2}\n")
      << "byte for byte";
  const std::string deep = std::string(101, '[') + std::string(101, ']');
  EXPECT_TRUE(data(member("a", deep)).starts_with("\"data_base64\""));
  EXPECT_EQ(data(member("a", deep.substr(1, 200))), "\"data\":" + deep.substr(1, 200));
}

TEST(EventBatchData, JsonHasSeveralTypes) {
  for (const std::string_view type : {"application/json", "Application/JSON; charset=utf-8",
                                      "application/json ;a=b", "application/cloudevents+json"})
    EXPECT_TRUE(is_json_type(type)) << type;
  for (const std::string_view type : {"", "text/json", "application/jsonp", "json", "+jso"})
    EXPECT_FALSE(is_json_type(type)) << type;
}

// req: webhook.batch.2
TEST(EventBatchBytes, AreKeptToTheByte) {
  for (const BatchFormat format : {BatchFormat::kArray, BatchFormat::kCloudEvents}) {
    const BatchMember one = member("a", "1");
    const std::size_t both = body_of(format, {one, one}).size();
    for (const std::size_t most : {both - 1, both, both + 1}) {
      EventBatch batch(format);
      EXPECT_TRUE(batch.append(one, 10)) << "the first one goes whatever its size";
      EXPECT_EQ(batch.append(one, most), most >= both);
      EXPECT_EQ(batch.finish().size(), most >= both ? both : body_of(format, {one}).size());
    }
  }
}

}  // namespace
}  // namespace postrider
