#include "postrider/base/codec.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace postrider {
namespace {

using namespace std::string_literals;

std::string varint(std::uint64_t value) {
  std::string out;
  Writer(out).varint(value);
  return out;
}

TEST(Writer, NumbersAreBigEndian) {
  std::string out;
  Writer(out).u8(1).u16(0x0203).u32(0x04050607).u64(0x08090A0B0C0D0E0F).i64(-2);
  EXPECT_EQ(
      out,
      "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C\x0D\x0E\x0F\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFE"s);
}

TEST(Writer, VarintsTakeSevenBitsAByte) {
  EXPECT_EQ(varint(0), "\0"s);
  EXPECT_EQ(varint(127), "\x7F");
  EXPECT_EQ(varint(128), "\x80\x01");
  EXPECT_EQ(varint(UINT64_MAX), "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01");
}

RC_GTEST_PROP(Codec, ReadsWhatWasWritten,
              (std::uint8_t a, std::uint16_t b, std::uint32_t c, std::uint64_t d, std::int64_t e,
               const std::string& text, const std::string& raw)) {
  const auto small = *rc::gen::inRange(0, 64);
  const std::uint64_t number = d >> small;
  std::string out;
  Writer(out).u8(a).u16(b).u32(c).u64(d).i64(e).varint(number).text(text).raw(raw);
  Reader reader(out);
  RC_ASSERT(reader.u8() == a);
  RC_ASSERT(reader.u16() == b);
  RC_ASSERT(reader.u32() == c);
  RC_ASSERT(reader.u64() == d);
  RC_ASSERT(reader.i64() == e);
  RC_ASSERT(reader.varint() == number);
  RC_ASSERT(reader.text() == text);
  RC_ASSERT(reader.rest() == raw);
  RC_ASSERT(reader.raw(raw.size()) == raw);
  RC_ASSERT(reader.at_end());
}

// req: engine.record.10
RC_GTEST_PROP(Codec, NumbersNearOthersAreReadBack, (std::int64_t value, std::int64_t base)) {
  std::string bytes;
  Writer(bytes).svarint(value).near(value, base).near(base, value);
  Reader reader(bytes);
  RC_ASSERT(reader.svarint() == value);
  RC_ASSERT(reader.near(base) == value);
  RC_ASSERT(reader.near(value) == base);
  RC_ASSERT(reader.at_end());
}

TEST(Codec, SmallNumbersOfEitherSignAreShort) {
  for (const std::int64_t value : {0, -1, 1, -64, 63}) {
    std::string bytes;
    Writer(bytes).svarint(value);
    EXPECT_EQ(bytes.size(), 1U) << value;
  }
  for (const std::int64_t value : {INT64_MIN, INT64_MAX}) {
    std::string bytes;
    Writer(bytes).near(value, INT64_MIN);
    EXPECT_EQ(Reader(bytes).near(INT64_MIN), value);
  }
}

TEST(Reader, RefusesANumberThatItsFieldHasNoRoomFor) {
  const auto read = [](std::uint64_t value, bool wide) {
    std::string bytes;
    Writer(bytes).varint(value);
    Reader reader(bytes);
    return (wide ? reader.varint32() : reader.varint16()) == value && reader.ok();
  };
  EXPECT_TRUE(read(UINT16_MAX, false));
  EXPECT_FALSE(read(UINT16_MAX + 1, false));
  EXPECT_TRUE(read(UINT32_MAX, true));
  EXPECT_FALSE(read(std::uint64_t{UINT32_MAX} + 1, true));
}

RC_GTEST_PROP(Codec, NumbersSortAsTheirBytes, (std::uint64_t a, std::uint64_t b)) {
  std::string first;
  std::string second;
  Writer(first).u64(a);
  Writer(second).u64(b);
  RC_ASSERT((a < b) == (first < second));
}

TEST(Reader, FailsOnceAndStaysFailed) {
  Reader reader("\x01\x02\x03");
  EXPECT_EQ(reader.u16(), 0x0102);
  EXPECT_EQ(reader.u32(), 0U);
  EXPECT_FALSE(reader.ok());
  EXPECT_FALSE(reader.at_end());
  EXPECT_EQ(reader.raw(1), "") << "the byte is there, but nothing after a failure is to be trusted";
  EXPECT_EQ(reader.u8(), 0U);
  EXPECT_EQ(reader.text(), "");
  EXPECT_EQ(reader.varint(), 0U);
  EXPECT_FALSE(reader.ok());
}

TEST(Codec, LongTextsAreReadBack) {
  for (const std::size_t size : {127U, 128U, 300U, 70'000U}) {
    std::string out;
    Writer(out).text(std::string(size, 'x'));
    EXPECT_EQ(Reader(out).text().size(), size);
  }
}

TEST(Reader, AtEndMeansAllWasRead) {
  Reader reader("ab");
  EXPECT_FALSE(reader.at_end());
  reader.raw(2);
  EXPECT_TRUE(reader.at_end());
  reader.raw(0);
  EXPECT_TRUE(reader.at_end());
  reader.fail();
  EXPECT_FALSE(reader.at_end());
}

struct BadCase {
  std::string name;
  std::string bytes;
};

class ReaderVarintTest : public ::testing::TestWithParam<BadCase> {};
TEST_P(ReaderVarintTest, IsRefused) {
  Reader reader(GetParam().bytes);
  EXPECT_EQ(reader.varint(), 0U);
  EXPECT_FALSE(reader.ok());
}
INSTANTIATE_TEST_SUITE_P(
    Bad, ReaderVarintTest,
    ::testing::Values(BadCase{"Empty", ""}, BadCase{"CutOff", "\x80"},
                      BadCase{"CutOffLate", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"},
                      BadCase{"SixtyFiveBits", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02"},
                      BadCase{"ElevenBytes", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x81\x01"}),
    [](const auto& one) { return one.param.name; });

class ReaderTextTest : public ::testing::TestWithParam<BadCase> {};
TEST_P(ReaderTextTest, IsRefused) {
  Reader reader(GetParam().bytes);
  EXPECT_EQ(reader.text(), "");
  EXPECT_FALSE(reader.ok());
}
INSTANTIATE_TEST_SUITE_P(Bad, ReaderTextTest,
                         ::testing::Values(BadCase{"Empty", ""},
                                           BadCase{"OneByteShort",
                                                   "\x03"
                                                   "ab"},
                                           BadCase{"LengthOfAllBits", varint(UINT64_MAX) + "ab"},
                                           BadCase{"LengthCutOff", "\x80"}),
                         [](const auto& one) { return one.param.name; });

RC_GTEST_PROP(Reader, NeverReadsPastItsEnd, (const std::vector<std::uint8_t>& choices)) {
  // The bytes lie in a heap block of their own, so that the address sanitizer sees one byte too
  // many.
  const auto bytes = *rc::gen::container<std::vector<char>>(rc::gen::arbitrary<char>());
  Reader reader(std::string_view(bytes.data(), bytes.size()));
  std::size_t read = 0;
  for (const std::uint8_t choice : choices) {
    switch (choice % 6) {
      case 0: reader.u8(); break;
      case 1: reader.u16(); break;
      case 2: reader.u64(); break;
      case 3: read += reader.varint() % 2; break;
      case 4: read += reader.text().size(); break;
      default: read += reader.raw(choice).size(); break;
    }
    RC_ASSERT(reader.rest().size() <= bytes.size());
  }
  RC_ASSERT(read <= bytes.size());
}

std::string sealed(std::string_view fields, char version = 1) {
  std::string record(1, version);
  record.append(fields);
  seal_record(record);
  return record;
}

TEST(Record, IsVersionFieldsAndChecksum) {
  const std::string record = sealed("abc");
  ASSERT_EQ(record.size(), 8U);
  EXPECT_EQ(record[0], 1);
  Reader reader = open_record(record, 1);
  EXPECT_EQ(reader.raw(3), "abc");
  EXPECT_TRUE(reader.at_end());
  EXPECT_TRUE(open_record(sealed(""), 1).at_end());
}

// req: engine.record.8
TEST(Record, OfAnotherVersionIsRefused) {
  EXPECT_FALSE(open_record(sealed("abc", 2), 1).ok());
  EXPECT_FALSE(open_record("", 1).ok());
  EXPECT_FALSE(open_record("\x01", 1).ok());
}

// req: engine.record.8
RC_GTEST_PROP(Record, NoticesEveryFlippedBitAndEveryCut, (const std::string& fields)) {
  const std::string record = sealed(fields);
  for (std::size_t bit = 0; bit < record.size() * 8; ++bit) {
    std::string bad = record;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    RC_ASSERT(!open_record(bad, 1).ok());
  }
  for (std::size_t size = 0; size < record.size(); ++size) {
    RC_ASSERT(!open_record(std::string_view(record).substr(0, size), 1).ok());
  }
}

}  // namespace
}  // namespace postrider
