// Inbound: requests of other servers that a reverse proxy mirrors to us. A request that is really
// of a server which we had given up for the moment is a sign of life. It is verified then and only
// then, because that takes keys and time. On the loop's thread; owned by the door.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "postrider/doors/matrix/key_ring.h"
#include "postrider/protocols/matrix/x_matrix.h"

namespace postrider::matrix_door {

struct Mirrored {
  std::string method;
  std::string uri;            // path and query as they were sent
  std::string authorization;  // X-Matrix …; empty: it had none
  std::string body;
};

enum class Verdict : std::uint8_t {
  kAlive,      // verified: a sign of life
  kNotNeeded,  // its server is not closed: nothing was verified
  kMissing,    // no header
  kMalformed,  // header or body
  kElsewhere,  // for another destination
  kForged,
  kUnknownKey,
  kNoKeys,  // they could not be had, or not now
  kBusy,    // too many wait to be verified
};
inline constexpr std::size_t kVerdicts = 9;
std::string_view name_of(Verdict verdict);
int status_of(Verdict verdict);  // to answer with

struct InboundOptions {
  std::string server_name;  // ours
  std::size_t waiting_max = 64;
  // As for relays.
  std::function<void(const std::string& server, std::function<void(bool)> then)> ask_closed;
  std::function<void(const std::string& server)> seen;
};

class Inbound final {
 public:
  using Done = std::function<void(Verdict)>;

  Inbound(InboundOptions options, KeyRing& keys);
  // `done` is called once, now or later; never when this is gone.
  void take(Mirrored request, Done done);
  std::uint64_t count(Verdict verdict) const { return counts_[static_cast<std::size_t>(verdict)]; }

 private:
  struct Job;
  void verify(const std::shared_ptr<Job>& job);
  void finish(const std::shared_ptr<Job>& job, Verdict verdict);
  void told(Verdict verdict, const Done& done);

  InboundOptions options_;
  KeyRing& keys_;
  std::size_t waiting_ = 0;
  std::array<std::uint64_t, kVerdicts> counts_{};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace postrider::matrix_door
