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
  const std::string line = deed_of(rerun);
  if (line.empty()) return {};
  if (rerun.live) return line + " is still under way";
  if (rerun.repeated) return line + " was sent again already";
  const Notes notes = decode_notes(rerun.notes);
  if (!notes.outcome.empty()) return notes.may_have_run ? line + " may have run" : std::string();
  return rerun.attempts == 0 ? std::string() : "it is not known whether " + line + " has run";
}

}  // namespace postrider::device
