// Books: what the daemon itself says, asked over its interface: its counters by two ways, its
// outcome log and the messages that live. They are kept over its lives. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "postrider/model/answer.h"
#include "postrider/model/ids.h"
#include "tests/crash/http.h"
#include "tests/crash/receiver.h"

namespace postrider::crash {

struct End {
  std::string phase;
  std::string cause;
  std::string reason;
  std::size_t arrivals = 0;  // so many had arrived when we learnt of it
};

class Books {
 public:
  // Each answers nothing, or false, when the daemon did not answer; `why` says what happened.
  std::optional<Counters> stats(const std::string& address);
  std::optional<Counters> metrics(const std::string& address);
  std::optional<std::unordered_set<PublicId>> living(const std::string& address);
  std::optional<int> explain(const std::string& address, PublicId id);
  // Goes on in the outcome log until so many ends are known in all. An end is told when it is
  // durable, so all that the receiver will ever get of it has arrived by then.
  bool read_events(const std::string& address, std::uint64_t ends_wanted, const Receiver& receiver);

  const std::unordered_map<PublicId, End>& ends() const { return ends_; }
  // Ends that were told twice, or differently.
  const std::vector<std::string>& complaints() const { return complaints_; }
  const std::string& why() const { return why_; }

 private:
  std::optional<HttpAnswer> get(const std::string& address, const std::string& path);
  void take_event(std::string_view event, std::size_t arrivals);

  std::unordered_map<PublicId, End> ends_;
  std::string position_;  // of the last event
  std::vector<std::string> complaints_;
  std::string why_;
};

std::string to_text(const Counters& counters);

}  // namespace postrider::crash
