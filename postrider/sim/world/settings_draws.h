// How fields draw settings: most destinations keep a default, and the draw is made all the same, so
// that one setting does not shift what is drawn for the next.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/base/rng.h"
#include "postrider/model/destination.h"

namespace postrider::sim {

using SettingChoices = std::array<std::string_view, 3>;

// Sets `name` in one of `often` destinations; the others keep the default.
inline void maybe(NamedTexts& settings, std::string_view name, std::uint32_t often,
                  const SettingChoices& choices, Rng& rng) {
  const std::string_view value = choices[rng.below(choices.size())];
  if (rng.chance(1, often)) settings.emplace_back(std::string(name), std::string(value));
}

inline void change(NamedTexts& settings, std::string_view name, std::string_view value) {
  std::erase_if(settings, [name](const NamedText& setting) { return setting.first == name; });
  settings.emplace_back(std::string(name), std::string(value));
}

}  // namespace postrider::sim
