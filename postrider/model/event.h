// Event: everything that can happen to the engine. The list is closed; any event in any state is
// legal.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/model/answer.h"
#include "postrider/model/arrival_source.h"
#include "postrider/model/destination.h"
#include "postrider/model/holds.h"
#include "postrider/model/ids.h"
#include "postrider/model/jobs.h"
#include "postrider/model/lifecycle.h"
#include "postrider/model/seams/transport.h"

namespace postrider {

// The caller's own name for what it wants, so that asking twice is asking once.
struct OperationKey {
  enum class Kind : std::uint8_t {
    kNone,
    kOpaque,     // any text; remembered for the window, new after it
    kTimed,      // carries when it was made: recognisably too old after the window
    kSequenced,  // carries a session and a number within it
  };
  Kind kind = Kind::kNone;
  std::string scope;           // tenant; keys of different scopes never meet
  std::string key;             // kSequenced: the session
  Timestamp made;              // kTimed: the key's time; kSequenced: the session's beginning
  std::uint64_t sequence = 0;  // kSequenced
};

struct Caller {
  Ticket ticket;
  OperationKey key;
  // What was asked for, as bytes, when the event holds more than that: a time made of "in 5 s", a
  // trace context that is new in each repeat. Two requests with one key must have the same. Empty:
  // the event itself.
  std::string said;
  std::string actor;  // the caller, for the audit
};

struct Submit {
  Caller caller;
  std::string destination;
  std::uint8_t lane = 0;
  std::uint16_t priority = 0;   // higher first; a FIFO lane has none
  bool origin_ran = false;      // `origin`: where it came from could not rule out that it was done
  bool even_if_it_ran = false;  // `origin`: the caller accepts that it may run twice
  bool more = false;  // more submits follow at once: nothing starts before the last of them
  Timestamp not_before;
  Timestamp expires;
  std::string attributes;  // encode_texts
  std::string body;
  MessageId origin = {};  // a message, of here or elsewhere, that it was made from
};
// One message for each member of a group that subscribes to the type, or for each destination of a
// list; of a list, names that no destination has are made like their template.
struct FanOut {
  Caller caller;
  std::string group;                      // empty: a list
  std::vector<std::string> destinations;  // each once
  bool skip_closed = false;  // of a list: what takes no new messages is left out, and told
  std::string type;          // of a group; empty: only for members that subscribe to everything
  std::uint8_t lane = 0;
  std::uint16_t priority = 0;
  Timestamp not_before;
  Timestamp expires;
  std::string attributes;  // encode_texts
  std::string body;
};
struct ChangeGroup {  // of members for fan-out
  enum class What : std::uint8_t {
    kPut,     // the group as it stands, whatever it was
    kAdd,     // its members to the group; a member that is there already changes
    kRemove,  // its members from the group
    kDrop,    // the group
  };
  Caller caller;
  What what = What::kPut;
  FanoutGroup group;
};
struct Cancel {
  Caller caller;
  MessageId id;
};
struct RetryNow {  // revives a parked message, ends a back-off
  Caller caller;
  MessageId id;
};
struct Redrive {  // a new message from a dead letter
  Caller caller;
  MessageId id;
  bool even_if_it_ran = false;  // the caller accepts that it may run twice
};
struct Drop {  // a dead letter for good
  Caller caller;
  MessageId id;
};
struct Configure {
  Caller caller;
  DestinationConfig
      config;  // removed: take the destination away; draining with it: when it is empty
  bool merge =
      false;  // these settings only, the others stay; an empty one goes back to its default
  // With `merge`: settings that the change was made from, an empty one for none. If one of them is
  // another by now, nothing is done.
  NamedTexts made_from = {};
};
struct Pause {
  Caller caller;
  std::string destination;
  std::string reason;
};
struct Resume {
  Caller caller;
  std::string destination;
};
struct Wake {  // look now: a waiting route gets its probe
  Caller caller;
  std::string destination;
};

struct StartJob {  // one action for everything that a filter names
  Caller caller;
  JobOrder order;
  bool dry_run = false;  // count what fits, and change nothing
};
struct CancelJob {
  Caller caller;
  JobId job;
};

struct PutHold {  // from now on every destination that it fits is paused
  Caller caller;
  HoldRule rule;
};
struct DropHold {
  Caller caller;
  std::string name;
};

struct AttemptNews {
  AttemptId attempt;
  On signal = On::kSent;
};
struct AttemptEnded {
  AttemptId attempt;
  WireReply reply;
};
struct ReceiptArrived {  // by another way than the attempt, at any time
  MessageId id;
  On signal = On::kConfirmed;
  std::string detail;
};
struct Arrived {  // unasked, for a profile; answered when it is durable
  Caller caller;
  std::string profile;
  ArrivalSource source;
  NamedTexts settings;  // of the origin, as they are when it arrives
  std::string bytes;
};
struct PeerSeen {  // a sign of life of a destination
  Ticket ticket = {};
  std::string destination;
};
// Its reader has these messages of a mailbox.
struct Confirm {
  Caller caller;
  std::string destination;
  std::vector<MessageId> ids;
};
// Answered when a message has ended, or when a mailbox has something to read; with kPending when
// the time is over first.
struct Await {
  Ticket ticket;
  MessageId id;             // unset: the mailbox
  std::string destination;  // the mailbox …
  MessageId after;          // … behind this message; unset: from its beginning
  Duration at_most{0};
};
struct StopWaiting {  // its caller has gone; nothing answers this
  Ticket awaited;
};
struct TimersDue {};

// Queries change nothing, but their answers wait for the commit like all answers.
struct Query {
  enum class What : std::uint8_t {
    kExplain,
    kStats,
    kLog,
    kDeadLetters,
    kDestination,
    kDestinations,  // all of them, by cursor
    kMessages,      // live messages, parked ones among them, by cursor
    kMessage,       // one with its attributes and body: live, or a dead letter
    kOperation,     // what became of a key, without acting
    kArrivals,      // what arrived, as it came, by cursor
    kShape,         // the ages of live messages, by destination; a bounded piece, by cursor
    kQueues,        // depth and age of each queue that is not empty, by destination and cursor
    kDeadGroups,    // how many dead letters there are, by destination, phase and cause
    kJobs,
    kJob,
    kAudit,  // what operators did, by cursor
    kHolds,
    kFanoutGroups,  // all of them, by cursor
    kFanoutGroup,
    kRuns,         // a message and its runs again, as a MessagePage, oldest first
    kReadMailbox,  // what a mailbox holds, with contents, oldest first, behind `id`
    kCard,         // one card of a profile
    kCards,        // those of a drawer, from the key `card` on
  };
  Ticket ticket;
  What what = What::kStats;
  MessageId id;  // kExplain, kMessage, kRuns; kReadMailbox: the last one that was read
  std::string
      destination;     // kDestination; kMessages, kShape, kDeadGroups: of this one only, when set
  LogPosition from;    // kLog
  std::string cursor;  // of what comes by cursor: where the last answer ended
  OperationKey key;    // kOperation
  JobId job;           // kJob
  std::string group;   // kFanoutGroup
  std::string profile = {};  // kCard, kCards
  std::string drawer = {};
  std::string card = {};      // its key
  bool contents = false;      // kDeadLetters: with their messages
  bool newest_first = false;  // kAudit
  std::uint32_t limit = 100;
};

// Work that the engine gave itself, because it needs to read first.
struct Chore {
  enum class Kind : std::uint8_t {
    kRestore,
    kRefill,
    kLower,  // a lower priority has its turn, and what it has is on disk
    kWakeMessage,
    kExpire,
    kWakeRoute,
    kLoadDue,
    kRemoveDrained,
    kNested,  // a submit that follows from another message
    kClaim,   // news that waited for a name
    kRevive,  // messages parked for want of reach go back in line
    kJob,     // the next page of a job
    kDryRun,  // … of a job that only counts
    kBodies,  // references to shared bodies that are to be counted down
    kSweep,   // what is not worth sending any more ends
    kRouse,   // messages in back-off hear of a sign of life
    kExpireCard,
    kBatch,       // members of an open batch are on disk, and its leader's turn has come
    kIdle,        // what is like a template is looked at, page by page …
    kRemoveIdle,  // … and this one was used long ago
  };
  Kind kind = Kind::kRestore;
  DestinationId destination;
  std::uint8_t lane = 0;
  MessageId id;
  JobId job = {};  // kJob; kDryRun: the number of the run
  // kRevive: messages that a success from then or earlier revives; kExpireCard: of its due entry.
  Timestamp at;
  // kRestore, kRevive, kSweep, kRouse, kIdle: where to go on; kNested, kClaim: the record.
  std::string cursor;
  bool all = false;  // kRevive: not the oldest alone; kClaim: found by the restore; kRestore:
                     // though memory is full; kWakeMessage: its state is lost
};

using Event = std::variant<Submit, Cancel, RetryNow, Redrive, Drop, Configure, Pause, Resume, Wake,
                           StartJob, CancelJob, PutHold, DropHold, FanOut, ChangeGroup, AttemptNews,
                           AttemptEnded, ReceiptArrived, Arrived, PeerSeen, TimersDue, Query, Chore,
                           Confirm, Await, StopWaiting>;

// Where the ticket of an event stands that is answered; null: it is never answered.
inline Ticket* ticket_of(Event& event) {
  return std::visit(
      [](auto& command) -> Ticket* {
        if constexpr (requires { command.caller.ticket; }) return &command.caller.ticket;
        if constexpr (requires { command.ticket; }) return &command.ticket;
        return nullptr;
      },
      event);
}

}  // namespace postrider
