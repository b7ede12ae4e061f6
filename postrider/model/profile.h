// ProfileSpec: a protocol as data plus a handful of pure functions. No I/O, no clock, no storage:
// what a profile needs beyond this is missing from the core, and belongs there.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/packing.h"
#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/arrival_source.h"
#include "postrider/model/card.h"
#include "postrider/model/destination.h"
#include "postrider/model/id_codec.h"
#include "postrider/model/lifecycle.h"
#include "postrider/model/message.h"
#include "postrider/model/opaque.h"
#include "postrider/model/outcome.h"
#include "postrider/model/policy.h"
#include "postrider/model/seams/transport.h"
#include "postrider/model/secrets.h"

namespace postrider {

class Station;

enum class AttemptKind : std::uint8_t { kSend, kProbe, kFindRoute };

// What the engine keeps for a profile, in the profile's own types (model/typed_profile.h).
struct ProfileValues {
  const Opaque* prepared = nullptr;  // of the destination's settings, by `prepare`
  const Opaque* parsed = nullptr;    // of the message, by `read`
};

struct Batch;

// What a profile function may look at. Read-only, and complete: there is nothing else to ask.
struct Facts {
  const Message& message;
  const State& state;
  DestinationFacts destination;
  const Policy& policy;
  Timestamp now;   // `encode` of a durable intent: when the attempt began that is made again
  Timestamp wall;  // for stamps on the wire only
  std::string_view notes = {};
  // The last send as it was written down; null when the method records none, or nothing was sent.
  const Intent* intent = nullptr;
  const Trail* trail = nullptr;  // of methods that keep one
  ProfileValues values = {};
  const IdCodec* ids = nullptr;      // the engine always gives it
  const Secrets* secrets = nullptr;  // the key files of the configuration
  Duration doubt{0};      // the wall is so far ahead and not believed: nothing is decided by that
  Duration later{0};      // the message was accepted so much later than it says, …
  bool in_doubt = false;  // … or while the wall was as it is now
  // How the way is doing, and when it last delivered. Null for `encode` of a durable intent, whose
  // bytes must not follow from it.
  const Route* route = nullptr;
  // `encode`, `classify` and `after` of a leader: the messages that leave with it. Null: the
  // destination has no batches (Policy::members_max).
  const Batch* batch = nullptr;
  // `encode`, `classify`, `notice` and `after`. Null in all others.
  Cabinet* cabinet = nullptr;

