// Audit: compares the clients' log, the receivers' log and the daemon's books. Pure functions: what
// does not agree is a line that begins with its kind.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "postrider/model/answer.h"
#include "tests/crash/books.h"
#include "tests/crash/journal.h"
#include "tests/crash/receiver.h"

namespace postrider::crash {

struct Evidence {
  std::uint64_t first_serial = 0;
  std::vector<Submission> submissions;  // by number, from the first
  std::vector<Arrival> arrivals;        // in order
  std::unordered_map<PublicId, End> ends;
  std::set<std::uint32_t> clean_lives;  // ended by themselves, on request
  IdKey id_key{};  // of the store: what stands before what is told by addresses
};

using Findings = std::vector<std::string>;

// At any time: what arrived is whole, in order, once per life, and not after its end.
void audit_arrivals(const Evidence& evidence, Findings& out);
// Messages of one client and one lane have ids in the order they were submitted in.
void audit_order_of_ids(const Evidence& evidence, Findings& out);
// When nothing lives any more: every message has its one end, and the receivers agree with it.
void audit_ends(const Evidence& evidence, const Counters& counters, Findings& out);
// Counters can only grow, and stay between what was surely and what was perhaps accepted.
struct Bounds {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};
void audit_counters(const Counters& before, const Counters& now, Bounds accepted,
                    const std::string& who, Findings& out);

}  // namespace postrider::crash
