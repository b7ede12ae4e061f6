// Receiver: the far side of a crash test. Several sites, each with a port of its own, that are
// healthy, slow, flaky or dead as they are told, and one log of everything that arrived. It shares
// no code with the daemon. One thread of its own; everything here may be called from others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "postrider/model/ids.h"

namespace postrider::crash {

enum class Mood : std::uint8_t { kHealthy, kSlow, kFlaky, kDead };

struct Arrival {
  static constexpr int kCut = 0;  // taken, and the connection closed without an answer

  std::uint32_t site = 0;
  std::uint32_t life = 0;  // of the daemon that sent it
  int status = kCut;
  bool intact = false;  // the body is the one that was submitted, byte for byte
  PublicId id;
  std::uint64_t serial = 0;
  // Of those that are kept as they came.
  std::string event;  // the id of the event
  std::string body;
};

// A body follows from the number of its submission, so that whoever gets it can tell whether it is
// whole. One that is not wanted is answered with 404.
std::string body_of(std::uint64_t serial, bool unwanted);

class Receiver {
 public:
  // Events of devices do not follow from the number of a submission: they are kept as they come.
  enum class Keeps : std::uint8_t { kNumbers, kBodies };
  Receiver(std::uint32_t sites, std::uint64_t seed, Keeps keeps = Keeps::kNumbers);
  ~Receiver();
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  std::string url(std::uint32_t site) const;
  void set_mood(std::uint32_t site, Mood mood);
  Mood mood(std::uint32_t site) const;

  // Everything that a daemon sent before its death is in the log when this returns; what comes from
  // now on is of the next life.
  void begin_life(std::uint32_t life);

  std::size_t size() const;
  std::vector<Arrival> arrivals(std::size_t from = 0) const;
  void clear();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider::crash
