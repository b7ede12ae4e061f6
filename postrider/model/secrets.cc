#include "postrider/model/secrets.h"

#include <algorithm>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/base/wipe.h"

namespace postrider {

bool is_secrets_name(std::string_view name) {
  return !name.empty() && name.size() <= kSecretNameBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

Secrets::~Secrets() {
  for (auto& [name, bytes] : all_) wipe(bytes);
}

void Secrets::put(const std::string& name, std::string bytes) {
  POSTRIDER_CHECK(is_secrets_name(name));
  POSTRIDER_CHECK(bytes.size() <= kSecretBytesMax);
  std::string& place = all_[name];
  wipe(place);
  place = std::move(bytes);
  POSTRIDER_CHECK(all_.size() <= kSecretsMax);
}

std::string_view Secrets::find(std::string_view name) const {
  const auto at = all_.find(name);
  return at == all_.end() ? std::string_view() : std::string_view(at->second);
}

std::vector<std::string_view> Secrets::names() const {
  std::vector<std::string_view> out;
  out.reserve(all_.size());
  for (const auto& [name, bytes] : all_) out.emplace_back(name);
  return out;
}

}  // namespace postrider
