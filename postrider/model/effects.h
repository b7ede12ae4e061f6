// Effects: what a turn decided. First `writes` become durable, only then may `actions` leave the
// process. `chores` are events for the engine itself; they leave nothing and wait for nothing.
#pragma once

#include <variant>
#include <vector>

#include "postrider/model/answer.h"
#include "postrider/model/event.h"
#include "postrider/model/seams/store.h"
#include "postrider/model/seams/transport.h"

namespace postrider {

struct StartAttempt {
  AttemptId attempt;
  MessageId message;
  WireRequest request;
};
struct AbortAttempt {
  AttemptId attempt;
  bool ended = false;  // with its message: if it has not left yet, it need not
};
struct Reply {
  Ticket ticket;
  Answer answer;
};
using Action = std::variant<StartAttempt, AbortAttempt, Reply>;

struct Effects {
  WriteBatch writes;
  std::vector<Action> actions;
  std::vector<Chore> chores;
};

}  // namespace postrider
