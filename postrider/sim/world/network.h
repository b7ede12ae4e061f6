// Network: carries requests to the modelled peers and outcomes back, or does not. It stands where
// the transports stand, and keeps their promise: exactly one outcome for each attempt unless it was
// aborted; faults break even that.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "postrider/base/rng.h"
#include "postrider/model/event.h"
#include "postrider/sim/world/agenda.h"
#include "postrider/sim/world/faults.h"
#include "postrider/sim/world/field.h"
#include "postrider/sim/world/history.h"
#include "postrider/sim/world/peer.h"

namespace postrider::sim {

class Network {
 public:
  struct Surroundings {
    Agenda& agenda;
    Faults& faults;
    Witness& witness;
    std::function<Moment(Incarnation)> moment;
    // Into the event queue of a process; false: it is full. A process that is gone swallows.
    std::function<bool(Incarnation, Event)> post;
    std::function<Incarnation()> running;     // who hears what comes unasked; 0: nobody
    std::function<void(std::string)> arrive;  // news for the profile, until it is acknowledged
    const Field& field;
    FarSides* far_sides = nullptr;  // of a field that has some; outlive it
  };
  Network(Surroundings around, std::uint32_t peers, Rng rng);

  void start(Incarnation process, const StartAttempt& start, const Call& call);
  void abort(Incarnation process, AttemptId attempt);
  void process_died(Incarnation process);

  void rumour(MessageId about);  // somebody will say something wrong about a message
  void answered_by_far_side(std::uint64_t ticket, WireReply reply);

  Peer& peer(std::uint32_t number) { return peers_[number % peers_.size()]; }
  std::uint32_t peers() const { return static_cast<std::uint32_t>(peers_.size()); }

  // Faults that last: nothing moves until a time; one direction is dead until a time.
  void clog_until(Timestamp at) { clogged_until_ = at; }
  enum class Direction : std::uint8_t { kOut, kBack };
  void cut(std::uint32_t peer, Direction direction, Timestamp until);
  void heal();

 private:
  struct Connection {
    Timestamp closed;  // unset: it is open
  };
  struct Attempt {
    Call call;
    std::uint32_t peer = 0;
    Timestamp started;
    Duration time_out{0};
    bool told = false;
    bool aborted = false;
    // Shared with the request that is on its way over it.
    std::shared_ptr<Connection> connection = {};
  };
  struct Asked {  // of a far side
    std::pair<Incarnation, std::uint64_t> key;
    std::uint32_t peer = 0;
    bool answers = true;
  };
  using Key = std::pair<Incarnation, std::uint64_t>;
  static constexpr std::size_t kRecentMax = 64;
  struct Recent {
    MessageId id;
    bool once = false;
  };
  struct Cut {
    Timestamp out_until;
    Timestamp back_until;
  };

  Timestamp arrival(Duration travel) const;
  Duration travel();
  bool cut_off(std::uint32_t peer, Direction direction) const;
  void arrive(Key key, const Call& call, std::uint32_t peer, bool answers);
  void send_to_far_side(Key key, const StartAttempt& start, std::uint32_t peer);
  void close(Attempt& attempt);
  void end_with(Key key, Timestamp at, WireReply reply);
  void tell(Key key, const WireReply& reply);
  void tell_again(Key key, const WireReply& reply);
  void time_out(Key key, const Attempt& attempt);
  void send_receipt(const Receipt& receipt);
  void send_false_receipts(const Call& call, bool executed, bool answers);
  void remember(const Call& call);
  void deliver_receipt(MessageId id, On signal);
  void post(Incarnation process, Event event);

  Surroundings around_;
  Rng rng_;
  std::vector<Peer> peers_;
  std::vector<Cut> cuts_;
  std::map<Key, Attempt> open_;
  std::map<std::uint64_t, Asked> asked_;  // by ticket; never more than were ever started
  std::uint64_t last_ticket_ = 0;
  Timestamp clogged_until_;
  std::vector<Recent> recent_;  // what peers saw last, as a ring
  std::size_t recent_next_ = 0;
};

}  // namespace postrider::sim
