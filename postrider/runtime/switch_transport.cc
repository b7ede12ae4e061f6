#include "postrider/runtime/switch_transport.h"

#include <utility>

namespace postrider {

SwitchTransport::SwitchTransport(std::unique_ptr<Transport> usual) : usual_(std::move(usual)) {}

void SwitchTransport::add(std::string verb, std::unique_ptr<Transport> transport) {
  ways_.push_back({std::move(verb), std::move(transport)});
}

void SwitchTransport::add_login(std::unique_ptr<Transport> login) { login_ = std::move(login); }

void SwitchTransport::add_scheme(std::string scheme, std::unique_ptr<Transport> transport) {
  schemes_.push_back({std::move(scheme), std::move(transport)});
}

void SwitchTransport::start(AttemptId attempt, WireRequest request) {
  for (const Way& way : ways_) {
    if (way.verb == request.verb) return way.transport->start(attempt, std::move(request));
  }
  for (const Way& way : schemes_) {
    if (request.target.starts_with(way.verb))
      return way.transport->start(attempt, std::move(request));
  }
  Transport& way = request.login != nullptr && login_ != nullptr ? *login_ : *usual_;
  way.start(attempt, std::move(request));
}

void SwitchTransport::abort(AttemptId attempt) {
  (login_ != nullptr ? login_ : usual_)->abort(attempt);
  for (const Way& way : schemes_) way.transport->abort(attempt);
  for (const Way& way : ways_) way.transport->abort(attempt);
}

std::size_t SwitchTransport::connections() const {
  std::size_t all = usual_->connections();
  for (const Way& way : ways_) all += way.transport->connections();
  return all;
}

}  // namespace postrider
