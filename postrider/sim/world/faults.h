// Faults: everything that can go wrong in the simulated world, how often, and how often it did.
// Rates are drawn per seed, so that each seed is bad in its own way; a kind that had no luck so far
// is made to strike once.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/base/rng.h"
#include "postrider/base/time.h"

namespace postrider::sim {

enum class Fault : std::uint8_t {
  // Network and peers.
  kRequestLost,       // the peer never sees it
  kReplyLost,         // the peer has done it, and nobody hears
  kDuplicateRequest,  // the network delivers it twice
  kDelay,             // an answer overtaken by younger ones
  kClog,              // nothing moves for a while, then everything at once
  kPartition,         // one direction only
  kPeerDown,          // refuses, does not resolve, or swallows, for hours or days
  kPeerFlaky,         // fails with some probability
  kPeerThrottles,     // asks to come back later
  kPeerRejects,       // refuses for good
  kPeerGone,          // says that it exists no more
  kLateAnswer,        // an answer after our abort
  kDuplicateAnswer,   // two outcomes for one attempt
  kSilentTransport,   // no outcome at all: our own time-out must do
  kWrongReceipt,      // for a message that is not there, or with a signal that makes no sense
  kLateReceipt,       // long after the fact
  // Store.
  kSlowCommit,
  kFailedCommit,
  kAmbiguousCommit,
  kSyncFailed,
  kFullDisk,
  kSlowRead,
  kReorderedRead,
  kReadFailed,
  kBitRot,
  kTornRecord,
  // Process and machine.
  kCrashKeeps,  // with the batch in commit kept
  kCrashLoses,  // with the batch in commit lost
  kReboot,      // the boot clock starts anew
  kTwoOwners,
  // Wall clock.
  kWallForward,
  kWallBack,
  kWallThereAndBack,
  kWallDrift,
  // Choices of the engine's owner: legal, and nasty.
  kTightLimits,
  // Boots, in some worlds only: they last long.
  kBootAhead,  // the wall is years ahead for a while, and the kernel does not vouch for it
  kLongStop,   // off for more than a day; the kernel vouches for the wall, or does so later
};
inline constexpr std::size_t kFaults = 37;
std::string_view name_of(Fault fault);

using FaultSet = std::bitset<kFaults>;
// "all", "none", or names with commas between them; the error names the one that is none.
Result<FaultSet> parse_faults(std::string_view text);

class Faults {
 public:
  struct Options {
    FaultSet enabled;
    Timestamp start;
    Duration span{0};  // of the phase with faults
  };
  Faults(const Options& options, Rng rng);

  // An opportunity for `fault`: true when it strikes, which is counted.
  bool strikes(Fault fault, Timestamp now);
  // It strikes because of something else that was drawn before.
  void count(Fault fault) { ++struck_[index(fault)]; }
  bool enabled(Fault fault) const { return !stopped_ && options_.enabled[index(fault)]; }

  // Faults that come by themselves: when the next one does; nullopt when never.
  std::optional<Duration> next_wait(Fault fault, Timestamp now);

  void stop() { stopped_ = true; }
  std::uint64_t struck(Fault fault) const { return struck_[index(fault)]; }
  Rng& rng() { return rng_; }

 private:
  static std::size_t index(Fault fault) { return static_cast<std::size_t>(fault); }

  // What came later draws by itself, so that worlds without it stay what they were.
  static bool is_boot(std::size_t i) { return i >= index(Fault::kBootAhead); }
  Rng& rng_of(std::size_t i) { return is_boot(i) ? boots_ : rng_; }

  Options options_;
  Rng rng_;
  Rng boots_;
  bool stopped_ = false;
  std::array<std::uint64_t, kFaults> struck_{};
  std::array<std::uint32_t, kFaults> rate_{};  // strikes in 100,000 opportunities
  std::array<Timestamp, kFaults> overdue_{};   // strikes at the first opportunity after this
};

}  // namespace postrider::sim
