// A world of several machines that send each other messages over lines: the drill of stations. The
// same seed gives the same world. First everything goes wrong that can: lines, stores, clocks,
// processes; then faults stop, and every message must have arrived once.
//
// What must hold: nothing says "I have it" before it is durable; no line or token is used after its
// end; each start has one end; no entropy is drawn twice over all processes; a message is put into
// the far application's mailbox once, however often it was sent, with a number that no other of its
// sender has, and is never read again once its confirmation was told; all of them are confirmed,
// and cards, their count and their due entries agree.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/sim/fields/drill/link_station.h"
#include "postrider/sim/world/site.h"
#include "postrider/sim/world/wires.h"

namespace postrider::sim {

struct LinkOptions {
  std::uint64_t seed = 1;
  std::uint32_t machines = 2;
  std::uint32_t messages = 60;
  Duration span{30min};  // of the phase with faults
  bool faults = true;
  struct CrashPoint {
    std::uint32_t machine = 0;
    std::uint64_t after = 0;
    bool keep = false;  // the batch in commit
  };
  std::optional<CrashPoint> crash = {};
  LinkBug bug = LinkBug::kNone;
  std::FILE* trace = nullptr;
};

struct LinkReport {
  std::vector<std::string> violations;
  std::uint64_t delivered = 0;
  std::uint64_t late_receipts = 0;
  std::uint64_t repeated = 0;  // requests that had arrived before
  std::uint64_t trace_hash = 0;
  std::vector<std::uint64_t> points;  // crash points, by machine
  std::vector<Site::Counts> sites;
  Wires::Counts wires;
  Duration took{0};  // virtual
};

LinkReport simulate_links(const LinkOptions& options);

}  // namespace postrider::sim
