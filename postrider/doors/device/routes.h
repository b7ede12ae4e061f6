// DeviceRoutes: the routes of the device profile, with the paths and the words of the service that
// the profile replaces: commands are enqueued, looked up and cancelled by correlation id, tokens
// are made, events of network servers come in. Split over files by topic: enqueue.cc, lookup.cc,
// ingress.cc and mint.cc; routes.cc has the table. On the loop's thread.
//
// Invariants: an answer of the engine that comes after the door has gone finds an expired weak
// pointer and is dropped; what is counted in `open` of a request keeps that request alive.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/api/door.h"
#include "postrider/doors/contract/door.h"
#include "postrider/doors/device/commands.h"
#include "postrider/doors/device/plugins.h"
#include "postrider/doors/device/queues.h"
#include "postrider/model/answer.h"

namespace postrider::device_door {

using api::Call;
using api::Waiting;

class DeviceRoutes final : public doors::OpenDoor,
                           public std::enable_shared_from_this<DeviceRoutes> {
 public:
  explicit DeviceRoutes(DeviceOptions options);
  ~DeviceRoutes() override;

  std::span<const api::RouteRow> routes() const override;
  api::OpenapiPart openapi() const override;
  void open(api::Desk& desk) override;
  void handle(std::size_t route, Call& call) override;
  bool refuse_head(std::size_t route, Call& call) override;
  HttpResponse refusal(const api::Problem& problem) const override;
  bool opens_metrics() const override;
  void append_metrics(std::string& out) const override;
  void tick() override;
  void reload(const Config& config) override;
  Result<Arrived> arrival(const BrokerEvent& event) const override;

  void set_plugins(std::vector<DevicePlugin> plugins);

 private:
  struct Route;
  struct Table;  // in routes.cc

  Host& host() { return desk_->host(); }
  const Clock& clock() const { return desk_->clock(); }
  void finish(const Waiting& waiting, HttpResponse response) {
    desk_->finish(waiting, std::move(response));
  }
  void refuse(const Waiting& waiting, const api::Problem& problem) {
    desk_->refuse(waiting, problem);
  }

  // routes.cc
  void get_healthz(Call& call);

  // enqueue.cc
  struct Enqueue;
  void enqueue_device(Call& call);
  void enqueue_devices(Call& call);
  void add_item(Enqueue& job, std::string_view text);
  void submit_items(const std::shared_ptr<Enqueue>& job);
  void submit_item(const std::shared_ptr<Enqueue>& job, std::size_t index);
  void take_enqueued(const std::shared_ptr<Enqueue>& job, std::size_t index, const Answer& answer);
  void show_existing(const std::shared_ptr<Enqueue>& job, std::size_t index, MessageId id);
  void show_run(const std::shared_ptr<Enqueue>& job, std::size_t index, MessageId id);
  void settle_enqueue(const std::shared_ptr<Enqueue>& job);

  // mint.cc
  struct Minting {  // a token that is being made
    Waiting waiting;
    std::string tenant;
    MessageId id;
    Timestamp since;
  };
  void generate_token(Call& call);
  void look_at_mints();
  void take_mint(const Minting& mint, const Answer& answer);

  // lookup.cc
  using DeviceFound = std::function<void(const std::vector<MessageId>& ids,
                                         const std::optional<DeviceRefusal>& refusal)>;
  struct Cancels;
  void get_device(Call& call);
  void get_device_history(Call& call);
  void cancel_device(Call& call);
  void cancel_devices(Call& call);
  void find_device(std::string_view tenant, const std::string& name, const std::string* phase,
                   DeviceFound then);
  void check_device(std::string_view tenant, MessageId id, const DeviceFound& then);
  void follow_runs(std::string_view tenant, const std::vector<MessageId>& ids,
                   const DeviceFound& then);
  void show_device(Call& call, bool history);
  void show_first(const Waiting& waiting, std::string_view tenant,
                  const std::vector<MessageId>& ids, bool history);
  void go_on_cancelling(const std::shared_ptr<Cancels>& job);
  void cancel_each(const std::shared_ptr<Cancels>& job, const std::string& id,
                   const std::vector<MessageId>& messages);
  void take_cancelled(const std::shared_ptr<Cancels>& job, const std::string& id,
                      std::string_view result, const std::optional<DeviceRefusal>& refusal);
  void finish_cancelling(const Cancels& job);

  // ingress.cc
  struct Replay;
  bool refuse_ingress(const Call& call);
  void take_ingress(Call& call);
  void replay_ingress(Call& call);
  void next_replay(const std::shared_ptr<Replay>& job);
  void feed_again(const std::shared_ptr<Replay>& job, ArrivalPage page);

  DeviceOptions options_;
  api::Desk* desk_ = nullptr;  // from open() on
  DevicePlugins plugins_;
  std::shared_ptr<DeviceQueues> queues_;  // from open() on; answers that come later watch it weakly
  std::vector<Minting> mints_;
  std::uint64_t unknown_events_ = 0;  // at ingress, with names that the profile does not know
};

}  // namespace postrider::device_door
