#include "postrider/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace postrider {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "postrider: broken invariant: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace postrider
