// The routes of the device profile, as the service has them that it takes the place of: commands
// are enqueued, looked at and cancelled by correlation id, events of network servers come in. Their
// errors are {"error": "…"}. What needs several answers of the engine is an object of its own,
// here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/api/problems.h"
#include "postrider/model/answer.h"
#include "postrider/model/event.h"
#include "postrider/protocols/device/message.h"
#include "postrider/runtime/host.h"
#include "postrider/servers/http/http_server.h"

namespace postrider::api {

inline constexpr std::size_t kDeviceBatchMax = 1000;
inline constexpr std::string_view kDeviceScope = "device";  // of correlation ids in the ledger

// Why not, with the status that the contract has for it: {"error": "…"}.
struct DeviceRefusal {
  int status = 400;
  std::string detail;
  std::uint32_t retry_after_s = 0;
};
DeviceRefusal refusal_of(const Problem& problem);
DeviceRefusal refusal_of(Door door);
HttpResponse device_error(const DeviceRefusal& refusal);
HttpResponse device_error(const Problem& problem);  // with the headers that belong to it

// A correlation id and a phase ("" or "A" to "C") as the ledger knows them.
OperationKey device_key(std::string_view correlation, std::string_view phase);

// The event that hands a message in. `queue` is its destination.
Submit device_submit(const device::DeviceMessage& message, std::string queue);

// Asks for several things and goes on when all are answered, in the order asked. What did not pass
// the door is answered with `door` set.
struct Told {
  Answer answer;
  Door door = Door::kOpen;
};
using AllTold = std::function<void(std::vector<Told>)>;
void ask_all(Host& host, std::string_view tenant, std::vector<Event> events, AllTold then);
// The first thing that kept an answer from us, if anything did.
std::optional<DeviceRefusal> unanswered(const std::vector<Told>& told);
DeviceRefusal interrupted();

}  // namespace postrider::api
