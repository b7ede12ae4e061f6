// Void: a transport that takes everything and answers at once, for what is measured without a
// network. On the loop's thread.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "postrider/node/node.h"

namespace postrider {

class Void final : public Transport {
 public:
  Void(boost::asio::io_context& loop, Node::Ended ended, std::function<void(std::size_t)> took,
       int status = 200)
      : loop_(loop), ended_(std::move(ended)), took_(std::move(took)), status_(status) {}

  void start(AttemptId attempt, WireRequest /*request*/) override {
    started_.push_back(attempt);
    if (started_.size() == 1) boost::asio::post(loop_, [this] { answer(); });
  }
  void abort(AttemptId /*attempt*/) override {}

 private:
  void answer() {
    answering_.swap(started_);
    for (const AttemptId attempt : answering_)
      ended_(attempt, {.end = WireEnd::kAnswered, .status = status_});
    took_(answering_.size());
    answering_.clear();
  }

  boost::asio::io_context& loop_;
  Node::Ended ended_;
  std::function<void(std::size_t)> took_;
  int status_;
  std::vector<AttemptId> started_;
  std::vector<AttemptId> answering_;
};

}  // namespace postrider
