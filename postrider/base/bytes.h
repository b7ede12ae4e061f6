// Blob: immutable bytes, shared by request, batch, window and wire without a copy. One allocation
// holds the count and the bytes. The count is atomic because the committer thread and the loop hold
// the same blobs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace postrider {

class Blob {
 public:
  Blob() = default;
  static Blob copy_of(std::string_view bytes);

  // Makes a blob of `size` bytes that `fill(char*)` writes once, before anybody shares it.
  template <class Fill>
  static Blob make(std::size_t size, Fill&& fill) {
    Blob blob(allocate(size));
    fill(blob.data());
    return blob;
  }

  Blob(const Blob& other) : head_(other.head_) {
    if (head_ != nullptr) head_->count.fetch_add(1, std::memory_order_relaxed);
  }
  Blob(Blob&& other) noexcept : head_(std::exchange(other.head_, nullptr)) {}
  Blob& operator=(Blob other) noexcept {
    std::swap(head_, other.head_);
    return *this;
  }
  ~Blob() { release(); }

  explicit operator bool() const { return head_ != nullptr; }
  std::size_t size() const { return head_ == nullptr ? 0 : head_->size; }
  std::string_view view() const {
    return head_ == nullptr ? std::string_view() : std::string_view(data(), head_->size);
  }
  friend bool operator==(const Blob& a, const Blob& b) { return a.view() == b.view(); }

 private:
  struct Head {
    std::atomic<std::uint32_t> count;
    std::uint32_t size;
  };
  explicit Blob(Head* head) : head_(head) {}
  static Head* allocate(std::size_t size);
  char* data() const { return reinterpret_cast<char*>(head_ + 1); }
  void release();

  Head* head_ = nullptr;
};

}  // namespace postrider
