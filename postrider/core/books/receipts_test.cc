#include "postrider/core/books/receipts.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "postrider/model/records/keys.h"

namespace postrider {
namespace {

constexpr Timestamp kReceiptsStart{1'000'000};

class ReceiptsTest : public ::testing::Test {
 protected:
  ReceiptsTest() {
    for (Retention* kept :
         {&options.ledger, &options.log, &options.ends, &options.dead, &options.names,
          &options.pending_news, &options.arrivals, &options.audit, &options.history})
      *kept = {.age = 4h};  // so a bucket closes after an hour
  }
  Receipts receipts(Books books = {}) { return {options, std::move(books), kReceiptsStart}; }

  // A record of so many bytes, key and value.
  void put(Receipts& of, Kept kept, std::size_t bytes = 10) {
    const std::string key(4, 'k');
    of.put_kept(kept, key, std::string(bytes - key.size(), 'v'), out);
  }
  std::size_t count(Write::Kind kind) const {
    const auto& all = out.writes();
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [kind](const Write& write) { return write.kind == kind; }));
  }
  bool has(Write::Kind kind, const std::string& key) const {
    const auto& all = out.writes();
    return std::any_of(all.begin(), all.end(),
                       [&](const Write& write) { return write.kind == kind && write.key == key; });
  }
  static MessageId id_of(std::uint64_t sequence) {
    return MessageId::make(DestinationId(5), 0, 0, Sequence(sequence));
  }
  void die(Receipts& of, std::uint64_t sequence, Timestamp at = kReceiptsStart,
           Phase phase = Phase::kDead) {
    Message fields;
    fields.id = id_of(sequence);
    const Message message = encode_message(fields, {}, "body");
    EndRecord end;
    end.id = fields.id;
    end.phase = phase;
    end.cause = FailureClass::kServer;
    end.at = at;
    end.reason = "HTTP 500";
    of.end(end, &message, out);
  }
  std::size_t letter_size(std::uint64_t sequence, keys::Bucket bucket = 1) const {
    for (const Write& write : out.writes()) {
      if (write.key == keys::dead(bucket, id_of(sequence))) return write.value.size();
    }
    return 0;
  }

  EngineOptions options;
  WriteBatch out;
};

// req: engine.retain.1
TEST_F(ReceiptsTest, ABucketClosesAfterAPartOfItsAgeAndGoesWhenItsNewestIsTooOld) {
  Receipts books = receipts();
  EXPECT_FALSE(books.retain(kReceiptsStart + 100h, out)) << "there is nothing";
  put(books, Kept::kArrivals);
  out.clear();
  EXPECT_EQ(books.next_retention(kReceiptsStart), kReceiptsStart + 1h);
  EXPECT_FALSE(books.retain(kReceiptsStart + 1h - 1ms, out));
  EXPECT_TRUE(out.empty());
  EXPECT_TRUE(books.retain(kReceiptsStart + 1h, out));
  EXPECT_EQ(books.buckets(Kept::kArrivals), (std::vector<keys::Bucket>{2, 1}));
  EXPECT_EQ(books.oldest(Kept::kArrivals), 1U);
  EXPECT_EQ(books.running(Kept::kArrivals), 2U);
  EXPECT_EQ(books.next_retention(kReceiptsStart + 1h), kReceiptsStart + 5h);
  out.clear();
  EXPECT_FALSE(books.retain(kReceiptsStart + 5h - 1ms, out));
  EXPECT_TRUE(books.retain(kReceiptsStart + 5h, out));
  EXPECT_EQ(count(Write::Kind::kRemoveRange), 1U);
  EXPECT_EQ(out.writes()[0].key, keys::bucket(keys::kArrival, 1));
  EXPECT_EQ(out.writes()[0].last, keys::bucket(keys::kArrival, 2));
  EXPECT_EQ(books.buckets(Kept::kArrivals), (std::vector<keys::Bucket>{2}));
  EXPECT_EQ(books.oldest(Kept::kArrivals), 2U);
  EXPECT_EQ(books.counters().removed_arrivals, 1U);
  EXPECT_EQ(books.noted()[static_cast<std::size_t>(LogEntry::Kind::kRemoved)], 1U);
  EXPECT_EQ(books.next_retention(kReceiptsStart + 5h), Timestamp::never());
}

