// Node: one store, one committer, one loop, the host of each shard and the ways out, put together.
// The daemon and the library are both made of it. Everything but Loop::wake belongs to the loop's
// thread; only HTTP and gRPC that were spread over further loops have threads of their own.
//
// The ways out: HTTP, with a login in front of it for requests that need one; gRPC for the verb
// CALL; a broker of MQTT for PUBLISH; the lines of stations for their verbs. What is not used costs
// no thread and no connection.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/model/seams/transport.h"
#include "postrider/runtime/committer.h"
#include "postrider/runtime/host.h"
#include "postrider/runtime/loop.h"
#include "postrider/runtime/spread_transport.h"
#include "postrider/stores/embedded_store.h"
#include "postrider/transports/grpc/grpc_transport.h"
#include "postrider/transports/http/http_transport.h"
#include "postrider/transports/mqtt/brokers.h"
#include "postrider/transports/wire/loop_wire.h"

namespace postrider {

struct NodeOptions {
  StoreOptions store;
  OpenStore open_store;                         // none: the embedded store of this build
  std::uint64_t free_bytes_min = 256ULL << 20;  // below it new messages are refused
  std::uint64_t reserve_bytes = 0;  // held on the disk, and given when a commit met a full one
  HostOptions host;                 // without profiles: all
  HttpTransportOptions transport;
  // Where it may go, whom it trusts, names, connecting and descriptors are as in `transport`.
  GrpcTransportOptions grpc;
  std::uint32_t transport_loops = 0;   // further loops for HTTP and gRPC; 0: they share the one
  std::vector<BrokerOptions> brokers;  // allow, name_servers and trust_file likewise
  MakeArrival arrival;                 // of what they bring; none: nothing is kept
  // Profiles whose station is seated, and what each is told.
  std::map<std::string, NamedTexts> stations;
};

// The options of gRPC and of a broker with what they share with HTTP.
GrpcTransportOptions with_shared(GrpcTransportOptions options, const HttpTransportOptions& shared);
MqttTransportOptions with_shared(MqttTransportOptions options, const HttpTransportOptions& shared);

class Node {
 public:
  using Ended = SpreadTransport::Ended;
  // Makes the transport for all but the brokers; the default is HTTP and gRPC.
  using MakeTransport = SpreadTransport::Make;

  static Result<std::unique_ptr<Node>> open(NodeOptions options, const Clock& clock,
                                            MakeTransport make = {});
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Loop& loop();
  // The host of a shard. There is one shard so far, number 0, and messages of every destination
  // are in it.
  Host& host(std::uint32_t shard = 0);
  EmbeddedStore& store();
  Committer& committer();
  const Transport& transport() const;
  const Brokers* brokers() const;                            // null: none are configured
  const LoopWire* wire() const;                              // null: there is no station
  void set_secrets(std::shared_ptr<const Secrets> secrets);  // from now on, for all who use them
  const IdKey& id_key() const;                               // of the store

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
