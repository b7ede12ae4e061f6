// TokenPrincipals: the tokens of the API for far sides of stations, by the same rules: a token with
// the scope submit; without tokens whoever is on this machine; by a Unix socket whoever may open
// it. On the loop's thread.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "postrider/api/access.h"
#include "postrider/model/seams/principals.h"

namespace postrider {

class TokenPrincipals final : public Principals {
 public:
  void set_tokens(const std::vector<AccessToken>& tokens) { access_.set_tokens(tokens); }
  std::optional<Principal> find(std::string_view token, Nearness nearness) const override;

 private:
  api::Access access_;
};

}  // namespace postrider
