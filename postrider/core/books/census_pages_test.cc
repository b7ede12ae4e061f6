#include "postrider/core/books/census_pages.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "postrider/model/records/keys.h"

namespace postrider {
namespace {

using Records = std::map<std::string, std::string>;

CensusOf count(std::uint64_t destination, std::uint64_t messages) {
  if (messages == 0) return {DestinationId(destination), {"p", {}}};
  return {DestinationId(destination), {"p", {{StateIndex{1}, messages}}}};
}

std::uint64_t messages_in(const CensusRecord& census) {
  return census.states.empty() ? 0 : census.states[0].second;
}

// The pages, and the store that they are written to.
class Book {
 public:
  explicit Book(CensusPages::Limits limits) : limits_(limits), pages_({}, limits) {}

  void write(std::vector<CensusOf> counts) {
    WriteBatch batch;
    pages_.write({Sequence(++last_), std::move(counts)}, batch);
    for (const Write& write : batch.writes()) {
      if (write.kind == Write::Kind::kPut || write.kind == Write::Kind::kPutOnce)
        records[write.key] = std::string(write.value.view());
      else
        records.erase(write.key);
    }
  }

  // As the next owner finds them.
  void restart() {
    std::vector<CensusPage> kept;
    for (const auto& [key, value] : records) {
      if (const auto sequence = keys::parse_census_page(key))
        kept.push_back({*sequence, decode_census_page(value).value()});
    }
    pages_ = CensusPages(std::move(kept), limits_);
  }

  std::optional<std::uint64_t> in_pages(std::uint64_t destination) const {
    const CensusRecord* found = pages_.find(DestinationId(destination));
    return found == nullptr ? std::nullopt : std::optional(messages_in(*found));
  }
  std::optional<std::uint64_t> in_record(std::uint64_t destination) const {
    const auto found = records.find(keys::census(DestinationId(destination)));
    if (found == records.end()) return std::nullopt;
    return messages_in(decode_census(found->second).value());
  }
  std::size_t pages() const {
    std::size_t out = 0;
    for (const auto& [key, value] : records) out += key[0] == keys::kCensusPage;
    return out;
  }
  std::vector<std::uint64_t> destinations() const {
    std::vector<std::uint64_t> out;
    for (auto id = pages_.next(0); id; id = pages_.next(id->value() + 1))
      out.push_back(id->value());
    return out;
  }
  std::size_t memory() const { return pages_.memory_bytes(); }

  Records records;

