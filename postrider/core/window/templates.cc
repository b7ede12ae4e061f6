#include "postrider/core/window/templates.h"

#include <utility>

namespace postrider::core {
namespace {

Bound bound_of(const ProfileSpec& profile, const NamedTexts& settings, const Policy& policy) {
  Bound bound{settings, &profile, policy};
  if (profile.settings.prepare != nullptr)
    bound.prepared = profile.settings.prepare(bound.settings);
  return bound;
}

}  // namespace

Templates::Templates(const EngineOptions& options, std::vector<DestinationConfig> stored)
    : options_(options) {
  for (const DestinationConfig& config : stored) {
    const ProfileSpec* profile = find_profile(config.profile);
    auto policy = profile == nullptr ? Result<Policy>(fail(ErrorCode::kNotFound, {}))
                                     : profile->settings.configure(config.settings);
    std::shared_ptr<Bound> bound;
    if (policy) bound = std::make_shared<Bound>(bound_of(*profile, config.settings, *policy));
    put(config, std::move(bound));
  }
}

const Templates::Template* Templates::find(std::string_view name) const {
  const auto at = all_.find(name);
  return at == all_.end() ? nullptr : &at->second;
}

// There are few, and only names without a destination are looked for.
const Templates::Template* Templates::for_name(std::string_view name) const {
  const Template* longest = nullptr;
  for (const auto& [wide, one] : all_) {
    if (!fits_template(wide, name)) continue;
    if (longest == nullptr || longest->config.name.size() < wide.size()) longest = &one;
  }
  return longest;
}

DestinationConfig Templates::in_full(DestinationConfig config) const {
  const Template* wide = config.like.empty() ? nullptr : find(config.like);
  if (wide == nullptr) return config;
  config.profile = wide->config.profile;
  config.settings = merged(wide->config.settings, config.settings);
  return config;
}

const ProfileSpec* Templates::find_profile(std::string_view name) const {
  for (const ProfileSpec* candidate : options_.profiles) {
    if (candidate->name == name) return candidate;
  }
  return nullptr;
}

Result<std::shared_ptr<const Bound>> Templates::bind_alone(const ProfileSpec& profile,
                                                           const NamedTexts& settings) const {
  POSTRIDER_TRY(policy, profile.settings.configure(settings));
  return std::make_shared<const Bound>(bound_of(profile, settings, policy));
}

std::shared_ptr<const Bound> Templates::bind(const DestinationConfig& config) const {
  if (config.like.empty()) {
    const ProfileSpec* profile = find_profile(config.profile);
    if (profile == nullptr) return nullptr;
    auto bound = bind_alone(*profile, config.settings);
    return bound ? std::move(*bound) : nullptr;
  }
  const Template* wide = find(config.like);
  if (wide == nullptr || wide->bound == nullptr) return nullptr;
  if (config.settings.empty()) return wide->bound;
  const ProfileSpec& profile = *wide->bound->profile;
  const NamedTexts all = merged(wide->bound->settings, config.settings);
  const auto policy = profile.settings.configure(all);
  // The template may have changed since, so that these two make no sense together any more: then
  // its settings alone hold, until they do again.
  Bound bound = policy ? bound_of(profile, all, *policy) : *wide->bound;
  bound.like = config.like;
  bound.own = config.settings;
  return std::make_shared<const Bound>(std::move(bound));
}

void Templates::put(const DestinationConfig& config, std::shared_ptr<const Bound> bound) {
  if (bound != nullptr) {
    Bound shared = *bound;
    shared.like = config.name;
    bound = std::make_shared<const Bound>(std::move(shared));
  }
  all_.insert_or_assign(config.name, Template{config, std::move(bound)});
}

void Templates::remove(std::string_view name) {
  const auto at = all_.find(name);
  if (at != all_.end()) all_.erase(at);
}

}  // namespace postrider::core
