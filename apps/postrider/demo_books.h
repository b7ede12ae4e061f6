// The books of the demo: what was sent and accepted, what the receivers wrote into their own logs,
// and whether both agree with what the daemon says. No thread of its own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "postrider/base/result.h"

namespace postrider {

struct DemoMessage {
  std::size_t receiver = 0;
  std::string body;
  std::string id;  // empty: not accepted yet
};

// What the log of one receiver says.
struct DemoLog {
  std::unordered_map<std::string, std::uint64_t> taken;  // by id: how often answered with 2xx
  std::uint64_t requests = 0;
  std::uint64_t strangers = 0;  // ids that nobody was told
  std::uint64_t broken = 0;     // with another body than was submitted
};

struct DemoVerdict {
  std::uint64_t accepted = 0;
  std::uint64_t taken = 0;  // different messages, by the receivers' logs
  std::uint64_t again = 0;  // taken once more
  std::uint64_t live = 0;   // not taken, and the daemon has them
  std::uint64_t strangers = 0;
  std::uint64_t broken = 0;
  std::vector<std::string> lost;  // accepted, not taken, and the daemon does not know them
};

std::string sha256_hex(std::string_view bytes);

// Reads the log of a sink (see sinks/webhook/sink.h). `ids` is what its messages are known as.
Result<DemoLog> read_demo_log(const std::string& path,
                              const std::unordered_map<std::string, const DemoMessage*>& ids);

DemoVerdict judge_demo(const std::vector<DemoMessage>& messages, const std::vector<DemoLog>& logs,
                       const std::unordered_set<std::string>& living);

}  // namespace postrider
