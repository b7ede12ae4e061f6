// Mailboxes: destinations whose messages are read and confirmed by their application. They start
// nothing, so their messages lie in the cold space from acceptance to confirmation. And callers
// that wait: for something in a mailbox, or for the end of any message.
//
// Invariants
//   - A confirmed message is delivered, once; to confirm it again changes nothing.
//   - A mailbox takes no more than its quota, and drops nothing to make room.
#pragma once

#include "postrider/core/books/cards.h"
#include "postrider/core/books/letters.h"
#include "postrider/core/books/waiters.h"
#include "postrider/core/delivery/delivery.h"
#include "postrider/core/engine.h"
#include "postrider/core/step.h"
#include "postrider/core/window/destinations.h"
#include "postrider/core/window/lookup.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/window.h"

namespace postrider::core {

class Mailboxes {
 public:
  Mailboxes(const EngineLimits& limits, Letters& letters, Cards& cards, Waiters& waiters,
            Residents& residents, Destinations& destinations, Window& window, Lookup& lookup,
            Delivery& delivery)
      : limits_(limits),
        letters_(letters),
        cards_(cards),
        waiters_(waiters),
        residents_(residents),
        destinations_(destinations),
        window_(window),
        lookup_(lookup),
        delivery_(delivery) {}
  Mailboxes(const Mailboxes&) = delete;
  Mailboxes& operator=(const Mailboxes&) = delete;

  void on(Step& step, const Confirm& confirm);
  void on(Step& step, const Await& await);
  void on(Step& step, const StopWaiting& stop);

 private:
  void await_mailbox(Step& step, const Await& await);
  void await_end(Step& step, const Await& await);
  void wait(Step& step, const Await& await, MessageId thing);

  const EngineLimits& limits_;
  Letters& letters_;
  Cards& cards_;
  Waiters& waiters_;
  Residents& residents_;
  Destinations& destinations_;
  Window& window_;
  Lookup& lookup_;
  Delivery& delivery_;
};

}  // namespace postrider::core
