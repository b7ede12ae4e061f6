// SwitchTransport: several transports behind one seam. A request's verb says by which it goes:
// "PUBLISH" to a broker, "CALL" by gRPC, what HTTP knows by HTTP. One that needs a login goes by
// the transport that stands in front of the usual one and knows of logins; the others do not pay
// for it. One whose target has a scheme of its own goes by what stands in front for that scheme. On
// the loop's thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "postrider/model/seams/transport.h"

namespace postrider {

class SwitchTransport final : public Transport {
 public:
  explicit SwitchTransport(std::unique_ptr<Transport> usual);  // for all verbs not added

  void add(std::string verb, std::unique_ptr<Transport> transport);
  // Of requests that would go by the usual one. It uses that one, and passes aborts on to it.
  void add_login(std::unique_ptr<Transport> login);
  // Of requests whose target begins so ("matrix://"). It uses the usual one, and passes aborts on.
  void add_scheme(std::string scheme, std::unique_ptr<Transport> transport);

  void start(AttemptId attempt, WireRequest request) override;
  void abort(AttemptId attempt) override;  // told to all: who has not got it does nothing
  std::size_t connections() const override;

 private:
  struct Way {
    std::string verb;  // or the beginning of the target
    std::unique_ptr<Transport> transport;
  };

  std::unique_ptr<Transport> usual_;
  std::unique_ptr<Transport> login_;  // in front of it, so it goes first
  std::vector<Way> ways_;
  std::vector<Way> schemes_;  // in front of it, too; by the beginning of the target
};

}  // namespace postrider