 private:
  CensusPages::Limits limits_;
  CensusPages pages_;
  std::uint64_t last_ = 0;
};

using Destinations = std::vector<std::uint64_t>;

TEST(CensusPages, AllCountsOfACommitAreOneRecord) {  // req: engine.census.4
  Book book({.pages = 4, .counts = 100});
  book.write({count(1, 5), count(2, 7)});
  EXPECT_EQ(book.records.size(), 1U);
  EXPECT_EQ(book.in_pages(1), 5U);
  EXPECT_EQ(book.in_pages(2), 7U);
  EXPECT_EQ(book.in_pages(3), std::nullopt);
}

TEST(CensusPages, NewestCountHoldsAndIsFoundByTheNextOwner) {  // req: engine.census.1
  Book book({.pages = 4, .counts = 100});
  book.write({count(1, 5), count(9, 1)});
  book.write({count(1, 6)});
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(book.in_pages(1), 6U);
    EXPECT_EQ(book.in_pages(9), 1U);
    EXPECT_EQ(book.destinations(), (Destinations{1, 9}));
    book.restart();
  }
}

TEST(CensusPages, OldestLeavesForTheRecordsOfItsDestinationsUnlessANewerHasThem) {
  Book book({.pages = 2, .counts = 100});
  book.write({count(1, 5), count(2, 7)});
  book.write({count(1, 6)});
  EXPECT_EQ(book.pages(), 2U);  // as many as may be
  EXPECT_EQ(book.in_record(2), std::nullopt);
  book.write({count(3, 1)});
  EXPECT_EQ(book.pages(), 2U);
  EXPECT_EQ(book.in_record(1), std::nullopt);
  EXPECT_EQ(book.in_record(2), 7U);
  EXPECT_EQ(book.in_pages(2), std::nullopt);
  EXPECT_EQ(book.in_pages(1), 6U);
  EXPECT_EQ(book.destinations(), (Destinations{1, 3}));
}

TEST(CensusPages, PageWhoseCountsAreAllInNewerOnesLeavesWithoutARecord) {  // req: engine.census.4
  Book book({.pages = 100, .counts = 100});
  book.write({count(1, 5), count(2, 7)});
  book.write({count(1, 6)});
  EXPECT_EQ(book.pages(), 2U);
  book.restart();
  book.write({count(2, 8)});
  EXPECT_EQ(book.pages(), 2U);
  book.write({count(1, 7), count(2, 9)});
  EXPECT_EQ(book.records.size(), 1U);
  EXPECT_EQ(book.in_pages(1), 7U);
  EXPECT_EQ(book.in_pages(2), 9U);
}

TEST(CensusPages, WhoHasNoneLosesItsRecord) {
  Book book({.pages = 1, .counts = 100});
  book.write({count(1, 5)});
  book.write({count(1, 0), count(2, 1)});
  EXPECT_EQ(book.in_pages(1), 0U);
  book.write({count(2, 2)});
  EXPECT_EQ(book.in_record(1), std::nullopt);
  EXPECT_EQ(book.in_pages(1), std::nullopt);
  book.write({count(1, 4)});
  book.write({count(1, 0)});
  EXPECT_EQ(book.in_record(2), 2U);
  book.write({count(2, 0)});
  book.write({});
  EXPECT_EQ(book.in_record(1), std::nullopt);
  EXPECT_EQ(book.in_record(2), std::nullopt);
}

TEST(CensusPages, CountsOfAllPagesAreBoundedButTheLastPageStays) {
  Book book({.pages = 100, .counts = 3});
  book.write({count(1, 1), count(2, 1)});
  book.write({count(3, 1)});
  EXPECT_EQ(book.pages(), 2U);  // at the limit
  book.write({count(3, 2)});
  EXPECT_EQ(book.pages(), 1U);  // one above it, and the next is in a newer one
  EXPECT_EQ(book.in_record(1), 1U);
  book.write({count(1, 9), count(2, 9), count(4, 9), count(5, 9)});  // too many, and alone
  EXPECT_EQ(book.pages(), 1U);
  EXPECT_EQ(book.in_record(3), 2U);
  EXPECT_EQ(book.in_pages(5), 9U);
}

TEST(CensusPages, SmallerLimitsHoldFromTheFirstCommitOfTheNextOwner) {
  std::vector<CensusPage> kept;
  for (std::uint64_t i = 1; i <= 5; ++i) kept.push_back({Sequence(i), {count(i, i)}});
  CensusPages pages(kept, {.pages = 2, .counts = 100});
  EXPECT_EQ(messages_in(*pages.find(DestinationId(5))), 5U);
  WriteBatch batch;
  pages.write({Sequence(6), {count(6, 6)}}, batch);
  EXPECT_EQ(pages.find(DestinationId(4)), nullptr);
  EXPECT_EQ(messages_in(*pages.find(DestinationId(5))), 5U);
}

TEST(CensusPages, MemoryGrowsWithCountsAndDestinations) {
  Book book({.pages = 4, .counts = 100});
  EXPECT_EQ(book.memory(), 0U);
  book.write({count(1, 1)});
  const std::size_t one = book.memory();
  EXPECT_GE(one, sizeof(CensusOf) + sizeof(CensusRecord::states[0]) + sizeof(std::uint64_t) +
                     4 * sizeof(void*))
      << "a count, and a node of a tree for its destination";
  book.write({count(2, 1)});
  EXPECT_EQ(book.memory(), 2 * one);
  book.write({count(2, 2)});
  EXPECT_LT(book.memory(), 3 * one);
}

}  // namespace
}  // namespace postrider
