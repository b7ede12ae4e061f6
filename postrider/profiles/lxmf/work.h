// Stamps as work beside the loop: searched for what we send, measured on what arrives.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/model/seams/work.h"
#include "postrider/protocols/lxmf/stamp.h"

namespace postrider::lxmf {

inline constexpr std::string_view kStampWork = "lxmf.stamp";    // its result: the stamp
inline constexpr std::string_view kMeasureWork = "lxmf.stamp value";  // its result: one byte
extern const std::array<WorkKind, 2> kWorkKinds;

std::string encode_search(const StampSearch::Job& job);

// The value of a stamp of 32 bytes.
std::string encode_measure(std::string_view material, std::uint32_t rounds,
                           std::string_view stamp);
std::optional<std::uint32_t> measured_value(std::string_view result);

}  // namespace postrider::lxmf
