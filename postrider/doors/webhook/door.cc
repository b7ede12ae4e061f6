#include "postrider/doors/webhook/door.h"

namespace postrider::doors {
namespace {

DestinationConfig sink_at(const std::string& url) {
  DestinationConfig config;
  config.profile = "webhook";
  config.settings = {{"url", url}};
  return config;
}

constexpr DevSink kSink{.destination = sink_at, .id_header = "webhook-id"};

}  // namespace

const ProfileDoor kWebhookDoor{.profile = "webhook", .dev_sink = &kSink};

}  // namespace postrider::doors