  // The bytes of a key file; empty: there is none of this name.
  std::string_view secret(std::string_view name) const {
    return secrets == nullptr ? std::string_view() : secrets->find(name);
  }
  PublicId id() const { return ids->outside(message.id); }  // as the far side may know it
  Duration age() const { return now - message.accepted - later; }
};

// A batch: the leader, whose turn has come, and the messages that leave in the same attempt.
struct Batch {
  std::span<const Facts> followers;  // in the order in which `compose` named them
  // How often the leader has claimed. With the leader's id it names these members for ever, so it
  // belongs into the id on the wire.
  std::uint32_t claim = 1;
};

struct Offer {  // a message that asks to be accepted
  DestinationFacts destination;
  const Policy& policy;
  std::uint8_t lane;
  std::string_view attributes;
  std::string_view body;
  ProfileValues values = {};
  Cabinet* cabinet = nullptr;  // randomness and secrets
  Timestamp wall = {};         // for stamps on the wire only
};

struct Gate {
  GateName name = 0;
  GateLimits limits;
  bool lasting = false;  // held from the first start to the end
  // Lasting, of one place, and taken in the order of acceptance by messages of one lane; these have
  // no priority and no other gate, and never sleep before their first start.
  bool ordered = false;
};

struct GateWords {
  std::string_view busy;    // all its places are taken
  std::string_view closed;  // failures in a row closed it
};

struct Admission {
  std::uint8_t method = 0;
  std::array<Gate, kGatesMax> gates{};
  // Older messages of the same destination and key that wait are cancelled. Empty: none.
  std::string supersedes = {};
  // What the message is the value of, in a lane with LaneRule::latest. Empty: nothing takes its
  // place. At most kLaneKeyMax bytes. A message that is not to start before a time has none.
  std::string key = {};
  // Instead of what was handed in: what the profile made of it once and for all, as a signed or
  // sealed form is. `read` gets these from then on, also of a rerun. Within the limits of what is
  // handed in, else the message is refused.
  std::optional<std::string> body = {};
  std::optional<std::string> attributes = {};  // encode_texts
};

// A name that a far side has for a message, or for an attempt of it. Names outlive the message, so
// that late news is recognised.
struct ExternalName {
  std::string scope;
  std::string name;
  friend bool operator==(const ExternalName&, const ExternalName&) = default;
};

// A message that follows from another one; it is written down in the same commit.
struct NestedSubmit {
  std::string destination;
  std::uint8_t lane = 0;
  std::uint16_t priority = 0;
  std::string attributes;  // encode_texts
  std::string body;
  friend bool operator==(const NestedSubmit&, const NestedSubmit&) = default;
};

inline constexpr std::size_t kNamesMax = 4;     // of one reading
inline constexpr std::size_t kSubjectsMax = 8;  // of one arrival
inline constexpr std::size_t kNestedMax = 10;   // of one reading or end
inline constexpr std::size_t kAliveMax = 8;     // destinations of one arrival
inline constexpr std::size_t kReplyMax = 4096;  // bytes of the reply to an arrival

// What the profile thinks of a message whose turn has come: normally that it is due. A reason is
// for people, when it is not.
struct Judgement {
  On signal = On::kDue;
  std::string reason = {};
};

// What the far side said about one member of a batch; kept with its end.
struct Remark {
  std::size_t member = 0;  // 0: the leader; n: follower n − 1
  std::string text;
  friend bool operator==(const Remark&, const Remark&) = default;
};

// What an answer or other news means. The core applies all of it in one commit.
struct Reading {
  On signal = On::kFailed;
  Outcome outcome;
  std::optional<Duration> retry_after;  // after a question: ask again not before
  std::optional<On> then = {};          // raised behind `signal`, where that led
  bool closes = false;    // the open send can no longer arrive; an answer to it says so by itself
  bool declines = false;  // not about this message, which may still note it; for `notice` only
  bool silent = false;    // raises nothing: notes and names only; for `notice` only
  // For the figures, and for the operator.
  bool mismatched = false;  // it does not fit what was asked
  bool adopted = false;     // it brought the name of an attempt of which no message knew
  bool alarm = false;       // for the operator: the far side refuses everything from us
  std::optional<std::string> notes = {};  // instead of the old ones; at most kNotesMax bytes
  std::vector<ExternalName> names = {};
  std::vector<NestedSubmit> submits = {};
  bool splits = false;               // the batch was too much: the next ones have half its members
  std::vector<Remark> remarks = {};  // about members of the batch
  // Of profiles that keep outcomes: what callers are told when the message is delivered by this.
  std::optional<std::string> outcome_bytes = {};
  // Changes. When there is no room for them, `classify` counts as failed, and an arrival is refused
  // whole.
  std::vector<Card> cards = {};
};

// Something that arrived unasked.
struct Inbound {
  const ArrivalSource& source;
  const NamedTexts& settings;  // of the plugin or destination that it came from
  std::string_view bytes;
  Timestamp now;
  Timestamp wall;
  Cabinet* cabinet = nullptr;  // the engine always gives it
};

// The message that news is about: by its id, or the first of these names that is known and does not
// decline, or the holder of a gate. With a window, name and news lie less than it apart.
struct Subject {
  MessageId message = {};
  std::vector<ExternalName> names = {};  // the first one is waited for
  std::string detail = {};               // what `notice` gets; at most kNotesMax bytes
  Duration window{0};
  bool waits = true;          // for the name, when no message has it yet
  GateName gate = 0;          // of which there is one place
  bool alive = false;         // a sign of life: opens the gate, if failures closed it
  ExternalName witness = {};  // the holder of the gate is told when it was last given
  // The message that has this name hears of it when none of `names` is known and no message holds
  // the gate.
  ExternalName idle = {};
};

// A time that may have to be read from the store: it is looked up when a profile asks for it.
class TimeLookup {
 public:
  virtual ~TimeLookup() = default;
  virtual Timestamp find()
      const = 0;  // unset: never, or not known yet, and then all is asked again
};

struct Notice {
  std::string_view detail;
  Timestamp at;               // of its arrival
  std::uint16_t attempt = 0;  // the one that has the name; 0: named by the message
  bool by_gate = false;       // found as the holder of the subject's gate
  // By the gate: when the subject's witness was given last. By a name: when the first name was
  // given last that the open attempt would leave behind. Null: never.
  const TimeLookup* witness = nullptr;
  bool idle = false;  // found by the subject's idle name

