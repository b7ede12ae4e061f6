// What the engine keeps for the device profile, and the views of its functions.
#pragma once

#include <variant>

#include "postrider/model/typed_profile.h"
#include "postrider/protocols/device/message.h"
#include "postrider/protocols/device/mint.h"

namespace postrider::device {

// What a message of the profile says: a command, or the making of a token.
using Content = std::variant<DeviceMessage, Mint>;

using Typed = TypedProfile<Nothing, Content>;
using Facts = Typed::FactsView;
using Offer = Typed::OfferView;
using Rerun = Typed::RerunView;

template <class View>
bool is_mint(const View& view) {
  return view.parsed != nullptr && std::holds_alternative<Mint>(*view.parsed);
}

// Of a message that was admitted, so that there is something parsed.
template <class View>
const DeviceMessage& command_of(const View& view) {
  POSTRIDER_CHECK(view.parsed != nullptr);
  return std::get<DeviceMessage>(*view.parsed);
}
template <class View>
const Mint& mint_of(const View& view) {
  POSTRIDER_CHECK(view.parsed != nullptr);
  return std::get<Mint>(*view.parsed);
}

}  // namespace postrider::device
