#include "postrider/transports/grpc/grpc_text.h"

#include <gtest/gtest.h>

#include "postrider/transports/grpc/grpc_reply.h"

namespace postrider {
namespace {

constexpr GrpcReplyLimits kSmall{
    .head_bytes_max = 200, .message_bytes_max = 4, .text_bytes_max = 10};

std::string prefixed(std::string_view message) {
  const GrpcPrefix prefix = grpc_prefix(static_cast<std::uint32_t>(message.size()));
  return std::string(prefix.data(), prefix.size()).append(message);
}

// req: daemon.grpc.4
TEST(GrpcText, StatusIsANumberOfAtMostThreeDigits) {
  EXPECT_EQ(parse_grpc_status("0"), 0);
  EXPECT_EQ(parse_grpc_status("16"), 16);
  EXPECT_EQ(parse_grpc_status("999"), 999);
  for (const char* bad : {"", "1000", "-1", "+1", " 1", "1 ", "0x1", "ok"})
    EXPECT_EQ(parse_grpc_status(bad), std::nullopt) << bad;
}

// req: daemon.grpc.5
TEST(GrpcText, MessagesAreDecodedCleanedAndCut) {
  EXPECT_EQ(decode_grpc_message("no such%20device", 100), "no such device");
  EXPECT_EQ(decode_grpc_message("gr%C3%BC%c3%9fe", 100), "grüße");
  EXPECT_EQ(decode_grpc_message("a%0d%0A%1b[31mb%00c", 100), "a [31mb c");
  EXPECT_EQ(decode_grpc_message("100% %4 %zz %", 100), "100% %4 %zz %");
  EXPECT_EQ(decode_grpc_message("%FF%C3", 100), "??");
  EXPECT_EQ(decode_grpc_message("%C3%BC%C3%BC%C3%BC", 5), "üü");
  EXPECT_EQ(decode_grpc_message("", 100), "");
}

// req: daemon.grpc.3
TEST(GrpcText, TimeOutsHaveAtMostEightDigitsAndAreNeverZero) {
  EXPECT_EQ(grpc_timeout(Duration(1'500)), "1500m");
  EXPECT_EQ(grpc_timeout(Duration(0)), "1m");
  EXPECT_EQ(grpc_timeout(Duration(-5)), "1m");
  EXPECT_EQ(grpc_timeout(Duration(99'999'999)), "99999999m");
  EXPECT_EQ(grpc_timeout(Duration(100'000'999)), "100000S");
  EXPECT_EQ(grpc_timeout(Duration(999'999'999'999'999)), "99999999S");
}

TEST(GrpcText, ThePrefixIsOneFlagAndTheLengthInBigEndian) {
  const GrpcPrefix prefix = grpc_prefix(0x01020384);
  EXPECT_EQ(std::string_view(prefix.data(), prefix.size()),
            std::string_view("\x00\x01\x02\x03\x84", 5));
}

// req: daemon.grpc.8
TEST(GrpcReplyLimit, AMessageAtTheLimitIsTakenAndOneAboveIsNot) {
  for (const bool split : {false, true}) {
    GrpcReply reply(kSmall);
    reply.begin_fields();
    ASSERT_TRUE(reply.field(":status", "200"));
    const std::string data = prefixed("four");
    if (split) {
      for (const char c : data) ASSERT_TRUE(reply.data({&c, 1}));
    } else {
      ASSERT_TRUE(reply.data(data));
    }
    reply.begin_fields();
    ASSERT_TRUE(reply.field("grpc-status", "0"));
    const WireReply out = reply.finish();
    EXPECT_EQ(out.end, WireEnd::kAnswered);
    EXPECT_EQ(out.body, "four");
  }
  GrpcReply reply(kSmall);
  reply.begin_fields();
  ASSERT_TRUE(reply.field(":status", "200"));
  EXPECT_FALSE(reply.data(prefixed("fives").substr(0, 5)));
  EXPECT_EQ(reply.finish().end, WireEnd::kReset);
  EXPECT_EQ(reply.finish().body, "the message is larger than 4 bytes");
}

// req: daemon.grpc.8
TEST(GrpcReplyLimit, HeaderFieldsAreCountedWithTheirOverhead) {
  GrpcReply reply(kSmall);
  reply.begin_fields();
  ASSERT_TRUE(reply.field(":status", "200"));            // 42
  ASSERT_TRUE(reply.field("a", std::string(125, 'x')));  // 158: exactly 200
  EXPECT_FALSE(reply.field("", ""));
  GrpcReply above(kSmall);
  above.begin_fields();
  ASSERT_TRUE(above.field(":status", "200"));
  EXPECT_FALSE(above.field("a", std::string(126, 'x')));
}

// req: daemon.grpc.5
TEST(GrpcReplyLimit, TheMessageOfAStatusIsCut) {
  GrpcReply reply(kSmall);
  reply.begin_fields();
  ASSERT_TRUE(reply.field(":status", "200"));
  ASSERT_TRUE(reply.field("grpc-status", "13"));
  ASSERT_TRUE(reply.field("grpc-message", "0123456789abc"));
  const WireReply out = reply.finish();
  EXPECT_EQ(out.status, 13);
  ASSERT_NE(find_text(out.headers, "grpc-message"), nullptr);
  EXPECT_EQ(*find_text(out.headers, "grpc-message"), "0123456789");
}

// req: daemon.grpc.4
TEST(GrpcReply, OnlyTheLastBlockOfFieldsGivesTheStatus) {
  GrpcReply reply(GrpcReplyLimits{});
  reply.begin_fields();
  ASSERT_TRUE(reply.field(":status", "200"));
  ASSERT_TRUE(reply.field("grpc-status", "0"));
  reply.begin_fields();
  ASSERT_TRUE(reply.field("x", "y"));
  EXPECT_EQ(reply.finish().end, WireEnd::kReset) << "trailers without a status are none";
}

}  // namespace
}  // namespace postrider
