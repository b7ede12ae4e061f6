#include "postrider/doors/device/door.h"

#include <array>
#include <utility>

#include "postrider/doors/device/cli.h"
#include "postrider/doors/device/config.h"
#include "postrider/doors/device/routes.h"

namespace postrider::doors {
namespace {

std::shared_ptr<OpenDoor> open(const Config& config, DoorTools tools) {
  const auto& said = config.parts.of<device_door::DeviceConfig>();
  device_door::DeviceOptions options{.plugins = said.plugins, .metrics = said.metrics, .warn = {}};
  options.warn = [warn = std::move(tools.warn)](std::string_view what, std::string_view queue) {
    warn(what, "queue", queue);
  };
  return std::make_shared<device_door::DeviceRoutes>(std::move(options));
}

constexpr auto kNouns = std::to_array<Noun>(
    {{"device", device_door::run_device,
      "send | show | history | cancel | queue: commands for meters, and what became of them"}});

}  // namespace

const ProfileDoor kDeviceDoor{.profile = device_door::kDeviceProfile,
                              .config = &device_door::kConfigPart,
                              .open = open,
                              .nouns = kNouns};

}  // namespace postrider::doors
