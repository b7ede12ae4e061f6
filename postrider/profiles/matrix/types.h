// What the engine keeps for the matrix profile, and the views of its functions.
#pragma once

#include <cstdint>
#include <string>

#include "postrider/model/typed_profile.h"
#include "postrider/profiles/matrix/lanes.h"
#include "postrider/profiles/matrix/numbers.h"

namespace postrider::matrix {

// Names of attributes of a message.
inline constexpr std::string_view kKeyAttribute = "key";      // of its lane; of an event, its room
inline constexpr std::string_view kFaultAttribute = "fault";  // why it cannot be sent
inline constexpr std::string_view kPositionAttribute = "position";  // in the host's stream
inline constexpr std::string_view kAskedAttribute = "asked";  // the host itself gave it to be sent
inline constexpr std::string_view kUrgentAttribute = "urgent";  // the host wants it to lead at once

// Of the settings of a server, or of all servers that are like one template.
struct Prepared {
  PolicyChoice choice = PolicyChoice::kBetter;
  PolicyNumbers numbers;
  std::string origin;           // our server name
  std::string key_name;         // of the secret with the signing key
  std::string trust;            // PEM; empty: that of the transport
  std::string catch_up_url;     // empty: the host is not asked
  std::string catch_up_secret;  // the name of the secret that it is asked with; empty: none
};

// One item: an event, or an ephemeral unit.
struct Item {
  Lane lane = kEventLane;  // where such an item belongs
  bool canonical = false;  // its bytes are the canonical form of their value
  bool asked = false;
  bool urgent = false;
  std::uint64_t position = 0;  // 0: the host told none
  std::string key;
  std::string fault;
};

using Typed = TypedProfile<Prepared, Item>;
using Facts = Typed::FactsView;
using Offer = Typed::OfferView;

}  // namespace postrider::matrix
