// Stamps: proof of work on a message. A workblock is hashed once; after it each trial costs one
// compression of SHA-256, because the block's length is a multiple of 64. Work is done in slices,
// so it can be stopped between any two. Values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/protocols/reticulum/bytes.h"
#include "postrider/protocols/reticulum/sha256.h"

namespace postrider::lxmf {

using Stamp = reticulum::Bytes<32>;
using Ticket = reticulum::Bytes<16>;

// Rounds of the workblock, by what the stamp is for.
inline constexpr std::uint32_t kMessageRounds = 3000;
inline constexpr std::uint32_t kPropagationRounds = 1000;
inline constexpr std::uint32_t kPeeringRounds = 25;
inline constexpr std::uint32_t kWorkCostMax = 26;  // of what we work for

class Workblock {
 public:
  // `material`: a message id, a transient id, or two identity hashes.
  Workblock(std::string material, std::uint32_t rounds)
      : material_(std::move(material)), rounds_(rounds) {}

  // At most so many rounds more; true: it is complete.
  bool build(std::uint32_t rounds_max);
  bool is_complete() const { return done_ == rounds_; }
  // Of a complete block only. The number of leading zero bits that a stamp reaches.
  std::uint32_t value_of(std::string_view stamp) const;
  bool is_valid(std::string_view stamp, std::uint32_t cost) const;
  reticulum::Digest digest() const { return block_.digest(); }  // of the block itself

 private:
  std::string material_;
  std::uint32_t rounds_;
  std::uint32_t done_ = 0;
  reticulum::Sha256 block_;
};

// The value of a stamp on its own, with all the work of the block.
std::uint32_t stamp_value(std::string_view material, std::uint32_t rounds, std::string_view stamp);
bool is_valid_stamp(std::string_view material, std::uint32_t rounds, std::string_view stamp,
                    std::uint32_t cost);

class StampSearch {
 public:
  struct Job {
    std::string material;
    std::uint32_t rounds = kMessageRounds;
    std::uint32_t cost = 0;
    Stamp start{};  // random, so two searches do not try the same
  };
  // kLimit: the cost is above kWorkCostMax.
  static Result<StampSearch> make(Job job);

  // One slice of work, counted in compressions; true: the stamp is found.
  bool run(std::uint32_t compressions);
  bool is_found() const { return found_; }
  const Stamp& stamp() const { return stamp_; }
  std::uint64_t trials() const { return trials_; }

 private:
  explicit StampSearch(Job job)
      : block_(std::move(job.material), job.rounds), cost_(job.cost), stamp_(job.start) {}
  Workblock block_;
  std::uint32_t cost_;
  Stamp stamp_;
  std::uint64_t trials_ = 0;
  bool found_ = false;
};

// What a recipient makes of the stamp of a message.
enum class StampVerdict : std::uint8_t { kNotAsked, kByTicket, kByWork, kMissing, kTooWeak };
inline bool is_enough(StampVerdict verdict) {
  return verdict != StampVerdict::kMissing && verdict != StampVerdict::kTooWeak;
}
struct StampReading {
  StampVerdict verdict = StampVerdict::kNotAsked;
  std::uint8_t value = 0;  // of work: leading zero bits
};

// A ticket of the recipient takes the place of work.
Ticket stamp_by_ticket(const Ticket& ticket, const reticulum::Digest& message);

}  // namespace postrider::lxmf
