// Compares what the clients that command meters were answered, what the daemon says became of each
// command, what its consumer was told, and what the meters really did. Pure functions: what does
// not agree is a line that begins with its kind.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "tests/crash/audit.h"
#include "tests/crash/device_journal.h"
#include "tests/crash/far_sides.h"

namespace postrider::crash {

// What the daemon says of a command when all is over.
struct DeviceHistory {
  int status = 0;  // of the answer
  PublicId id;
  std::string outcome;
  bool may_have_run = false;
};

struct DeviceEvidence {
  std::vector<DeviceCommand> commands;
  std::vector<DeviceHistory> histories;  // one for each command
  std::unordered_map<PublicId, End> ends;
  std::vector<Arrival> events;  // at the consumer, in order
  Ledger ledger;
};

// Every command has one end and one outcome, and what is nobody's command is a delivered event.
void audit_outcomes(const DeviceEvidence& evidence, Findings& out);
// Nothing was done that nobody sent; no act was doubled; acts of a meter came in order; and the
// outcomes say what the meters did.
void audit_meters(const DeviceEvidence& evidence, Findings& out);
// The first start and the end of each command were told, each by one event, which stays the same.
void audit_events(const DeviceEvidence& evidence, Findings& out);

}  // namespace postrider::crash
