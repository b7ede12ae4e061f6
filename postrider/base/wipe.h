// Wiping: bytes of a secret do not stay in memory that is given back.
#pragma once

#include <cstring>
#include <string>

namespace postrider {

// explicit_bzero is not left out by a compiler that sees that nothing reads the bytes any more.
inline void wipe(std::string& secret) {
  explicit_bzero(secret.data(), secret.size());
  secret.clear();
}

}  // namespace postrider