// req: engine.retain.1
TEST_F(ReceiptsTest, OfSeveralBucketsTheOldestGoesFirst) {
  Receipts books = receipts();
  for (int i = 0; i < 3; ++i) {
    put(books, Kept::kEnds);
    EXPECT_TRUE(books.retain(kReceiptsStart + (i + 1) * 1h, out));
  }
  EXPECT_EQ(books.buckets(Kept::kEnds), (std::vector<keys::Bucket>{4, 3, 2, 1}));
  // The newest thing in the first is as old as the second bucket.
  EXPECT_EQ(books.next_retention(kReceiptsStart + 3h), kReceiptsStart + 5h);
  EXPECT_FALSE(books.retain(kReceiptsStart + 5h - 1ms, out));
  EXPECT_TRUE(books.retain(kReceiptsStart + 5h, out));
  EXPECT_EQ(books.buckets(Kept::kEnds), (std::vector<keys::Bucket>{4, 3, 2}));
  EXPECT_TRUE(books.retain(kReceiptsStart + 7h, out));
  EXPECT_EQ(books.buckets(Kept::kEnds), (std::vector<keys::Bucket>{4}));
  EXPECT_EQ(books.counters().removed_ends, 3U);
}

// req: engine.retain.2
TEST_F(ReceiptsTest, BucketsCloseAndGoBySize) {
  options.arrivals.bytes = 400;
  Receipts books = receipts();
  put(books, Kept::kArrivals, 100);
  EXPECT_FALSE(books.retain(kReceiptsStart, out)) << "a quarter is not more than a quarter";
  put(books, Kept::kArrivals, 10);
  EXPECT_TRUE(books.retain(kReceiptsStart, out));
  put(books, Kept::kArrivals, 290);
  EXPECT_EQ(books.sum(Kept::kArrivals).bytes, 400U);
  EXPECT_EQ(books.sum(Kept::kArrivals).count, 3U);
  EXPECT_TRUE(books.retain(kReceiptsStart, out));
  EXPECT_EQ(books.buckets(Kept::kArrivals).size(), 3U) << "the limit is not passed";
  put(books, Kept::kArrivals, 10);
  EXPECT_TRUE(books.retain(kReceiptsStart, out));
  EXPECT_EQ(books.buckets(Kept::kArrivals), (std::vector<keys::Bucket>{3, 2}));
  EXPECT_EQ(books.sum(Kept::kArrivals).bytes, 300U);
  EXPECT_EQ(books.counters().removed_arrivals, 2U);
}

// req: engine.retain.2
TEST_F(ReceiptsTest, BucketsCloseAndGoByNumber) {
  options.pending_news.count = 8;
  Receipts books = receipts();
  for (int i = 0; i < 8; ++i) {
    put(books, Kept::kPendingNews);
    EXPECT_EQ(books.retain(kReceiptsStart, out), i % 2 == 1) << i;
  }
  EXPECT_EQ(books.sum(Kept::kPendingNews).count, 8U);
  EXPECT_EQ(books.buckets(Kept::kPendingNews).size(), 5U);
  put(books, Kept::kPendingNews);
  EXPECT_TRUE(books.retain(kReceiptsStart, out));
  EXPECT_EQ(books.sum(Kept::kPendingNews).count, 7U) << "the two oldest went";
  EXPECT_EQ(books.counters().removed_pending_news, 2U);
}

TEST_F(ReceiptsTest, ASmallNumberStillHasBucketsOfOne) {
  options.pending_news.count = 1;
  Receipts books = receipts();
  put(books, Kept::kPendingNews);
  EXPECT_TRUE(books.retain(kReceiptsStart, out));
  EXPECT_EQ(books.sum(Kept::kPendingNews).count, 1U);
  put(books, Kept::kPendingNews);
  EXPECT_TRUE(books.retain(kReceiptsStart, out));
  EXPECT_EQ(books.sum(Kept::kPendingNews).count, 1U);
}

