#include "postrider/stores/rocks/check.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "postrider/model/destination.h"
#include "postrider/model/fanout.h"
#include "postrider/model/message.h"
#include "postrider/model/records/keys.h"
#include "postrider/model/records/records.h"
#include "postrider/stores/rocks/check_records.h"
#include "postrider/stores/rocks/describe_key.h"
#include "postrider/stores/rocks/rocks_store.h"
#include "postrider/stores/rocks/rocks_testing.h"

namespace postrider {
namespace {

using Part = keys::Part;
constexpr std::uint64_t kEpoch = std::uint64_t{1} << kCounterBits;

// A small store in good order: one message of each kind, an end with its letter, a ledger entry.
class SoundStore {
 public:
  SoundStore() {
    DestinationConfig config;
    config.name = "shop";
    config.profile = "webhook";
    records[keys::config(destination)] = encode_config(config);
    records[keys::route(destination)] = encode_route({});
    add(keys::hot(hot.sequence(), Part::kMessage), hot, {});
    add(keys::cold(owed, Part::kMessage), owed, Timestamp(9000));
    records[keys::due(Timestamp(9000), keys::DueKind::kExpiry, owed)] = "";
    Owed heads;
    heads.heads[2] = owed;
    records[keys::owed(destination)] = encode_owed(heads);
    add(keys::cold(asleep, Part::kMessage), asleep, {});
    State state;
    state.due = Timestamp(5000);
    records[keys::cold(asleep, Part::kState)] = encode_state(state, "busy");
    records[keys::due(Timestamp(5000), keys::DueKind::kAttempt, asleep)] = "";
    add(keys::cold(parked, Part::kMessage), parked, {});
    records[keys::cold(parked, Part::kState)] = encode_state({}, "poison");
    records[keys::parked(parked)] = "";
    records[keys::census(destination)] = encode_census({"webhook", {{0, 2}, {4, 1}}});
    bury();
    records[keys::ledger(1, "tenant", "key")] = encode_ledger({});
    records[card] = encode_card({Timestamp(1000), Timestamp(7000), "generation 3"});
    records[card_due] = card;
    meta.cards["rpc"] = 1;
    meta.counters.accepted = 5;
    meta.counters.dead = 1;
    for (const Kept kept : kAllKept) meta.running[static_cast<std::size_t>(kept)].count = 1;
    write_meta();
  }

  void write_meta() { records[keys::meta()] = encode_meta(meta); }
  CheckReport check() const {
    CheckReport report;
    rocks::RecordSource source;
    source.epochs_given = 1;
    source.get = [this](std::string_view key) -> std::optional<std::string> {
      const auto record = records.find(std::string(key));
      if (record == records.end()) return std::nullopt;
      return record->second;
    };
    source.for_each = [this](std::string_view, std::string_view, const auto& visit) {
      for (const auto& [key, value] : records) visit(key, value);
      return true;
    };
    rocks::check_records(source, report);
    return report;
  }

  const DestinationId destination = destination_id("shop", "shop", 0);
  const MessageId hot = MessageId::make(destination, 0, 0, Sequence(kEpoch + 1));
  const MessageId owed = MessageId::make(destination, 2, 0, Sequence(kEpoch + 2));
  const MessageId asleep = MessageId::make(destination, 1, 0, Sequence(kEpoch + 3));
  const MessageId parked = MessageId::make(destination, 1, 0, Sequence(kEpoch + 4));
  const MessageId dead = MessageId::make(destination, 1, 0, Sequence(kEpoch + 5));
  const std::string card = keys::card("rpc", "session", "one");
  const std::string card_due =
      keys::due(Timestamp(7000), keys::DueKind::kCardExpiry, keys::due_id_of_card(card));
  Meta meta{.id_key = {7}};
  std::map<std::string, std::string> records;

