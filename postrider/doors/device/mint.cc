// Tokens for meters: POST /token/generate. Asking for one is a message of the device profile, so
// that a lost reply is known to be lost; the answer waits for its end.
#include "postrider/profiles/device/mint.h"

#include <algorithm>

#include "postrider/doors/device/commands.h"
#include "postrider/doors/device/routes.h"
#include "postrider/json/json_writer.h"
#include "postrider/protocols/device/mint.h"
#include "postrider/protocols/device/ulid.h"

namespace postrider::device_door {
namespace {

constexpr std::string_view kTokens = ".tokens";  // behind the plugin's name: its queue
constexpr Duration kMintPatience{150'000};       // a vendor may take two minutes
constexpr std::size_t kMintsMax = 1000;          // that wait for their end

const DeviceRefusal kUsed{
    409, "correlationId or Idempotency-Key was used with other content; nothing was done"};

HttpResponse mint_error(int status, std::string_view what, PublicId id) {
  HttpResponse response;
  response.status = status;
  json::JsonWriter json(response.body);
  json.open_object().field("error", what);
  json.field("id", device::to_ulid(id.high, id.low)).close_object();
  return response;
}

}  // namespace

void DeviceRoutes::generate_token(Call& call) {
  const auto root = desk_->root_of(call);
  if (!root) return refuse(call.waiting, root.error());
  const auto mint = device::parse_mint(call.request.body);
  if (!mint) {
    const bool large = mint.error().code == ErrorCode::kLimit;
    return finish(call.waiting, device_error({large ? 413 : 400, mint.error().detail}));
  }
  const DevicePlugin* const plugin = plugins_.find(mint->plugin);
  if (plugin == nullptr)
    return finish(call.waiting,
                  device_error({400, "pluginId: there is no plugin '" + mint->plugin + "'"}));
  if (mints_.size() >= kMintsMax)
    return finish(call.waiting, device_error({503, "too many tokens are being made", 5}));
  Submit submit;
  submit.caller = call.caller();
  submit.destination = mint->plugin + std::string(kTokens);
  submit.attributes = device::mint_attributes();
  submit.body = device::encode_mint(*mint);
  if (!mint->correlation.empty()) {
    submit.caller.key = device_key(mint->correlation, "");
    submit.caller.said = submit.body;
  }
  const std::string tenant(call.tenant);
  if (!queues_->has(submit.destination)) {
    const Door door =
        host().post(tenant, queues_->configure(submit.destination, *plugin),
                    [weak = weak_from_this(), queue = submit.destination](const Answer& answer) {
                      const std::shared_ptr<DeviceRoutes> self = weak.lock();
                      if (self && !api::problem_of(answer)) self->queues_->learn(queue);
                    });
    if (door != Door::kOpen) return finish(call.waiting, device_error(refusal_of(door)));
  }
  const Door door =
      host().post(tenant, std::move(submit),
                  [weak = weak_from_this(), waiting = call.waiting, tenant](const Answer& answer) {
                    const std::shared_ptr<DeviceRoutes> self = weak.lock();
                    if (!self) return;
                    if (answer.code == AnswerCode::kConflict)
                      return self->finish(waiting, device_error(kUsed));
                    if (const auto problem = api::problem_of(answer))
                      return self->refuse(waiting, *problem);
                    self->mints_.push_back({waiting, tenant, answer.id, self->clock().read().boot});
                  });
  if (door != Door::kOpen) finish(call.waiting, device_error(refusal_of(door)));
}

// Looks after those that wait; told several times a second.
void DeviceRoutes::look_at_mints() {
  const Timestamp now = clock().read().boot;
  std::vector<Minting> mints = std::exchange(mints_, {});
  for (Minting& mint : mints) {
    if (now - mint.since >= kMintPatience) {
      finish(mint.waiting,
             mint_error(504,
                        "the vendor has not answered yet; ask for its history, or repeat with its "
                        "correlationId or Idempotency-Key",
                        host().ids().outside(mint.id)));
      continue;
    }
    Query query;
    query.what = Query::What::kMessage;
    query.id = mint.id;
    const Door door = host().post(mint.tenant, std::move(query),
                                  [weak = weak_from_this(), mint](const Answer& answer) {
                                    const std::shared_ptr<DeviceRoutes> self = weak.lock();
                                    if (self) self->take_mint(mint, answer);
                                  });
    if (door != Door::kOpen) mints_.push_back(std::move(mint));
  }
}

void DeviceRoutes::take_mint(const Minting& mint, const Answer& answer) {
  const auto* view = std::get_if<MessageView>(&answer.view);
  if (view == nullptr) {
    mints_.push_back(mint);  // interrupted: looked at again
    return;
  }
  const device::Minted minted = device::minted(*view);
  using Fate = device::Minted::Fate;
  switch (minted.fate) {
    case Fate::kPending: mints_.push_back(mint); return;
    case Fate::kMade: {
      HttpResponse response;
      json::JsonWriter(response.body).open_object().field("token", minted.token).close_object();
      return finish(mint.waiting, std::move(response));
    }
    case Fate::kFailed:
      return finish(mint.waiting, mint_error(502, minted.reason, host().ids().outside(mint.id)));
    case Fate::kUnknown:
      return finish(mint.waiting, mint_error(502,
                                             "nobody can tell whether the token was made: " +
                                                 minted.reason + "; it is not asked for again",
                                             host().ids().outside(mint.id)));
  }
}

}  // namespace postrider::device_door
