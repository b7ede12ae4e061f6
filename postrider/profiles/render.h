// The tables that really run, for people: `profile show`, docs/profiles/*.tables.md and the
// dashboard. What is printed is read from the ProfileSpec that the engine interprets, never from a
// copy.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/model/profile.h"

namespace postrider {

enum class RenderFormat : std::uint8_t { kText, kMarkdown, kMermaid, kJson };

// A row of the core's health table in words; profiles do not know the core.
struct HealthWords {
  std::string_view from;
  std::string_view on;
  std::string_view to;
  std::string_view why;
};

struct RenderInput {
  const ProfileSpec& profile;
  std::span<const HealthWords> health;
  std::string_view method;  // only this one; empty: all
};

// Ends with a line break. A Mermaid text holds one diagram: of the named method, or of the first.
std::string render_profile(const RenderInput& input, RenderFormat format);

// One line or one object per profile, its name first.
std::string render_profile_list(std::span<const ProfileSpec* const> profiles, RenderFormat format);

// The settings that a destination must be given, with their examples: enough for `configure`.
NamedTexts example_settings(const ProfileSpec& profile);

}  // namespace postrider
