// Transactions on the wire: when a leader may send, what it sends, and what the answer means. Pure;
// any thread.
#pragma once

#include <string>

#include "postrider/profiles/matrix/types.h"

namespace postrider::matrix {

// A transaction that is older is released: receivers forget its id after a day, and then the id
// protects from nothing.
inline constexpr Duration kClaimAgeMax{24h};

Judgement judge(const Facts& facts);
WireRequest encode(const Facts& facts, AttemptKind kind);
Reading classify(const Facts& facts, AttemptKind kind, const WireReply& reply);
Aftermath after(const Facts& facts, const Moment& moment);

// The leader's id as it is known outside, and how often it has claimed: never used twice.
std::string transaction_id(const Facts& facts);

}  // namespace postrider::matrix
