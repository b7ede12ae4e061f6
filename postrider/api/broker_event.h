// What a broker brought: an event of a plugin, and how it is told to the engine. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/model/attributes.h"
#include "postrider/model/event.h"

namespace postrider {

struct BrokerEvent {
  std::string_view plugin;
  std::string_view event;  // the server's word, from the topic: "up"
  std::string_view bytes;  // as they came, in JSON or protobuf
};

// kNotFound for a plugin or a word that nobody knows; any other Error for bytes that are no such
// event. The same event, brought twice, has the same key.
using MakeArrival = std::function<Result<Arrived>(const BrokerEvent& event)>;

// `settings` are the plugin's.
Result<Arrived> device_arrival(const BrokerEvent& event, const NamedTexts& settings);

}  // namespace postrider