  Timestamp witnessed() const { return witness == nullptr ? Timestamp() : witness->find(); }
};

// What arrived, taken apart: its subjects, and messages that follow from it alone.
struct Received {
  std::vector<Subject> subjects = {};
  std::vector<NestedSubmit> submits = {};
  std::vector<std::string> alive_destinations = {};  // that gave a sign of life; at most kAliveMax
  // The bringer will tell its far side that we have it: when one of the submits cannot be accepted,
  // the arrival is refused, and nothing changes. Otherwise such a submit is noted as unsent.
  bool firm = false;
  std::vector<Card> cards = {};  // changes
  std::string reply = {};        // for the bringer, also of a repetition; at most kReplyMax bytes
};

// A moment in the life of a message that may leave something behind.
struct Moment {
  enum class Kind : std::uint8_t {
    kStarted,    // a send with durable intent is recorded: before its bytes leave
    kAbandoned,  // such a send is given up, because its message goes to sleep; only names count
    kEnded,      // the message ends
  };
  Kind kind = Kind::kStarted;
  StateIndex end = 0;  // kEnded: the state that it ends in; `Facts::state` is the last live one
};

// What a moment leaves behind, written down in the commit of that moment.
struct Aftermath {
  std::vector<NestedSubmit> submits = {};
  // kStarted: names of the send before its bytes leave. The newest holder of a name counts.
  std::vector<ExternalName> names = {};
  std::optional<std::string> notes = {};  // instead of the old ones
  std::string_view outcome = {};          // kEnded: a constant word of the profile, for the figures
  // kEnded, when it was delivered: where it stands in the stream of its source. The route keeps the
  // greatest one; 0: it stands nowhere.
  std::uint64_t position = 0;
  // kEnded: new ones under the id of the message, so their keys are left empty. No other function
  // puts any into these drawers. One for which there is no room is left out and counted.
  std::vector<Card> cards = {};
};

// A message that is to be sent again: a dead letter, a message from another store, a live one.
struct Rerun {
  ProfileValues values = {};   // nothing parsed: it cannot be read, and `read` will refuse it
  bool live = false;           // it has not ended
  bool repeated = false;       // another message was made of it already
  std::uint16_t attempts = 0;  // that it had, as far as is known
  // As they were at its end; empty: none, or they are not kept any more.
  std::string_view notes = {};
};

// What a destination of this profile can be told, for people: `profile show`, suggestions and
// documents.
struct SettingRow {
  std::string_view name;  // ends with '*' when any name may follow
  std::string_view
      fallback;  // what holds when it is not given, as it would be written; empty: nothing
  std::string_view example;  // a good value of a setting that must be given; empty: it need not
  std::string_view may_be;
  std::string_view meaning;
};

// The functions stand by beat: the order in which a message meets them. Null means that the profile
// has nothing to say there, where that is allowed.
struct ProfileSpec {
  // What a destination can be told.
  struct Settings {
    std::span<const SettingRow> rows = {};
    // Settings to numbers; the error says which setting is wrong and what it may be.
    Result<Policy> (*configure)(const NamedTexts& settings);
    // What `encode` would work out of a destination's settings again and again: of these alone,
    // because destinations that are like one template share it. May be null.
    std::shared_ptr<const Opaque> (*prepare)(const NamedTexts& settings) = nullptr;
  };
  // What is accepted.
  struct Door {
    // Takes a message apart, once: the engine keeps what was made with the message while that is in
    // memory, and hands it to all other functions. It follows from these two texts alone. Null, or
    // nothing made: there is nothing to take apart.
    Result<std::unique_ptr<const Opaque>> (*read)(std::string_view body,
                                                  std::string_view attributes) = nullptr;
    Result<Admission> (*admit)(const Offer& offer);
    // Why a message must not be sent again unless the caller takes that upon himself; empty: it
    // may. Null: anything may. Of a profile that has it, the store keeps which message was made of
    // which.
    std::string (*why_not_again)(const Rerun& rerun) = nullptr;
  };
  // What is sent, and what an answer means.
  struct Wire {
    Judgement (*judge)(const Facts& facts);  // when the message's turn has come
    // Which of the messages that wait leave together with the leader, by their places among the
    // candidates, which are the ready ones in memory: lane by lane, each in its order. At most
    // `members_max` with the leader. Null: each leaves alone.
    std::vector<std::size_t> (*compose)(const Facts& leader, std::span<const Facts> candidates,
                                        std::uint32_t members_max) = nullptr;
    WireRequest (*encode)(const Facts& facts, AttemptKind kind);
    Reading (*classify)(const Facts& facts, AttemptKind kind, const WireReply& reply);
  };
  // What arrives unasked: the messages that it is about, and then, with a message at hand, what it
  // means. Both null: the profile takes no news.
  struct News {
    Received (*receive)(const Inbound& inbound) = nullptr;
    Reading (*notice)(const Facts& facts, const Notice& notice) = nullptr;
  };
  // Gates that messages of several destinations share.
  struct Gates {
    // Asked again after a restart. Null when the profile has no shared gates.
    GateLimits (*limits)(GateName name, const Policy& policy) = nullptr;
    // How people call a gate that holds a message up. May be null.
    GateWords (*words)(GateName name) = nullptr;
  };

