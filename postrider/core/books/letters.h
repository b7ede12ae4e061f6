// Letters: what is left of messages that have ended: their end records, dead letters and history.
// It owns nothing; the records are those of the receipts.
//
// Invariants
//   - An end names the bucket of its letter. A letter may outlive its end, and then says itself
//     how the message ended.
#pragma once

#include <optional>

#include "postrider/core/books/receipts.h"
#include "postrider/core/books/shared_bodies.h"
#include "postrider/core/step.h"
#include "postrider/model/records/records.h"

namespace postrider::core {

class Letters {
 public:
  struct Buried {
    bool known = false;  // everything was read
    std::optional<EndRecord> end;
    std::optional<Blob> letter;  // the record of the dead letter, or of the history
  };
  Letters(Receipts& receipts, SharedBodies& bodies) : receipts_(receipts), bodies_(bodies) {}
  Letters(const Letters&) = delete;
  Letters& operator=(const Letters&) = delete;

  Buried find_end(Step& step, MessageId id);
  Buried find_letter(Step& step, MessageId id);
  Buried find_content(Step& step, MessageId id);
  std::optional<EndRecord> end_of_letter(Step& step, const Row& row, keys::Bucket bucket);
  void take_letter(Step& step, const Buried& buried,
                   bool moves = false);  // it goes on as a new message

 private:
  Receipts& receipts_;
  SharedBodies& bodies_;
};

}  // namespace postrider::core
