// A world of several machines with LXMF: identities, interfaces and inboxes of their own, lines and
// datagrams between each two. The same seed gives the same world. First everything goes wrong that
// can: lines, stores, clocks, processes; then faults stop, and every message must have arrived
// once.
//
// What must hold: a message that its sender holds for delivered is durable at its recipient; an
// inbox has each message once; the bytes of a message are those that were accepted; an announce
// says a ratchet and a time that are durable, and its time only grows; no key of a packet is drawn
// twice.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/sim/world/site.h"
#include "postrider/sim/world/wires.h"

namespace postrider::sim {

// Mistakes that the world must notice. They are made around the station and the profile, which have
// none of their own.
enum class LxmfBug : std::uint8_t {
  kNone,
  kProvesBeforeCommit,
  kAnnouncesBeforeCommit,
  kForgetsSeen,
  kSealsAlike,  // each process draws what the first one drew
  kStampsAgain,  // a stamp that was found is thrown away
  kResealsUpload,  // … after a link went down
  kNodeProvesBeforeCommit,
};

struct LxmfOptions {
  std::uint64_t seed = 1;
  std::uint32_t machines = 2;
  std::uint32_t messages = 40;
  Duration span{30min};  // of the phase with faults
  bool faults = true;
  struct CrashPoint {
    std::uint32_t machine = 0;
    std::uint64_t after = 0;
    bool keep = false;  // the batch in commit
  };
  std::optional<CrashPoint> crash = {};
  LxmfBug bug = LxmfBug::kNone;
  std::FILE* trace = nullptr;
};

struct LxmfReport {
  std::vector<std::string> violations;
  std::uint64_t delivered = 0;      // sent, and confirmed by their readers
  std::uint64_t opportunistic = 0;  // packets to destinations, …
  std::uint64_t link_requests = 0;  // … and to open links
  std::uint64_t stamps = 0;         // searched for
  std::uint64_t sent_to_node = 0;
  std::uint64_t announces = 0;
  std::uint64_t trace_hash = 0;
  std::vector<std::uint64_t> points;  // crash points, by machine
  std::vector<Site::Counts> sites;
  Wires::Counts wires;
  Duration took{0};  // virtual
};

LxmfReport simulate_lxmf(const LxmfOptions& options);

}  // namespace postrider::sim
