#include "postrider/sim/fields/device/notes.h"

#include "postrider/profiles/device/settings.h"
#include "postrider/sim/fields/device/peers/meter_ledger.h"
#include "postrider/sim/fields/device/plan.h"

namespace postrider::sim {
namespace {

std::string text_behind(std::string_view json, std::string_view name) {
  const std::string marker = "\"" + std::string(name) + "\":\"";
  const std::size_t at = json.find(marker);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = json.substr(at + marker.size());
  return std::string(rest.substr(0, rest.find('"')));
}

std::shared_ptr<const CommandNote> read_command(std::string_view body,
                                                const DestinationConfig& queue) {
  auto read = device::parse_device_message(body);
  if (!read) return nullptr;
  auto command = std::make_shared<CommandNote>();
  command->device = without_zeros(read->request.meter);
  command->is_act = device::is_act(read->request.command);
  command->is_push = device::way_of(device::wire_of(queue)) == device::Way::kPush;
  command->is_told = !device::setting(queue, "events").empty();
  command->cancel_is_told =
      command->is_told && device::setting(queue, "events_cancelled") == "true";
  command->command = std::move(*read);
  return command;
}

}  // namespace

// Naive on purpose: the words that are looked for stand nowhere else in such a body.
std::optional<EventNote> read_event(const NamedTexts& attributes, std::string_view body) {
  const std::string* id = find_text(attributes, "event-id");
  if (id == nullptr) return std::nullopt;
  EventNote event;
  event.id = *id;
  event.status = text_behind(body, "deliveryStatus");
  event.outcome = text_behind(body, "outcome");
  event.may_have_run = body.find("\"mayHaveRun\":true") != std::string_view::npos;
  event.unsolicited = body.find("\"unsolicited\":true") != std::string_view::npos;
  return event;
}

std::shared_ptr<const FieldNote> read_note(const Message& message, const NamedTexts& attributes,
                                           const DestinationNote* destination) {
  if (destination != nullptr && destination->config.profile == kDeviceProfile)
    return read_command(message.body, destination->config);
  auto event = read_event(attributes, message.body);
  if (!event) return nullptr;
  return std::make_shared<EventNote>(std::move(*event));
}

const CommandNote* command_of(const MessageNote& note) {
  return dynamic_cast<const CommandNote*>(note.own.get());
}

const EventNote* event_of(const MessageNote& note) {
  return dynamic_cast<const EventNote*>(note.own.get());
}

}  // namespace postrider::sim