TEST_F(ReceiptsTest, NewsAndNamesThatAreHeldDoNotGoByAge) {
  Receipts books = receipts();
  for (const Kept kept : {Kept::kPendingNews, Kept::kNames, Kept::kArrivals}) put(books, kept);
  books.retain(kReceiptsStart + 1h, out);
  books.hold_news(true);
  EXPECT_EQ(books.next_retention(kReceiptsStart + 1h), kReceiptsStart + 5h) << "that of the others";
  books.retain(kReceiptsStart + 100h, out);
  EXPECT_EQ(books.counters().removed_arrivals, 1U);
  EXPECT_EQ(books.counters().removed_pending_news + books.counters().removed_names, 0U);
  EXPECT_EQ(books.next_retention(kReceiptsStart + 100h), Timestamp::never());
  books.hold_news(false);
  EXPECT_EQ(books.next_retention(kReceiptsStart + 100h), kReceiptsStart + 100h + 1ms);
  books.retain(kReceiptsStart + 100h, out);
  EXPECT_EQ(books.counters().removed_pending_news, 1U);
  EXPECT_EQ(books.counters().removed_names, 1U);
}

TEST_F(ReceiptsTest, SessionsGoWithTheLedger) {
  Receipts books = receipts();
  put(books, Kept::kLedger);
  books.retain(kReceiptsStart + 1h, out);
  out.clear();
  books.retain(kReceiptsStart + 5h, out);
  EXPECT_TRUE(has(Write::Kind::kRemoveRange, keys::bucket(keys::kSession, 1)));
  EXPECT_TRUE(has(Write::Kind::kRemoveRange, keys::bucket(keys::kLedger, 1)));
  for (const Write& write : out.writes()) {
    if (write.kind != Write::Kind::kRemoveRange) continue;
    EXPECT_EQ(write.last, keys::bucket(write.key[0], 2)) << "and not those of the next bucket";
  }
  EXPECT_EQ(books.counters().removed_ledger, 1U);
}

// req: engine.log.4
TEST_F(ReceiptsTest, WhoReadsBehindWhatWasRemovedOfTheLogFellBehind) {
  Receipts books = receipts();
  LogEntry entry;
  books.note(entry);
  EXPECT_TRUE(books.has_page());
  books.close_turn(kReceiptsStart, {.bias = Duration(0)}, Sequence(77), out);
  EXPECT_FALSE(books.has_page());
  EXPECT_TRUE(has(Write::Kind::kPut, keys::log(1, Sequence(77))));
  EXPECT_FALSE(books.fell_behind({1, 77, 0}));
  books.retain(kReceiptsStart + 1h, out);
  const std::size_t before = books.noted()[static_cast<std::size_t>(LogEntry::Kind::kRemoved)];
  books.retain(kReceiptsStart + 5h, out);
  EXPECT_EQ(books.noted()[static_cast<std::size_t>(LogEntry::Kind::kRemoved)], before)
      << "the log says nothing about itself";
  EXPECT_TRUE(books.fell_behind({1, 76, 0}));
  EXPECT_TRUE(books.fell_behind({1, 77, 0}));
  EXPECT_FALSE(books.fell_behind({1, 78, 0}));
  EXPECT_FALSE(books.fell_behind({1, 0, 0})) << "whoever begins has missed nothing";
}

// req: engine.dead.1
TEST_F(ReceiptsTest, ALetterLeavesItsBucketAsItCame) {
  Receipts books = receipts();
  die(books, 1);
  die(books, 2);
  const std::size_t size = letter_size(1);
  ASSERT_GT(size, 0U);
  EXPECT_EQ(books.sum(Kept::kDead).count, 2U);
  EXPECT_EQ(books.cause_counts().list(std::nullopt).letters, 2U);
  EXPECT_EQ(books.counters().dead, 2U);
  out.clear();
  books.take_letter({.bucket = 1,
                     .id = id_of(1),
                     .size = size,
                     .phase = Phase::kDead,
                     .cause = FailureClass::kServer},
                    kReceiptsStart, out);
  EXPECT_TRUE(has(Write::Kind::kRemove, keys::dead(1, id_of(1))));
  EXPECT_EQ(out.writes().size(), 1U) << "the running bucket is in the meta record";
  EXPECT_EQ(books.sum(Kept::kDead).count, 1U);
  EXPECT_EQ(books.cause_counts().list(std::nullopt).letters, 1U);
  books.retain(kReceiptsStart + 1h, out);
  out.clear();
  books.take_letter({.bucket = 1,
                     .id = id_of(2),
                     .size = size,
                     .phase = Phase::kDead,
                     .cause = FailureClass::kServer},
                    kReceiptsStart, out);
  EXPECT_TRUE(has(Write::Kind::kPut, keys::buckets(keys::kDead))) << "a closed one has a record";
  EXPECT_EQ(books.sum(Kept::kDead).count, 0U);
  EXPECT_EQ(books.sum(Kept::kDead).bytes, 0U);
  EXPECT_EQ(books.cause_counts().list(std::nullopt).letters, 0U);
}

