// What the station tells the engine of sessions, and what `receive` makes of it: the card of a
// session is read, judged and changed in one step, so two claims of one key cannot both be taken.
// Keys stand there as hashes only. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/event.h"
#include "postrider/model/profile.h"
#include "postrider/protocols/rpc/session.h"

namespace postrider::rpc {

inline constexpr std::string_view kProfileName = "rpc";
inline constexpr std::string_view kSessionDrawer = "session";

// A session lives for so long after its last call. The records of its operations live longer
// (engine.ledger_age), so no number of a session that lives is forgotten before the session is.
inline constexpr Duration kSessionLife{24 * 3'600'000};

struct AttachOrder {
  std::string principal;
  SessionId fresh{};  // of the session that is made if none is resumed
  KeyHash next{};     // of the key that the client is about to get
  // What the client shows; nothing: it wants a new session.
  std::optional<SessionId> session = {};
  ShownKey shown = {};
  friend bool operator==(const AttachOrder&, const AttachOrder&) = default;
};

struct AttachReply {
  ClaimVerdict verdict = ClaimVerdict::kNew;
  SessionId session{};  // unless it was refused, as all others
  std::uint32_t generation = 1;
  Timestamp begun = {};    // the server's own time
  Duration idle{0};        // since its last call, as far as was written down
  std::uint64_t highest = 0;
  friend bool operator==(const AttachReply&, const AttachReply&) = default;
};

struct SessionMark {
  SessionId session{};
  std::uint32_t generation = 1;
  std::uint64_t highest = 0;
};

enum class MarkKind : std::uint8_t {
  kConfirm,  // the first frame of its generation came: the former key is good no longer
  kUse,      // calls were admitted lately
  kEnd,      // the session is over
};

Arrived attach_event(const AttachOrder& order);
Arrived mark_event(MarkKind kind, const SessionMark& mark);
Result<AttachReply> decode_attach_reply(std::string_view bytes);

Received receive_session(const Inbound& inbound);

}  // namespace postrider::rpc
