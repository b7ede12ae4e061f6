#include "postrider/profiles/lxmf/setup.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "postrider/model/destination.h"
#include "postrider/protocols/lxmf/app_data.h"
#include "postrider/model/setting_table.h"
#include "postrider/profiles/lxmf/station.h"

namespace postrider::lxmf {
namespace {

constexpr std::size_t kDisplayNameMax = 128;

// The part of a setting's name behind "interface.", when it begins so.
std::optional<std::string> behind(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || name.size() == prefix.size()) return std::nullopt;
  return std::string(name.substr(prefix.size()));
}

Result<InterfaceSetup> read_interface(const std::string& name, std::string_view value) {
  InterfaceSetup out;
  out.name = name;
  constexpr std::string_view kListen = "listen ";
  constexpr std::string_view kTo = " to ";
  if (value.starts_with(kListen)) {
    out.kind = InterfaceSetup::Kind::kListens;
    out.address = value.substr(kListen.size());
  } else if (value.starts_with("udp://")) {
    out.kind = InterfaceSetup::Kind::kDatagrams;
    const std::size_t cut = value.find(kTo);
    out.address = value.substr(0, cut);
    if (cut != std::string_view::npos) out.to = value.substr(cut + kTo.size());
    if (out.to.empty())
      return fail(ErrorCode::kInvalid,
                  "interface '" + name + "' must say where datagrams go: udp://… to HOST:PORT");
    return out;
  } else {
    out.address = value;
  }
  if (!out.address.starts_with("tcp://"))
    return fail(ErrorCode::kInvalid, "interface '" + name +
                                         "' must be tcp://HOST:PORT, listen tcp://ADDRESS:PORT or "
                                         "udp://ADDRESS:PORT to HOST:PORT");
  return out;
}

Result<reticulum::Identity> read_key(const std::string& what, const std::string& name,
                                     const Secrets& secrets) {
  const std::string_view bytes = secrets.find(name);
  if (bytes.empty())
    return fail(ErrorCode::kInvalid, what + " '" + name + "' is no secret of the configuration");
  auto identity = reticulum::Identity::from_file(bytes);
  if (!identity)
    return fail(ErrorCode::kInvalid,
                what + " '" + name + "' must be a file of 64 bytes, this has " +
                    std::to_string(bytes.size()));
  return identity;
}

Result<IdentitySetup> read_identity(const std::string& name, const std::string& inbox,
                                    const Secrets& secrets) {
  POSTRIDER_TRY(identity, read_key("identity", name, secrets));
  if (!is_destination_name(inbox))
    return fail(ErrorCode::kInvalid,
                "identity '" + name + "' must name the destination of what arrives for it");
  return IdentitySetup{name, std::move(identity), inbox, {}};
}

Result<void> set_display_name(IdentitySetup& identity, std::string_view value) {
  identity.display_name = value.substr(0, kDisplayNameMax);
  return {};
}

Result<void> set_stamp_cost(IdentitySetup& identity, std::string_view value) {
  const auto cost = settings::number_of(value, 0, kStampCostMax);
  if (!cost)
    return fail(ErrorCode::kInvalid, "'stamp_cost." + identity.name + "' must be 0 to 254");
  identity.stamp_cost = static_cast<std::uint8_t>(*cost);
  return {};
}

Result<void> set_enforced(IdentitySetup& identity, std::string_view value) {
  const auto on = settings::second_of(value, "off", "on");
  if (!on)
    return fail(ErrorCode::kInvalid, "'stamps_enforced." + identity.name + "' must be on or off");
  identity.enforces_stamps = *on;
  return {};
}

Result<void> set_node_part(NodeSetup& node, std::string_view name, std::string_view value) {
  constexpr std::uint32_t kKbMax = 1'000'000;
  if (name == "node_display_name") {
    node.display_name = value.substr(0, kDisplayNameMax);
    return {};
  }
  const bool is_cost = name == "node_cost" || name == "node_cost_flexibility";
  if (!is_cost && name != "node_message_kb_max" && name != "node_sync_kb_max")
    return fail(ErrorCode::kInvalid, "there is no setting '" + std::string(name) + "'");
  const std::uint32_t low = name == "node_cost" ? kNodeCostMin : name.ends_with("_max") ? 1 : 0;
  const std::uint32_t high = is_cost ? kStampCostMax : kKbMax;
  const auto number = settings::number_of(value, low, high);
  if (!number)
    return fail(ErrorCode::kInvalid, "'" + std::string(name) + "' must be " + std::to_string(low) +
                                         " to " + std::to_string(high));
  if (name == "node_cost") node.cost = static_cast<std::uint8_t>(*number);
  if (name == "node_cost_flexibility") node.flexibility = static_cast<std::uint8_t>(*number);
  if (name == "node_message_kb_max") node.message_kb_max = *number;
  if (name == "node_sync_kb_max") node.sync_kb_max = *number;
  return {};
}

// Settings of one identity, which follows the prefix.
struct IdentityPart {
  std::string_view prefix;
  Result<void> (*set)(IdentitySetup& identity, std::string_view value);
};
constexpr auto kIdentityParts =
    std::to_array<IdentityPart>({{"display_name.", set_display_name},
                                 {"stamp_cost.", set_stamp_cost},
                                 {"stamps_enforced.", set_enforced}});

const IdentityPart* part_of(std::string_view name) {
  for (const IdentityPart& part : kIdentityParts) {
    if (name.starts_with(part.prefix) && name.size() > part.prefix.size()) return &part;
  }
  return nullptr;
}

}  // namespace

