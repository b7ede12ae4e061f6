#include "postrider/runtime/system_entropy.h"

#include <sys/random.h>

#include "postrider/base/check.h"

namespace postrider {

EntropySeed system_entropy() {
  EntropySeed seed{};
  // Up to 256 bytes come whole, and no signal interrupts that (getrandom(2)).
  POSTRIDER_CHECK(::getrandom(seed.data(), seed.size(), 0) == static_cast<ssize_t>(seed.size()));
  return seed;
}

}  // namespace postrider
