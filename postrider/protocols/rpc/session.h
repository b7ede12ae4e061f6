// SessionCard: what a server keeps of a session between its connections, and who may resume it. A
// new card is durable before the welcome that speaks of it leaves. Values and pure functions; any
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/protocols/rpc/frames.h"

namespace postrider::rpc {

// The keys themselves are not kept.
using KeyHash = std::array<std::uint8_t, 32>;
KeyHash hash_of(const ResumeKey& key);

inline constexpr std::size_t kPrincipalBytesMax = 255;

struct SessionCard {
  std::string principal;
  std::uint32_t generation = 1;
  KeyHash key{};  // of that generation
  // The key that was shown for this generation, until its first frame comes: a welcome that is lost
  // must not lock the client out. Generation 0: none.
  std::uint32_t former_generation = 0;
  KeyHash former{};
  // Operation keys of the session are of this age; the server's own time, as the next one.
  Timestamp begun = {};
  Timestamp used = {};        // when a call was admitted last, as far as it was written down
  std::uint64_t highest = 0;  // likewise: the highest number that was called
  friend bool operator==(const SessionCard&, const SessionCard&) = default;
};

// What a client shows to resume, without the key itself.
struct ShownKey {
  std::uint32_t generation = 1;
  KeyHash hash{};
  friend bool operator==(const ShownKey&, const ShownKey&) = default;
};

enum class ClaimVerdict : std::uint8_t {
  kNew,      // there is no such session for this principal
  kResumed,  // the next generation
  kRefused,  // the session is there, the key is not its
};

SessionCard begin_session(std::string_view principal, const KeyHash& key, Timestamp now);
// `card` null: no such session. Hashes are compared in constant time.
ClaimVerdict judge_claim(const SessionCard* card, std::string_view principal,
                         const ShownKey& shown);
// The card after a claim that was judged kResumed; the key that was shown becomes the former one.
SessionCard resume_session(const SessionCard& card, const ShownKey& shown, const KeyHash& next_key);
// The card after the first frame of its generation: the client has the new key.
SessionCard confirm_session(SessionCard card);

std::string encode_card(const SessionCard& card);
Result<SessionCard> decode_card(std::string_view bytes);

}  // namespace postrider::rpc
