// For helpful errors: "unknown setting 'lader', did you mean 'ladder'?"
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace postrider {

// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that `word` was probably meant to be: at most a third of it away, the first one of
// equals; else one that begins with it. Otherwise nothing, because a far-fetched suggestion is
// worse than none.
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates);

// ", did you mean 'ladder'?" or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace postrider
