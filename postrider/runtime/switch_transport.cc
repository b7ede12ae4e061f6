#include "postrider/runtime/switch_transport.h"

#include <utility>

namespace postrider {

SwitchTransport::SwitchTransport(std::unique_ptr<Transport> fallback)
    : fallback_(std::move(fallback)) {}

void SwitchTransport::add(std::string verb, std::unique_ptr<Transport> transport) {
  ways_.push_back({std::move(verb), std::move(transport)});
}

void SwitchTransport::start(AttemptId attempt, WireRequest request) {
  for (const Way& way : ways_) {
    if (way.verb == request.verb) return way.transport->start(attempt, std::move(request));
  }
  fallback_->start(attempt, std::move(request));
}

void SwitchTransport::abort(AttemptId attempt) {
  fallback_->abort(attempt);
  for (const Way& way : ways_) way.transport->abort(attempt);
}

std::size_t SwitchTransport::connections() const {
  std::size_t all = fallback_->connections();
  for (const Way& way : ways_) all += way.transport->connections();
  return all;
}

}  // namespace postrider
