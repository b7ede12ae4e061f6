// Interest: volatile operations whose callers may go away. As long as a client waits for one, or
// asked for it within the grace of its service, it goes on; then it is given up. Of operations of
// an earlier process nothing is known here: they go on. On the loop's thread.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/model/ids.h"
#include "postrider/servers/http/http_server.h"

namespace postrider::rpc_door {

class Interest {
 public:
  static constexpr std::size_t kOperationsMax = 65'536;

  struct Operation {
    std::string tenant;
    Duration grace{0};
    Timestamp seen;  // boot time
    std::vector<HttpExchangePtr> callers;
  };

  bool is_full() const { return operations_.size() >= kOperationsMax; }
  std::size_t size() const { return operations_.size(); }
  void add(MessageId id, std::string_view tenant, Duration grace, Timestamp now,
           HttpExchangePtr caller);
  void see(MessageId id, Timestamp now);  // a client asked; one that is not known stays so
  // A caller was told that it goes on; it may ask again.
  void leave(MessageId id, const HttpExchangePtr& caller, Timestamp now);
  void end(MessageId id) { operations_.erase(id); }
  // Operations without interest for longer than their grace; each is told once.
  void tick(Timestamp now, const std::function<void(MessageId, std::string_view tenant)>& give_up);

 private:
  std::unordered_map<MessageId, Operation> operations_;
};

}  // namespace postrider::rpc_door
