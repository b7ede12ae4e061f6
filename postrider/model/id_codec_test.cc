#include "postrider/model/id_codec.h"

#include <set>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "postrider/model/id_address.h"

namespace postrider {
namespace {

constexpr IdKey kOne = {1};
constexpr IdKey kOther = {2};

// req: engine.name.7
RC_GTEST_PROP(IdCodec, ReadsWhatItWrote,
              (const IdKey& key, std::uint64_t high, std::uint64_t low)) {
  const IdCodec ids(key);
  const MessageId id{high, low};
  RC_ASSERT(ids.inside(ids.outside(id)) == id);
  RC_ASSERT(ids.parse(ids.text(id)) == id);
  RC_ASSERT(ids.text(id).size() == 32U);
}

// A letter that another store wrote keeps its name here, though it leads nowhere.
// req: engine.name.7
RC_GTEST_PROP(IdCodec, ForeignIdsAreWrittenAsTheyCame, (std::uint64_t high, std::uint64_t low)) {
  const IdCodec ids(kOne);
  const std::string foreign = to_string(PublicId{high, low});
  const auto id = ids.parse(foreign);
  RC_ASSERT(id.has_value());
  RC_ASSERT(ids.text(*id) == foreign);
}

// All that a fresh store gives out for a destination has the same addresses in every other one.
// req: engine.name.7
TEST(IdCodec, StoresShowNoCommonIds) {
  const IdCodec one(kOne);
  const IdCodec other(kOther);
  const IdCodec again(kOne);
  const DestinationId shop = destination_id("shop", "shop", 0);
  std::set<std::string> shown;
  for (std::uint64_t counter = 1; counter <= 1000; ++counter) {
    const MessageId id =
        MessageId::make(shop, 0, 0, Sequence(first_sequence(Epoch(1)).value() + counter));
    EXPECT_TRUE(shown.insert(one.text(id)).second);
    EXPECT_TRUE(shown.insert(other.text(id)).second);
    EXPECT_EQ(again.text(id), one.text(id));
    EXPECT_FALSE(one.text(id).starts_with(to_string(shop))) << "the address does not show";
  }
}

// Stored with audits, and known to callers: the same for ever.
// Computed apart from this code, with `openssl enc -aes-128-ecb -nopad`.
// req: engine.name.7
TEST(IdCodec, AKnownIdIsTheSameForEver) {
  const IdCodec ids({0x5E, 0x11});
  const MessageId id = MessageId::make(DestinationId(0x123456789AB), 3, 7, Sequence(42));
  EXPECT_EQ(to_string(id), "123456789ab3fff8000000000000002a");
  EXPECT_EQ(ids.text(id), "70bad5c64e446228a62a293f89f6bf61");
}

TEST(IdCodec, NoneStaysNone) {
  const IdCodec ids(kOne);
  EXPECT_FALSE(ids.outside(MessageId()).is_set());
  EXPECT_FALSE(ids.inside(PublicId()).is_set());
}

// One text for one id: a caller may compare texts.
// req: engine.name.7
TEST(IdCodec, OtherTextsAreRefused) {
  const IdCodec ids(kOne);
  for (const std::string& text :
       {std::string(), std::string(31, '0'), std::string(33, '0'), std::string(32, 'A'),
        std::string(32, 'g'), std::string(31, '0') + " ", std::string(32, '\0')}) {
    EXPECT_FALSE(ids.parse(text)) << text;
  }
}

}  // namespace
}  // namespace postrider
