// Commands for devices at the API: how a command becomes an event of the engine, and how its routes
// say no. Their errors are {"error": "…"}, the contract of the service that the profile replaces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/api/ask_all.h"
#include "postrider/api/problems.h"
#include "postrider/model/answer.h"
#include "postrider/model/event.h"
#include "postrider/protocols/device/message.h"
#include "postrider/runtime/host.h"
#include "postrider/servers/http/http_server.h"

namespace postrider::device_door {

inline constexpr std::size_t kDeviceBatchMax = 1000;
inline constexpr std::string_view kDeviceScope = "device";  // of correlation ids in the ledger

// Why not, with the status that the contract has for it: {"error": "…"}.
struct DeviceRefusal {
  int status = 400;
  std::string detail;
  std::uint32_t retry_after_s = 0;
};
DeviceRefusal refusal_of(const api::Problem& problem);
DeviceRefusal refusal_of(Door door);
HttpResponse device_error(const DeviceRefusal& refusal);
HttpResponse device_error(const api::Problem& problem);  // with the headers that belong to it

// A correlation id and a phase ("" or "A" to "C") as the ledger knows them.
OperationKey device_key(std::string_view correlation, std::string_view phase);

// The event that hands a message in. `queue` is its destination.
Submit device_submit(const device::DeviceMessage& message, std::string queue);

// The first thing that kept an answer from us, if anything did.
std::optional<DeviceRefusal> unanswered(const std::vector<api::Told>& told);
DeviceRefusal interrupted();

}  // namespace postrider::device_door
