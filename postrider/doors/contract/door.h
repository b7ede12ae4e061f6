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
#include "postrider/model/seams/clock.h"
#include "postrider/servers/http/http_server.h"
#include "postrider/transports/http/http_transport.h"
#include "postrider/transports/mqtt/brokers.h"

namespace boost::asio {
class io_context;
}

namespace postrider::doors {

// What a door stands on that listens or reaches out by itself. Loop and clock outlive the door.
struct DoorGround {
  boost::asio::io_context& loop;
  const Clock& clock;
  HttpLimits limits;  // of the daemon's own server
  // How the daemon reaches out: names, allowed addresses, trust, time-outs, descriptors.
  HttpTransportOptions transport;
};

// A door while the daemon runs. On the loop's thread.
class OpenDoor : public api::HttpDoor {
 public:
  // What a configuration says that was read again.
  virtual void reload(const Config& /*config*/) {}
  // Opens the listeners that the door has beside the API, if any. Once, when the API is open. The
  // addresses, as really bound; an Error says what to change, and the daemon does not start.
  virtual Result<std::vector<std::string>> listen(const DoorGround& /*ground*/) {
    return std::vector<std::string>();
  }
  virtual void stop_listening() {}                       // what is under way may end
  virtual std::size_t connections() const { return 0; }  // of clients at its own listeners
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
