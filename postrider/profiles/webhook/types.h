// What the engine keeps for the webhook profile, and the views of its functions.
#pragma once

#include <string>
#include <vector>

#include "postrider/model/attributes.h"
#include "postrider/model/seams/transport.h"
#include "postrider/model/typed_profile.h"
#include "postrider/protocols/web/standard_webhooks.h"

namespace postrider::webhook {

// All of a request that does not depend on the message, of destinations that need nothing special.
struct Prepared {
  HeaderLines head;
  std::string prefix;               // of the headers that do
  std::vector<WebhookSecret> keys;  // none: nothing is signed, unless …
  std::string secret_name;          // … by a key file, which is looked at for each request
  std::string url;
  std::string trust;
};

// A message is taken apart into its attributes; nothing is made of one that has none.
using Typed = TypedProfile<Prepared, NamedTexts>;
using Facts = Typed::FactsView;
using Offer = Typed::OfferView;

inline std::string_view setting(const DestinationFacts& destination, std::string_view name,
                                std::string_view fallback) {
  const std::string* given = find_text(destination.settings, name);
  return given == nullptr ? fallback : std::string_view(*given);
}

// By the wall. Engine time runs apart from that; the age of the message is the same on both, unless
// a leap of the wall is in doubt that lies between.
inline Timestamp accepted_at(const Facts& facts) {
  const Duration unseen = facts.in_doubt ? Duration(0) : facts.doubt;
  return facts.wall - facts.age() - unseen;
}

// What the message is, in its own words or its destination's.
std::string_view content_type_of(const Facts& facts);

}  // namespace postrider::webhook