TEST_F(ReceiptsTest, ALetterThatNobodyCouldReadIsCountedApart) {
  Receipts books = receipts();
  die(books, 1);
  const std::size_t size = letter_size(1);
  books.take_letter({.bucket = 1, .id = id_of(1), .size = size, .phase = std::nullopt},
                    kReceiptsStart, out);
  EXPECT_EQ(books.cause_counts().list(std::nullopt).unreadable, 1U);
  EXPECT_EQ(books.sum(Kept::kDead).count, 0U);
}

TEST_F(ReceiptsTest, LettersThatGoWithTheirBucketAreTold) {
  Receipts books = receipts();
  die(books, 1);
  EXPECT_FALSE(books.letters_dropped());
  books.retain(kReceiptsStart + 1h, out);
  EXPECT_FALSE(books.letters_dropped());
  books.retain(kReceiptsStart + 5h, out);
  EXPECT_TRUE(books.letters_dropped());
  EXPECT_FALSE(books.letters_dropped()) << "once";
  EXPECT_EQ(books.counters().removed_dead, 1U);
  EXPECT_EQ(books.cause_counts().list(std::nullopt).letters, 0U);
}

TEST_F(ReceiptsTest, EachEndIsCountedByItsPhase) {
  Receipts books = receipts();
  std::uint64_t sequence = 1;
  for (const Phase phase :
       {Phase::kDelivered, Phase::kDead, Phase::kExpired, Phase::kCancelled, Phase::kIndeterminate})
    die(books, sequence++, kReceiptsStart, phase);
  const Counters& counters = books.counters();
  EXPECT_EQ(counters.delivered, 1U);
  EXPECT_EQ(counters.dead, 1U);
  EXPECT_EQ(counters.expired, 1U);
  EXPECT_EQ(counters.cancelled, 1U);
  EXPECT_EQ(counters.indeterminate, 1U);
  EXPECT_EQ(books.sum(Kept::kDead).count, 2U);
  EXPECT_EQ(books.sum(Kept::kHistory).count, 3U);
  EXPECT_EQ(books.sum(Kept::kEnds).count, 5U);
  EXPECT_EQ(books.noted()[static_cast<std::size_t>(LogEntry::Kind::kEnd)], 5U);
}

// The engine arms its timer again when something may have to go earlier than it waits for.
TEST_F(ReceiptsTest, TheFirstOfABucketMovesTheRetention) {
  Receipts books = receipts();
  EXPECT_FALSE(books.retention_moved());
  put(books, Kept::kAudit);
  EXPECT_TRUE(books.retention_moved());
  EXPECT_FALSE(books.retention_moved());
  put(books, Kept::kAudit);
  EXPECT_FALSE(books.retention_moved());
}

TEST_F(ReceiptsTest, TheMetaRecordIsWrittenWithWhateverElseIs) {
  Receipts books = receipts();
  books.close_turn(kReceiptsStart, {.bias = Duration(0)}, Sequence(5), out);
  EXPECT_TRUE(out.empty()) << "nothing happened";
  EXPECT_FALSE(books.wall_moved({.bias = Duration(999)}));
  EXPECT_FALSE(books.wall_moved({.bias = Duration(-999)}));
  EXPECT_TRUE(books.wall_moved({.bias = Duration(1000)}));
  EXPECT_TRUE(books.wall_moved({.bias = Duration(-1000)}));
  books.close_turn(kReceiptsStart, {.bias = Duration(999)}, Sequence(5), out);
  EXPECT_TRUE(out.empty());
  books.close_turn(kReceiptsStart, {.bias = Duration(1000)}, Sequence(5), out);
  EXPECT_EQ(out.writes().size(), 1U);
  EXPECT_TRUE(has(Write::Kind::kPut, keys::meta()));
  EXPECT_FALSE(books.wall_moved({.bias = Duration(1999)})) << "from there on";
  out.clear();
  out.put("x", "y");
  books.close_turn(kReceiptsStart + 1s, {.bias = Duration(1000)}, Sequence(6), out);
  ASSERT_TRUE(has(Write::Kind::kPut, keys::meta()));
  const auto meta = decode_meta(out.writes().back().value.view());
  ASSERT_TRUE(meta.has_value());
  EXPECT_EQ(meta->clock_floor, kReceiptsStart + 1s);
  EXPECT_EQ(meta->wall.bias, Duration(1000));
}

