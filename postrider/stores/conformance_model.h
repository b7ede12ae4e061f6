// What the tests of stores compare with: a plain map, and batches drawn at random that keep the
// rules.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "postrider/base/rng.h"
#include "postrider/model/seams/store.h"

namespace postrider {

using Contents = std::map<std::string, std::string>;

// The naive model: what a batch means, in as few words as possible.
inline void apply_to(Contents& model, const WriteBatch& batch) {
  for (const Write& write : batch.writes()) {
    switch (write.kind) {
      case Write::Kind::kPutOnce:
      case Write::Kind::kPut: model[write.key] = write.value.view(); break;
      case Write::Kind::kRemoveOnce:
      case Write::Kind::kRemove: model.erase(write.key); break;
      case Write::Kind::kRemoveRange:
        std::erase_if(model, [&](const auto& record) {
          return record.first >= write.key && record.first < write.last;
        });
        break;
    }
  }
}

// Draws batches that keep the once rules. Keys that may be rewritten start with 'p', once-records
// with 'o'.
class BatchMaker {
 public:
  explicit BatchMaker(std::uint64_t seed) : rng_(seed) {}

  // `present` is what the batch will meet.
  WriteBatch make(Contents present) {
    WriteBatch batch;
    for (std::uint64_t left = 1 + rng_.below(6); left > 0; --left) add_to(batch, present);
    return batch;
  }
  Rng& rng() { return rng_; }

 private:
  void add_to(WriteBatch& batch, Contents& present) {
    WriteBatch one;
    const std::string key = "p" + std::to_string(rng_.below(20));
    const std::string value = std::to_string(rng_.next());
    switch (rng_.below(6)) {
      case 0:
      case 1: one.put(key, value); break;
      case 2: one.remove(key); break;
      case 3: one.put_once("o" + std::to_string(++last_once_), Blob::copy_of(value)); break;
      case 4: {
        const auto record = present.lower_bound("o");
        if (record == present.end() || record->first[0] != 'o') return;
        one.remove_once(record->first);
        break;
      }
      default: one.remove_range(key, "p" + std::to_string(rng_.below(20))); break;
    }
    apply_to(present, one);
    for (const Write& write : one.writes()) append(batch, write);
  }
  static void append(WriteBatch& batch, const Write& write) {
    switch (write.kind) {
      case Write::Kind::kPutOnce: return batch.put_once(write.key, write.value);
      case Write::Kind::kRemoveOnce: return batch.remove_once(write.key);
      case Write::Kind::kPut: return batch.put(write.key, write.value);
      case Write::Kind::kRemove: return batch.remove(write.key);
      case Write::Kind::kRemoveRange: return batch.remove_range(write.key, write.last);
    }
  }

  Rng rng_;
  std::uint64_t last_once_ = 0;  // never the same key twice
};

}  // namespace postrider
