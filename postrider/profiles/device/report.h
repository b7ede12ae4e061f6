// What callers see of a command: the message of the public contract, its history, and the part of
// an event that tells of it. Tokens are shown by their last digits only.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "postrider/model/answer.h"
#include "postrider/model/id_codec.h"
#include "postrider/model/trail.h"
#include "postrider/protocols/device/message.h"

namespace postrider::device {

inline constexpr std::size_t kFailuresShown = 12;

// All that is known of a command at a moment.
struct Told {
  PublicId id;
  StateIndex state = 0;
  DeviceMessage command;
  Trail trail;
  std::string response;  // JSON; empty: none
  std::string outcome;   // empty: it has not ended
  bool may_have_run = false;
  bool makes_token = false;  // it brings none, it has one made
};

// The `message` of an event.
std::string event_message(const Told& told);

struct DeviceView {
  const MessageView& message;
  const IdCodec& ids;
  std::string_view queue;  // the name of its destination
  // All of the same id, the oldest first: what was sent again, and what other phases share it.
  std::span<const MessageView* const> runs = {};
};
// kNotFound when it is no message of this profile, or was kept by an older version.
Result<std::string> report_message(const DeviceView& view);
Result<std::string> report_history(const DeviceView& view);

void mask_token(DeviceMessage& message);

// The state of a name that `Explanation::state` tells.
std::optional<StateIndex> parse_state(std::string_view name);

}  // namespace postrider::device
