#include "postrider/node/token_principals.h"

#include <string>

namespace postrider {

std::optional<Principal> TokenPrincipals::find(std::string_view token, Nearness nearness) const {
  const auto anyone = [](std::string_view actor) {
    return Principal{std::string(api::kDefaultTenant), std::string(actor)};
  };
  if (token.empty() && nearness == Nearness::kSocket) return anyone("socket");
  if (!access_.has_tokens()) {
    if (nearness == Nearness::kElsewhere) return std::nullopt;
    return anyone("session");
  }
  const auto admitted = access_.admit_token(token, api::kSubmit);
  if (!admitted) return std::nullopt;
  return Principal{std::string(admitted->tenant), std::string(admitted->actor)};
}

}  // namespace postrider
