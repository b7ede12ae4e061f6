// ProfileDoor: everything that a profile adds to the outside of the daemon, as one record.
// `doors/x` holds the record of profile x, doors/all.cc lists them; the API, the configuration, the
// node and the program know the record and no profile.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/api/door.h"
#include "postrider/base/result.h"
#include "postrider/cli/commands.h"
#include "postrider/config/config_part.h"
#include "postrider/model/destination.h"
#include "postrider/model/event.h"
#include "postrider/transports/mqtt/brokers.h"

namespace postrider::doors {

// A door while the daemon runs. On the loop's thread.
class OpenDoor : public api::HttpDoor {
 public:
  // What a configuration says that was read again.
  virtual void reload(const Config& /*config*/) {}
  // What a broker of MQTT brought. kNotFound: it is no event of this profile, and the next door is
  // asked.
  virtual Result<Arrived> arrival(const BrokerEvent& /*event*/) const {
    return fail(ErrorCode::kNotFound, "unknown source");
  }
};

// What a door may use of the daemon, beside the desk of the API.
struct DoorTools {
  // Something that the operator should see; `field` and `value` say where.
  std::function<void(std::string_view what, std::string_view field, std::string_view value)> warn;
};

// How `postrider serve --dev` gets a destination that delivers to the daemon itself.
struct DevSink {
  DestinationConfig (*destination)(const std::string& url);  // without a name
  std::string_view id_header;  // of a request that arrives there, for the log; in lower case
};

struct ProfileDoor {
  std::string_view profile;
  const ConfigPart* config = nullptr;  // null: no settings beyond those of destinations
  // Null: the profile has no routes of its own.
  std::shared_ptr<OpenDoor> (*open)(const Config& config, DoorTools tools) = nullptr;
  const DevSink* dev_sink = nullptr;  // null: none
  Nouns nouns = {};                   // commands of the program
};

using Doors = std::span<const ProfileDoor* const>;

// The parts of the configuration that the doors bring, for parse_config and its relatives.
std::vector<const ConfigPart*> config_parts(Doors doors);

}  // namespace postrider::doors
