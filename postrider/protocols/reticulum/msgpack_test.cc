#include "postrider/protocols/reticulum/msgpack.h"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "postrider/protocols/hex_testing.h"

namespace postrider::reticulum {
namespace {

template <class Write>
std::string written(Write&& write) {
  std::string out;
  MsgpackWriter writer(out);
  write(writer);
  return to_hex(out);
}

// req: rns.wire.2
TEST(Msgpack, WritesShortestForms) {
  const std::pair<std::uint64_t, const char*> wholes[] = {{0, "00"},
                                                          {127, "7f"},
                                                          {128, "cc80"},
                                                          {255, "ccff"},
                                                          {256, "cd0100"},
                                                          {65535, "cdffff"},
                                                          {65536, "ce00010000"},
                                                          {1ull << 32, "cf0000000100000000"}};
  for (const auto& [value, hex] : wholes)
    EXPECT_EQ(written([&](MsgpackWriter& to) { to.whole(value); }), hex);
  const std::pair<std::int64_t, const char*> negatives[] = {{-1, "ff"},
                                                            {-32, "e0"},
                                                            {-33, "d0df"},
                                                            {-128, "d080"},
                                                            {-129, "d1ff7f"},
                                                            {-32769, "d2ffff7fff"},
                                                            {-2147483649, "d3ffffffff7fffffff"},
                                                            {5, "05"}};
  for (const auto& [value, hex] : negatives)
    EXPECT_EQ(written([&](MsgpackWriter& to) { to.negative(value); }), hex);
  EXPECT_EQ(written([](MsgpackWriter& to) { to.real(0.25); }), "cb3fd0000000000000");
  EXPECT_EQ(written([](MsgpackWriter& to) { to.nil().boolean(true).boolean(false); }), "c0c3c2");
  EXPECT_EQ(written([](MsgpackWriter& to) { to.text("a").binary("a"); }), "a161c40161");
  for (const auto& [size, text, binary] : {std::tuple{31u, "bf", "c41f"},
                                           {32u, "d920", "c420"},
                                           {256u, "da0100", "c50100"},
                                           {65536u, "db00010000", "c600010000"}}) {
    const std::string value(size, 'x');
    EXPECT_TRUE(written([&](MsgpackWriter& to) { to.text(value); }).starts_with(text));
    EXPECT_TRUE(written([&](MsgpackWriter& to) { to.binary(value); }).starts_with(binary));
  }
  EXPECT_EQ(written([](MsgpackWriter& to) { to.array(15).array(16).array(65536); }),
            "9fdc0010dd00010000");
  EXPECT_EQ(written([](MsgpackWriter& to) { to.map(15).map(16).map(65536); }),
            "8fde0010df00010000");
}

// req: rns.wire.2
TEST(Msgpack, ReadsEveryLegalForm) {
  for (const char* seven : {"07", "cc07", "cd0007", "ce00000007", "cf0000000000000007", "d007",
                            "d10007", "d200000007", "d30000000000000007"}) {
    const std::string bytes = from_hex(seven);
    MsgpackReader in(bytes);
    EXPECT_EQ(in.whole(), 7u) << seven;
    EXPECT_TRUE(in.at_end());
    EXPECT_EQ(to_hex(canonical_msgpack(bytes).value()), "07");
  }
  for (const char* text : {"a178", "d90178", "da000178", "db0000000178"}) {
    const std::string bytes = from_hex(text);
    MsgpackReader in(bytes);
    EXPECT_EQ(in.text(), "x");
    EXPECT_TRUE(in.at_end());
    EXPECT_EQ(to_hex(canonical_msgpack(bytes).value()), "a178");
  }
  for (const char* binary : {"c40178", "c5000178", "c60000000178"}) {
    const std::string bytes = from_hex(binary);
    MsgpackReader in(bytes);
    EXPECT_EQ(in.binary(), "x");
    EXPECT_EQ(to_hex(canonical_msgpack(bytes).value()), "c40178");
  }
  // A number of four bytes grows to the usual eight.
  EXPECT_EQ(to_hex(canonical_msgpack(from_hex("ca3e800000")).value()), "cb3fd0000000000000");
  EXPECT_EQ(to_hex(canonical_msgpack(from_hex("dc0002c7010541d40542")).value()), "92d40541d40542");
  EXPECT_EQ(to_hex(canonical_msgpack(from_hex("de0001cc02dd00000001d0ff")).value()), "810291ff");
}

TEST(Msgpack, NumbersOfOtherKindsAreReadWhereTheyMayStand) {
  const std::string bytes = from_hex("93cb4070000000000000cd0100ff");
  MsgpackReader in(bytes);
  EXPECT_EQ(in.array(), 3u);
  EXPECT_EQ(in.real(), 256.0);
  EXPECT_EQ(in.real(), 256.0);
  EXPECT_EQ(in.real(), -1.0);
  EXPECT_TRUE(in.at_end());
  const std::string float_bytes = from_hex("cb4070000000000000");
  MsgpackReader strict(float_bytes);
  EXPECT_EQ(strict.whole(), 0u);  // a whole number is not taken from a float
  EXPECT_FALSE(strict.ok());
}

// req: lxmf.lim.2
TEST(Msgpack, RefusesDepth17AndLengthsBeyondTheInput) {
  const auto nested = [](int depth, const char* head, const char* last) {
    std::string bytes;
    for (int i = 0; i < depth; ++i) bytes += from_hex(head);
    return bytes + from_hex(last);
  };
  EXPECT_TRUE(canonical_msgpack(nested(16, "91", "c0")));
  EXPECT_FALSE(canonical_msgpack(nested(17, "91", "c0")));
  EXPECT_TRUE(canonical_msgpack(nested(16, "81c0", "c0")));
  EXPECT_FALSE(canonical_msgpack(nested(17, "81c0", "c0")));
  EXPECT_FALSE(canonical_msgpack(nested(100'000, "91", "c0")));
  for (const char* bytes : {"",           "c1",   "c4",           "c405",       "c502",
                            "c6ffffffff", "d9ff", "dbffffffff61", "ddffffffff", "dfffffffff",
                            "92c0",       "8101", "dc0002c0",     "c7ff",       "c9ffffffff01",
                            "d8",         "cb00", "cf00",         "c0c0",       "a5616263"})
    EXPECT_FALSE(canonical_msgpack(from_hex(bytes))) << bytes;
}

TEST(Msgpack, RawIsTheSliceOfOneValue) {
  const std::string bytes = from_hex("9301920203c0") + "rest";
  MsgpackReader in(bytes);
  EXPECT_EQ(in.array(), 3u);
  EXPECT_EQ(to_hex(in.raw()), "01");
  EXPECT_EQ(in.peek(), MsgpackKind::kArray);
  EXPECT_EQ(to_hex(in.raw()), "920203");
  EXPECT_EQ(in.peek(), MsgpackKind::kNil);
  in.nil();
  EXPECT_EQ(in.rest(), "rest");
  EXPECT_TRUE(in.ok());
}

TEST(Msgpack, FailsOnceAndStaysFailed) {
  const std::string bytes = from_hex("0102");
  MsgpackReader in(bytes);
  EXPECT_EQ(in.text(), "");
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.whole(), 0u);
  EXPECT_EQ(in.raw(), "");
  EXPECT_EQ(in.peek(), MsgpackKind::kNone);
  EXPECT_FALSE(in.at_end());
}

// req: lxmf.lim.2
RC_GTEST_PROP(Msgpack, AnyInputIsReadOrRefused, (const std::vector<std::uint8_t>& input)) {
  const std::string bytes(input.begin(), input.end());
  const auto first = canonical_msgpack(bytes);
  if (!first) return;
  RC_ASSERT(first->size() <= 2 * bytes.size());  // four bytes of a float become eight
  RC_ASSERT(canonical_msgpack(*first) == *first);
}

}  // namespace
}  // namespace postrider::reticulum
