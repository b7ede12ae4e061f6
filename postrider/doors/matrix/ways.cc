#include "postrider/doors/matrix/ways.h"

#include <utility>

#include <boost/asio/io_context.hpp>

namespace postrider::matrix_door {

Result<std::unique_ptr<Ways>> Ways::make(boost::asio::io_context& loop, const Clock& clock,
                                         WaysOptions options) {
  std::unique_ptr<Ways> ways(new Ways);
  Ways* const it = ways.get();
  POSTRIDER_TRY(discovery, DiscoveryTransport::make(loop, clock, std::move(options.discovery),
                                                    [it](AttemptId attempt, WireReply reply) {
                                                      it->ended(attempt, std::move(reply));
                                                    }));
  ways->discovery_ = std::move(discovery);
  const auto below = [it](AttemptId attempt, WireReply reply) {
    it->discovery_->inner_ended(attempt, std::move(reply));
  };
  POSTRIDER_TRY(streams, HttpStreams::make(loop, options.http, options.streams, below));
  ways->streams_ = std::move(streams);
  POSTRIDER_TRY(http, HttpTransport::make(loop, std::move(options.http), below));
  ways->http_ = std::move(http);
  ways->discovery_->over(ways->below_);
  return ways;
}

Ways::~Ways() {
  if (discovery_ != nullptr) discovery_->close();
  if (streams_ != nullptr) streams_->close();
  if (http_ != nullptr) http_->close();
}

void Ways::Below::start(AttemptId attempt, WireRequest request) {
  if (ways.streams_->is_prepared(attempt)) {
    ways.streams_->start(attempt, std::move(request));
  } else {
    ways.http_->start(attempt, std::move(request));
  }
}

void Ways::Below::abort(AttemptId attempt) {
  ways.streams_->abort(attempt);
  ways.http_->abort(attempt);
}

AttemptId Ways::next(Done done) {
  const AttemptId attempt(next_++);
  waiting_.emplace(attempt.value(), std::move(done));
  return attempt;
}

AttemptId Ways::ask(WireRequest request, Done done) {
  const AttemptId attempt = next(std::move(done));
  discovery_->start(attempt, std::move(request));
  return attempt;
}

AttemptId Ways::stream(WireRequest request, StreamForm form, StreamUser& user, Done head) {
  const AttemptId attempt = next(std::move(head));
  streams_->prepare(attempt, form, user);
  discovery_->start(attempt, std::move(request));
  return attempt;
}

void Ways::abort(AttemptId attempt) {
  waiting_.erase(attempt.value());
  discovery_->abort(attempt);
}

void Ways::ended(AttemptId attempt, WireReply reply) {
  auto found = waiting_.extract(attempt.value());
  if (reply.end != WireEnd::kAnswered) streams_->abort(attempt);  // it is not started again
  if (!found.empty()) found.mapped()(std::move(reply));
}

void Ways::sweep() {
  http_->sweep();
  streams_->sweep();
  discovery_->sweep();
}

}  // namespace postrider::matrix_door
