// What a webhook destination can be told: where requests go, how they are signed, and the numbers.
#pragma once

#include <array>
#include <cstddef>

#include "postrider/base/result.h"
#include "postrider/model/attributes.h"
#include "postrider/model/policy.h"
#include "postrider/model/profile.h"

namespace postrider::webhook {

inline constexpr std::size_t kSettingCount = 47;
extern const std::array<SettingRow, kSettingCount> kSettingRows;

// Fails with kInvalid: unknown setting (with the nearest name), bad value (with what it may be), a
// setting given twice.
Result<Policy> configure(const NamedTexts& settings);

}  // namespace postrider::webhook
