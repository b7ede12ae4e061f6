// What an operator's systems hear of commands: events, sent by the webhook profile. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "postrider/profiles/device/rules.h"
#include "postrider/profiles/device/types.h"
#include "postrider/protocols/chirpstack/events.h"
#include "postrider/protocols/meter/frame.h"

namespace postrider::device {

// What a moment in the life of a command leaves behind. A start: the event of the first attempt
// (later ones are not told) and the name that we gave the item. An attempt that is given up and not
// closed: the answer that the device may still give, and an item of the server whose id is not
// known. An end: its event, what its notes keep, and the answer that the device may still owe.
Aftermath after(const Facts& facts, const Moment& moment);

// The id of the event that tells of a state of a message.
std::string event_id(Timestamp wall, PublicId about, StateIndex state);

struct Unsolicited {
  std::string plugin;
  std::string events;  // the destination that hears of it
  std::string meter;
  Timestamp wall;
  Duration pair_window = kPairWindow;  // of the plugin
};
NestedSubmit join_event(const Unsolicited& from, const chirpstack::Event& event);
NestedSubmit report_event(const Unsolicited& from, const chirpstack::Event& event,
                          const Report& report);

// Which commands an answer could be to, by its bytes alone, or by the command that asked: equal
// when one frame could answer both. Empty: that cannot be said.
std::string answer_kind(std::string_view frame);
std::string answer_kind(const Request& request);

}  // namespace postrider::device
