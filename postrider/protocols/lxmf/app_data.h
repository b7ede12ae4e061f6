// What delivery destinations and propagation nodes say of themselves in their announces. Pure
// functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"

namespace postrider::lxmf {

inline constexpr std::size_t kDisplayNameBytesMax = 256;  // a longer one is cut
inline constexpr std::uint64_t kStampCostMax = 254;       // that can be announced

struct DeliveryData {
  std::string display_name;  // UTF-8 as the peer sent it; empty: none
  std::optional<std::uint8_t> stamp_cost;
  bool has_odd_cost = false;  // announced, but outside of 1 to 254: nothing is known then
  bool takes_compressed = true;
};
std::string encode_delivery_data(const DeliveryData& data);  // three elements
// Two elements, three, or plain text of long ago. What cannot be read says nothing.
DeliveryData decode_delivery_data(std::string_view bytes);

struct NodeData {
  std::uint64_t time = 0;  // seconds of the wall
  bool active = false;
  std::uint64_t message_kb_max = 256;
  std::uint64_t sync_kb_max = 10'240;
  std::uint8_t stamp_cost = 16;
  std::uint8_t cost_flexibility = 3;
  std::uint8_t peering_cost = 18;
  std::string name;
};
inline constexpr std::uint8_t kNodeCostMin = 13;
std::string encode_node_data(const NodeData& data);
// kInvalid: fewer than seven elements, as old nodes have; kCorrupt: others than these.
Result<NodeData> decode_node_data(std::string_view bytes);
// The cost to work for: a node takes none below the least of the protocol.
std::uint8_t cost_of_upload(const NodeData& data);

}  // namespace postrider::lxmf
