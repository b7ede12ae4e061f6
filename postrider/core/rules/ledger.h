// Ledger: what makes asking twice the same as asking once. Pure decisions about an operation key;
// the engine reads and writes the entries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/hash.h"
#include "postrider/base/time.h"
#include "postrider/model/answer.h"
#include "postrider/model/event.h"
#include "postrider/model/records/records.h"

namespace postrider {

struct LedgerRule {
  Duration window;  // how long a key answers …
  Duration ahead;   // … and how far a timed key may be ahead of us
  // The wall is so far ahead and not believed. Makers of timed keys may go by it, and no key that
  // it would make too old is forgotten meanwhile.
  Duration doubt{0};
};

// The key under which an operation is remembered, without its bucket.
std::string ledger_key(const OperationKey& key);

struct LedgerVerdict {
  enum class Kind : std::uint8_t {
    kNew,       // go on, and seal the answer
    kReplay,    // the same again: the same answer
    kConflict,  // the key was used for something else
    kExpired,   // whether it was used cannot be told any more
    kTooEarly,  // the key's time is in our future
  };
  Kind kind = Kind::kNew;
  Answer answer;  // kReplay
};

// `entry` and `session` are what the newest buckets hold, if anything. An entry older than window +
// ahead is forgotten.
LedgerVerdict judge_key(const OperationKey& key, const Fingerprint& fingerprint,
                        const std::optional<LedgerEntry>& entry,
                        const std::optional<SessionEntry>& session, const LedgerRule& rule,
                        Timestamp now);

// What a command asks for, as bytes; two commands with the same key must have the same to be the
// same.
std::string canonical(const Submit& submit);
std::string canonical(const FanOut& fanout);
std::string canonical(std::string_view verb, MessageId id);
std::string canonical(std::string_view verb, std::string_view destination, std::string_view text);

}  // namespace postrider
