// How a profile reads the settings of a destination: a table with a row for people and a function
// for each setting, and the kinds of values that profiles have in common. Errors name the setting,
// what is wrong with its value and what it may be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/attributes.h"
#include "postrider/model/profile.h"

namespace postrider::settings {

// Values. `wrong` quotes the value, so it is not for secrets.
tl::unexpected<Error> wrong(std::string_view value, std::string_view why);

struct Bounds {
  Duration low;
  Duration high;
  bool or_zero = false;
};
Result<Duration> duration_of(std::string_view value, const Bounds& bounds);
Result<std::uint32_t> number_of(std::string_view value, std::uint32_t low, std::uint32_t high);
// Which of some words; with two, whether it is the second one.
Result<std::size_t> word_of(std::string_view value, std::span<const std::string_view> words);
Result<bool> second_of(std::string_view value, std::string_view first, std::string_view second);
// Certificates in PEM, as authorities of a destination.
Result<void> check_trust(std::string_view value);
// Policy::idle_life, which profiles whose destinations messages make have in common.
inline constexpr SettingRow kIdleLife = {
    "idle_life", "0", "", "1m to 365d, or 0 for never",
    "of a template: what is like it goes when it is empty and nothing came to it or ended for so "
    "long; the next message makes it again"};
Result<Duration> idle_life_of(std::string_view value);

// A setting: `set` reads the value into the draft of a destination, or only looks whether it is
// good, when something else reads it later.
template <class Draft>
struct Setting {
  SettingRow row;
  Result<void> (*set)(Draft& draft, std::string_view value);
};

template <class Draft, std::size_t kCount>
constexpr std::array<SettingRow, kCount> rows_of(const std::array<Setting<Draft>, kCount>& table) {
  std::array<SettingRow, kCount> rows{};
  for (std::size_t i = 0; i < kCount; ++i) rows[i] = table[i].row;
  return rows;
}

// Which row is meant: `row_name` says what a name is called in the table ("headers.*" for
// "headers.x-shop"), empty for one that it does not know.
Result<std::size_t> find_row(std::span<const SettingRow> rows, std::string_view name,
                             std::string_view (*row_name)(std::string_view name));
Result<void> check_given_once(const NamedTexts& settings, std::size_t which);
Error refused(std::string_view name, const Error& error, const SettingRow& row);

template <class Draft, std::size_t kCount>
Result<void> apply_all(Draft& draft, const NamedTexts& settings,
                       const std::array<Setting<Draft>, kCount>& table,
                       std::span<const SettingRow> rows,
                       std::string_view (*row_name)(std::string_view name)) {
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const auto& [name, value] = settings[i];
    POSTRIDER_TRY(which, find_row(rows, name, row_name));
    if (Result<void> once = check_given_once(settings, i); !once) return once;
    if (const Result<void> set = table[which].set(draft, value); !set)
      return tl::unexpected<Error>(refused(name, set.error(), rows[which]));
  }
  return {};
}

}  // namespace postrider::settings
