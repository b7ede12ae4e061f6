// FarSides: `postrider sink chirpstack` and `postrider sink calin` as processes on loopback, with
// meters behind them that count what they did. They outlive the daemon's lives. Any thread,
// once they have started.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/crash/daemon_process.h"

namespace postrider::crash {

// A line of a ledger: one queue item of the network server, or one task of the vendor.
struct LedgerCopy {
  std::string name;
  std::string meter;
  std::string what;
  std::string end;  // "open": it can still run
  std::uint64_t ran = 0;
  std::uint64_t executed = 0;
};
// An act that was radiated while another copy of it could still run.
struct LedgerDouble {
  std::string name;
  std::string other;
  std::string meter;
  std::string what;
};
struct Ledger {
  std::vector<LedgerCopy> copies;  // of one meter in the order in which they were taken
  std::vector<LedgerDouble> doubled;
  std::uint64_t open() const;
};

enum class Weather : std::uint8_t { kCalm, kRough, kStorm };

class FarSides {
 public:
  FarSides(const std::string& program, std::uint64_t seed, const std::string& directory);

  // False: they do not start.
  bool wait_started();
  const std::string& network() const { return network_address_; }  // its gRPC
  const std::string& vendor() const { return vendor_address_; }

  // Each is false when a sink does not answer.
  bool send_events_to(const std::string& url) const;
  bool set_weather(Weather of_network, Weather of_vendor) const;
  bool make_class_a(const std::string& meter) const;  // it takes commands only when it speaks
  std::optional<Ledger> read_ledger() const;
  bool told_all() const;  // no event is still to be told
  std::uint64_t joins() const;

 private:
  std::string counts() const;
  static bool post(const std::string& address, const std::string& path, const std::string& body);

  DaemonProcess network_process_;
  DaemonProcess vendor_process_;
  std::string network_address_;
  std::string control_address_;
  std::string vendor_address_;
};

// The secret that events come with.
inline constexpr const char* kIngressSecret = "crash-secret";

}  // namespace postrider::crash
