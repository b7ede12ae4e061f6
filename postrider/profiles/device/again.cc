#include "postrider/profiles/device/again.h"

#include "postrider/profiles/device/mint.h"
#include "postrider/profiles/device/notes.h"
#include "postrider/protocols/device_message.h"

namespace postrider::device {
namespace {

// What would be done twice; empty: nothing that matters. What cannot be read is refused anyway.
std::string deed_of(const Former& former) {
  if (is_mint(former.attributes)) return "the making of a token";
  const auto command = parse_device_message(former.body);
  if (!command || !is_act(command->request.command)) return {};
  return std::string(name_of(command->request.command));
}

}  // namespace

std::string why_not_again(const Former& former) {
  const std::string deed = deed_of(former);
  if (deed.empty()) return {};
  if (former.live) return deed + " is still under way";
  if (former.again) return deed + " was sent again already";
  const Notes notes = decode_notes(former.notes);
  if (!notes.outcome.empty()) return notes.may_have_run ? deed + " may have run" : std::string();
  return former.attempts == 0 ? std::string() : "it is not known whether " + deed + " has run";
}

}  // namespace postrider::device
