// POSTRIDER_CHECK: for our own bugs only. It stays on in release builds, because an engine that
// goes on with a broken invariant can lose messages, while one that stops restores from the store.
#pragma once

namespace postrider {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace postrider

#define POSTRIDER_CHECK(condition)                               \
  do {                                                           \
    if (!(condition)) [[unlikely]]                               \
      ::postrider::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
