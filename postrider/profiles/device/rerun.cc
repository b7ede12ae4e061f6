#include "postrider/profiles/device/rerun.h"

#include "postrider/profiles/device/notes.h"

namespace postrider::device {
namespace {

// What would be done twice; empty: nothing that matters. What cannot be read is refused anyway.
std::string deed_of(const Rerun& rerun) {
  if (rerun.parsed == nullptr) return {};
  if (is_mint(rerun)) return "the making of a token";
  const Command command = command_of(rerun).request.command;
  return is_act(command) ? std::string(name_of(command)) : std::string();
}

}  // namespace

std::string why_not_again(const Rerun& rerun) {
  const std::string deed = deed_of(rerun);
  if (deed.empty()) return {};
  if (rerun.live) return deed + " is still under way";
  if (rerun.repeated) return deed + " was sent again already";
  const Notes notes = decode_notes(rerun.notes);
  if (!notes.outcome.empty()) return notes.may_have_run ? deed + " may have run" : std::string();
  return rerun.attempts == 0 ? std::string() : "it is not known whether " + deed + " has run";
}

}  // namespace postrider::device
