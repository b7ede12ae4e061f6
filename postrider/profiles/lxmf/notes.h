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
  // Of PROPAGATED.
  std::string node;          // digits of the address of the node whose cost it is
  std::string sealed;        // transient id of what lies in a card; empty: not sealed yet
  std::uint8_t renewed = 0;  // stamps that a node did not take
  // The recipient may want a stamp too, which lies in what is sealed.
  std::uint8_t inner_cost = 0;
  std::uint8_t inner_stamped = 0;
  std::string inner_stamp;

  // Whether the cost is that of this node, and the message is sealed.
  bool is_ready_for(std::string_view its_node) const {
    return cost > 0 && !sealed.empty() && !its_node.empty() && node == its_node;
  }
  bool lacks_inner() const {
    return sealed.empty() && inner_cost > 0 && (inner_stamp.empty() || inner_stamped < inner_cost);
  }
  bool is_stamped() const { return !stamp.empty() && stamped >= cost; }
  friend bool operator==(const Notes&, const Notes&) = default;
};
std::string encode_notes(const Notes& notes);
Notes decode_notes(std::string_view bytes);  // what cannot be read is lost, and learnt anew

}  // namespace postrider::lxmf
