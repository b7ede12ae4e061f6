#include "postrider/base/bytes.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "postrider/base/check.h"

namespace postrider {

Blob::Head* Blob::allocate(std::size_t size) {
  POSTRIDER_CHECK(size <= UINT32_MAX);
  void* memory = ::operator new(sizeof(Head) + size);
  return new (memory) Head{.count = 1, .size = static_cast<std::uint32_t>(size)};
}

Blob Blob::copy_of(std::string_view bytes) {
  return make(bytes.size(), [&](char* to) {
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  });
}

void Blob::release() {
  if (head_ == nullptr) return;
  if (head_->count.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    head_->~Head();
    ::operator delete(head_);
  }
  head_ = nullptr;
}

}  // namespace postrider