// req: engine.time.9 — a doubt that begins, and a leap that is believed, must be known after a
// crash
TEST_F(ReceiptsTest, ALeapOfTheWallIsAReasonToWrite) {
  Receipts books = receipts();
  const WallBooks doubted{.doubt = {.from = kReceiptsStart, .by = 48h}};
  EXPECT_TRUE(books.wall_moved(doubted));
  books.close_turn(kReceiptsStart + 1s, doubted, Sequence(5), out);
  const WallBooks nearer{.doubt = {.from = kReceiptsStart, .by = 47h}};
  EXPECT_FALSE(books.wall_moved(nearer)) << "the wall drifts all the time";
  const WallBooks believed{.leaps = {{kReceiptsStart, kReceiptsStart + 2s, 48h}}};
  EXPECT_TRUE(books.wall_moved(believed));
  books.close_turn(kReceiptsStart + 48h, believed, Sequence(6), out);
  EXPECT_FALSE(books.wall_moved(believed));
  const auto meta = decode_meta(out.writes().back().value.view());
  ASSERT_TRUE(meta.has_value());
  EXPECT_EQ(meta->wall, believed);
}

// req: engine.name.8
TEST_F(ReceiptsTest, TheKeyOfIdsIsWrittenWithTheFirstCommitAndStaysTheStores) {
  options.id_key = {1, 2, 3};
  Receipts books = receipts();
  out.put("x", "y");
  books.close_turn(kReceiptsStart, {}, Sequence(5), out);
  const auto meta = decode_meta(out.writes().back().value.view());
  ASSERT_TRUE(meta.has_value());
  EXPECT_EQ(meta->id_key, options.id_key);
  EXPECT_EQ(id_key_of(*meta).value(), options.id_key);
  EXPECT_FALSE(id_key_of(Meta()).has_value());
  Books old;
  old.meta.id_key = {7};
  EXPECT_EQ(receipts(old).id_key(), (IdKey{7}));
}

TEST_F(ReceiptsTest, GroupsThatChangedAreAReasonToWrite) {
  Receipts books = receipts();
  EXPECT_FALSE(books.has_page());
  books.add_parked(id_of(1), kReceiptsStart, "busy");
  EXPECT_TRUE(books.has_page());
  books.close_turn(kReceiptsStart, {.bias = Duration(0)}, Sequence(5), out);
  EXPECT_FALSE(books.has_page());
  books.take_parked(id_of(1));
  EXPECT_TRUE(books.has_page());
}

TEST_F(ReceiptsTest, NewsThatWaitsIsCountedWhileItsBucketRuns) {
  Receipts books = receipts();
  EXPECT_FALSE(books.may_have_pending_news());
  put(books, Kept::kPendingNews);
  EXPECT_TRUE(books.may_have_pending_news());
  books.take_pending_news(2, "k", out);
  EXPECT_TRUE(books.may_have_pending_news()) << "of another bucket";
  books.take_pending_news(1, "k", out);
  EXPECT_FALSE(books.may_have_pending_news());
  books.take_pending_news(1, "k", out);
  EXPECT_FALSE(books.may_have_pending_news()) << "there are no fewer than none";
  put(books, Kept::kPendingNews);
  books.retain(kReceiptsStart + 1h, out);
  EXPECT_TRUE(books.may_have_pending_news()) << "closed ones count what came";
}

