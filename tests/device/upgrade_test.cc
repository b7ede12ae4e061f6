// A store from before names had short keys: what it holds is found all the same.
#include <string>

#include "postrider/base/codec.h"
#include "postrider/model/records/keys.h"
#include "postrider/model/records/records.h"
#include "tests/support/device_rig.h"

namespace postrider {
namespace {

constexpr const char* kItem = "6d1f6a5e-0000-4000-8000-00000000abcd";
constexpr const char* kPair = "0b54c9a0-77f3-4d3a-9d0e-5f2b6a1c0d9e";

class DeviceUpgrade : public DeviceRig {
 protected:
  // The store as an older program would have written it. Tells how many keys were short.
  std::size_t make_old() {
    auto batch = std::make_shared<WriteBatch>();
    std::size_t changed = 0;
    for (const auto& [key, value] : store.memory().contents()) {
      if (key[0] == keys::kMeta) {
        Meta meta = decode_meta(value).value();
        meta.long_names = meta.running[static_cast<std::size_t>(Kept::kNames)].number;
        meta.long_halves = meta.running[static_cast<std::size_t>(Kept::kHalves)].number;
        batch->put(key, encode_meta(meta));
      }
      if (key[0] != keys::kName && key[0] != keys::kHalf) continue;
      Reader reader(std::string_view(key).substr(5));
      const std::string scope(reader.text());
      std::string old = key.substr(0, 5);
      Writer(old).text(scope).raw(keys::long_name(reader.rest()));
      if (old == key) continue;
      batch->remove(key);
      batch->put(old, value);
      ++changed;
    }
    const Epoch epoch = store.memory().acquire(0).value();
    store.memory().commit(epoch, batch, [](CommitOutcome) {});
    return changed;
  }
};

// req: engine.store.14
TEST_F(DeviceUpgrade, ANameUnderItsLongKeyIsFound) {
  open_all();
  const auto command = message("READ_CREDIT");
  const MessageId id = send(command);
  enqueued(kItem);
  EXPECT_EQ(make_old(), 1U);
  restart();
  txack(kItem);
  EXPECT_EQ(state(id), "OnAir");
  ack(kItem, true, kPair);
  EXPECT_EQ(state(id), "HalfAck");
  uplink(frame(command), kPair);
  EXPECT_EQ(outcome(id), "executed");
}

// req: engine.store.14
TEST_F(DeviceUpgrade, NewsThatWaitsUnderALongKeyMeetsItsName) {
  open_all();
  const auto command = message("READ_CREDIT");
  const MessageId id = send(command);
  enqueued(kItem);
  uplink(frame(command), kPair);  // before the acknowledgement that belongs to it
  ASSERT_EQ(state(id), "AtServer");
  EXPECT_EQ(make_old(), 2U);
  restart();
  ack(kItem, true, kPair);
  pass(1s);
  EXPECT_EQ(outcome(id), "executed");
}

}  // namespace
}  // namespace postrider
