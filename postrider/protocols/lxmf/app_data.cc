#include "postrider/protocols/lxmf/app_data.h"

#include <algorithm>
#include <cmath>

#include "postrider/protocols/reticulum/msgpack.h"

namespace postrider::lxmf {
namespace {

using reticulum::MsgpackKind;
using reticulum::MsgpackReader;
using reticulum::MsgpackWriter;

constexpr std::uint64_t kFeatureCompression = 0;
constexpr std::uint64_t kMetadataName = 1;
constexpr double kLimitMax = 1e12;

bool looks_like_array(std::string_view bytes) {
  const auto first = static_cast<std::uint8_t>(bytes[0]);
  return (first >= 0x90 && first <= 0x9F) || first == 0xDC;
}

void read_cost(MsgpackReader& in, DeliveryData& out) {
  if (in.peek() == MsgpackKind::kNil) {
    in.nil();
    return;
  }
  MsgpackReader value(in.raw());
  const std::uint64_t cost = value.whole();
  if (value.ok() && cost >= 1 && cost <= kStampCostMax)
    out.stamp_cost = static_cast<std::uint8_t>(cost);
  else
    out.has_odd_cost = true;
}

void read_features(MsgpackReader& in, DeliveryData& out) {
  MsgpackReader features(in.raw());
  out.takes_compressed = false;
  for (std::uint32_t left = features.array(); left > 0 && features.ok(); --left) {
    MsgpackReader feature(features.raw());
    if (feature.whole() == kFeatureCompression && feature.ok()) out.takes_compressed = true;
  }
}

// A limit may be a float; what is no limit at all fails the reader.
std::uint64_t limit_in(MsgpackReader& in) {
  const double value = in.real();
  if (!std::isfinite(value) || value < 0 || value > kLimitMax) {
    in.fail();
    return 0;
  }
  return static_cast<std::uint64_t>(value);
}

std::uint8_t cost_in(MsgpackReader& in) {
  const std::uint64_t value = limit_in(in);
  if (value > kStampCostMax) in.fail();
  return static_cast<std::uint8_t>(value);
}

std::string name_in(std::string_view metadata) {
  MsgpackReader in(metadata);
  for (std::uint32_t left = in.map(); left > 0 && in.ok(); --left) {
    MsgpackReader key(in.raw());
    MsgpackReader value(in.raw());
    const bool is_name = key.whole() == kMetadataName && key.ok();
    if (is_name) return std::string(value.bytes().substr(0, kDisplayNameBytesMax));
  }
  return {};
}

}  // namespace

std::string encode_delivery_data(const DeliveryData& data) {
  std::string out;
  MsgpackWriter to(out);
  to.array(3);
  if (data.display_name.empty())
    to.nil();
  else
    to.binary(std::string_view(data.display_name).substr(0, kDisplayNameBytesMax));
  if (data.stamp_cost)
    to.whole(*data.stamp_cost);
  else
    to.nil();
  to.array(data.takes_compressed ? 1 : 0);
  if (data.takes_compressed) to.whole(kFeatureCompression);
  return out;
}

DeliveryData decode_delivery_data(std::string_view bytes) {
  DeliveryData out;
  if (bytes.empty()) return out;
  if (!looks_like_array(bytes)) {
    out.display_name = bytes.substr(0, kDisplayNameBytesMax);
    return out;
  }
  MsgpackReader whole(bytes);
  whole.raw();
  if (!whole.ok()) return out;
  MsgpackReader in(bytes);
  const std::uint32_t count = in.array();
  if (count >= 1) {
    MsgpackReader name(in.raw());
    if (name.peek() != MsgpackKind::kNil)
      out.display_name = name.bytes().substr(0, kDisplayNameBytesMax);
  }
  if (count >= 2) read_cost(in, out);
  if (count >= 3) read_features(in, out);
  return out;
}

std::string encode_node_data(const NodeData& data) {
  std::string out;
  MsgpackWriter to(out);
  to.array(7).boolean(false).whole(data.time).boolean(data.active);
  to.whole(data.message_kb_max).whole(data.sync_kb_max);
  to.array(3).whole(data.stamp_cost).whole(data.cost_flexibility).whole(data.peering_cost);
  to.map(data.name.empty() ? 0 : 1);
  if (!data.name.empty()) to.whole(kMetadataName).binary(data.name);
  return out;
}

Result<NodeData> decode_node_data(std::string_view bytes) {
  MsgpackReader whole(bytes);
  whole.raw();
  if (!whole.at_end()) return fail(ErrorCode::kCorrupt, "node data");
  MsgpackReader in(bytes);
  const std::uint32_t count = in.array();
  if (!in.ok()) return fail(ErrorCode::kCorrupt, "node data is no array");
  if (count < 7) return fail(ErrorCode::kInvalid, "node data of an old node");
  NodeData out;
  in.raw();
  out.time = limit_in(in);
  out.active = in.boolean();
  out.message_kb_max = limit_in(in);
  out.sync_kb_max = limit_in(in);
  if (in.array() < 3) in.fail();
  out.stamp_cost = cost_in(in);
  out.cost_flexibility = cost_in(in);
  out.peering_cost = cost_in(in);
  if (!in.ok()) return fail(ErrorCode::kCorrupt, "node data with elements of other kinds");
  MsgpackReader all(bytes);
  all.array();
  for (int i = 0; i < 6; ++i) all.raw();
  out.name = name_in(all.raw());
  return out;
}

std::uint8_t cost_of_upload(const NodeData& data) {
  return std::max(data.stamp_cost, kNodeCostMin);
}

}  // namespace postrider::lxmf
