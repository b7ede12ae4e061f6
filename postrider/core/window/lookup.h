// Lookup: a message by its id, wherever it is. What is not in memory is read, and is a visitor of
// the window for the rest of the step.
//
// Invariants
//   - A visitor changes nothing: it is not ready, holds no gates and has no timers, until
//     something settles it.
//   - What cannot be read goes to quarantine, and is told as not there.
#pragma once

#include <optional>
#include <string_view>

#include "postrider/base/packing.h"
#include "postrider/core/books/shared_bodies.h"
#include "postrider/core/step.h"
#include "postrider/core/window/destinations.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/state_records.h"
#include "postrider/core/window/window.h"

namespace postrider::core {

class Lookup {
 public:
  struct Located {
    bool known = false;
    Slot slot = kNoSlot;
  };
  struct Stored {  // a message as the disk has it
    bool known = false;
    bool hot = false;
    Slot resident = kNoSlot;
    std::optional<Message> message;  // none: not there, or unreadable
    std::optional<StoredState> state;
  };
  Lookup(Dictionaries dictionaries, SharedBodies& bodies, Residents& residents,
         Destinations& destinations, Window& window, StateRecords& records)
      : dictionaries_(dictionaries),
        bodies_(bodies),
        residents_(residents),
        destinations_(destinations),
        window_(window),
        records_(records) {}
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  Stored read_message(Step& step, MessageId id);
  std::optional<Message> decode_row(Step& step, Slot slot, const Row& row, const Row* state,
                                    std::optional<StoredState>& stored);
  Located locate(Step& step, MessageId id);
  void dismiss_visitor(Step& step, Slot slot);
  static bool is_whole(const Rows& rows, std::string_view message_key);
  static bool is_state_of(std::string_view state_key, std::string_view message_key);

 private:
  Located locate_one(Step& step, MessageId id);

  Dictionaries dictionaries_;
  SharedBodies& bodies_;
  Residents& residents_;
  Destinations& destinations_;
  Window& window_;
  StateRecords& records_;
};

}  // namespace postrider::core
