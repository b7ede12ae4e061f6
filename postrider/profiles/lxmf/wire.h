// What the profile asks of its station, and what the station says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "postrider/model/seams/transport.h"
#include "postrider/profiles/lxmf/letter.h"

namespace postrider::lxmf {

inline constexpr std::string_view kVerb = "LXMF";
inline constexpr std::string_view kProfileName = "lxmf";

// WireRequest: target is the recipient's address in digits, the body the packed message.
inline constexpr std::string_view kHeaderMethod = "method";  // a number of table.h
inline constexpr std::string_view kHeaderKind = "kind";      // "look", "find" or "learn"
inline constexpr std::string_view kHeaderStamp = "stamp";     // in digits
inline constexpr std::string_view kHeaderStamped = "stamped";  // the cost it was worked for
inline constexpr std::string_view kHeaderWants = "wants";      // the cost, whatever was announced
// Of PROPAGATED: the node, the id of the message, by which its card is found, and the id of what
// lies there, if it is sealed. Of SYNC: the key file.
inline constexpr std::string_view kHeaderNode = "node";
inline constexpr std::string_view kHeaderId = "id";
inline constexpr std::string_view kHeaderSealed = "sealed";
inline constexpr std::string_view kHeaderFrom = "from";

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
  kWantsStamp = 12,  // the recipient; the body of the reply is one byte, the cost
  kNoNode = 13,        // none is configured
  kNodeNoPath = 14,    // as kNoPath, but to the node
  kStampRefused = 15,  // by the node
  kUploadDropped = 16,  // the node proved it, and closed the link at once
  kUploadLost = 17,     // what was sealed is not there any more
  kNoAccess = 18,       // the node gives nothing to this identity
  kLearnt = 19,         // the body of the reply: the cost of the node, and the sealed message if it
                        // was not sealed before
};
inline WireReply reply_of(Word word, std::string body = {}) {
  WireReply reply;
  reply.status = static_cast<int>(word);
  reply.body = std::move(body);
  return reply;
}

// Of a message whose turn has come: whether it lacks a stamp that is worth working for.
Judgement judge_letter(const Typed::FactsView& facts);

// Of a look, a search for a way, and a search for a stamp, which is not the station's.
WireRequest encode_attempt(const Typed::FactsView& facts, AttemptKind kind);
Reading classify_end(const Typed::FactsView& facts, AttemptKind kind, const WireReply& reply);

}  // namespace postrider::lxmf
