// Peer: a modelled receiver. It answers as its mood of the moment says, keeps a log of what it saw,
// and, for the drill protocol, holds what it took and tells later what became of it. It knows only
// what a request carries.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "postrider/base/rng.h"
#include "postrider/base/time.h"
#include "postrider/model/id_codec.h"
#include "postrider/model/ids.h"
#include "postrider/model/lifecycle.h"
#include "postrider/model/seams/transport.h"

namespace postrider::sim {

enum class Mood : std::uint8_t {
  kHealthy,
  kSlow,
  kFlaky,      // fails with some probability
  kThrottles,  // 429 and 503, with and without Retry-After
  kRefuses,    // nobody listens
  kNoName,
  kNoTls,
  kSwallows,  // takes the request and never answers
  kGone,      // 410
  kLimited,   // 503 above a number of requests per second; thinks for a while about each
};

// What a request says about itself, as any receiver could read it.
struct Call {
  MessageId id;
  std::string verb;    // of the request
  std::string method;  // drill only
  std::uint64_t body_hash = 0;
  std::uint64_t operation = 0;  // number in the body; 0: none
  std::string task;             // drill only: the name by which it is asked about
  std::string order;            // drill only: what it is sent one after the other with
  std::string text;             // of the whole request
  bool to_device = false;       // it is for the far side of a device world, and names no message
  bool sends = false;           // a send takes gates and counts as an attempt; a question does not
};
Call read_call(const WireRequest& request, const IdCodec& ids);

// Which peer a target names; the targets of this simulation end in "peer-<number>".
std::uint32_t peer_of(std::string_view target);

struct PeerAnswer {
  WireReply reply;
  bool executed = false;  // the request had its effect
  Duration thinking{0};
};

// News that a peer will send by itself.
struct Receipt {
  MessageId id;
  On signal = On::kConfirmed;
  Duration after{0};
  std::string text = {};  // news for the profile, in its own words, instead
};

class Peer {
 public:
  explicit Peer(Rng rng);

  Mood mood() const { return mood_; }
  void set_mood(Mood mood) { mood_ = mood; }
  void rejects_next() { reject_next_ = true; }

  // In the mood for limits it takes so many in any second.
  static constexpr std::uint32_t kLimit = 10;
  static constexpr Duration kLimitedThinking{100};
  void note_time(Timestamp now) { now_ = now; }  // before it receives

  // What happens before any byte reaches the application; kAnswered: it is reached.
  WireEnd reach() const;
  PeerAnswer receive(const Call& call, std::vector<Receipt>& receipts);

 private:
  struct Held {
    bool finished = false;
    std::string task = {};
  };
  PeerAnswer answer_status(int status, bool executed);
  PeerAnswer throttle();
  PeerAnswer take_limited();
  PeerAnswer take_relay(const Call& call, std::vector<Receipt>& receipts);
  PeerAnswer take_probe(const Call& call, std::vector<Receipt>& receipts);
  PeerAnswer take_task(const Call& call, std::vector<Receipt>& receipts);
  PeerAnswer answer_task(const Call& call);
  void promise_nudges(const Call& call, std::vector<Receipt>& receipts);
  void promise_news(const Call& call, std::vector<Receipt>& receipts);
  void promise_receipts(const Call& call, std::vector<Receipt>& receipts);

  Rng rng_;
  Rng nudges_;  // apart, so that the other draws of older worlds stay what they were
  Mood mood_ = Mood::kHealthy;
  bool reject_next_ = false;
  Timestamp now_;
  std::deque<Timestamp> taken_;  // in the last second; never more than the limit
  std::map<MessageId, Held> held_;
};

}  // namespace postrider::sim
