// Agenda: what will happen in the simulated world, ordered by time and then by the order of entry.
// Time passes only by taking the next thing from it, so idle time is free. One thread, like
// everything here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "postrider/base/check.h"
#include "postrider/base/time.h"

namespace postrider::sim {

class Agenda {
 public:
  using Thing = std::function<void()>;

  explicit Agenda(Timestamp start) : now_(start) {}

  // True time of the world: it never stops and never jumps, and nobody inside the world can read
  // it.
  Timestamp now() const { return now_; }
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  Timestamp next_at() const { return heap_.front().at; }

  // A time in the past happens now, behind what is already entered for now.
  void at(Timestamp when, Thing thing) {
    POSTRIDER_CHECK(heap_.size() < kThingsMax);
    heap_.push_back({std::max(when, now_), ++entered_, std::move(thing)});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  void after(Duration wait, Thing thing) { at(now_ + wait, std::move(thing)); }

  void run_next() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Item item = std::move(heap_.back());
    heap_.pop_back();
    now_ = item.at;
    ++run_;
    item.thing();
  }

  std::uint64_t run_so_far() const { return run_; }

 private:
  // A simulation that enters more than this is running away.
  static constexpr std::size_t kThingsMax = 50'000'000;

  struct Item {
    Timestamp at;
    std::uint64_t sequence;
    Thing thing;
  };
  static bool later(const Item& a, const Item& b) {
    return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
  }

  Timestamp now_;
  std::uint64_t entered_ = 0;
  std::uint64_t run_ = 0;
  std::vector<Item> heap_;
};

}  // namespace postrider::sim
