// Tokens made for meters: a message like any other, so that a lost reply is known to be lost and is
// not asked for again. It has a method of its own, "mint", and its answer ends it at once. Pure
// functions.
#pragma once

#include <string>
#include <string_view>

#include "postrider/model/answer.h"
#include "postrider/profiles/device/types.h"

namespace postrider::device {

// The attributes of such a message, which name its method; its body is encode_mint. Its queue is
// "PLUGIN.tokens".
std::string mint_attributes();
// Whether attributes ask for that method. kInvalid: they name another one, which is not theirs to
// choose.
Result<bool> says_mint(std::string_view attributes);

Result<Admission> admit_mint(const Offer& offer);
Judgement judge_mint(const Facts& facts);
WireRequest encode_mint_call(const Facts& facts);
Reading classify_mint(const Facts& facts, const WireReply& reply);
Aftermath ended_mint(const Facts& facts, StateIndex end);

// What became of it.
struct Minted {
  enum class Fate : std::uint8_t { kPending, kMade, kFailed, kUnknown };
  Fate fate = Fate::kPending;
  std::string token;   // a secret
  std::string reason;  // why there is none
};
Minted minted(const MessageView& view);

}  // namespace postrider::device
