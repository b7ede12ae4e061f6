// What mutated sources ask: whether a mutant is the one of this process. tools/mutants/build.py
// puts this in front of each of them.
#pragma once

#include <type_traits>

namespace mutants {

extern int chosen;  // by the variable POSTRIDER_MUTANT; 0 is the program as it is written
extern unsigned char reached[];

inline bool on(int number) {
  reached[number] = 1;
  return number == chosen;
}

// Where the compiler evaluates, everything is as it is written.
constexpr bool on_late(int number) { return !std::is_constant_evaluated() && on(number); }

}  // namespace mutants
