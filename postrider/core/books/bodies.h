// Bodies: contents that messages share, as far as a message in memory needs them. The engine
// owns it. A count that is here is the one that holds; the store hears of it when the turn closes.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "postrider/base/bytes.h"
#include "postrider/model/answer.h"
#include "postrider/model/seams/store.h"

namespace postrider {

class Bodies {
 public:
  struct Body {
    Blob record;  // encode_body
    std::uint32_t bytes = 0;
    std::uint32_t references = 0;  // messages and dead letters
    bool counted = true;           // false: the count was lost, so when it may go cannot be told
    std::uint32_t users = 0;       // messages in memory
    bool touched = false;          // the count is not what the store has
  };

  // Null: it was not read yet.
  const Body* find(std::uint64_t id) const {
    const auto found = bodies_.find(id);
    return found == bodies_.end() ? nullptr : &found->second;
  }
  // As it was read, or as it was just written; forgotten at the end of the step unless it is used.
  const Body& add(std::uint64_t id, Body body);
  void fill(std::uint64_t id, const Blob& record) { at(id).record = record; }
  void use(std::uint64_t id) { ++at(id).users; }
  void leave(std::uint64_t id);
  void refer(std::uint64_t id);
  void release(std::uint64_t id);

  // At the end of each step.
  void tidy() {
    if (!idle_.empty()) forget_idle();
  }
  // Once per commit: the counts that changed; a body without a reference goes.
  void write(Counters& counters, WriteBatch& out);
  bool changed() const { return !touched_.empty(); }
  std::uint64_t bytes() const { return bytes_; }  // in memory

 private:
  Body& at(std::uint64_t id);
  void touch(std::uint64_t id, Body& body);
  void forget_idle();
  void forget(std::uint64_t id);

  std::unordered_map<std::uint64_t, Body> bodies_;
  std::vector<std::uint64_t> idle_;     // perhaps of no use any more
  std::vector<std::uint64_t> touched_;  // in the order of their first change in this turn
  std::uint64_t bytes_ = 0;
};

}  // namespace postrider
