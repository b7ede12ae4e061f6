// Answer: what a caller is told. It leaves only when everything it speaks of is durable.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "postrider/base/bytes.h"
#include "postrider/base/time.h"
#include "postrider/model/arrival_source.h"
#include "postrider/model/attempts.h"
#include "postrider/model/audit.h"
#include "postrider/model/card.h"
#include "postrider/model/dead_groups.h"
#include "postrider/model/destination.h"
#include "postrider/model/fanout.h"
#include "postrider/model/histogram.h"
#include "postrider/model/holds.h"
#include "postrider/model/ids.h"
#include "postrider/model/jobs.h"
#include "postrider/model/lifecycle.h"
#include "postrider/model/outcome.h"
#include "postrider/model/trail.h"

namespace postrider {

enum class AnswerCode : std::uint8_t {
  kAccepted,    // the message is durable
  kDone,        // what was asked has happened
  kNothing,     // it was so already
  kPending,     // noted; happens unless the open attempt succeeds
  kConflict,    // the key was used with other content
  kKeyExpired,  // the key is too old to tell whether it was used
  kNotFound,    // no such message, destination or dead letter, or no longer
  kDisabled,    // the destination takes no messages
  kEnded,       // the message has ended already
  kInvalid,     // the request makes no sense; the detail says what to change
  kTooLarge,
  kNotEmpty,     // the destination still has messages
  kUnavailable,  // we were interrupted and cannot tell whether it happened: ask again, with the key
  kFull,         // as many messages live as may, or a profile has as many cards as it may
  kBusy,         // as much of this kind as may be is under way: ask again later
  kMayHaveRun,   // to send it again might do it twice; nothing was done
  kChanged,      // what the change was made from is no longer so; nothing was done: look again
  kNoRoom,       // the mailbox is full until its reader confirms
};
inline constexpr std::size_t kAnswerCodes = 18;
std::string_view name_of(AnswerCode code);

// The messages that leave in one attempt.
struct BatchView {
  std::uint32_t number = 0;        // with the leader's id it names them for ever
  std::uint16_t attempts = 0;      // of the leader
  std::vector<MessageId> members;  // the leader, and its followers in their order
};

// Where a message is, why, and what comes next.
struct Explanation {
  enum class Place : std::uint8_t {
    kWindow,
    kDisk,
    kOnTheWire,
    kAtPeer,
    kSleeping,
    kParked,
    kEnded,
    kQuarantine
  };
  enum class Next : std::uint8_t { kAttempt, kOutcome, kNews, kOperator, kNothing };

  MessageId id;
  std::string destination;
  std::string state;  // the profile's own word
  Phase phase = Phase::kQueued;
  Place place = Place::kDisk;
  Timestamp accepted;
  Timestamp since;
  Timestamp expires;
  std::uint16_t attempts = 0;
  AttemptList attempt_list;  // the newest ones; only when one message is asked for
  FailureClass failure = FailureClass::kNone;
  std::string reason;  // of the last outcome
  Health health = Health::kNormal;
  std::string why;  // why it is where it is, in words
  Next next = Next::kNothing;
  Timestamp next_at;  // not before; unset: as soon as its turn comes
  bool cancel_wanted = false;
  MessageId origin;
  FanoutId fanout;  // that it is part of; of a message that lives
  MessageId gap;    // before it in its order, parked out of the way; of several the first
  // The open batch that it is a member of; only when one message is asked for.
  std::optional<BatchView> batch = {};
};

struct Counters {
  std::uint64_t accepted = 0;
  std::uint64_t delivered = 0;
  std::uint64_t dead = 0;
  std::uint64_t expired = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t indeterminate = 0;
  std::uint64_t redriven = 0;      // dead letters sent again, as new messages
  std::uint64_t dropped = 0;       // dead letters removed by an operator
  std::uint64_t quarantined = 0;   // records that could not be read
  std::uint64_t removed_ends = 0;  // by retention, each
  std::uint64_t removed_dead = 0;
  std::uint64_t removed_ledger = 0;
  std::uint64_t removed_names = 0;
  std::uint64_t removed_pending_news = 0;  // news that no message claimed
  std::uint64_t removed_arrivals = 0;
  std::uint64_t fanouts = 0;        // that were accepted
  std::uint64_t shared_bodies = 0;  // that there are …
  std::uint64_t shared_bytes = 0;   // … and what they hold

