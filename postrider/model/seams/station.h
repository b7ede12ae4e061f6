// Station: one pure machine of a profile that holds everything alive between us and its far sides:
// connections, links, circuits, attachments. `on(now, what happened) → what it wants`.
//
// To the engine a station is two things that exist already: a transport (attempts start and end
// there) and a caller at the door (it posts events and is answered).
//
// Persist, then send: a station writes nothing. What must be durable it posts, and the answer comes
// when it is. Only then does it send the proof, the receipt, the welcome. A crash loses every line
// and everything that a station knew; that costs time, never a message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "postrider/base/entropy.h"
#include "postrider/base/ids.h"
#include "postrider/model/answer.h"
#include "postrider/model/event.h"
#include "postrider/model/ids.h"
#include "postrider/model/seams/clock.h"
#include "postrider/model/seams/principals.h"
#include "postrider/model/seams/transport.h"
#include "postrider/model/seams/wire.h"

namespace postrider {

// A station's own name for something that it waits for: counted upwards, never used twice.
using Token = Id<struct TokenTag>;

// What happens to a station, and what it wants. The words are short and common, so they have a
// namespace of their own.
namespace station {

// The first input, and again when the shard was made anew. Then earlier posts are not answered any
// more, and may have happened or not; earlier attempts are over, and lines and exchanges stay.
struct NewEpoch {
  Epoch epoch;
};
struct LineOpened {
  LineId line;
  LineId listener;   // that accepted it; unset: it is one of our own
  std::string peer;  // "192.0.2.1:4242", for people and for limits
};
struct LineTook {
  LineId line;
  std::string_view bytes;  // of a datagram line: one datagram
  std::string_view from;   // of a datagram line: what `WriteLine::to` takes
};
struct LineDrained {  // all that had to wait has left
  LineId line;
};
struct LineClosed {  // by the far side, or because it could not be opened
  LineId line;
  LineEnd end = LineEnd::kLost;
  std::string detail;  // for people
};
// Exactly one AttemptEnded is to be posted for it, unless it is aborted.
struct Started {
  AttemptId attempt;
  MessageId message;
  WireRequest request;
};
struct Aborted {  // by the engine, or because its time is over; nothing is to be posted for it
  AttemptId attempt;
};
// Durable, with all that it speaks of. kBusy, kUnavailable: it was not accepted.
struct Told {
  Token token;
  Answer answer;
};
struct Exchanged {
  Token token;
  WireReply reply;
};
struct DeadlineReached {};
using Happened = std::variant<NewEpoch, LineOpened, LineTook, LineDrained, LineClosed, Started,
                              Aborted, Told, Exchanged, DeadlineReached>;

struct OpenLine {
  LineId line;
  LineOrder order;
};
struct WriteLine {
  LineId line;
  std::string bytes;
  std::string to;
};
struct HoldLine {
  LineId line;
  bool held = true;
};
struct CloseLine {
  LineId line;
};
struct Post {
  Token token;  // unset: no answer is wanted
  Event event;
};
struct Exchange {  // by a transport: WORK, HTTP
  Token token;
  WireRequest request;
};
struct AbortExchange {
  Token token;
};
using Wanted =
    std::variant<OpenLine, WriteLine, HoldLine, CloseLine, Post, Exchange, AbortExchange>;

}  // namespace station

// All of one station, but the lines, which all stations of a shard share.
struct StationLimits {
  LineLimits lines;
  std::uint32_t posts_max = 1024;      // not answered yet; the next one is told kBusy
  std::uint32_t exchanges_max = 1024;  // open; the next one ends as kHeldBack
  // Of one call. Beyond it nothing is carried out but the closing of lines: a write or a hold ends
  // its line as kOverflow, an opening is told kFull, a post kBusy, an exchange kHeldBack.
  std::uint32_t wants_max = 4096;
};

struct StationNow {
  Instant instant;
  Entropy& entropy;
  const Principals* principals = nullptr;  // null: nobody is asked for a token
};

struct StationFigure {
  std::string_view name;  // constant
  std::uint64_t value = 0;
};
using StationFigures = std::vector<StationFigure>;

class Station {
 public:
  virtual ~Station() = default;
  // Requests with this verb are its attempts; the same for as long as it lives.
  virtual std::string_view verb() const = 0;
  // Appends what it wants; carried out in that order, when the call is over.
  virtual void on(const StationNow& now, const station::Happened& happened,
                  std::vector<station::Wanted>& wanted) = 0;
  // Boot time. When it has come, DeadlineReached follows.
  virtual std::optional<Timestamp> next_deadline() const = 0;
  virtual void tell(StationFigures& figures) const = 0;
};

}  // namespace postrider
