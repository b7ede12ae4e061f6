#include "postrider/doors/rpc/interest.h"

#include <utility>

namespace postrider::rpc_door {

void Interest::add(MessageId id, std::string_view tenant, Duration grace, Timestamp now,
                   HttpExchangePtr caller) {
  Operation& operation = operations_[id];
  operation.tenant = tenant;
  operation.grace = grace;
  operation.seen = now;
  operation.callers.push_back(std::move(caller));
}

void Interest::see(MessageId id, Timestamp now) {
  const auto found = operations_.find(id);
  if (found != operations_.end()) found->second.seen = now;
}

void Interest::leave(MessageId id, const HttpExchangePtr& caller, Timestamp now) {
  const auto found = operations_.find(id);
  if (found == operations_.end()) return;
  std::erase(found->second.callers, caller);
  found->second.seen = now;
}

void Interest::tick(Timestamp now,
                    const std::function<void(MessageId, std::string_view tenant)>& give_up) {
  for (auto at = operations_.begin(); at != operations_.end();) {
    Operation& operation = at->second;
    std::erase_if(operation.callers, [](const HttpExchangePtr& caller) { return caller->parted(); });
    if (!operation.callers.empty()) operation.seen = now;
    if (now - operation.seen <= operation.grace) {
      ++at;
      continue;
    }
    give_up(at->first, operation.tenant);
    at = operations_.erase(at);
  }
}

}  // namespace postrider::rpc_door