// Letters of an older store, or of damaged groups.
// req: engine.dead.8
TEST_F(ReceiptsTest, LettersWithoutGroupsAreCountedTogetherAndTheirBucketCloses) {
  Books old;
  BucketInfo& running = old.meta.running[static_cast<std::size_t>(Kept::kDead)];
  running = {.number = 3, .started = kReceiptsStart, .count = 5, .bytes = 50};
  old.closed[static_cast<std::size_t>(Kept::kDead)] = {
      {.number = 2, .started = kReceiptsStart, .count = 2, .bytes = 20}};
  GroupRecord known;
  known.count = 2;
  old.groups[{2, DestinationId(5), Phase::kDead, FailureClass::kServer}] = known;
  GroupRecord one;
  one.count = 1;
  old.groups[{3, DestinationId(5), Phase::kDead, FailureClass::kServer}] = one;
  Receipts books = receipts(old);
  EXPECT_EQ(books.cause_counts().list(std::nullopt).others, 4U) << "all but those that have groups";
  EXPECT_EQ(books.cause_counts().list(std::nullopt).letters, 7U);
  EXPECT_TRUE(books.retain(kReceiptsStart, out)) << "new letters get groups in a new bucket";
  EXPECT_EQ(books.running(Kept::kDead), 4U);
  EXPECT_FALSE(books.retain(kReceiptsStart, out));
  die(books, 1);
  die(books, 2);
  EXPECT_FALSE(books.retain(kReceiptsStart, out)) << "those have groups";
  EXPECT_EQ(books.running(Kept::kDead), 4U);
}

TEST_F(ReceiptsTest, AClosedBucketWithoutGroupsClosesNothing) {
  Books old;
  old.closed[static_cast<std::size_t>(Kept::kDead)] = {
      {.number = 1, .started = kReceiptsStart, .count = 2, .bytes = 20}};
  old.meta.running[static_cast<std::size_t>(Kept::kDead)] = {.number = 2,
                                                             .started = kReceiptsStart};
  Receipts books = receipts(old);
  EXPECT_EQ(books.cause_counts().list(std::nullopt).others, 2U);
  die(books, 1);
  EXPECT_FALSE(books.retain(kReceiptsStart, out));
}

TEST_F(ReceiptsTest, WhereNothingLivesEverythingIsCounted) {
  Books old;
  old.meta.counted = false;
  EXPECT_TRUE(receipts(old).counted());
  old.meta.counters.accepted = 1;
  EXPECT_FALSE(receipts(old).counted());
  old.meta.counted = true;
  Receipts books = receipts(old);
  EXPECT_TRUE(books.counted());
  books.lose_count();
  EXPECT_FALSE(books.counted());
}

// Spaces that came later begin when they are first used, and not before the last commit.
TEST_F(ReceiptsTest, ALaterSpaceBeginsWhenItIsUsed) {
  Books old;
  old.meta.clock_floor = kReceiptsStart + 10min;
  Receipts books = receipts(old);
  put(books, Kept::kAudit);
  EXPECT_EQ(books.next_retention(kReceiptsStart), kReceiptsStart + 70min);
  Receipts fresh = receipts();
  put(fresh, Kept::kAudit);
  EXPECT_EQ(fresh.next_retention(kReceiptsStart), kReceiptsStart + 1h);
}

TEST_F(ReceiptsTest, AnEmptyBucketIsNotClosedForWantOfGroups) {
  Books old;
  old.meta.running[static_cast<std::size_t>(Kept::kDead)] = {
      .number = 3, .started = kReceiptsStart, .count = 1, .bytes = 50};
  Receipts books = receipts(old);
  books.take_letter({.bucket = 3, .id = id_of(1), .size = 1, .phase = Phase::kDead}, kReceiptsStart,
                    out);
  EXPECT_EQ(books.sum(Kept::kDead).count, 0U);
  EXPECT_FALSE(books.retain(kReceiptsStart, out));
  EXPECT_EQ(books.running(Kept::kDead), 3U);
}

// req: engine.retain.1
TEST_F(ReceiptsTest, WhatIsKeptForLessThanFourMillisecondsHasBucketsOfOne) {
  options.arrivals.age = 2ms;
  Receipts books = receipts();
  put(books, Kept::kArrivals);
  EXPECT_EQ(books.next_retention(kReceiptsStart), kReceiptsStart + 1ms);
  EXPECT_FALSE(books.retain(kReceiptsStart, out));
  EXPECT_TRUE(books.retain(kReceiptsStart + 1ms, out));
}

