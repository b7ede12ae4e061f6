// DeviceRig: the API with a push and a pull plugin, over a profile `device` with the real tables
// and trivial functions: what is answered with 200 is accepted, with 500 is tried again.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "postrider/api/http_api_testing.h"
#include "postrider/doors/device/routes.h"

namespace postrider::device_door {

using api::ApiRig;
using api::Reply;
using api::RigHeaders;
using api::RigRequest;

const ProfileSpec& rig_device_profile();

class DeviceRig : public ApiRig {
 protected:
  DeviceRig();
  // What the profile was handed with the last event.
  static NamedTexts settings_received();

  static DevicePlugin plugin(const std::string& name, const std::string& way,
                             const std::string& secret = {});
  // The least body, with members added or replaced; an empty one is left out.
  static std::string command(const std::map<std::string, std::string>& members = {});
  Reply enqueue(const std::map<std::string, std::string>& members = {});
  std::string result_of_cancel(const std::string& correlation);
  // {"error"} of a plain error; the status must be this.
  std::string error(int status, const Reply& reply);
  void answer(std::size_t index, int status);  // the attempt that was started as this one
  DestinationView queue(const std::string& name);

  std::vector<const ProfileSpec*> profiles;
  std::vector<std::string> warnings;
  DeviceOptions door_options;      // of the next open()
  DeviceRoutes* routes = nullptr;  // that is open; kept by the API
};

}  // namespace postrider::device_door
