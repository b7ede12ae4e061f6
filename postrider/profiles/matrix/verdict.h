// What the end of a try means: the table of docs/spec/matrix.md as a function, with the control of
// what looks like a bad item. Pure; any thread.
#pragma once

#include <cstdint>

#include "postrider/model/lifecycle.h"
#include "postrider/model/seams/transport.h"
#include "postrider/profiles/matrix/numbers.h"

namespace postrider::matrix {

struct TryFacts {
  WireEnd end = WireEnd::kAnswered;
  int status = 0;
  bool object = false;          // the body is a JSON object
  bool alone = false;           // the transaction has one member
  bool refused_before = false;  // these bytes got a 500 before, or a bad item is being looked for
  // Of a member that is alone: it was set aside before.
  bool was_aside = false;
  // Another item is aside, or this one was, and nothing was delivered since.
  bool nothing_since = false;
  // Its refusal has closed the server before: it goes out of the way of others.
  bool struck = false;
};

On verdict_of(PolicyChoice choice, const TryFacts& facts);

}  // namespace postrider::matrix