  std::string_view name;
  std::span<const StateRow> states;
  std::span<const Method> methods;
  Settings settings;
  Door door;
  Wire wire;
  News news = {};
  Aftermath (*after)(const Facts& facts, const Moment& moment) = nullptr;
  Gates gates = {};
  // By which its bodies, what arrives for it and what it submits are packed (base/packing.h). Null:
  // nothing is.
  const Dictionary* dictionary = nullptr;
  bool bounded = false;  // takes no new message while as many live as EngineLimits allows
  // What arrives is also kept as it came, for a while. A profile whose arrivals are many and say no
  // more than what is made of them does without.
  bool keeps_arrivals = true;
  // The outcome of a delivered message is a card under its id, in the drawer kOutcomeDrawer, which
  // is the engine's; callers that wait for the message are told it, for as long as its key answers.
  bool keeps_outcomes = false;
  // Makes its station (model/seams/station.h) of the profile's own part of the configuration and
  // of the key files; the error says which setting is wrong, and never repeats a secret. Null: it
  // has none, as each exchange is over with its answer.
  Result<std::unique_ptr<Station>> (*make_station)(const NamedTexts& settings,
                                                   const Secrets& secrets) = nullptr;
};

inline std::vector<const Dictionary*> dictionaries_of(
    std::span<const ProfileSpec* const> profiles) {
  std::vector<const Dictionary*> out;
  for (const ProfileSpec* profile : profiles) {
    if (profile->dictionary != nullptr) out.push_back(profile->dictionary);
  }
  return out;
}

inline Judgement judge_due(const Facts& /*facts*/) { return {}; }
inline Result<Admission> admit_first_method(const Offer& /*offer*/) { return Admission{}; }

}  // namespace postrider
