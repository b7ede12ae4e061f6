// SyncSession: fetching what a node keeps for one recipient, page by page, over a link that is
// active and identified. It deletes at the node only what its owner said to be durable. A machine
// without a clock: each call says what happened, and returns what is wanted next. One owner, one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/protocols/lxmf/message.h"
#include "postrider/protocols/lxmf/propagation.h"

namespace postrider::lxmf {

enum class SyncEnd : std::uint8_t { kComplete, kNoIdentity, kNoAccess, kTransferFailed };

struct SyncCounts {
  std::uint64_t fresh = 0;
  std::uint64_t known = 0;
  std::uint64_t undecryptable = 0;  // left at the node
  std::uint64_t unasked = 0;        // given by the node without being wanted
};

struct SyncWant {
  enum class What : std::uint8_t {
    kLook,     // which of `ids` are durable here? then looked()
    kRequest,  // send `request` to /get; then answered() or failed()
    kStore,    // judge and store `messages`; when durable, stored()
    kDone,
  };
  What what = What::kDone;
  std::vector<Digest> ids;
  std::string request;
  std::vector<std::string> messages;  // sealed, in the order of `ids`
  SyncEnd end = SyncEnd::kComplete;
};

// What became of a fetched message.
enum class SyncFate : std::uint8_t {
  kFresh,          // durable, and was not here before
  kKnown,          // durable already
  kUndecryptable,  // not taken, and to stay at the node
};

class SyncSession {
 public:
  struct Settings {
    double limit_kb = 1000;  // of one page
    bool retain = false;     // leave everything at the node
    std::uint32_t pages_max = 10'000;
  };
  explicit SyncSession(const Settings& settings) : settings_(settings) {}

  SyncWant start();
  SyncWant looked(const std::set<Digest>& durable);
  SyncWant answered(std::string_view value);
  SyncWant stored(const std::vector<SyncFate>& fates);  // one for each message of kStore
  SyncWant failed();                                    // link closed, time-out, cancel
  const SyncCounts& counts() const { return counts_; }

 private:
  enum class State : std::uint8_t { kIdle, kListing, kLooking, kFetching, kStoring, kAcking };
  SyncWant list();
  SyncWant fetch();
  SyncWant take_list(const GetAnswer& answer);
  SyncWant take_messages(const GetAnswer& answer);
  SyncWant go_on();
  SyncWant done(SyncEnd end);

  Settings settings_;
  State state_ = State::kIdle;
  std::vector<Digest> wanted_;
  std::vector<Digest> removable_;  // durable here, still at the node
  std::vector<Digest> fetched_;
  std::set<Digest> left_there_;  // undecryptable
  std::set<Digest> counted_;     // as known
  std::uint32_t pages_ = 0;
  bool progressed_ = false;
  SyncCounts counts_;
};

}  // namespace postrider::lxmf
