#include "postrider/protocols/grpc/grpc.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "postrider/protocols/hex_testing.h"

namespace postrider::grpc {
namespace {

TEST(GrpcFrame, RefusesWhatIsNotExactlyOneFrame) {
  EXPECT_EQ(*decode_frame(from_hex("0000000000")), "");
  EXPECT_EQ(*decode_frame(from_hex("00000000026869")), "hi");
  for (const char* hex : {"", "00000000", "0000000001",
                          "0000000002"
                          "68",
                          "01000000026869", "0000000002686900", "000000000268690000000000"}) {
    const auto message = decode_frame(from_hex(hex));
    ASSERT_FALSE(message) << hex;
    EXPECT_EQ(message.error().code, ErrorCode::kCorrupt) << hex;
  }
}

TEST(GrpcFrame, IsBounded) {
  const std::string most(kMessageBytesMax, 'x');
  EXPECT_EQ(*decode_frame(encode_frame(most)), most);
  const auto more = decode_frame(from_hex("0000100001") + most + "x");
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::kLimit);
  EXPECT_EQ(decode_frame(from_hex("00ffffffff")).error().code, ErrorCode::kLimit);
}

RC_GTEST_PROP(GrpcFrame, WhatIsFramedIsUnframed, (const std::string& message)) {
  RC_ASSERT(*decode_frame(encode_frame(message)) == message);
}

TEST(GrpcStatus, IsANumberAndUnknownOnesAreUnknown) {
  EXPECT_EQ(parse_status("0"), Status::kOk);
  EXPECT_EQ(parse_status("16"), Status::kUnauthenticated);
  EXPECT_EQ(parse_status("17"), Status::kUnknown);
  EXPECT_EQ(parse_status("4000000000"), Status::kUnknown);
  for (const char* text : {"", "-1", "x", "1x", " 1", "99999999999"})
    EXPECT_EQ(parse_status(text), std::nullopt) << text;
  EXPECT_EQ(name_of(Status::kResourceExhausted), "RESOURCE_EXHAUSTED");
  EXPECT_EQ(name_of(Status::kUnauthenticated), "UNAUTHENTICATED");
}

TEST(GrpcMessage, EscapesAreRead) {
  EXPECT_EQ(decode_message("a%20b%C3%a4%"), "a b\xC3\xA4%");
  EXPECT_EQ(decode_message("%zz%2"), "%zz%2");
  EXPECT_EQ(encode_message("50%\n"), "50%25%0A");
}

RC_GTEST_PROP(GrpcMessage, GoesThroughEscapesAndBack, (const std::string& text)) {
  RC_ASSERT(decode_message(encode_message(text)) == text);
}

}  // namespace
}  // namespace postrider::grpc
