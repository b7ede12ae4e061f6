#include "postrider/doors/webhook/door.h"

#include "postrider/api/submit.h"
#include "postrider/profiles/webhook/rules.h"

namespace postrider::doors {
namespace {

// POST /v1/messages refuses in the words of its fields what the profile would refuse later.
static_assert(api::kNamedTextBytesMax == webhook::kKeyBytesMax);

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