// Nobody holds them unless it is said. req: engine.retain.1
TEST_F(ReceiptsTest, NewsGoesByAgeAndTheListOfBucketsIsWritten) {
  Receipts books = receipts();
  put(books, Kept::kPendingNews);
  EXPECT_TRUE(books.retain(kReceiptsStart + 1h, out));
  EXPECT_TRUE(has(Write::Kind::kPut, keys::buckets(keys::kPendingNews)));
  out.clear();
  EXPECT_EQ(books.next_retention(kReceiptsStart + 1h), kReceiptsStart + 5h);
  EXPECT_TRUE(books.retain(kReceiptsStart + 5h, out));
  EXPECT_TRUE(has(Write::Kind::kPut, keys::buckets(keys::kPendingNews)));
  EXPECT_FALSE(books.may_have_pending_news());
  EXPECT_EQ(books.counters().removed_pending_news, 1U);
}

class BooksTest : public ReceiptsTest {
 protected:
  // What a store holds that answers everything that the books ask for.
  Found found_with(const std::vector<std::pair<std::string, std::string>>& records) {
    Found found;
    const Reads reads = books_reads();
    for (const std::string& key : reads.keys) {
      std::optional<Blob> record;
      for (const auto& [name, value] : records) {
        if (name == key) record = Blob::copy_of(value);
      }
      found.set(key, record);
    }
    for (const Scan& scan : reads.scans) {
      Rows rows;
      rows.complete = true;
      for (const auto& [name, value] : records) {
        if (name >= scan.first && name < scan.last)
          rows.rows.emplace_back(name, Blob::copy_of(value));
      }
      found.set(scan, std::move(rows));
    }
    return found;
  }
};

TEST_F(BooksTest, OfAnEmptyStoreAreEmpty) {
  const auto books = read_books(found_with({}));
  ASSERT_TRUE(books.has_value());
  EXPECT_TRUE(books->jobs.empty() && books->holds.empty() && books->groups.empty());
  EXPECT_TRUE(books->damaged.empty());
  ASSERT_TRUE(read_books(Found()).has_value()) << "nothing was read";
}

// req: engine.quarantine.1
TEST_F(BooksTest, WhatStandsUnderAnotherKeyThanItsOwnIsDamaged) {
  Job job;
  job.id = JobId(7);
  job.order.rate = 1;
  Hold hold;
  hold.rule.name = "h";
  const GroupName group{1, DestinationId(5), Phase::kDead, FailureClass::kServer};
  GroupRecord record;
  record.count = 3;
  const auto good = read_books(found_with({{keys::job(7), encode_job(job)},
                                           {keys::hold("h"), encode_hold(hold)},
                                           {group_key(group), encode_group(record)}}));
  ASSERT_TRUE(good.has_value());
  EXPECT_TRUE(good->damaged.empty());
  ASSERT_EQ(good->jobs.size(), 1U);
  EXPECT_EQ(good->jobs[0].id, JobId(7));
  ASSERT_EQ(good->holds.size(), 1U);
  EXPECT_EQ(good->holds[0].rule.name, "h");
  ASSERT_EQ(good->groups.size(), 1U);
  EXPECT_EQ(good->groups.at(group).count, 3U);

  const auto bad =
      read_books(found_with({{keys::job(7), "?"},
                             {keys::job(8), encode_job(job)},
                             {keys::hold("g"), encode_hold(hold)},
                             {keys::hold("h"), "?"},
                             {group_key(group), "?"},
                             {keys::space(keys::kGroup) + "?", encode_group(record)}}));
  ASSERT_TRUE(bad.has_value());
  EXPECT_TRUE(bad->jobs.empty() && bad->holds.empty() && bad->groups.empty());
  EXPECT_EQ(bad->damaged.size(), 6U);
}

TEST_F(BooksTest, WithoutCountersOrBucketsThatCanBeReadThereIsNoStart) {
  EXPECT_FALSE(read_books(found_with({{keys::meta(), "?"}})).has_value());
  EXPECT_FALSE(read_books(found_with({{keys::buckets(keys::kDead), "?"}})).has_value());
  Meta meta;
  meta.counters.accepted = 9;
  const BucketList closed = {{.number = 4, .started = kReceiptsStart, .count = 2, .bytes = 20}};
  const auto books = read_books(found_with(
      {{keys::meta(), encode_meta(meta)}, {keys::buckets(keys::kDead), encode_buckets(closed)}}));
  ASSERT_TRUE(books.has_value());
  EXPECT_EQ(books->meta.counters.accepted, 9U);
  EXPECT_EQ(books->closed[static_cast<std::size_t>(Kept::kDead)].at(0).number, 4U);
}

}  // namespace
}  // namespace postrider
