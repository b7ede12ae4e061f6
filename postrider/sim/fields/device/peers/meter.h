// Meter: a metering device behind a network server or a vendor. It has a relay, a clock, a credit
// and a limit, does what it is told, and accepts each token once. Pure: time is given. Meters are
// owned by a `Meters`, which also keeps the ledger of what all of them ran. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "postrider/base/time.h"
#include "postrider/protocols/device/command.h"
#include "postrider/protocols/device/reply.h"
#include "postrider/sim/fields/device/peers/meter_ledger.h"

namespace postrider::sim {

// What a token does is in its digits, as far as a model needs it: one that begins with 7 clears the
// tamper mark, with 8 the credit; with 9 it sets the limit to its last five digits, in W; any other
// adds its last four digits to the credit, in hundredths of a kWh.
class Meter {
 public:
  explicit Meter(std::string_view number);

  const std::string& number() const { return number_; }  // without zeros in front
  bool relay_on() const { return relay_on_; }
  std::int64_t credit() const { return credit_; }  // hundredths of a kWh
  std::int64_t limit() const { return limit_; }    // W
  bool is_tampered() const { return tampered_; }
  Timestamp clock(Timestamp now) const { return now + clock_ahead_; }
  void refuse_all(bool refuses) { refuses_ = refuses; }

  // Does it, and says what came of it.
  device::Response run(Timestamp now, const device::Request& request);
  // The frame that answers `request`. Like report(), empty when the number fits no frame.
  std::string answer(const device::Request& request, const device::Response& response) const;
  std::string report(Timestamp now) const;  // the frame that it sends unasked

 private:
  device::Response read(Timestamp now, const device::Request& request) const;
  bool take_token(const std::string& token);
  void set_clock(Timestamp now, const device::Request& request);

  std::string number_;
  bool relay_on_ = true;
  bool tampered_ = false;
  bool refuses_ = false;
  std::int64_t credit_ = 0;
  std::int64_t limit_ = 5000;
  Duration clock_ahead_{0};
  std::unordered_set<std::string> used_tokens_;
};

class Meters {
 public:
  // Made when somebody asks for it first. Zeros in front do not tell meters apart.
  Meter& at(std::string_view number);
  const Meter* find(std::string_view number) const;
  std::size_t size() const { return meters_.size(); }

  // Lets the meter do what the copy says, and enters it.
  device::Response run(MeterLedger::Number copy, Timestamp now, const device::Request& request);

  MeterLedger ledger;

 private:
  std::unordered_map<std::string, Meter> meters_;
};

}  // namespace postrider::sim
