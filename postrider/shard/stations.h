// Stations: drives all stations of a shard, in the daemon and in the simulator alike, and knows no
// protocol. It numbers lines, tickets and exchanges, keeps the limits, and holds stations to their
// contract. One thread, the shard's; owns the stations.
//
// Invariants
//   - Each input is one call of one station; what it wants is carried out before the next call.
//   - No call of a station begins inside another one, nor inside a turn of the shard: what the
//     shard does is kept and given to the stations by `run`.
//   - A start is followed by exactly one end or abort: the station's, or, when its time is over or
//     its station is dropped, ours.
//   - A station hears nothing of an epoch that is over.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "postrider/base/entropy.h"
#include "postrider/model/effects.h"
#include "postrider/model/seams/clock.h"
#include "postrider/model/seams/station.h"
#include "postrider/model/seams/wire.h"

namespace postrider {

// Numbers that Stations give out have the top bit set, so they never meet those of the host (for
// tickets) and of the engine (for attempts).
inline constexpr std::uint64_t kOfStation = 1ULL << 63;

// What a shard and its surroundings are to stations. Nothing of it calls back from inside.
class StationDoor {
 public:
  virtual ~StationDoor() = default;
  // Nothing: taken, and the answer follows with the ticket, if there is one. Otherwise kBusy or
  // kUnavailable: not taken.
  virtual std::optional<AnswerCode> post(Ticket ticket, Event event) = 0;
  // Never refused: there is one for each start.
  virtual void attempt_ended(AttemptId attempt, WireReply reply) = 0;
  virtual void start_exchange(AttemptId exchange, WireRequest request) = 0;
  virtual void abort_exchange(AttemptId exchange) = 0;
  // A station broke its contract; what it wanted was left undone. A bug, told so that it is seen.
  virtual void misused(std::string_view verb, std::string what) = 0;
};

class Stations {
 public:
  struct Figures {
    std::uint64_t lines = 0;          // open now
    std::uint64_t lines_refused = 0;  // because there were too many
    std::uint64_t posts_refused = 0;  // the door was shut, or too many waited
    std::uint64_t news_lost = 0;      // posts that no caller waits for, refused
    std::uint64_t overflows = 0;      // calls that wanted too much
    std::uint64_t attempts_overdue = 0;
    std::uint64_t misuses = 0;
  };

  Stations(StationLimits limits, Entropy::Source seeds, Wire& wire, StationDoor& door);
  ~Stations();
  Stations(const Stations&) = delete;
  Stations& operator=(const Stations&) = delete;

  void add(std::unique_ptr<Station> station);  // no two have one verb
  // By which far sides are known; before the first call. It outlives the stations.
  void set_principals(const Principals* principals) { principals_ = principals; }
  // Its attempts end as kReset, its lines are closed, its exchanges aborted, its posts forgotten.
  void drop(std::string_view verb);
  void stop();  // the process is about to stop: the same for all, and nothing is posted

  // The shard was made, or made anew.
  void new_epoch(Epoch epoch);
  // The shard is gone; what was posted may have happened or not.
  void interrupted();

  // An attempt or abort of a station, or the answer to a station's post; false: not a station's.
  // Takes the action's contents when it is. Nothing is called before the next run().
  bool offer(Action& action, Instant now);
  void told(Ticket ticket, Answer answer);
  // The end of an exchange; false: it is no exchange of a station.
  bool exchanged(AttemptId exchange, WireReply& reply);

  // What the wire says: one call of the station that has the line, at once.
  void line(Instant now, const station::Happened& happened);
  // Gives stations what the shard did, and what is due.
  void run(Instant now);
  // When to call run() if nothing else happens, in boot time; the beginning of time: at once.
  std::optional<Timestamp> next_deadline() const;

  std::size_t open_attempts() const { return attempts_.size(); }
  Figures figures() const;
  void tell(StationFigures& figures) const;  // of all stations

 private:
  struct Seat;
  struct Line {
    Seat* seat = nullptr;
    LineId local;
  };
  struct Attempt {
    Seat* seat = nullptr;
    Timestamp due;
    bool over = false;  // aborted or overdue, which the station has not heard yet
  };
  struct Wait {
    Seat* seat = nullptr;
    Token token;
  };

  void call(Seat& seat, const station::Happened& happened);
  void accept(const station::LineOpened& opened);
  void give_queued(Seat& seat);
  bool still_wanted(Seat& seat, const station::Happened& happened);
  void end_overdue();
  void give_up(std::uint64_t number, Attempt& attempt);
  void carry_out(Seat& seat);
  void refuse(Seat& seat, station::Wanted& wanted);
  void want(Seat& seat, station::OpenLine& open);
  void want(Seat& seat, station::WriteLine& write);
  void want(Seat& seat, station::HoldLine& hold);
  void want(Seat& seat, station::CloseLine& close);
  void want(Seat& seat, station::Post& post);
  void want(Seat& seat, station::Exchange& exchange);
  void want(Seat& seat, station::AbortExchange& abort);
  void end_attempt(Seat& seat, AttemptEnded& ended);
  bool number_line(Seat& seat, LineId local);
  bool take_token(Seat& seat, Token token);
  LineId find_line(Seat& seat, LineId local, std::string_view what);
  void refuse_line(Seat& seat, LineId local);
  void refuse_post(Seat& seat, Token token, AnswerCode code);
  void hold_back(Seat& seat, Token token);
  void overflow(Seat& seat, LineId local);
  void misused(Seat& seat, std::string what);
  void clear(Seat& seat, bool post);
  Seat* seat_of(std::string_view verb);

  StationLimits limits_;
  Entropy entropy_;
  const Principals* principals_ = nullptr;
  Wire& wire_;
  StationDoor& door_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::unordered_map<std::uint64_t, Line> lines_;        // by the wire's number
  std::unordered_map<std::uint64_t, Attempt> attempts_;  // of this epoch
  std::set<std::pair<Timestamp, std::uint64_t>> due_;    // of the attempts that have a time
  std::unordered_map<std::uint64_t, Wait> tickets_;
  std::unordered_map<std::uint64_t, Wait> exchanges_;
  std::uint64_t last_line_ = 0;
  std::uint64_t last_ticket_ = kOfStation;
  std::uint64_t last_exchange_ = kOfStation;
  Figures figures_;
  Instant now_;
  bool calling_ = false;
  std::vector<station::Wanted> wanted_;  // scratch
};

}  // namespace postrider
