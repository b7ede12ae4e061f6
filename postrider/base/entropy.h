// Entropy: unguessable bytes, for keys, nonces and ids; never for jitter, which comes from Rng.
// They are expanded (ChaCha20) from a seed of 32 bytes, one for each turn: the system's in the
// daemon, the world's in the simulator. So a turn is decided by its inputs alone, and a simulated
// one can be repeated. One owner; one thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

using EVP_CIPHER_CTX = struct evp_cipher_ctx_st;

namespace postrider {

using EntropySeed = std::array<std::uint8_t, 32>;

class Entropy final {
 public:
  using Source = std::function<EntropySeed()>;

  explicit Entropy(const EntropySeed& seed);
  // Asks for the seed of a turn when the first byte is drawn in it, so a turn that draws nothing
  // costs nothing. Without a source (empty) drawing ends the process: a key that can be guessed is
  // worse than none.
  explicit Entropy(Source source);
  ~Entropy();
  Entropy(const Entropy&) = delete;
  Entropy& operator=(const Entropy&) = delete;

  void renew() { seeded_ = false; }  // the next turn: what is drawn follows from a new seed
  void fill(std::span<std::uint8_t> out);
  // Whether anything was drawn since the seed was taken.
  bool drawn() const { return seeded_; }

 private:
  struct Free {
    void operator()(EVP_CIPHER_CTX* context) const;
  };
  void take_seed();

  Source source_;
  std::unique_ptr<EVP_CIPHER_CTX, Free> context_;
  bool seeded_ = false;
};

}  // namespace postrider
