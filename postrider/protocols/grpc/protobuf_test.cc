#include "postrider/protocols/grpc/protobuf.h"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "postrider/protocols/hex_testing.h"

namespace postrider::protobuf {
namespace {

Result<std::uint32_t> count_fields(std::string_view bytes) {
  Reader reader(bytes);
  std::uint32_t count = 0;
  while (true) {
    POSTRIDER_TRY(field, reader.next());
    if (!field) return count;
    ++count;
  }
}

ErrorCode error_of(std::string_view bytes) {
  const Result<std::uint32_t> count = count_fields(bytes);
  return count ? ErrorCode::kNotFound : count.error().code;
}

TEST(Protobuf, ReadsEveryKindOfField) {
  Reader reader(
      std::string_view("\x08\x96\x01\x11\x01\x02\x03\x04\x05\x06\x07\x08\x1A\x02hi\x25\x00"
                       "\x00\x80\x3F",
                       21));
  const auto number = *reader.next();
  EXPECT_TRUE(number->is(1, WireType::kVarint));
  EXPECT_EQ(number->value, 150U);
  const auto wide = *reader.next();
  EXPECT_TRUE(wide->is(2, WireType::kFixed64));
  EXPECT_EQ(wide->value, 0x0807060504030201U);
  const auto text = *reader.next();
  EXPECT_TRUE(text->is(3, WireType::kBytes));
  EXPECT_EQ(text->bytes, "hi");
  const auto real = *reader.next();
  EXPECT_TRUE(real->is(4, WireType::kFixed32));
  EXPECT_EQ(real->f32(), 1.0F);
  EXPECT_FALSE(*reader.next());
  EXPECT_FALSE(*reader.next());
}

TEST(Protobuf, RefusesWhatIsNoMessage) {
  const char* const cases[] = {"08",                      // no value
                               "0880",                    // a number cut off
                               "08ffffffffffffffffff02",  // a number of 65 bits
                               "08ffffffffffffffffffff01",
                               "11010203",
                               "0a05616263",              // fewer bytes than announced
                               "0affffffffffffffffff01",  // a length beyond memory
                               "2501",
                               "0b0c",  // a group
                               "0e",
                               "0f",  // kinds that do not exist
                               "00",
                               "0201",             // number zero
                               "80808080800100"};  // number beyond 29 bits
  for (const char* hex : cases) EXPECT_EQ(error_of(from_hex(hex)), ErrorCode::kCorrupt) << hex;
  EXPECT_EQ(*count_fields(""), 0U);
}

TEST(Protobuf, IsBoundedInBytes) {
  const auto message_of = [](std::size_t size) {
    std::string out;
    Writer(out).bytes(1, std::string(size - 4, 'x'));  // a tag and three bytes of length
    return out;
  };
  EXPECT_EQ(message_of(kBytesMax).size(), kBytesMax);
  EXPECT_EQ(*count_fields(message_of(kBytesMax)), 1U);
  EXPECT_EQ(error_of(message_of(kBytesMax + 1)), ErrorCode::kLimit);
}

TEST(Protobuf, IsBoundedInFields) {
  std::string many;
  for (std::uint32_t i = 0; i < kFieldsMax; ++i) Writer(many).varint(1, 1);
  EXPECT_EQ(*count_fields(many), kFieldsMax);
  Writer(many).varint(1, 1);
  EXPECT_EQ(error_of(many), ErrorCode::kLimit);
}

TEST(Protobuf, IsBoundedInDepth) {
  std::string bytes;
  for (std::uint32_t i = 0; i < kDepthMax; ++i) {
    std::string outer;
    Writer(outer).message(1, bytes);
    bytes = outer;
  }
  Reader reader(bytes);
  for (std::uint32_t depth = 1; depth < kDepthMax; ++depth) {
    const auto field = reader.next();
    ASSERT_TRUE(field && *field) << depth;
    reader = reader.nested(**field);
  }
  const auto last = reader.next();
  ASSERT_TRUE(last && *last);
  const auto beyond = reader.nested(**last).next();
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, ErrorCode::kLimit);
}

TEST(Protobuf, LeavesDefaultsOutButNotEmptyMessages) {
  std::string out;
  Writer(out).varint(1, 0).boolean(2, false).f32(3, 0).bytes(4, "").i32(5, 0);
  EXPECT_EQ(out, "");
  Writer(out).message(6, "");
  EXPECT_EQ(to_hex(out), "3200");
}

TEST(Protobuf, ExtendsTheSignOfNegativeNumbers) {
  std::string out;
  Writer(out).i32(1, -1);
  EXPECT_EQ(to_hex(out), "08ffffffffffffffffff01");
  EXPECT_EQ((*Reader(out).next())->i32(), -1);
}

TEST(Protobuf, TimesAreCutToMilliseconds) {
  EXPECT_EQ(to_hex(encode_timestamp(Timestamp(1'786'545'000'000))), "08e886f2d306");
  EXPECT_EQ(*read_timestamp(Reader(from_hex("08011080897a"))), Timestamp(1002));
  EXPECT_EQ(*read_timestamp(Reader(encode_timestamp(Timestamp(-1)))), Timestamp(-1));
  std::string far;
  Writer(far).varint(1, 253'402'300'800ULL);
  EXPECT_FALSE(read_timestamp(Reader(far)));
  std::string nanos;
  Writer(nanos).varint(2, 1'000'000'000);
  EXPECT_FALSE(read_timestamp(Reader(nanos)));
}

RC_GTEST_PROP(Protobuf, WhatIsWrittenIsRead,
              (std::uint64_t number, std::int32_t small, const std::string& bytes)) {
  const auto field = *rc::gen::inRange<std::uint32_t>(1, kFieldNumberMax + 1);
  std::string out;
  Writer(out).varint(field, number).i32(field, small).bytes(field, bytes);
  Reader reader(out);
  if (number != 0) RC_ASSERT((*reader.next())->value == number);
  if (small != 0) RC_ASSERT((*reader.next())->i32() == small);
  if (!bytes.empty()) RC_ASSERT((*reader.next())->bytes == bytes);
  RC_ASSERT(!*reader.next());
}

RC_GTEST_PROP(Protobuf, AnyBytesComeToAnEnd, (const std::string& bytes)) {
  const Result<std::uint32_t> count = count_fields(bytes);
  RC_ASSERT(!count || *count <= bytes.size());
}

}  // namespace
}  // namespace postrider::protobuf
