// DeviceClient: a client that commands meters, of all repeat classes and over both ways, one by one
// and many at once; it repeats, cancels and asks. One thread, its own.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "postrider/base/rng.h"
#include "tests/crash/actor.h"
#include "tests/crash/device_journal.h"
#include "tests/crash/far_sides.h"
#include "tests/crash/http.h"

namespace postrider::crash {

inline constexpr std::uint32_t kGateways = 3;
inline constexpr std::uint32_t kNetworks = 2;

class DeviceClient final : public Actor {
 public:
  DeviceClient(std::uint32_t number, std::uint64_t seed, const FarSides& far_sides,
               DeviceJournal& journal, std::function<void()> accepted);

  bool connect(const std::string& address) override { return connection_.open(address); }
  bool is_connected() const override { return connection_.is_open(); }
  void disconnect() override { connection_.close(); }
  void act() override;
  // All of it and in order, before anything new: so the commands for a meter are accepted in the
  // order of their numbers.
  bool repeat_unknown(bool all) override;

 private:
  // A meter, and what it has not been told yet.
  struct Meter {
    std::uint64_t number = 0;
    bool is_push = false;
    std::uint32_t place = 0;  // its network or its gateway
    std::vector<std::size_t> left;
  };

  Meter new_meter();
  std::size_t draw();  // a command, added to the journal
  bool send_one(std::size_t number);
  void send_many();
  void cancel_one();
  void ask_one();
  bool take_answer(std::size_t number, int status, std::string_view message);

  const std::uint32_t number_;
  Rng rng_;
  const FarSides& far_sides_;
  DeviceJournal& journal_;
  std::function<void()> accepted_;
  HttpConnection connection_;
  std::vector<Meter> meters_;
  std::uint64_t last_meter_ = 0;
  std::deque<std::size_t> recent_;       // accepted lately
  std::vector<std::size_t> unanswered_;  // in order
};

}  // namespace postrider::crash
