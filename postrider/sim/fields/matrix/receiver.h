// Receiver: a model of a Matrix server that transactions are sent to, with the answers of a real
// one: it verifies signatures, remembers transactions for a day, works on one of an origin at a
// time, fails a whole transaction for one bad unit, and counts how often each item was applied. No
// I/O and no clock: `now` is given and never decreases, chance comes from the seed. `postrider sink
// matrix` drives it on a real loop. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "postrider/base/rng.h"
#include "postrider/base/time.h"
#include "postrider/protocols/matrix/key_object.h"
#include "postrider/protocols/matrix/transaction.h"

namespace postrider::sim {

// Per cent, unless the name says otherwise; may be changed at any time.
struct ReceiverFaults {
  std::uint32_t fail = 0;  // are answered with fail_status, and nothing is applied
  std::uint32_t fail_status = 503;
  std::uint32_t lose_answers = 0;  // are applied and cut off without an answer
  std::uint32_t hang = 0;          // are taken and never answered
  std::uint32_t slow_ms = 0;       // an answer takes so long
};

struct ReceiverOptions {
  std::string server_name;              // its own; requests for others are refused. Empty: any
  std::vector<matrix::VerifyKey> keys;  // of those who send; none: signatures are not looked at
  std::string poison;                   // a unit with this text fails its transaction; empty: none
  Duration memory{24 * 3'600'000};      // of transactions
  matrix::TransactionLimits limits;
  std::size_t items_max = 10'000'000;  // counted
};

struct ReceiverCall {
  std::uint64_t ticket = 0;  // names the call in its reply
  std::string_view method;
  std::string_view uri;
  std::string_view authorization;  // empty: there is none
  std::string_view body;
};
struct ReceiverReply {
  std::uint64_t ticket = 0;
  bool cut = false;  // the connection is closed without an answer
  int status = 200;
  std::string body;
};

struct ReceiverCounts {
  std::uint64_t requests = 0;
  std::uint64_t transactions = 0;  // applied
  std::uint64_t repeats = 0;       // answered from memory
  std::uint64_t changed = 0;       // repeats with another body than the first
  std::uint64_t busy = 0;          // 429: a second one of an origin at a time
  std::uint64_t unauthorized = 0;
  std::uint64_t malformed = 0;  // and too many items
  std::uint64_t poisoned = 0;
  std::uint64_t failed = 0;  // by a fault
  std::uint64_t hung = 0;
  std::uint64_t events = 0;
  std::uint64_t units = 0;
  std::uint64_t doubled = 0;  // events and messages to devices that came in two transactions
};

class Receiver {
 public:
  Receiver(ReceiverOptions options, Rng rng);

  ReceiverFaults faults;

  void call(Timestamp now, const ReceiverCall& call);
  void cure() { options_.poison.clear(); }        // it takes what it failed at before
  std::vector<ReceiverReply> due(Timestamp now);  // in order
  std::optional<Timestamp> next() const;          // something is due then

  const ReceiverCounts& counts() const { return counts_; }
  // How often each event and each message to devices was applied, in the order of their coming.
  struct Applied {
    std::string id;    // of the event; or sender and message id
    std::string room;  // empty: of a message to devices
    std::uint32_t times = 0;
  };
  const std::vector<Applied>& applied() const { return applied_; }

 private:
  struct Remembered {
    std::uint64_t hash = 0;
    Timestamp until;
    bool done = false;  // its answer has left
    int status = 200;
    std::string body;
    std::vector<std::uint64_t> waiting;  // tickets that get the same answer
  };
  struct Outcome {
    int status = 200;
    std::string body;
    bool applied = false;
  };

  bool chance(std::uint32_t percent) { return percent != 0 && rng_.chance(percent, 100); }
  void take_transaction(Timestamp now, const ReceiverCall& call, const std::string& origin,
                        std::string_view id);
  Outcome apply(std::string_view body);
  void apply_event(std::string_view event);
  void apply_unit(std::string_view unit);
  void count_item(std::string id, std::string room);
  void reply(Timestamp at, ReceiverReply reply);
  void forget(Timestamp now);

  ReceiverOptions options_;
  Rng rng_;
  ReceiverCounts counts_;
  std::unordered_map<std::string, Remembered> remembered_;  // by origin and id
  std::multimap<Timestamp, std::string> ends_;              // of what is remembered
  std::unordered_map<std::string, std::string> in_work_;    // by origin: which
  std::multimap<Timestamp, ReceiverReply> replies_;
  std::multimap<Timestamp, std::string> finishing_;  // transactions that are worked on
  std::vector<Applied> applied_;
  std::unordered_map<std::string, std::size_t> places_;  // in applied_
};

}  // namespace postrider::sim
