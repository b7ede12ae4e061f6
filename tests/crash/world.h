// World: what stands around the daemon in a campaign: its clients, its far sides, and the books
// that both keep. The campaign (conductor.cc) starts and kills; a world loads, and compares what
// everybody says. One thread, the campaign's.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/crash/audit.h"
#include "tests/crash/books.h"
#include "tests/crash/load.h"
#include "tests/crash/receiver.h"

namespace postrider::crash {

struct RoundsOptions;
struct RoundsTotals;

// What the daemon says when nothing lives any more.
struct Ended {
  const std::unordered_map<PublicId, End>& ends;
  const std::set<std::uint32_t>& clean_lives;  // ended by themselves, on request
  Counters counters;
  IdKey id_key{};  // of the store
};

class World {
 public:
  World() = default;
  virtual ~World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Before the first life; whatever is wrong is a finding, here and below.
  virtual void begin(Findings& out) = 0;
  virtual std::vector<std::string> serve_words() const = 0;  // for the daemon's command line
  virtual void change_weather(bool crowded) = 0;
  virtual void prepare(const std::string& address, Findings& out) = 0;  // a daemon listens there
  virtual Load& load() = 0;
  virtual Receiver& receiver() = 0;
  virtual std::int64_t linger_us_max() const = 0;  // under load, when enough was accepted
  virtual Bounds bounds() const = 0;               // of what was accepted
  // Nobody submits; the ends are read as far as they are told.
  virtual void audit_living(const std::string& address, Books& books, Findings& out) = 0;
  virtual bool make_fine(const std::string& address) = 0;  // false: the daemon does not answer
  virtual void wait_quiet(Findings& out) = 0;  // until no far side begins anything by itself
  // Everything has ended, and the daemon still lives.
  virtual void look_back(const std::string& address, Findings& out) = 0;
  virtual void audit(const Ended& ended, Findings& out) = 0;
  virtual std::vector<std::string> complaints() const = 0;  // of the clients
  virtual void add_to(RoundsTotals& totals) const = 0;
  virtual void write_down(const std::string& directory) const = 0;  // for whoever asks why
};

// Serials of a campaign follow those of the one before.
std::unique_ptr<World> make_webhook_world(const RoundsOptions& options, std::uint64_t seed,
                                          std::uint64_t& next_serial);
std::unique_ptr<World> make_device_world(const RoundsOptions& options, std::uint64_t seed,
                                         const std::string& directory);

}  // namespace postrider::crash
