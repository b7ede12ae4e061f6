// What a server, or the template of all servers, can be told: who we are, by which key we sign, and
// the numbers of its policy. Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "postrider/base/result.h"
#include "postrider/model/attributes.h"
#include "postrider/model/policy.h"
#include "postrider/profiles/matrix/types.h"

namespace postrider::matrix {

inline constexpr std::size_t kSettingCount = 23;
extern const std::array<SettingRow, kSettingCount> kSettingRows;

// Fails with kInvalid: an unknown setting (with the nearest name), a bad value (with what it may
// be), a setting given twice, one that is missing.
Result<Policy> configure(const NamedTexts& settings);
std::optional<Prepared> prepare(const NamedTexts& settings);

}  // namespace postrider::matrix