Result<StationSetup> read_setup(const NamedTexts& settings, const Secrets& secrets) {
  StationSetup setup;
  NodeSetup node{.name = {},
                 .identity = reticulum::Identity(reticulum::Bytes<64>{}),
                 .display_name = {}};
  bool has_node = false;
  struct Given {
    const IdentityPart* part;
    std::string name;
    std::string value;
  };
  std::vector<Given> parts;  // the identities may follow
  for (const auto& [name, value] : settings) {
    if (const auto interface = behind(name, "interface.")) {
      POSTRIDER_TRY(one, read_interface(*interface, value));
      setup.interfaces.push_back(std::move(one));
    } else if (const auto identity = behind(name, "identity.")) {
      POSTRIDER_TRY(one, read_identity(*identity, value, secrets));
      setup.identities.push_back(std::move(one));
    } else if (const IdentityPart* part = part_of(name)) {
      parts.push_back({part, name.substr(part->prefix.size()), value});
    } else if (name == "node") {
      POSTRIDER_TRY(key, read_key("node", value, secrets));
      node.name = value;
      node.identity = std::move(key);
      has_node = true;
    } else if (name.starts_with("node_")) {
      if (const Result<void> good = set_node_part(node, name, value); !good)
        return tl::unexpected<Error>(good.error());
    } else if (name == "announce_every") {
      const auto every =
          settings::duration_of(value, {.low = 1min, .high = 24h, .or_zero = true});
      if (!every)
        return fail(ErrorCode::kInvalid, "'announce_every' must be 1m to 24h, or 0 for never");
      setup.announce_every = *every;
    } else {
      return fail(ErrorCode::kInvalid, "there is no setting '" + name + "'");
    }
  }
  for (const auto& [part, name, text] : parts) {
    const auto found =
        std::find_if(setup.identities.begin(), setup.identities.end(),
                     [&name = name](const IdentitySetup& one) { return one.name == name; });
    if (found == setup.identities.end())
      return fail(ErrorCode::kInvalid,
                  "'" + std::string(part->prefix) + name + "' is of no identity");
    if (const Result<void> good = part->set(*found, text); !good)
      return tl::unexpected<Error>(good.error());
  }
  if (has_node) setup.node = std::move(node);
  if (setup.interfaces.empty())
    return fail(ErrorCode::kInvalid, "no 'interface.NAME' is given: there is no way out");
  if (setup.interfaces.size() > kInterfacesMax || setup.identities.size() > kIdentitiesMax)
    return fail(ErrorCode::kInvalid, "there are too many interfaces or identities");
  return setup;
}

Result<std::unique_ptr<Station>> make_lxmf_station(const NamedTexts& settings,
                                                   const Secrets& secrets) {
  POSTRIDER_TRY(setup, read_setup(settings, secrets));
  return std::unique_ptr<Station>(std::make_unique<LxmfStation>(std::move(setup)));
}

}  // namespace postrider::lxmf
