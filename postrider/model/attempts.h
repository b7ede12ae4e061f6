// AttemptList: the newest attempts at a message, when they began and how they ended. A message that
// is delivered at its first attempt has none. It lies with the trail in the state record and in the
// end, in whichever is written anyway; together they are the past of a message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/outcome.h"
#include "postrider/model/trail.h"

namespace postrider {

inline constexpr std::size_t kAttemptNotesMax = 64;  // that a record may have
inline constexpr std::size_t kAttemptReasonBytesMax = 80;

enum class AttemptEnd : std::uint8_t {
  kOpen,  // its outcome is not known yet
  kFailed,
  kDelivered,
  kGivenUp,  // we did not wait for its outcome, or a crash forgot it
};
inline constexpr std::size_t kAttemptEnds = 4;
std::string_view name_of(AttemptEnd end);

// An attempt lasts until its message goes back in line, is parked, or ends.
struct AttemptNote {
  Timestamp at;                  // when it began
  std::optional<Duration> took;  // none: it is open, or a crash forgot it
  AttemptEnd end = AttemptEnd::kOpen;
  FailureClass failure = FailureClass::kNone;
  std::string reason = {};
  friend bool operator==(const AttemptNote&, const AttemptNote&) = default;
};

struct AttemptList {
  std::vector<AttemptNote> notes;  // the newest ones, oldest first
  std::uint32_t earlier = 0;       // that were left out

  bool empty() const { return notes.empty(); }
  bool is_open() const { return !notes.empty() && notes.back().end == AttemptEnd::kOpen; }
  std::uint64_t total() const { return earlier + std::uint64_t{notes.size()}; }
  // One begins; of more than `kept` the oldest are left out.
  void begin(Timestamp at, std::size_t kept);
  // How the open one ended.
  void close(const AttemptNote& how);
  // A crash forgot the open one.
  void lose_open();
  friend bool operator==(const AttemptList&, const AttemptList&) = default;
};

struct AttemptHistory {
  Trail trail;
  AttemptList attempts;
  friend bool operator==(const AttemptHistory&, const AttemptHistory&) = default;
};

// What the record says beside it: the newest attempt mostly ended then, and for this reason, so
// neither is written twice.
struct PastBeside {
  Timestamp at;
  std::string_view reason;
};
std::string encode_attempt_history(const AttemptHistory& past,
                                   const PastBeside& beside);  // empty: there is none
Result<AttemptHistory> decode_attempt_history(std::string_view bytes, const PastBeside& beside);

}  // namespace postrider
