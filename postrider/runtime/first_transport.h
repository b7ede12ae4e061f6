// FirstTransport: requests that have a question before them (WireRequest::first), over a transport
// that does not know of questions. The question is sent, and the request itself only when that was
// answered with status 0; any other end of the question is the end of both, marked as such. Each of
// the two gets half of the time. Requests without a question pass through. On the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "postrider/model/seams/transport.h"

namespace postrider {

class FirstTransport final : public Transport {
 public:
  // Called as the transport below calls inner_ended(). It may start and abort, but not destroy us.
  using Ended = std::function<void(AttemptId, WireReply)>;

  explicit FirstTransport(Ended ended) : ended_(std::move(ended)) {}

  // The transport below, before the first start. It must tell all its ends to inner_ended().
  void over(std::unique_ptr<Transport> inner) { inner_ = std::move(inner); }
  void inner_ended(AttemptId attempt, WireReply reply);

  void start(AttemptId attempt, WireRequest request) override;
  void abort(AttemptId attempt) override;  // what waits for its question does not leave any more
  std::size_t connections() const override { return inner_->connections(); }

 private:
  Ended ended_;
  std::unique_ptr<Transport> inner_;
  // By attempt, while their questions are open: bounded by what was started.
  std::unordered_map<std::uint64_t, WireRequest> waiting_;
};

}  // namespace postrider
