// Damage: what can happen to a file of a store that nobody uses, drawn at random: one changed bit,
// a cut, zeros, other bytes behind the end; or a file that is empty, gone, a directory, there
// twice, or has the content of another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/rng.h"

namespace postrider::crash {

// What a file of the directory is for. Files of one kind share a row of the summary.
std::string kind_of_file(std::string_view name);

struct Damage {
  std::string file;  // the one that was harmed
  std::string kind;  // of the file
  std::string what;  // for people, with the place
};

// Draws a kind of file that is there, then a file, then a harm; newest logs, and their last
// records, come often. nullopt: what was drawn would have changed nothing; draw again.
std::optional<Damage> do_damage(const std::string& directory, Rng& rng);

}  // namespace postrider::crash
