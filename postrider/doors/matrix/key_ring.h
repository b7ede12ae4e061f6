// KeyRing: the keys of other servers, fetched when a request of theirs is to be verified. One fetch
// of a server at a time, however many wait for it; in all, and of one server, fetches are bounded
// in number and rate, so that forged requests cannot make us ask the world. On the loop's thread;
// time is given.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/model/seams/clock.h"
#include "postrider/protocols/matrix/key_object.h"

namespace postrider::matrix_door {

struct KeyRingLimits {
  std::size_t servers_max = 1'024;  // whose keys are kept
  std::size_t fetches_max = 16;     // under way
  std::size_t waiting_max = 16;     // for one fetch
  std::uint32_t fetches_per_minute = 120;
  Duration server_pause{60'000};  // between two fetches of one server
};

struct KeyRingCounts {
  std::uint64_t fetches = 0;
  std::uint64_t failures = 0;   // no answer, or an object that is not believed
  std::uint64_t held_back = 0;  // by our own limits
};

class KeyRing final {
 public:
  using Body = std::function<void(const Result<std::string>& body)>;
  // Asks the server for its key object; the answer comes later, and once.
  using Fetch = std::function<void(const std::string& server, Body then)>;
  // Keys that hold now, good until it returns; none: they could not be had.
  using Found = std::function<void(std::span<const matrix::VerifyKey> keys)>;

  KeyRing(const Clock& clock, Fetch fetch, KeyRingLimits limits = {});

  // `found` is called once, now or later; never when the ring is gone. Keys without this id are
  // fetched once more, if the last fetch was not just now.
  void find(const std::string& server, const std::string& key_id, Found found);
  const KeyRingCounts& counts() const { return counts_; }

 private:
  struct Entry {
    matrix::ServerKeys keys;
    Timestamp fetched;  // boot time; unset: never
    bool fetching = false;
    std::vector<Found> waiting;
  };
  bool may_fetch(const Entry& entry);
  void fetched(const std::string& server, const Result<std::string>& body);
  void make_room();

  const Clock& clock_;
  Fetch fetch_;
  KeyRingLimits limits_;
  KeyRingCounts counts_;
  std::size_t fetching_ = 0;
  Timestamp minute_;  // when the count of this minute began
  std::uint32_t this_minute_ = 0;
  std::map<std::string, Entry> entries_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace postrider::matrix_door
