// Intake: transactions that a homeserver hands over become messages for one server, one for each
// event and each value of a unit, and are answered when all of them are durable. On the loop's
// thread; owned by the door.
//
// The first message of a transaction goes alone: its key says whether the transaction is known, and
// with other content. The others follow together, each with a key of its own. So a repeat, also one
// after a crash between them, adds what is missing and nothing else, and one with other content
// adds nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "postrider/doors/matrix/egress.h"
#include "postrider/doors/matrix/items.h"
#include "postrider/model/seams/clock.h"
#include "postrider/runtime/host.h"

namespace postrider::matrix_door {

struct IntakeOptions {
  std::string server_name;     // ours
  std::string_view tenant;     // whose share of the event queue it uses; static
  std::size_t open_max = 256;  // transactions that are not durable yet; more are answered 503
  // So long the answer for a server that backs off waits, though all is durable: meanwhile the host
  // packs more into its next transaction. 0: it does not.
  Duration closed_delay{0};
  std::size_t delayed_max = 1'024;  // beyond, answers do not wait
  std::function<void(const std::string& server, const std::function<void(bool)>& then)>
      ask_closed = {};
};

struct IntakeCounts {
  std::uint64_t taken = 0;  // durable
  std::uint64_t items = 0;  // of them
  std::uint64_t faulty_items = 0;
  std::uint64_t refused = 0;  // 400 or 403
  std::uint64_t not_now = 0;  // 503
  std::uint64_t delayed = 0;  // answers for servers that back off
};

class Intake final : public std::enable_shared_from_this<Intake> {
 public:
  Intake(IntakeOptions options, Host& host, const Clock& clock);
  void take(const HandedOver& transaction);
  void look();        // several times a second: answers that have waited
  void answer_all();  // before the listener ends
  const IntakeCounts& counts() const { return counts_; }

 private:
  struct Job;
  void post(const std::shared_ptr<Job>& job, std::size_t index);
  void take_answer(const std::shared_ptr<Job>& job, std::size_t index, const Answer& answer);
  void settle(const std::shared_ptr<Job>& job);
  void fail_job(Job& job, int status, std::string why);
  bool delay(Job& job, HttpExchangePtr exchange, HttpResponse response);

  IntakeOptions options_;
  Host& host_;
  const Clock& clock_;
  std::size_t open_ = 0;
  struct Delayed {
    Timestamp until;  // of the clock that only goes forward
    HttpExchangePtr exchange;
    HttpResponse response;
  };
  std::deque<Delayed> delayed_;  // by their times
  IntakeCounts counts_;
};

}  // namespace postrider::matrix_door
