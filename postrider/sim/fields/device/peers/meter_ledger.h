// MeterLedger: what meters were really told and what they really did, copy by copy. A copy is one
// queue item of a network server or one task of a vendor; a command that was sent again has
// several. The ledger is on the far side: it knows nothing of messages, attempts or outcomes,
// except for a tag by which a simulator tells two equal commands of two messages apart. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/protocols/device/command.h"

namespace postrider::sim {

enum class CopyEnd : std::uint8_t {
  kOpen,       // it can still be radiated or run
  kAcked,      // the meter's radio has confirmed it
  kNacked,     // radiated, and nobody confirmed it
  kExpired,    // its time was over before it was radiated
  kDiscarded,  // thrown away for another reason
  kFlushed,    // the queue was emptied
  kFinished,   // the vendor's task has run
  kFailed,     // the vendor's task will not run
};
std::string_view name_of(CopyEnd end);

struct Copy {
  std::string name;   // as the far side told it
  std::string meter;  // without zeros in front
  std::string what;   // what it tells the meter to do; a secret when it is a token
  bool is_act = false;
  std::uint64_t tag = 0;
  Timestamp taken_at;
  Timestamp radiated_at;  // for the last time
  Timestamp closed_at;
  CopyEnd end = CopyEnd::kOpen;
  std::uint32_t radiated = 0;
  std::uint32_t ran = 0;       // how often the meter got it
  std::uint32_t executed = 0;  // how often it did what it was told
};

// "TURN_ON", "READ_VOLTAGE B", "SET_DATE 2026-08-12", "TOKEN 1234…". All token commands are alike
// on the wire, and so they are here.
std::string describe_act(const device::Request& request);
std::string without_zeros(std::string_view meter);

class MeterLedger {
 public:
  using Number = std::uint32_t;
  struct Run {
    Number copy = 0;
    Timestamp at;
    bool executed = false;
  };
  // An act that was radiated while another copy of it could still run.
  struct Doubled {
    Number copy = 0;
    Number other = 0;
    Timestamp at;
  };
  struct Count {
    std::uint32_t copies = 0;
    std::uint32_t open = 0;
    std::uint32_t ran = 0;
    std::uint32_t executed = 0;
  };

  // `what` empty: bytes that no meter understands. Two commands with different tags are different.
  Number take(Timestamp at, Copy copy);
  void radiate(Number copy, Timestamp at);
  void run(Number copy, Timestamp at, bool executed);
  void close(Number copy, Timestamp at, CopyEnd end);  // the first end counts

  const Copy& copy(Number number) const { return copies_[number]; }
  const std::vector<Copy>& copies() const { return copies_; }  // as they were taken
  const std::vector<Run>& runs() const { return runs_; }       // of all meters, as they ran
  const std::vector<Doubled>& doubled() const { return doubled_; }
  Count count(const device::Request& request, std::uint64_t tag = 0) const;
  Count count(std::string_view meter, std::string_view what, std::uint64_t tag = 0) const;
  // What one meter ran, in order: the numbers of runs().
  const std::vector<std::uint32_t>& order_of(std::string_view meter) const;

 private:
  struct Known {
    Count count;
    std::vector<Number> open;
  };
  static std::uint64_t key_of(std::string_view meter, std::string_view what, std::uint64_t tag);
  Known& known(const Copy& copy) { return known_[key_of(copy.meter, copy.what, copy.tag)]; }

  std::vector<Copy> copies_;
  std::vector<Run> runs_;
  std::vector<Doubled> doubled_;
  std::unordered_map<std::uint64_t, Known> known_;  // only looked up, never walked through
  std::unordered_map<std::string, std::vector<std::uint32_t>> by_meter_;
};

}  // namespace postrider::sim