 private:
  void add(const std::string& key, MessageId id, Timestamp expires) {
    Message message;
    message.id = id;
    message.expires = expires;
    records[key] = std::string(encode_message(message, "", "body").record.view());
  }
  void bury() {
    EndRecord end;
    end.id = dead;
    end.phase = Phase::kDead;
    end.content_bucket = 1;
    records[keys::end(1, dead.sequence())] = encode_end(end);
    Message message;
    message.id = dead;
    DeadLetter letter;
    letter.id = dead;
    letter.phase = Phase::kDead;
    records[keys::dead(1, dead)] =
        encode_dead(letter, encode_message(message, "", "body").record.view());
    LogEntry entry;
    entry.id = dead;
    records[keys::log(1, Sequence(kEpoch + 6))] = encode_log({entry});
  }
};

// req: engine.check.1, engine.card.11
TEST(CheckRecords, FindsNothingInASoundStore) {
  const CheckReport report = SoundStore().check();
  EXPECT_EQ(report.damage, std::vector<std::string>());
  EXPECT_EQ(report.notes, std::vector<std::string>());
  EXPECT_EQ(report.hot, 1U);
  EXPECT_EQ(report.cold, 3U);
  EXPECT_EQ(report.records.at(keys::kCold), 5U);
}

struct DamageCase {
  const char* name;
  std::function<void(SoundStore&)> harm;
  const char* said;
};
class CheckRecordsCase : public ::testing::TestWithParam<DamageCase> {};

TEST_P(CheckRecordsCase, IsNamed) {
  SoundStore store;
  GetParam().harm(store);
  const CheckReport report = store.check();
  EXPECT_FALSE(report.whole());
  std::string all;
  for (const std::string& line : report.damage) all += line + "\n";
  EXPECT_NE(all.find(GetParam().said), std::string::npos) << all;
}

INSTANTIATE_TEST_SUITE_P(
    Damage, CheckRecordsCase,
    ::testing::Values(
        DamageCase{"CensusOfTooMany",
                   [](SoundStore& s) {
                     s.records[keys::census(s.destination)] = encode_census({"webhook", {{0, 4}}});
                   },
                   "it counts 4 cold messages, and there are 3"},
        DamageCase{"PageOfTheCensusThatCountsTooFew",
                   [](SoundStore& s) {
                     s.records[keys::census_page(Sequence(1))] =
                         encode_census_page({{s.destination, {"webhook", {{0, 2}}}}});
                   },
                   "it counts 2 cold messages, and there are 3"},
        DamageCase{"UnreadablePageOfTheCensus",
                   [](SoundStore& s) { s.records[keys::census_page(Sequence(1))] = "what?"; },
                   "page of the census (d) 0x0000000000000001"},
        DamageCase{"PageOfTheCensusUnderAnotherKey",
                   [](SoundStore& s) { s.records[keys::census_page(Sequence(1)) + "x"] = ""; },
                   "the key has the wrong length"},
        DamageCase{"NoCensus", [](SoundStore& s) { s.records.erase(keys::census(s.destination)); },
                   "it counts 0 cold messages, and there are 3"},
        DamageCase{
            "LostHotMessage",
            [](SoundStore& s) { s.records.erase(keys::hot(s.hot.sequence(), Part::kMessage)); },
            "live 4, but there are 3"},
        DamageCase{"LostColdMessage",
                   [](SoundStore& s) { s.records.erase(keys::cold(s.asleep, Part::kMessage)); },
                   "the message that it belongs to is not there"},
        DamageCase{"LostParkedMessage",
                   [](SoundStore& s) { s.records.erase(keys::cold(s.parked, Part::kMessage)); },
                   "live 4, but there are 3"},
        DamageCase{"LostCard", [](SoundStore& s) { s.records.erase(s.card); },
                   "cards of profile 'rpc': 1 are counted, and there are none"},
        DamageCase{"CardThatIsNotCounted",
                   [](SoundStore& s) {
                     s.records[keys::card("rpc", "session", "two")] =
                         encode_card({Timestamp(1000), {}, ""});
                   },
                   "cards of profile 'rpc': 1 are counted, and there are 2"},
        DamageCase{"LostExpiryOfACard", [](SoundStore& s) { s.records.erase(s.card_due); },
                   "it expires, and no due entry says when"},
        DamageCase{"ExpiryOfAnotherCard", [](SoundStore& s) { s.records[s.card_due] = "c"; },
                   "it names no card"},
        DamageCase{"KeyOfNoCard", [](SoundStore& s) { s.records["c\x7F"] = ""; },
                   "the key is not one of a card"},
        DamageCase{"LostHead", [](SoundStore& s) { s.records.erase(keys::owed(s.destination)); },
                   "nothing leads to it"},
        DamageCase{"HeadTooFar",
                   [](SoundStore& s) {
                     Owed heads;
                     heads.heads[2] = {s.owed.high, s.owed.low + 1};
                     s.records[keys::owed(s.destination)] = encode_owed(heads);
                   },
                   "nothing leads to it"},
        DamageCase{"LostDueEntry",
                   [](SoundStore& s) {
                     s.records.erase(keys::due(Timestamp(5000), keys::DueKind::kAttempt, s.asleep));
                   },
                   "nothing leads to it"},
        DamageCase{"LostParkedEntry",
                   [](SoundStore& s) { s.records.erase(keys::parked(s.parked)); },
                   "nothing leads to it"},
        DamageCase{"LostExpiry",
                   [](SoundStore& s) {
                     s.records.erase(keys::due(Timestamp(9000), keys::DueKind::kExpiry, s.owed));
                   },
                   "it expires, and no due entry says when"},
        DamageCase{"LostDestination",
                   [](SoundStore& s) { s.records.erase(keys::config(s.destination)); },
                   "its destination is not there"},
        DamageCase{"LostEnd",
                   [](SoundStore& s) { s.records.erase(keys::end(1, s.dead.sequence())); },
                   "ended 1, but there are 0 ends"},
        DamageCase{"LostLetter", [](SoundStore& s) { s.records.erase(keys::dead(1, s.dead)); },
                   "should hold 1 records and holds 0"},
        DamageCase{"LostMeta", [](SoundStore& s) { s.records.erase(keys::meta()); },
                   "live 0, but there are 4"},
        DamageCase{"LostMetaOfAStoreWithoutMessages",
                   [](SoundStore& s) {
                     const std::string config = s.records[keys::config(s.destination)];
                     s.records = {{keys::config(s.destination), config}};
                   },
                   "meta (M): it is gone, and the store has records"},
        DamageCase{"NoKeyForIds",
                   [](SoundStore& s) {
                     s.meta.id_key = {};
                     s.write_meta();
                   },
                   "meta (M): the meta record has no key for message ids"},
        DamageCase{"EndOfALiveMessage",
                   [](SoundStore& s) {
                     EndRecord end;
                     end.id = s.hot;
                     s.records[keys::end(1, s.hot.sequence())] = encode_end(end);
                   },
                   "it ended and is still live"},
        DamageCase{"MessageTwice",
                   [](SoundStore& s) {
                     s.records[keys::cold(s.hot, Part::kMessage)] =
                         s.records[keys::hot(s.hot.sequence(), Part::kMessage)];
                   },
                   "it is in the store twice"},
        DamageCase{"EndTwice",
                   [](SoundStore& s) {
                     s.meta.running[static_cast<std::size_t>(Kept::kEnds)].number = 2;
                     s.write_meta();
                     s.records[keys::buckets(keys::kEnd)] =
                         encode_buckets({BucketInfo{.count = 1}});
                     s.records[keys::end(2, s.dead.sequence())] =
                         s.records[keys::end(1, s.dead.sequence())];
                   },
                   "it ended twice"},
        DamageCase{
            "UnknownBucket",
            [](SoundStore& s) { s.records[keys::ledger(7, "tenant", "key")] = encode_ledger({}); },
            "its bucket is not in the books"},
        DamageCase{"UnknownSpace", [](SoundStore& s) { s.records["x1"] = ""; },
                   "unknown space (x) 0x31: a space that nobody knows"},
        DamageCase{"FutureEpoch",
                   [](SoundStore& s) {
                     s.records[keys::hot(Sequence(2 * kEpoch + 1), Part::kMessage)] =
                         s.records[keys::hot(s.hot.sequence(), Part::kMessage)];
                   },
                   "its epoch was never given out"},
        DamageCase{"AnothersMessage",
                   [](SoundStore& s) {
                     s.records[keys::cold(s.asleep, Part::kMessage)] =
                         s.records[keys::cold(s.parked, Part::kMessage)];
                   },
                   "it holds another message"}),
    [](const auto& one) { return one.param.name; });

// Every record with a checksum, changed by one bit, is named by its key.
TEST(CheckRecords, NamesEveryRecordThatCannotBeRead) {
  const SoundStore sound;
  for (const auto& [key, value] : sound.records) {
    if (value.empty()) continue;
    SoundStore store;
    store.records[key][value.size() / 2] = static_cast<char>(value[value.size() / 2] ^ 0x10);
    const CheckReport report = store.check();
    const IdCodec ids(store.meta.id_key);
    const std::string name = rocks::describe_key(key, key == keys::meta() ? nullptr : &ids) + ": ";
    const bool named =
        std::any_of(report.damage.begin(), report.damage.end(),
                    [&name](const std::string& line) { return line.starts_with(name); });
    EXPECT_TRUE(named) << rocks::describe_key(key);
  }
}

// A body with two references: a message that lives, and a dead letter.
class SharingStore : public SoundStore {
 public:
  SharingStore() {
    Message message;
    message.id = hot;
    message.shared = {body, 4, encode_body("body")};
    records[keys::hot(hot.sequence(), Part::kMessage)] =
        std::string(encode_message(message, "", "body").record.view());
    message.id = dead;
    DeadLetter letter;
    letter.id = dead;
    records[keys::dead(1, dead)] =
        encode_dead(letter, encode_message(message, "", "body").record.view());
    records[keys::body_letter(1, body, dead)] = "";
    records[keys::body(body, keys::BodyPart::kBytes)] = std::string(encode_body("body").view());
    records[keys::body(body, keys::BodyPart::kCount)] = encode_body_count({2, 4});
    records[keys::fanout_group("all")] = encode_fanout_group({"all", false, {{"shop", {}}}, {}});
    meta.counters.fanouts = meta.counters.shared_bodies = 1;
    meta.counters.shared_bytes = 4;
    write_meta();
  }
  static constexpr std::uint64_t body = kEpoch + 9;
};

// req: engine.fanout.5
TEST(CheckRecords, CountsWhoRefersToASharedBody) {
  EXPECT_EQ(SharingStore().check().damage, std::vector<std::string>());
  const auto said = [](const std::function<void(SharingStore&)>& harm) {
    SharingStore store;
    harm(store);
    std::string all;
    for (const std::string& line : store.check().damage) all += line + "\n";
    return all;
  };
  const auto says = [&](const std::string& what, const std::function<void(SharingStore&)>& harm) {
    const std::string all = said(harm);
    EXPECT_NE(all.find(what), std::string::npos) << all;
  };
  using Store = SharingStore;
  const std::string bytes = keys::body(Store::body, keys::BodyPart::kBytes);
  const std::string count = keys::body(Store::body, keys::BodyPart::kCount);
  says("should have 3 references and has 2", [&](Store& store) {
    store.records[count] = encode_body_count({3, 4});
  });
  says("should have 1 references and has 2", [&](Store& store) {
    store.records[count] = encode_body_count({1, 4});
  });
  says("it is referred to, and is not there", [&](Store& store) { store.records.erase(bytes); });
  says("nobody counts who refers to it", [&](Store& store) { store.records.erase(count); });
  says("it shares a body, and nothing says so",
       [](Store& store) { store.records.erase(keys::body_letter(1, Store::body, store.dead)); });
  says("the dead letter that it speaks of is not there",
       [](Store& store) { store.records[keys::body_letter(1, Store::body, store.hot)] = ""; });
  says("are counted, and there are 1", [](Store& store) {
    store.meta.counters.shared_bodies = 2;
    store.write_meta();
  });
  says("it is another group's", [](Store& store) {
    store.records[keys::fanout_group("other")] = store.records[keys::fanout_group("all")];
  });
  // One that is still to be counted down is a reference like any other.
  EXPECT_EQ(said([&](Store& store) {
              store.records[keys::body_letter(0, Store::body, store.owed)] = "";
              store.records[count] = encode_body_count({3, 4});
            }),
            "");
}

TEST(CheckRecords, MessageInQuarantineIsLiveAndOnlyNoted) {
  SoundStore store;
  const std::string key = keys::cold(store.asleep, Part::kMessage);
  store.records[keys::quarantine(key)] = "what was there";
  store.records.erase(key);
  store.records[keys::census(store.destination)] = encode_census({"webhook", {{0, 1}, {4, 1}}});
  const CheckReport report = store.check();
  EXPECT_EQ(report.damage, std::vector<std::string>());
  EXPECT_EQ(report.quarantined, 1U);
  EXPECT_EQ(report.notes.size(), 1U);
}

TEST(CheckRecords, NewestPageOfTheCensusHolds) {  // req: engine.census.1
  SoundStore store;
  store.records[keys::census(store.destination)] = encode_census({"webhook", {{0, 9}}});
  store.records[keys::census_page(Sequence(1))] =
      encode_census_page({{store.destination, {"webhook", {{0, 7}}}}});
  store.records[keys::census_page(Sequence(2))] =
      encode_census_page({{store.destination, {"webhook", {{0, 2}, {4, 1}}}}});
  EXPECT_EQ(store.check().damage, std::vector<std::string>());
}

TEST(CheckRecords, KeysOfAllSpacesAreReadable) {
  EXPECT_EQ(rocks::describe_key(keys::meta()), "meta (M)");
  const IdCodec ids({7});
  EXPECT_EQ(rocks::describe_key(keys::cold({1, 2}, Part::kState), &ids),
            "cold (C) state of message " + ids.text({1, 2}));
  EXPECT_EQ(rocks::describe_key(keys::due(Timestamp(7), keys::DueKind::kExpiry, {0, 1}), &ids),
            "due entry (W) at 7, expiry of message " + ids.text({0, 1}));
  EXPECT_EQ(rocks::describe_key(keys::cold({1, 2}, Part::kState)),
            "cold (C) state of message at address 00000000000000010000000000000002");
  EXPECT_EQ(rocks::describe_key("\x01"), "unknown space (0x01)");
  EXPECT_EQ(rocks::describe_key(""), "empty key");
}

// The same over files.

void write_to(RocksStore& store, const SoundStore& sound) {
  const Epoch epoch = *store.acquire(0);
  WriteBatch batch;
  for (const auto& [key, value] : sound.records) batch.put(key, value);
  ASSERT_EQ(store.write(epoch, batch).outcome, CommitOutcome::kDurable);
}

StoreOptions in(const TemporaryDirectory& directory) {
  StoreOptions options;
  options.directory = directory.path();
  return options;
}

std::map<std::string, std::string> contents_of(const TemporaryDirectory& directory) {
  std::map<std::string, std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
    out[entry.path().filename().string()] = read_whole(entry.path().string());
  return out;
}

TEST(CheckStore, FindsNothingInASoundStoreAndChangesNothing) {
  const TemporaryDirectory directory;
  write_to(**RocksStore::open(in(directory)), SoundStore());
  const auto before = contents_of(directory);
  const auto report = check_store(directory.path());
  ASSERT_TRUE(report) << report.error().detail;
  EXPECT_EQ(report->damage, std::vector<std::string>());
  EXPECT_EQ(report->notes, std::vector<std::string>{"the store was not closed cleanly"});
  EXPECT_EQ(contents_of(directory), before);
}

TEST(CheckStore, NamesDamagedFiles) {
  const TemporaryDirectory directory;
  {
    const auto store = std::move(*RocksStore::open(in(directory)));
    write_to(*store, SoundStore());
    ASSERT_TRUE(store->close());
  }
  // The second opening puts everything into tables.
  ASSERT_TRUE((*RocksStore::open(in(directory)))->close());
  int tables = 0;
  for (const auto& [name, content] : contents_of(directory)) {
    if (!name.ends_with(".sst") && !name.ends_with(".log")) continue;
    if (content.empty()) continue;
    std::string changed = content;
    changed[10] = static_cast<char>(changed[10] ^ 1);
    write_whole(directory.file(name), changed);
    const auto report = check_store(directory.path());
    ASSERT_TRUE(report) << report.error().detail;
    ASSERT_FALSE(report->whole()) << name;
    EXPECT_NE(report->damage[0].find(name), std::string::npos) << report->damage[0];
    write_whole(directory.file(name), content);
    ++tables;
  }
  EXPECT_GT(tables, 0);
  EXPECT_TRUE(check_store(directory.path())->whole());
}

TEST(CheckStore, SaysWhenThereIsNothingToLookAt) {
  const TemporaryDirectory directory;
  EXPECT_EQ(check_store(directory.path()).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(check_store(directory.file("absent")).has_value());
  const auto store = RocksStore::open(in(directory));
  EXPECT_EQ(check_store(directory.path()).error().code, ErrorCode::kConflict);
}

}  // namespace
}  // namespace postrider
