// Exchange: one request and what became of it. Owned by the transport, which uses it again for
// later ones. On the loop's thread.
#pragma once

#include <cstdint>

#include "postrider/base/time.h"
#include "postrider/model/seams/transport.h"
#include "postrider/transports/net/linked_list.h"
#include "postrider/transports/net/resolver.h"
#include "postrider/transports/net/target.h"

namespace postrider {

class Connection;
struct Origin;

enum class Place : std::uint8_t { kResolving, kWaiting, kConnection, kTelling, kDropped };

struct Exchange : Hook<struct WaitingExchange> {
  AttemptId attempt;
  WireRequest request;
  RequestPath path;  // of request.target
  WireReply reply;
  Timestamp due;       // of the whole exchange
  Timestamp held_due;  // of the wait for a place of ours
  Origin* origin = nullptr;
  Connection* connection = nullptr;  // of kConnection
  Addresses addresses;               // where a new connection may go, in this order
  std::uint64_t turn = 0;            // of kWaiting: the smaller one waits for longer
  Place place = Place::kResolving;
  bool repeated = false;
  bool maybe_sent = false;  // bytes of it have left on some connection
};

}  // namespace postrider
