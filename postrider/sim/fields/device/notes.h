// What the field of devices notes of the messages of its worlds: commands, and events about them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/protocols/device/message.h"
#include "postrider/sim/world/notebook.h"

namespace postrider::sim {

// A command to a device, read from its message.
struct CommandNote final : FieldNote {
  device::DeviceMessage command;
  std::string device;  // without zeros in front
  bool is_act = false;
  // Of its queue, when it was accepted.
  bool is_push = false;
  bool is_told = false;         // a consumer hears what becomes of it …
  bool cancel_is_told = false;  // … also when it is cancelled
};

// What an event tells about a command, as its consumer reads it.
struct EventNote final : FieldNote {
  std::string id;
  std::string status;   // "SENT_TO_NS"
  std::string outcome;  // empty: it tells no end
  bool may_have_run = false;
  bool unsolicited = false;
};
std::optional<EventNote> read_event(const NamedTexts& attributes, std::string_view body);

// Null: the message is no command of a queue, or it cannot be read.
const CommandNote* command_of(const MessageNote& note);
// Null: the message is no event.
const EventNote* event_of(const MessageNote& note);
// The note of a message of a device world; null: neither.
std::shared_ptr<const FieldNote> read_note(const Message& message, const NamedTexts& attributes,
                                           const DestinationNote* destination);

}  // namespace postrider::sim
