// What the profile asks of its station, and what the station says.
#pragma once

#include <cstdint>
#include <string_view>

#include "postrider/model/seams/transport.h"
#include "postrider/profiles/lxmf/letter.h"

namespace postrider::lxmf {

inline constexpr std::string_view kVerb = "LXMF";
inline constexpr std::string_view kProfileName = "lxmf";

// WireRequest: target is the recipient's address in digits, the body the packed message.
inline constexpr std::string_view kHeaderMethod = "method";  // a number of table.h
inline constexpr std::string_view kHeaderKind = "kind";      // "look" or "find"

// WireReply::status: how a look or a search ended.
enum class Word : std::uint8_t {
  kProven = 1,
  kFound = 2,         // the path is known, or the link active
  kNoPath = 3,        // a path request is needed, or is out
  kNoLink = 4,        // the path is known
  kLinkTimedOut = 5,  // a search
  kStalePath = 6,     // dropped, or a closed link forgotten
  kRefused = 7,       // by the receiver
  kUnproven = 8,      // in its time
  kLinkClosed = 9,
  kNoInterface = 10,
  kTooLarge = 11,  // more than one packet or link carries
};
inline WireReply reply_of(Word word) { return {.status = static_cast<int>(word)}; }

WireRequest encode_look(const Typed::FactsView& facts, AttemptKind kind);
Reading classify_word(const Typed::FactsView& facts, AttemptKind kind, const WireReply& reply);

}  // namespace postrider::lxmf
