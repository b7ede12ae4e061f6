// Bytes of fixed length as Reticulum knows them: addresses, digests, keys. Values; any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace postrider::reticulum {

template <std::size_t kSize>
using Bytes = std::array<std::uint8_t, kSize>;

// Of an identity, a destination or a link: the first half of a SHA-256.
using Address = Bytes<16>;
using Digest = Bytes<32>;
using NameHash = Bytes<10>;
using Key = Bytes<32>;
using Signature = Bytes<64>;

template <std::size_t kSize>
std::string_view view(const Bytes<kSize>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), kSize};
}

// Nothing unless the text has exactly that length.
template <std::size_t kSize>
std::optional<Bytes<kSize>> exactly(std::string_view text) {
  if (text.size() != kSize) return std::nullopt;
  Bytes<kSize> out;
  std::memcpy(out.data(), text.data(), kSize);
  return out;
}

// The first bytes of a longer value, whose length the type proves.
template <std::size_t kSize, std::size_t kFrom>
Bytes<kSize> first(const Bytes<kFrom>& from) {
  static_assert(kSize <= kFrom);
  Bytes<kSize> out;
  std::copy_n(from.begin(), kSize, out.begin());
  return out;
}

inline Address truncated(const Digest& digest) { return first<16>(digest); }

// Addresses and hashes are evenly spread already, so their first bytes are a hash of them.
struct HashOfBytes {
  template <std::size_t kSize>
  std::size_t operator()(const Bytes<kSize>& bytes) const {
    static_assert(kSize >= sizeof(std::size_t));
    std::size_t out = 0;
    std::memcpy(&out, bytes.data(), sizeof(out));
    return out;
  }
};

// Unguessable bytes, given by the caller: nothing here draws its own.
class Random {
 public:
  virtual ~Random() = default;
  virtual void fill(std::span<std::uint8_t> out) = 0;

  template <std::size_t kSize>
  Bytes<kSize> bytes() {
    Bytes<kSize> out{};
    fill(out);
    return out;
  }
};

}  // namespace postrider::reticulum
