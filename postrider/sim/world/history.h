// History: what happened at the edges of the simulated process, as clients, peers and the disk saw
// it. Checkers are witnesses: they get nothing else, and in particular nothing from inside the
// engine.
#pragma once

#include <cstdint>
#include <string>

#include "postrider/base/time.h"
#include "postrider/model/answer.h"
#include "postrider/model/effects.h"
#include "postrider/model/event.h"
#include "postrider/model/id_address.h"
#include "postrider/sim/world/peer.h"
#include "postrider/sim/world/store.h"

namespace postrider::sim {

using Incarnation = std::uint64_t;  // one process, from its start to its death

// `truth` is the time of the world; `engine` is what the process last went by.
struct Moment {
  Timestamp truth;
  Timestamp engine;
  Incarnation incarnation = 0;
};

struct Asked {
  Moment when;
  Ticket ticket;
  const Event& event;
  std::uint64_t operation = 0;  // which wish of a client; asking again is the same one
};
struct Told {
  Moment when;
  Ticket ticket;
  const Answer& answer;
};
struct Left {  // an attempt left the process
  Moment when;
  Timestamp decided_after;  // engine time: all that was decided before has left before
  const StartAttempt& start;
  const Call& call;
};
struct Aborted {
  Moment when;
  AttemptId attempt;
};
struct Reached {  // a peer saw a request
  Moment when;
  AttemptId attempt;
  const Call& call;
  std::uint32_t peer = 0;
  bool executed = false;
};
struct Outcomed {  // the process is told what an attempt came to
  Moment when;
  AttemptId attempt;
  const WireReply& reply;
};
struct Receipted {  // the process is told by another way
  Moment when;
  MessageId id;
  On signal = On::kConfirmed;
};
struct Durable {
  Moment when;
  const Applied& applied;
};

// The end of the second phase: nothing went wrong for as long as the policies allow anything to
// take.
struct Finished {
  Moment when;
  const SimDisk& disk;
};

class Witness {
 public:
  virtual ~Witness() = default;
  virtual void began(const Moment& /*when*/, Epoch /*epoch*/) {}
  virtual void died(const Moment& /*when*/) {}
  virtual void asked(const Asked& /*asked*/) {}
  virtual void told(const Told& /*told*/) {}
  virtual void left(const Left& /*left*/) {}
  virtual void aborted(const Aborted& /*aborted*/) {}
  virtual void reached(const Reached& /*reached*/) {}
  virtual void outcome(const Outcomed& /*outcome*/) {}
  virtual void receipt(const Receipted& /*receipt*/) {}
  virtual void durable(const Durable& /*durable*/) {}
  virtual void damaged(const Moment& /*when*/, std::string_view /*key*/) {}
  virtual void finished(const Finished& /*finished*/) {}
};

}  // namespace postrider::sim
