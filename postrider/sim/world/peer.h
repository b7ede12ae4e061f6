// Peer: a modelled receiver. It answers as its mood of the moment says; what it does with a request
// that its mood lets through is the matter of its application, if its field has one. It knows only
// what a request carries.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

// What a request says about itself, as any receiver could read it. Fields add what they know.
struct Call {
  MessageId id;
  std::string verb;  // of the request
  std::uint64_t body_hash = 0;
  std::uint64_t operation = 0;  // number in the body; 0: none
  std::string text;             // of the whole request
  bool sends = false;           // a send takes gates and counts as an attempt; a question does not
  bool carries_body = true;     // a send has the accepted body as it is
  bool to_field = false;        // it is for the far sides of the field, and names no message
  bool once = false;            // it must not run twice, and goes where copies do not happen
  bool lingers = false;         // the far side keeps it for a while after its answer
  // As far as the protocol says these.
  std::string method = {};
  std::string task = {};                     // the name by which it is asked about
  std::string batch = {};                    // the name of the batch that it carries …
  std::vector<MessageId> members = {};       // … beside its own message
  std::string order = {};                    // what it is sent one after the other with
  std::optional<Timestamp> decided_at = {};  // engine time
};

// The number behind a marker; 0: there is none.
std::uint64_t digits_after(std::string_view text, std::string_view marker);

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

class Peer;

// What one peer does with the requests that its mood lets through.
class Application {
 public:
  virtual ~Application() = default;
  virtual PeerAnswer take(Peer& peer, const Call& call, std::vector<Receipt>& receipts) = 0;
};

class Peer {
 public:
  Peer(Rng rng, std::unique_ptr<Application> application);

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

  // For its application.
  PeerAnswer answer_status(int status, bool executed);
  Rng& rng() { return rng_; }

 private:
  PeerAnswer throttle();
  PeerAnswer take_limited();

  Rng rng_;
  std::unique_ptr<Application> application_;
  Mood mood_ = Mood::kHealthy;
  bool reject_next_ = false;
  Timestamp now_;
  std::deque<Timestamp> taken_;  // in the last second; never more than the limit
};

}  // namespace postrider::sim
