#include "postrider/core/books/census_pages.h"

#include <utility>

#include "postrider/model/records/keys.h"

namespace postrider {

CensusPages::CensusPages(std::vector<CensusPage> pages, Limits limits) : limits_(limits) {
  for (CensusPage& page : pages) add(std::move(page));
}

const CensusRecord* CensusPages::find(DestinationId destination) const {
  const auto found = newest_.find(destination.value());
  if (found == newest_.end()) return nullptr;
  const Place place = found->second;
  return &pages_[place.page - retired_].page.counts[place.at].census;
}

std::optional<DestinationId> CensusPages::next(std::uint64_t from) const {
  const auto found = newest_.lower_bound(from);
  if (found == newest_.end()) return std::nullopt;
  return DestinationId(found->first);
}

void CensusPages::write(CensusPage page, WriteBatch& out) {
  out.put_once(keys::census_page(page.sequence), Blob::copy_of(encode_census_page(page.counts)));
  add(std::move(page));
  while (oldest_may_go()) retire_oldest(out);
}

void CensusPages::add(CensusPage page) {
  const std::uint64_t number = retired_ + pages_.size();
  for (std::uint32_t at = 0; at < page.counts.size(); ++at) {
    const Place here{number, at};
    const auto [place, is_new] = newest_.try_emplace(page.counts[at].destination.value(), here);
    if (is_new) continue;
    --pages_[place->second.page - retired_].newest;
    place->second = here;
  }
  const std::size_t counts = page.counts.size();
  counts_ += counts;
  pages_.push_back({std::move(page), counts});
}

bool CensusPages::oldest_may_go() const {
  if (pages_.size() > limits_.pages) return true;
  return pages_.size() > 1 && (counts_ > limits_.counts || pages_.front().newest == 0);
}

void CensusPages::retire_oldest(WriteBatch& out) {
  const CensusPage page = std::move(pages_.front().page);
  pages_.pop_front();
  for (const CensusOf& count : page.counts) {
    const auto found = newest_.find(count.destination.value());
    if (found->second.page != retired_) continue;
    newest_.erase(found);
    if (count.census.states.empty()) {
      out.remove(keys::census(count.destination));
    } else {
      out.put(keys::census(count.destination), encode_census(count.census));
    }
  }
  counts_ -= page.counts.size();
  ++retired_;
  out.remove_once(keys::census_page(page.sequence));
}

std::size_t CensusPages::memory_bytes() const {
  constexpr std::size_t kNode = 4 * sizeof(void*);  // what a tree adds to each element, about
  return counts_ * (sizeof(CensusOf) + sizeof(CensusRecord::states[0])) +
         newest_.size() * (sizeof(std::uint64_t) + sizeof(Place) + kNode);
}

}  // namespace postrider
