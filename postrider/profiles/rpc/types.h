// What the engine keeps for the rpc profile, and the views of its functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "postrider/model/typed_profile.h"
#include "postrider/profiles/rpc/call_attributes.h"
#include "postrider/profiles/rpc/settings.h"
#include "postrider/protocols/rpc/method_policy.h"

namespace postrider::rpc {

struct CallText {
  std::string method;
  std::string operation;  // the operation id
  std::string principal;
  std::string content_type;  // empty: it has none
  std::optional<MethodPolicy> expects;  // nothing: whatever it is declared
  std::uint32_t time_ms = 0;            // 0: as the service says
};

using Typed = TypedProfile<Service, CallText>;
using CallFactsView = Typed::FactsView;
using CallOffer = Typed::OfferView;

}  // namespace postrider::rpc
