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

}  // namespace postrider::webhook
