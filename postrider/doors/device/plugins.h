// Plugins: the ways to devices that an operator configured ([plugins.NAME]). A plugin has queues,
// which are destinations of the profile `device`: "NAME.network:7" when a network server delivers,
// "NAME.gateway:17" when a vendor works at tasks. Plain values and their look-up; on the loop's
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/model/attributes.h"
#include "postrider/protocols/device/message.h"

namespace postrider::device_door {

inline constexpr std::string_view kDeviceProfile = "device";
inline constexpr std::string_view kIngressSecretHeader = "x-postrider-secret";

struct DevicePlugin {
  std::string name;
  std::string profile{kDeviceProfile};
  std::string secret;  // that events must carry; empty: anybody may bring some
  std::string secret_header{kIngressSecretHeader};  // in lower case
  NamedTexts settings;  // of each of its queues; `plugin` is added to them
  friend bool operator==(const DevicePlugin&, const DevicePlugin&) = default;
};

// Everything that the routes of the profile are told.
struct DeviceOptions {
  std::vector<DevicePlugin> plugins;
  std::string metrics = "open";  // "token": /metrics needs one even when there are plugins
  // What an operator should see about a queue.
  std::function<void(std::string_view what, std::string_view queue)> warn;
};

// What a setting says; empty when it is not given.
std::string_view setting_of(const NamedTexts& settings, std::string_view name);
// The settings of a queue of the plugin, `plugin` among them.
NamedTexts queue_settings(const DevicePlugin& plugin);
bool is_push(const DevicePlugin& plugin);  // through a network server, which tells events
// The plugin that a queue belongs to, by its name.
std::string_view plugin_of_queue(std::string_view queue);

class DevicePlugins {
 public:
  void set(std::vector<DevicePlugin> plugins);
  const DevicePlugin* find(std::string_view name) const;
  bool empty() const { return entries_.empty(); }
  std::vector<std::string_view> names() const;

  // Whether `given`, the value of its header, is the plugin's secret; compared as hashes and in
  // constant time. Always when the plugin has none.
  bool admits(const DevicePlugin& plugin, std::string_view given) const;
  // The queue that a message goes to. kNotFound: no such plugin; the detail has the nearest.
  Result<std::string> queue_of(const device::DeviceMessage& message) const;

 private:
  using Digest = std::array<std::uint8_t, 32>;
  struct Entry {
    DevicePlugin plugin;
    Digest digest{};
  };
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace postrider::device_door
