// Notes: what a message knows beside its bytes: what its far side wants for it, and the stamp that
// was found. Kept with the message, so that nothing is worked for twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/protocols/lxmf/message.h"

namespace postrider::lxmf {

struct Notes {
  std::uint8_t cost = 0;     // that the far side wants; 0: none is known
  std::uint8_t stamped = 0;  // what the stamp was worked for
  std::string stamp;         // 32 bytes; empty: none

  bool is_stamped() const { return !stamp.empty() && stamped >= cost; }
  friend bool operator==(const Notes&, const Notes&) = default;
};
std::string encode_notes(const Notes& notes);
Notes decode_notes(std::string_view bytes);  // what cannot be read is lost, and learnt anew

}  // namespace postrider::lxmf
