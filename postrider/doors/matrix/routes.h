// MatrixRoutes: the door of the matrix profile: the egress with its own listener, and the routes by
// which a homeserver's surroundings tell that another server is alive. On the loop's thread.
//
// Invariants: an answer of the engine that comes after the door has gone finds an expired weak
// pointer and is dropped. Relays and keys go by ways of the door's own.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/api/door.h"
#include "postrider/doors/contract/door.h"
#include "postrider/doors/matrix/config.h"
#include "postrider/doors/matrix/egress.h"
#include "postrider/doors/matrix/host_events.h"
#include "postrider/doors/matrix/host_units.h"
#include "postrider/doors/matrix/inbound.h"
#include "postrider/doors/matrix/inspection.h"
#include "postrider/doors/matrix/intake.h"
#include "postrider/doors/matrix/key_ring.h"
#include "postrider/doors/matrix/relay.h"
#include "postrider/doors/matrix/ways.h"

namespace postrider::matrix_door {

class MatrixRoutes final : public doors::OpenDoor,
                           public std::enable_shared_from_this<MatrixRoutes> {
 public:
  explicit MatrixRoutes(MatrixConfig config);
  ~MatrixRoutes() override;

  std::span<const api::RouteRow> routes() const override;
  api::OpenapiPart openapi() const override;
  void open(api::Desk& desk) override;
  void handle(std::size_t route, api::Call& call) override;
  bool refuse_head(std::size_t route, api::Call& call) override;
  void append_metrics(std::string& out) const override;
  void tick() override;

  Result<std::vector<std::string>> listen(const doors::DoorGround& ground) override;
  void stop_listening() override;
  std::size_t connections() const override;

  // For tests, between open() and listen(): how the ways of listen() differ from the ground's.
  void prepare_ways(std::function<void(WaysOptions&)> change) { change_ways_ = std::move(change); }
  Ways* ways() { return ways_.get(); }
  const Relays* relays() const { return relays_.get(); }

 private:
  Result<void> make_ways(const doors::DoorGround& ground);
  void ask_closed(const std::string& server, const std::function<void(bool)>& then);
  void post_seen(const std::string& server);
  void fetch_keys(const std::string& server, KeyRing::Body then);
  void take_seen(api::Call& call);
  void take_inbound(api::Call& call);

  MatrixConfig config_;
  api::Desk* desk_ = nullptr;  // from open() on
  // From open() on.
  std::shared_ptr<HostEvents> events_;
  std::shared_ptr<HostUnits> units_;
  std::shared_ptr<Inspection> inspection_;
  std::string trust_;  // PEM
  std::function<void(WaysOptions&)> change_ways_;
  // From listen() on. The listener ends before what it hands to.
  std::unique_ptr<Ways> ways_;
  std::unique_ptr<KeyRing> keys_;
  std::unique_ptr<Inbound> inbound_;
  std::unique_ptr<Relays> relays_;
  std::shared_ptr<Intake> intake_;  // answers that come later watch it weakly
  std::unique_ptr<Egress> egress_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace postrider::matrix_door
