// SwitchTransport: several transports behind one seam. A request's verb says by which it goes:
// "PUBLISH" to a broker, "CALL" by gRPC, what HTTP knows by HTTP. On the loop's thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "postrider/model/transport.h"

namespace postrider {

class SwitchTransport final : public Transport {
 public:
  explicit SwitchTransport(std::unique_ptr<Transport> fallback);  // for all verbs not added

  void add(std::string verb, std::unique_ptr<Transport> transport);

  void start(AttemptId attempt, WireRequest request) override;
  void abort(AttemptId attempt) override;  // told to all: who has not got it does nothing
  std::size_t connections() const override;

 private:
  struct Way {
    std::string verb;
    std::unique_ptr<Transport> transport;
  };

  std::unique_ptr<Transport> fallback_;
  std::vector<Way> ways_;
};

}  // namespace postrider