  std::uint64_t ended() const { return delivered + dead + expired + cancelled + indeterminate; }
  std::uint64_t live() const { return accepted - ended(); }
  friend bool operator==(const Counters&, const Counters&) = default;
};

// How often something was that profiles have words for; the words are constants of theirs.
struct Counted {
  std::string_view word;
  std::uint64_t times = 0;
};
using CountedWords = std::vector<Counted>;  // few, in the order of their first time
void count(CountedWords& words, std::string_view word);

inline constexpr std::size_t kTenantsTold = 20;

// Since this incarnation began; not stored.
struct Tallies {
  std::uint64_t attempts = 0;
  std::uint64_t ignored_signals = 0;  // rows that say ignore
  std::uint64_t late_outcomes = 0;    // of attempts that we had given up
  std::uint64_t late_receipts = 0;    // for messages that had ended
  std::uint64_t arrivals = 0;
  std::uint64_t repeated_arrivals = 0;  // doubles
  std::uint64_t unknown_names = 0;      // news about names that no message had when it came
  std::uint64_t altered_resends = 0;    // whose bytes were not those of the attempt they repeat
  std::uint64_t refused_readings = 0;   // notes, names or submits of a profile beyond their limits
  std::uint64_t gates_closed = 0;       // by failures in a row
  std::uint64_t looks = 0;              // at a destination, for something to start
  std::uint64_t lower_turns = 0;        // starts that lower priorities had by turns
  std::uint64_t probes = 0;             // attempts that only asked
  std::uint64_t mismatched = 0;         // answers and news that did not fit what was asked
  std::uint64_t adopted = 0;            // attempts whose name we learnt by the way
  std::uint64_t alarms = 0;             // refusals that the operator has to look at
  std::array<std::uint64_t, kFailureClasses> retries{};  // by what failed before
  CountedWords outcomes;     // of ended messages, where profiles tell it
  CountedWords closings;     // of gates_closed, the profile's word
  Histogram attempt_took;    // from the start of an attempt until it ended or was given up
  Histogram until_sent;      // from acceptance to the first attempt
  Histogram until_ended;     // from acceptance to the end
  Histogram until_answered;  // from the last stage to the answer, of methods that keep a trail
  Histogram timers_late;     // when timers were looked at, how long the first was due
  std::uint64_t stray_timers = 0;
  std::uint64_t jobs_ended = 0;
  std::uint64_t slow_starts = 0;    // routes that closed, and begin with one place again
  std::uint64_t deep_waits = 0;     // routes whose wait became deep
  std::uint64_t batches = 0;        // opened …
  std::uint64_t batch_members = 0;  // … with so many messages …
  std::uint64_t batch_splits = 0;   // … of which so many were too much for their far side
  std::uint64_t dropped_deep = 0;   // messages that ended because of it, in lanes that say so
  std::uint64_t superseded = 0;     // messages that a newer one of their lane and key replaced
  std::uint64_t roused = 0;         // messages whose back-off a sign of life ended
  // The first few tenants that had a start, and the starts of all others that have a tenant.
  struct Tenant {
    std::uint64_t number = 0;  // as in Policy
    std::string name;
    std::uint64_t starts = 0;
  };
  std::vector<Tenant> tenants;
  std::uint64_t other_tenants = 0;
  std::uint64_t needs = 0;  // steps that had to read first
  std::uint64_t steps = 0;
};

// One line of the outcome log: an end, or a notice to the operator. Each has one position for ever.
struct LogPosition {
  std::uint32_t bucket = 0;
  std::uint64_t page = 0;
  std::uint32_t index = 0;
  friend auto operator<=>(const LogPosition&, const LogPosition&) = default;
};

struct LogEntry {
  enum class Kind : std::uint8_t {
    kEnd,
    kDestinationClosed,
    kDestinationDisabled,
    kDestinationOpen,
    kParked,
    kRemoved,
    kQuarantined,
    kLate,     // news about a message that had ended
    kAltered,  // a resend whose bytes were not those of the attempt that it repeats
    kUnsent,   // a submit that followed from another message was refused
    kAlarm,    // the far side refuses all of us: a key, a right or a quota is wrong
    kGap,      // a message was taken out of an order, and the messages behind it go on
  };
  static constexpr std::size_t kKinds = 12;

