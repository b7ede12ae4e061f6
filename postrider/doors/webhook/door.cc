#include "postrider/doors/webhook/door.h"

#include <memory>

#include "postrider/doors/webhook/message_words.h"

namespace postrider::doors {
namespace {

// It has no routes: it adds words to messages.
class WebhookDoor final : public OpenDoor {
 public:
  std::span<const api::RouteRow> routes() const override { return {}; }
  api::OpenapiPart openapi() const override { return webhook_openapi(); }
  const api::MessageWords* words() const override { return &kWebhookWords; }
  void open(api::Desk& /*desk*/) override {}
  void handle(std::size_t /*route*/, api::Call& /*call*/) override {}
};

std::shared_ptr<OpenDoor> open_door(const Config& /*config*/, DoorTools /*tools*/) {
  return std::make_shared<WebhookDoor>();
}

DestinationConfig sink_at(const std::string& url) {
  DestinationConfig config;
  config.profile = "webhook";
  config.settings = {{"url", url}};
  return config;
}

constexpr DevSink kSink{.destination = sink_at, .id_header = "webhook-id"};

}  // namespace

const ProfileDoor kWebhookDoor{.profile = "webhook", .open = open_door, .dev_sink = &kSink};

}  // namespace postrider::doors
