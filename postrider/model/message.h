// Message: what an application handed us, as it is stored. The value is immutable; what happens to
// it is a State.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "postrider/base/bytes.h"
#include "postrider/base/packing.h"
#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/ids.h"
#include "postrider/model/lifecycle.h"
#include "postrider/model/outcome.h"
#include "postrider/model/trail.h"

namespace postrider {

using GateName = std::uint64_t;  // hash of a shared gate's name; 0: none
inline constexpr std::size_t kGatesMax = 3;
inline constexpr std::size_t kNotesMax = 4096;   // bytes of notes of one message
inline constexpr std::size_t kLaneKeyMax = 255;  // bytes of the key of one message

// A body that several messages share is a record of its own, and theirs only name it.
struct SharedBody {
  std::uint64_t id = 0;  // of the fan-out; 0: the message has its own body
  std::uint32_t bytes = 0;
  Blob record = {};  // encode_body; empty: not read yet
};

struct Message {
  MessageId id;
  Timestamp accepted;
  Timestamp not_before;  // unset: at once
  Timestamp expires;     // unset: never
  MessageId origin;      // the dead letter that this one redrives
  std::uint8_t method = 0;
  std::array<GateName, kGatesMax> gates{};
  std::uint8_t lasting = 0;     // bit n: gate n is held from the first start to the end
  bool ordered = false;         // a lasting gate is taken in the order of acceptance
  std::uint8_t dictionary = 0;  // by which the record has the body packed; 0: as it is
  std::uint8_t key_at = 0;      // where its key is in the record …
  std::uint8_t key_size = 0;    // … which most messages do not have

  SharedBody shared;

  Blob record;                  // the encoded whole; the two views look into it, …
  Blob text;                    // … but the body, when it is packed, looks into this
  std::string_view attributes;  // opaque to the core; see model/attributes.h
  std::string_view body;        // … or into the shared one; empty until that is there

  // What it is the value of, in its lane (Admission::key). Empty: of nothing.
  std::string_view key() const { return record.view().substr(key_at, key_size); }
  // What keeps `body` alive.
  const Blob& body_owner() const {
    return shared.record ? shared.record : dictionary != 0 ? text : record;
  }
  // Packed by a dictionary that its reader did not have: there is no body to look at.
  bool is_closed() const { return dictionary != 0 && !text; }
  std::size_t bytes() const { return record.size() + text.size(); }  // in memory, its own
};

// Encodes once; window, batch and wire share the blob. `message.record`, `attributes` and `body` of
// the result look into it. With a dictionary the body is packed where that makes it smaller.
Message encode_message(const Message& fields, std::string_view attributes, std::string_view body,
                       const Dictionary* dictionary = nullptr, std::string_view key = {});
// A body that is packed by none of these dictionaries stays closed; the rest is there.
Result<Message> decode_message(Blob record, Dictionaries dictionaries = {});
// Which body an encoded message shares, without reading the rest; id 0: none.
SharedBody shares_body(std::string_view record);
// Gives a message that was read the body that it shares; false: that is not a body.
bool attach_body(Message& message, const Blob& body);
// The same message with a body of its own and as it is, for a reader without the others and without
// dictionaries. Not of a closed one.
Blob encode_whole(const Message& message);

// What became of a message so far. Written when it must survive a crash: back-off, awaiting,
// parked, durable intent.
struct State {
  StateIndex state = 0;
  std::uint8_t method = 0;
  std::uint16_t attempts = 0;   // started in this method
  std::uint16_t held_back = 0;  // of them, those that our own limits held back: no rule counts them
  Timestamp since;              // in this state
  Timestamp due;                // of its timer; unset: none
  Timestamp first_attempt;
  Duration held_before{0};                     // the route's held time when the first attempt began
  FailureClass failure = FailureClass::kNone;  // of the last attempt
  Certainty certainty = Certainty::kNotSent;
  bool cancel_wanted = false;  // asked for while an attempt was open
  bool lost =
      false;  // an attempt may have been open when a process stopped: its outcome is unknown
  std::uint16_t probes_failed = 0;  // in a row

  // The attempts that a rule counts: the far side had a part in them.
  std::uint16_t counted() const {
    return attempts > held_back ? static_cast<std::uint16_t>(attempts - held_back)
                                : std::uint16_t{0};
  }
  friend bool operator==(const State&, const State&) = default;
};
// What the reason of an end says then, unless the message was delivered.
inline constexpr std::string_view kLostAttempt =
    "may have arrived: an attempt may have been open when the process stopped";

// The last send of a method with durable intent, as it was written down before the wire: its number
// is State::attempts, its deadline State::due.
struct Intent {
  Timestamp at;
  Timestamp wall;          // what stood in for the time on the wire
  std::uint64_t hash = 0;  // of the request; 0: nothing was recorded
  bool open = false;       // it may have arrived, or may still: a resend must be the same bytes

  friend bool operator==(const Intent&, const Intent&) = default;
};

struct StoredState {
  State state;
  std::string reason;
  Intent intent;
  std::string notes;  // the profile's own
  std::string past;   // encode_attempt_history
};
std::string encode_state(const State& state, std::string_view reason, const Intent& intent = {},
                         std::string_view notes = {}, std::string_view past = {});
Result<StoredState> decode_state(std::string_view record);

}  // namespace postrider
