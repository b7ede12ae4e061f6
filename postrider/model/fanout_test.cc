#include "postrider/model/fanout.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "postrider/model/answer.h"
#include "postrider/model/message.h"
#include "postrider/model/records/keys.h"

namespace postrider {
namespace {

// req: engine.fanout.2
TEST(Subscriptions, CoverWhatTheySay) {
  const auto wants = [](const std::string& subscription, const std::string& type) {
    return subscribes({"shop", {subscription}}, type);
  };
  EXPECT_TRUE(wants("order.paid", "order.paid"));
  EXPECT_FALSE(wants("order.paid", "order.paid.late"));
  EXPECT_TRUE(wants("order.*", "order.paid"));
  EXPECT_TRUE(wants("order.*", "order.paid.late"));
  EXPECT_FALSE(wants("order.*", "order"));
  EXPECT_FALSE(wants("order.*", "orders.paid"));
  EXPECT_TRUE(wants("*", "order"));
  EXPECT_FALSE(wants("*", ""));
  EXPECT_TRUE(subscribes({"shop", {}}, ""));
  EXPECT_TRUE(subscribes({"shop", {"a", "b"}}, "b"));
}

// req: engine.fanout.2
TEST(Subscriptions, AreTypesOrBeginnings) {
  for (const char* good : {"a", "a.b-c_d", "A9", "*", "a.*", "a.b.*"})
    EXPECT_TRUE(is_subscription(good)) << good;
  for (const char* bad : {"", ".*b", "a*", "a.*.b", "a b", "*.*", "a/b", "\xC3\xA9"})
    EXPECT_FALSE(is_subscription(bad)) << bad;
  EXPECT_TRUE(is_event_type(std::string(kEventTypeBytesMax, 'x')));
  EXPECT_FALSE(is_event_type(std::string(kEventTypeBytesMax + 1, 'x')));
  EXPECT_FALSE(is_subscription(std::string(kEventTypeBytesMax - 1, 'x') + ".*"));
  EXPECT_FALSE(is_event_type("a.*"));
}

template <class T>
T any() {
  return *rc::gen::arbitrary<T>();
}

RC_GTEST_PROP(FanoutRecords, AreReadAsTheyWereWritten, ()) {
  const FanoutGroup group{any<std::string>(),
                          any<bool>(),
                          {{any<std::string>(), {any<std::string>()}}, {any<std::string>(), {}}},
                          Timestamp(any<std::int64_t>())};
  RC_ASSERT(decode_fanout_group(encode_fanout_group(group)).value() == group);
  const BodyCount count{*rc::gen::inRange<std::uint32_t>(1, 2000), any<std::uint32_t>()};
  RC_ASSERT(decode_body_count(encode_body_count(count)).value() == count);
  Answer answer;
  answer.view = FanoutView{FanoutId(7), {{any<std::string>(), {1, 2}}}, {any<std::string>()}};
  const Answer read = decode_answer(encode_answer(answer)).value();
  RC_ASSERT(std::get<FanoutView>(read.view) == std::get<FanoutView>(answer.view));
  const FanoutId id(any<std::uint64_t>());
  RC_ASSERT(parse_fanout_id(to_string(id)) == id);
  const std::string key = keys::body_letter(3, id.value(), {1, 2});
  RC_ASSERT(keys::parse_body_letter(key)->body == id.value());
  RC_ASSERT(keys::parse_body(keys::body(id.value(), keys::BodyPart::kCount))->id == id.value());
}

// req: engine.fanout.6
RC_GTEST_PROP(SharedBody, IsGivenBackToWhoeverNamesIt, ()) {
  const auto text = any<std::string>();
  const Blob body = encode_body(text);
  RC_ASSERT(decode_body(body.view()).value() == text);
  RC_ASSERT(body_in(body) == text);
  Message fields;
  fields.id = {1, 2};
  fields.shared = {5, static_cast<std::uint32_t>(text.size()), body};
  const Message message = encode_message(fields, "", text);
  RC_ASSERT(message.body == text);
  RC_ASSERT(shares_body(message.record.view()).id == 5U);
  RC_ASSERT(shares_body(message.record.view()).bytes == text.size());
  Message read = decode_message(message.record).value();
  RC_ASSERT(read.body.empty());
  RC_ASSERT(!attach_body(read, encode_body(text + "x")));
  RC_ASSERT(attach_body(read, body));
  RC_ASSERT(read.body == text);
  const Message whole = decode_message(encode_whole(read)).value();
  RC_ASSERT(whole.shared.id == 0U);
  RC_ASSERT(whole.body == text);
  RC_ASSERT(shares_body(encode_whole(read).view()).id == 0U);
}

}  // namespace
}  // namespace postrider
