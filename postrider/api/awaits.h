// Awaits: clients that wait for the end of a message or for something in a mailbox. The engine
// tells when; this keeps them over a restart of the shard. A client that closes its side waits no
// longer: in case it still reads, it is told that the time is over. On the loop's thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "postrider/model/event.h"
#include "postrider/model/seams/clock.h"
#include "postrider/runtime/host.h"
#include "postrider/servers/http/http_server.h"

namespace postrider::api {

inline constexpr std::uint32_t kWaitSecondsMax = 600;  // that a client may ask for

class Awaits {
 public:
  using Done = std::function<void(const Answer&)>;

  Awaits(Host& host, const Clock& clock) : host_(host), clock_(clock) {}
  Awaits(const Awaits&) = delete;
  Awaits& operator=(const Awaits&) = delete;

  // `done` once, later: kDone, kPending (the time is over), kNotFound, or kBusy (too many wait). Of
  // a profile that keeps outcomes, kDone comes with an EndView.
  void begin(HttpExchangePtr exchange, std::string_view tenant, Await event, Done done);
  void tick();

 private:
  struct Wait {
    HttpExchangePtr exchange;
    std::string tenant;
    Await event;
    Timestamp until;  // boot time
    Done done;
    Ticket ticket = {};  // unset: the engine does not know of it, for now
  };
  using Place = std::list<Wait>::iterator;

  void post(Place place);
  void take(Place place, Answer answer);
  void end_unanswered(Place place);

  Host& host_;
  const Clock& clock_;
  std::list<Wait> waits_;
  std::shared_ptr<int> life_ = std::make_shared<int>(0);  // answers may come after the API has gone
};

}  // namespace postrider::api
