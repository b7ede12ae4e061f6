// Operators: commands on messages and dead letters. Each is answered with what happened.
//
// Invariants
//   - A letter that is redriven leaves in the commit that accepts its rerun.
#pragma once

#include <optional>

#include "postrider/core/books/due.h"
#include "postrider/core/books/letters.h"
#include "postrider/core/books/receipts.h"
#include "postrider/core/books/shared_bodies.h"
#include "postrider/core/delivery/delivery.h"
#include "postrider/core/desk/acceptance.h"
#include "postrider/core/desk/operations.h"
#include "postrider/core/desk/rerun.h"
#include "postrider/core/step.h"
#include "postrider/core/window/destinations.h"
#include "postrider/core/window/lookup.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/state_records.h"
#include "postrider/core/window/window.h"
#include "postrider/model/id_codec.h"

namespace postrider::core {

class Operators {
 public:
  Operators(Receipts& receipts, const IdCodec& ids, SharedBodies& bodies, Letters& letters,
            Due& due, Residents& residents, Destinations& destinations, Window& window,
            StateRecords& records, Lookup& lookup, Delivery& delivery, Operations& operations,
            Reruns& reruns, Acceptance& acceptance)
      : receipts_(receipts),
        ids_(ids),
        bodies_(bodies),
        letters_(letters),
        due_(due),
        residents_(residents),
        destinations_(destinations),
        window_(window),
        records_(records),
        lookup_(lookup),
        delivery_(delivery),
        operations_(operations),
        reruns_(reruns),
        acceptance_(acceptance) {}
  Operators(const Operators&) = delete;
  Operators& operator=(const Operators&) = delete;

  void on(Step& step, const Cancel& cancel);
  void on(Step& step, const RetryNow& retry);
  Answer retry_now(Step& step, Slot slot);
  void on(Step& step, const Redrive& redrive);
  Answer redrive_letter(Step& step, Slot slot, const Letters::Buried& buried, bool regardless);
  std::optional<Answer> send_content(Step& step, Slot slot, const Letters::Buried& buried,
                                     bool regardless);
  void on(Step& step, const Drop& drop);

 private:
  Answer missing(Step& step, MessageId id);

  Receipts& receipts_;
  const IdCodec& ids_;
  SharedBodies& bodies_;
  Letters& letters_;
  Due& due_;
  Residents& residents_;
  Destinations& destinations_;
  Window& window_;
  StateRecords& records_;
  Lookup& lookup_;
  Delivery& delivery_;
  Operations& operations_;
  Reruns& reruns_;
  Acceptance& acceptance_;
};

}  // namespace postrider::core
