#include "postrider/model/ids.h"

#include <set>
#include <string>
#include <tuple>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "postrider/model/id_address.h"

namespace postrider {
namespace {

DestinationId any_destination() {
  return DestinationId(*rc::gen::inRange<std::uint64_t>(0, kShards << 32));
}
std::uint8_t any_lane() { return *rc::gen::inRange<std::uint8_t>(0, kLanes); }

// req: engine.name.1
RC_GTEST_PROP(MessageId, PartsAreReadBack, (std::uint16_t priority, std::uint64_t sequence)) {
  const DestinationId destination = any_destination();
  const std::uint8_t lane = any_lane();
  const MessageId id = MessageId::make(destination, lane, priority, Sequence(sequence));
  RC_ASSERT(id.destination() == destination);
  RC_ASSERT(id.lane() == lane);
  RC_ASSERT(id.priority() == priority);
  RC_ASSERT(id.sequence() == Sequence(sequence));
}

// req: engine.name.2
RC_GTEST_PROP(MessageId, SortsAsTheLaneIsServed, ()) {
  const DestinationId destination = any_destination();
  const std::uint8_t lane = any_lane();
  const auto priority = [] { return *rc::gen::inRange<std::uint16_t>(0, 3); };
  const auto sequence = [] { return *rc::gen::inRange<std::uint64_t>(0, 3); };
  const auto [p, q, a, b] = std::tuple(priority(), priority(), sequence(), sequence());
  const bool first = p != q ? p > q : a < b;
  RC_ASSERT((MessageId::make(destination, lane, p, Sequence(a)) <
             MessageId::make(destination, lane, q, Sequence(b))) == first);
}

// req: engine.name.1
RC_GTEST_PROP(MessageId, TextIsParsedBack, (std::uint64_t high, std::uint64_t low)) {
  const MessageId id{high, low};
  const std::string text = to_string(id);
  RC_ASSERT(text.size() == 32U);
  RC_ASSERT(parse_message_id(text) == id);
}

// req: engine.name.1
TEST(MessageId, TextIsHexadecimal) {
  EXPECT_EQ(to_string(MessageId{0x0123456789ABCDEF, 0xFEDCBA9876543210}),
            "0123456789abcdeffedcba9876543210");
}

// One text for one id: a caller may compare texts.
TEST(MessageId, OtherTextsAreRefused) {
  for (const std::string& text :
       {std::string(), std::string(31, '0'), std::string(33, '0'), std::string(32, 'A'),
        std::string(32, 'g'), std::string(31, '0') + " ", "-" + std::string(31, '0'),
        std::string(32, '\0'), std::string(32, '\xFF')}) {
    EXPECT_FALSE(parse_message_id(text)) << text;
  }
}

TEST(MessageId, NoneIsNotSet) {
  EXPECT_FALSE(MessageId().is_set());
  EXPECT_TRUE((MessageId{0, 1}).is_set());
  EXPECT_TRUE((MessageId{1, 0}).is_set());
  EXPECT_TRUE(MessageId::make(DestinationId(0), 0, 0, Sequence(0)).is_set())
      << "the inverted priority shows";
}

// req: engine.name.3
TEST(Sequence, OfALaterEpochIsAlwaysGreater) {
  const std::uint64_t last_of_first =
      first_sequence(Epoch(1)).value() + (std::uint64_t{1} << kCounterBits) - 1;
  EXPECT_EQ(last_of_first + 1, first_sequence(Epoch(2)).value());
  EXPECT_TRUE(first_sequence(Epoch(1)).is_set());
}

// The numbers are part of every id that was given out, so a name keeps its number for ever.
// req: engine.name.5
TEST(DestinationIdOf, ANameIsTheSameForEver) {
  EXPECT_EQ(destination_id("shop", "shop", 0).value(), 0x6E335E55D00U);
  EXPECT_EQ(destination_id("", "", 3).value(), 0x703FCFDA003U);
}

// req: engine.name.5
RC_GTEST_PROP(DestinationIdOf, ProbesTellEqualHashesApartAndShareTheOrder,
              (const std::string& placement, const std::string& name)) {
  std::set<DestinationId> ids;
  for (std::uint64_t probe = 0; probe < kProbes; ++probe) {
    const DestinationId id = destination_id(placement, name, probe);
    RC_ASSERT(order_key(id) == order_key(destination_id(placement, name, 0)));
    RC_ASSERT(id.value() < kShards << 32);
    ids.insert(id);
  }
  RC_ASSERT(ids.size() == kProbes);
}

TEST(DestinationIdOf, ThePlacementChoosesTheShard) {
  EXPECT_NE(destination_id("a", "shop", 0).value() >> 32,
            destination_id("b", "shop", 0).value() >> 32);
  EXPECT_EQ(destination_id("a", "shop", 0).value() & 0xFFFFFFFF,
            destination_id("b", "shop", 0).value() & 0xFFFFFFFF);
}

}  // namespace
}  // namespace postrider
