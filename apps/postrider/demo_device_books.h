// The books of the device demo: what became of each command by the daemon's word, and how often the
// meter really ran it by the ledgers of the far sides. Plain values; no thread of its own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/cli/json.h"

namespace postrider {

// Each command of the demo has a meter of its own, so that the ledger's rows are its rows.
struct DeviceDemoCommand {
  bool is_push = false;
  bool is_act = false;
  std::string type;  // "TURN_OFF"
  std::string meter;
  std::string correlation;
  std::string body;     // of the request
  std::string id;       // empty: not accepted yet
  std::string outcome;  // empty: it has not ended
  bool may_have_run = false;
};

// What the far side's ledger says about one meter.
struct DeviceDemoMeter {
  std::uint64_t copies = 0;
  std::uint64_t open = 0;  // copies that could still run
  std::uint64_t ran = 0;
  std::uint64_t executed = 0;
  std::uint64_t doubled = 0;
};
using DeviceDemoMeters = std::map<std::string, DeviceDemoMeter>;
Result<void> read_device_ledger(const Json& ledger, DeviceDemoMeters& meters);

struct DeviceDemoRow {
  std::uint64_t commands = 0;
  std::uint64_t never = 0;
  std::uint64_t once = 0;
  std::uint64_t again = 0;  // one copy after the other
};
struct DeviceDemoVerdict {
  std::map<std::string, DeviceDemoRow> rows;  // by kind and outcome: "act executed"
  std::uint64_t accepted = 0;
  std::uint64_t live = 0;
  std::uint64_t doubled = 0;       // acts radiated while another copy could still run
  std::vector<std::string> wrong;  // sentences
};
DeviceDemoVerdict judge_device_demo(const std::vector<DeviceDemoCommand>& commands,
                                    const DeviceDemoMeters& meters);

}  // namespace postrider
