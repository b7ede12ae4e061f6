// Templates: settings that hold for every destination that is like them. All are in memory; each is
// a record of its own.
//
// Invariants
//   - A destination that is like a template finds it here: one in use is not removed.
//   - All that are like one template and have no settings of their own share one binding.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/core/engine.h"
#include "postrider/core/window/entries.h"
#include "postrider/model/destination.h"

namespace postrider::core {

class Templates {
 public:
  struct Template {
    DestinationConfig config;
    std::shared_ptr<const Bound> bound;  // none: its profile refuses these settings now
  };
  Templates(const EngineOptions& options, std::vector<DestinationConfig> stored);
  Templates(const Templates&) = delete;
  Templates& operator=(const Templates&) = delete;

  using All = std::map<std::string, Template, std::less<>>;
  const All& all() const { return all_; }
  const Template* find(std::string_view name) const;  // null: there is none
  // The longest that a destination of this name fits; null: none.
  const Template* for_name(std::string_view name) const;

  // A destination's configuration with the profile and all the settings that hold for it.
  DestinationConfig in_full(DestinationConfig config) const;

  const ProfileSpec* find_profile(std::string_view name) const;
  // The settings that hold for a destination; null when its profile refuses them, or there is
  // neither profile nor template.
  std::shared_ptr<const Bound> bind(const DestinationConfig& config) const;
  Result<std::shared_ptr<const Bound>> bind_alone(const ProfileSpec& profile,
                                                  const NamedTexts& settings) const;

  void put(const DestinationConfig& config, std::shared_ptr<const Bound> bound);
  void remove(std::string_view name);

 private:
  const EngineOptions& options_;
  All all_;
};

}  // namespace postrider::core
