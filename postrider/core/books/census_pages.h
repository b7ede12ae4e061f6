// CensusPages: the newest counts of cold messages, those of all destinations that changed in one
// commit in one record. A record for each destination would double the writes of a message that
// waits on disk. A page whose counts are all in newer ones leaves; so do the oldest when there are
// too many, and what no newer page has goes into the records of their destinations. So a
// destination has what the newest page with it says, or else its own record. Owned by the engine;
// all pages are in memory, and are read with the books.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "postrider/model/records/records.h"
#include "postrider/model/seams/store.h"

namespace postrider {

class CensusPages {
 public:
  struct Limits {
    std::uint32_t pages = 1;
    std::uint32_t counts = 1;  // of all pages
  };
  // As the last owner left them, oldest first.
  CensusPages(std::vector<CensusPage> pages, Limits limits);

  // Null: no page has it.
  const CensusRecord* find(DestinationId destination) const;
  // The first destination from this number on that a page has.
  std::optional<DestinationId> next(std::uint64_t from) const;

  void write(CensusPage page, WriteBatch& out);
  std::size_t memory_bytes() const;

 private:
  struct Place {
    std::uint64_t page = 0;  // counted from the first one ever
    std::uint32_t at = 0;
  };
  struct Kept {
    CensusPage page;
    std::size_t newest = 0;  // counts that no newer page has
  };
  void add(CensusPage page);
  bool oldest_may_go() const;
  void retire_oldest(WriteBatch& out);

  Limits limits_;
  std::deque<Kept> pages_;
  std::uint64_t retired_ = 0;  // pages that have left
  std::uint64_t counts_ = 0;
  std::map<std::uint64_t, Place> newest_;  // by destination
};

}  // namespace postrider