  LogPosition position;
  Kind kind = Kind::kEnd;
  Timestamp at;
  MessageId id;  // or its destination only
  Phase phase = Phase::kQueued;
  FailureClass cause = FailureClass::kNone;
  std::uint16_t attempts = 0;
  std::string reason;
  Timestamp accepted = {};       // of an end: when its message was; else unset
  std::string destination = {};  // its name, also when it was removed; told by queries, not stored
};

struct Stats {
  Counters counters;
  std::array<std::uint64_t, LogEntry::kKinds> noted{};  // entries of the log since the start
  Tallies tallies;
  std::uint64_t in_window = 0;
  std::uint64_t open_attempts = 0;
  std::uint64_t residents = 0;
  std::uint64_t jobs_running = 0;
  std::uint64_t holds = 0;
  std::uint64_t dead_groups = 0;
  std::array<std::uint64_t, kFailureClasses> dead_letters{};  // that there are, by cause
  std::uint64_t dead_letters_ungrouped = 0;                   // whose cause was not counted
  std::uint64_t parked = 0;
  std::uint64_t history = 0;  // messages whose content is kept after their end …
  std::uint64_t history_bytes = 0;
  bool restoring = false;
  Timestamp now;            // engine time
  Duration clock_doubt{0};  // how far the wall is ahead and not believed; 0: it is
  struct InState {
    std::string_view profile;
    std::string_view state;
    std::uint64_t messages = 0;
    std::uint64_t in_memory = 0;
  };
  std::vector<InState> in_states;
  // False: of messages that are not in memory some are not counted yet, or never were.
  bool all_counted = false;
  std::vector<std::pair<std::string, std::uint64_t>> cards = {};  // by profile; none is 0
};

struct LogPage {
  std::vector<LogEntry> entries;
  LogPosition next;  // ask from here
  bool fell_behind =
      false;  // what the cursor pointed at is removed; `entries` start with the oldest there is
  bool at_end = false;
};

struct DeadLetter {
  MessageId id;
  Phase phase = Phase::kDead;  // dead, expired or parked
  Timestamp at;
  FailureClass cause = FailureClass::kNone;
  std::uint16_t attempts = 0;
  // Whether the profile minds its being sent again; told with its content, where a profile does.
  enum class Rerun : std::uint8_t { kNotAsked, kMay, kMustNot };
  Rerun rerun = Rerun::kNotAsked;
  std::string reason;
};

struct DeadLetters {
  struct Content {
    std::string destination;  // its name; empty: it is gone
    Blob message;             // encoded
  };
  std::vector<DeadLetter> letters;
  std::vector<Content> contents;  // of each, when they were asked for
  std::string next;               // ask from here; empty: that was all
};

struct DestinationView {
  DestinationId id;
  DestinationConfig config;
  Route route;
  std::uint32_t in_window = 0;
  std::uint32_t open_attempts = 0;
  bool owed = false;
  // Only of a destination that is in memory; counted since it came there.
  struct Activity {
    Timestamp since;
    std::uint32_t in_flight_max = 0;
    std::uint32_t in_flight_now = 0;  // how many of them the route has learnt that it may have
    std::uint64_t delivered = 0;
    std::uint64_t failed = 0;  // attempts
    std::uint64_t delivered_last_minute = 0;
    std::uint64_t failed_last_minute = 0;
    std::uint64_t delivered_lately = 0;  // in the last ten minutes
    std::uint64_t failed_lately = 0;
    bool degraded = false;  // the route is open, and a third or more of these failed
    FailureClass last_failure = FailureClass::kNone;
    Timestamp failed_at;
    std::string last_error;
    Timestamp next_at;  // something may start, as far as the route decides; unset: nothing waits
  };
  std::optional<Activity> activity;
};

// Messages by destination and age: the first column are those younger than the first bound, each
// bound is twice the one before, and the last column has no bound.
inline constexpr Duration kAgeFirst{300'000};
inline constexpr std::size_t kAges = 13;
constexpr Duration age_bound(std::size_t column) { return kAgeFirst * (1LL << column); }
constexpr std::size_t age_column(Duration age) {
  std::size_t column = 0;
  while (column + 1 < kAges && age >= age_bound(column)) ++column;
  return column;
}

struct ShapeRow {
  DestinationId id;
  std::string name;
  std::array<std::uint64_t, kAges> ages{};
  std::array<std::uint64_t, kPhases> phases{};
  std::string_view profile;  // empty: we do not have it any more
  using States = std::map<std::string_view, std::uint64_t>;
  States states;                               // by the profile's own names; none is 0
  std::map<std::string_view, States> methods;  // the same by method, where there are several
  Timestamp oldest;                            // when it was accepted
  Timestamp next_at;                           // of its back-offs, the first that ends; unset: none
};
struct ShapePage {
  std::vector<ShapeRow> rows;
  std::uint64_t messages = 0;  // that were looked at
  std::string next;            // ask from here; empty: that was all
};

// One destination's messages, in memory and on disk alike.
struct QueueRow {
  DestinationId id;
  std::string destination;     // its name; empty: it cannot be read
  std::uint64_t messages = 0;  // that live
  bool more = false;           // some of them are on disk only
  Timestamp oldest;            // when it was accepted
  std::uint64_t slots = 0;     // places taken
  Duration next_slot{0};       // until the next may start, as far as time decides
  // Places that it may take now, as far as its route has learnt; 0: it is not in memory.
  std::uint64_t slots_max = 0;
  Health health = Health::kNormal;
  bool pulled = false;  // a mailbox: what is in it waits for its reader
};
struct QueuePage {
  // By number of the destination, none is empty. The first may be the last of the page before
  // again, when not all of that one was looked at: then the older of both is its oldest.
  std::vector<QueueRow> rows;
  std::string next;  // ask from here; empty: that was all
};

struct DestinationPage {
  std::vector<DestinationView> destinations;
  std::string next;  // ask from here; empty: that was all
};

struct MessagePage {
  std::vector<Explanation> messages;
  std::string next;  // ask from here; empty: that was all. A page may be empty and not the last.
};

// What arrived, as it came.
struct Arrival {
  Sequence sequence;
  Timestamp at;
  std::string profile;
  ArrivalSource source;
  std::string bytes;
};
struct ArrivalPage {
  std::vector<Arrival> arrivals;
  std::string next;  // ask from here; empty: that was all
};

struct MessageView {
  Explanation explanation;
  std::uint8_t lane = 0;
  std::uint16_t priority = 0;
  Timestamp not_before;
  Timestamp first_attempt;
  std::string attributes;  // encode_texts
  std::string notes;       // the profile's own; of an ended message too
  Trail trail;             // of methods that keep one; of an ended message too
  std::string body;        // of a live message or a dead letter
  bool has_body = false;   // an ended message keeps none
};

// What a mailbox holds, in the order of acceptance.
struct MailboxPage {
  struct Item {
    MessageId id;
    Timestamp accepted;
    Timestamp expires;
    MessageId origin;
    std::string attributes;  // encode_texts
    std::string body;
  };
  std::vector<Item> items;
  bool more = false;  // behind the last of them
};

struct Confirmed {
  std::uint32_t confirmed = 0;
  std::uint32_t gone = 0;  // had ended before, or was never there
};

// How a message ended, for a caller that waited for it. Of profiles that keep outcomes.
struct EndView {
  Phase phase = Phase::kDelivered;
  Timestamp at;
  std::uint16_t attempts = 0;
  std::string reason;
  Blob outcome;  // none: it has none, or that is forgotten
};

struct Answer {
  AnswerCode code = AnswerCode::kDone;
  bool replayed = false;  // an await: the message had ended before
  bool readmits = false;  // of a message: its key may be admitted again, see Method::readmits
  MessageId id;
  std::string detail;
  std::string reply = {};  // of an arrival: the profile's bytes for its bringer
  std::variant<std::monostate, Explanation, Stats, LogPage, DeadLetters, DestinationView,
               DestinationPage, MessagePage, MessageView, ArrivalPage, ShapePage, QueuePage,
               DeadGroupList, JobList, DryRun, AuditPage, HoldList, FanoutView, FanoutGroupPage,
               MailboxPage, Confirmed, CardPage, EndView>
      view;
};

// The part of an answer that the ledger keeps, to be replayed.
std::string encode_answer(const Answer& answer);
Result<Answer> decode_answer(std::string_view bytes);

}  // namespace postrider
