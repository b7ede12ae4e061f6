// Load: clients that submit, repeat, cancel and ask, each with a connection of its own, as long as
// there is a daemon. One thread per client; the conductor opens and closes the door.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "tests/crash/actor.h"

namespace postrider::crash {

inline constexpr std::uint32_t kSites = 8;
constexpr bool is_fifo(std::uint32_t site) { return site % 2 == 1; }
std::string destination_of(std::uint32_t site);

class Load {
 public:
  Load(std::uint32_t clients, const MakeActor& make);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  // From now on a daemon answers at `address`.
  void open(const std::string& address);
  void close();  // no client begins anything new
  // Waits until no client is under way with anything.
  void wait_idle();
  // Until so many were accepted since open(). False: not within that time.
  bool wait_accepted(std::uint64_t count, std::chrono::milliseconds at_most);

  // Repeats everything with a key that has no answer until it has one. For a daemon that is not
  // killed meanwhile; false: it did not answer.
  bool settle(const std::string& address);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider::crash
