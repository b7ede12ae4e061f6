// Bytes that only look random, and keys of the published vectors, for tests.
#pragma once

#include <string>

#include "postrider/base/rng.h"
#include "postrider/protocols/hex_testing.h"
#include "postrider/protocols/reticulum/bytes.h"
#include "postrider/protocols/reticulum/identity.h"

namespace postrider::reticulum {

class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : rng_(seed) {}
  void fill(std::span<std::uint8_t> out) override {
    for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(rng_.next() >> 56);
  }

 private:
  Rng rng_;
};

template <std::size_t kSize>
Bytes<kSize> bytes_of_hex(std::string_view text) {
  return exactly<kSize>(from_hex(text)).value();
}

// The keys of Alice and Bob are published by the reticulum-specifications project under CC BY 4.0.
inline Identity alice() {
  return Identity(
      bytes_of_hex<64>("587e730a70d24e971efa8c146e554996d70bff45b2033d336e2c078dc63d3645"
                       "bef79d95bf6b253827a2e7e81a13ab0b10a908fd158581d1827095b788169e93"));
}
inline Identity bob() {
  return Identity(
      bytes_of_hex<64>("0f453e75d564532f2fa671aea79e9a714e4564e1ff833d1df19986fe8a36aa21"
                       "9a6acdad966af7d006cfd393ca8278c608978bcaefa5b5f24db867179f83a863"));
}

// The bytes from, from + 1, … below to.
inline std::string counting(int from, int to) {
  std::string out;
  for (int i = from; i < to; ++i) out.push_back(static_cast<char>(i));
  return out;
}

template <std::size_t kSize>
std::string hex(const Bytes<kSize>& bytes) {
  return to_hex(view(bytes));
}

}  // namespace postrider::reticulum
