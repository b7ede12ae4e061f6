// Node: one store, one committer, one loop, one host and one transport, put together. The daemon
// and the library are both made of it. Everything but Loop::wake belongs to the loop's thread; only
// a transport that was spread over further loops has threads of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "postrider/base/result.h"
#include "postrider/model/transport.h"
#include "postrider/runtime/committer.h"
#include "postrider/runtime/host.h"
#include "postrider/runtime/loop.h"
#include "postrider/runtime/spread_transport.h"
#include "postrider/stores/rocks/rocks_store.h"
#include "postrider/transports/http/http_transport.h"

namespace postrider {

struct NodeOptions {
  RocksStoreOptions store;
  std::uint64_t free_bytes_min = 256ULL << 20;  // below it new messages are refused
  std::uint64_t reserve_bytes = 0;  // held on the disk, and given when a commit met a full one
  HostOptions host;                 // without profiles: all
  HttpTransportOptions transport;
  std::uint32_t transport_loops = 0;  // further loops for the transport; 0: it shares the one loop
};

class Node {
 public:
  using Ended = SpreadTransport::Ended;
  // Makes the transport; the default is HTTP.
  using MakeTransport = SpreadTransport::Make;

  static Result<std::unique_ptr<Node>> open(NodeOptions options, const Clock& clock,
                                            MakeTransport make = {});
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Loop& loop();
  Host& host();
  RocksStore& store();
  Committer& committer();
  const Transport& transport() const;

  // Runs in front of each turn: for those that bring work from other threads.
  void before_turn(std::function<void()> hook);

  // Looks at the disk, now and then. True while there is room for new messages.
  bool look_at_space();

  // When the host has stopped: finishes what the committer has and closes the store.
  Result<void> close();

 private:
  class Impl;
  explicit Node(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
