// Conductor: rounds of kill -9. A round is one life of the daemon that ends with a kill, or on
// request, at an instant drawn at random; a campaign is a number of rounds on one store, with a
// full audit when everything has ended. One thread, beside those of the clients and of the
// receiver.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "postrider/base/rng.h"
#include "tests/crash/audit.h"

namespace postrider::crash {

// How a life ends.
enum class Manner : std::uint8_t {
  kKillEarly,    // before it listens
  kKillRestore,  // just when it listens
  kKillLoad,
  kKillDrain,    // while it stops
  kStopRestore,  // on request, just when it listens: exit code 0
  kStopLoad,     // on request, under load: exit code 0
};
inline constexpr std::size_t kManners = 6;

enum class WorldKind : std::uint8_t { kWebhook, kDevice };

struct RoundsOptions {
  WorldKind world = WorldKind::kWebhook;
  std::string daemon;                    // the program
  std::string sinks;                     // the program with `sink …`, for devices
  std::vector<std::string> arguments;    // before --data and --listen
  std::vector<std::string> environment;  // "NAME=value"
  std::string directory;                 // for stores and logs; must exist
  std::uint64_t seed = 1;
  std::uint32_t rounds = 100;
  std::uint32_t rounds_per_campaign = 25;
  std::uint32_t clients = 4;
  std::uint32_t accepted_max = 250;  // a round under load ends after at most so many
  std::uint64_t seconds_max = 0;     // no campaign begins later; 0: no limit
  std::vector<Manner> manners;       // these only; empty: all, kills under load most often
};

struct RoundsTotals {
  std::uint64_t rounds = 0;
  std::uint64_t campaigns = 0;
  std::array<std::uint64_t, kManners> lives{};  // by how they ended
  std::uint64_t submitted = 0;
  std::uint64_t unanswered = 0;  // for good: without a key
  std::uint64_t arrivals = 0;
  std::uint64_t duplicates = 0;  // taken well more than once
  Counters counters;             // sums of all campaigns
  // Of devices.
  std::uint64_t copies = 0;  // of commands, that the far sides took
  std::uint64_t runs = 0;    // of these, by the meters
  std::uint64_t joins = 0;
  std::map<std::string, std::uint64_t> outcomes;
};

class Conductor {
 public:
  using Progress = std::function<void(const RoundsTotals& totals)>;
  Conductor(RoundsOptions options, Progress progress);

  // Until all rounds are done, or something was found.
  Findings run();
  const RoundsTotals& totals() const { return totals_; }

 private:
  class Campaign;
  RoundsOptions options_;
  Progress progress_;
  Rng rng_;
  RoundsTotals totals_;
  std::uint64_t next_serial_ = 1;
};

}  // namespace postrider::crash
