#include "postrider/doors/device/plugins.h"

#include <algorithm>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "postrider/base/check.h"
#include "postrider/base/nearest.h"

namespace postrider::device_door {
namespace {

constexpr std::size_t kSecretBytesMax = 4096;  // nobody hashes a megabyte for us

std::array<std::uint8_t, 32> digest_of(std::string_view secret) {
  std::array<std::uint8_t, 32> digest{};
  static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  POSTRIDER_CHECK(
      EVP_Digest(secret.data(), secret.size(), digest.data(), nullptr, sha256, nullptr) == 1);
  return digest;
}

}  // namespace

std::string_view setting_of(const NamedTexts& settings, std::string_view name) {
  for (const NamedText& setting : settings) {
    if (setting.first == name) return setting.second;
  }
  return {};
}

NamedTexts queue_settings(const DevicePlugin& plugin) {
  NamedTexts settings = plugin.settings;
  settings.emplace_back("plugin", plugin.name);
  return settings;
}

bool is_push(const DevicePlugin& plugin) {
  return setting_of(plugin.settings, "way").starts_with("chirpstack");
}

std::string_view plugin_of_queue(std::string_view queue) {
  return queue.substr(0, std::min(queue.find('.'), queue.size()));
}

void DevicePlugins::set(std::vector<DevicePlugin> plugins) {
  entries_.clear();
  for (DevicePlugin& plugin : plugins) {
    Entry entry{std::move(plugin), {}};
    entry.digest = digest_of(entry.plugin.secret);
    std::string name = entry.plugin.name;
    entries_.emplace(std::move(name), std::move(entry));
  }
}

const DevicePlugin* DevicePlugins::find(std::string_view name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second.plugin;
}

std::vector<std::string_view> DevicePlugins::names() const {
  std::vector<std::string_view> names;
  names.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

bool DevicePlugins::admits(const DevicePlugin& plugin, std::string_view given) const {
  if (plugin.secret.empty()) return true;
  const auto found = entries_.find(plugin.name);
  if (found == entries_.end() || given.size() > kSecretBytesMax) return false;
  const Digest digest = digest_of(given);
  return CRYPTO_memcmp(found->second.digest.data(), digest.data(), digest.size()) == 0;
}

Result<std::string> DevicePlugins::queue_of(const device::DeviceMessage& message) const {
  const DevicePlugin* const plugin = find(message.plugin);
  if (plugin == nullptr) {
    const std::vector<std::string_view> known = names();
    return fail(ErrorCode::kNotFound, "pluginId: there is no plugin '" + message.plugin + "'" +
                                          did_you_mean(message.plugin, known));
  }
  if (is_push(*plugin)) return device::push_queue(message);
  return device::pull_queue(message);
}

}  // namespace postrider::device_door
