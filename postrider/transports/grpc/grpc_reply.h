// GrpcReply: puts the answer to one unary call together from header fields and pieces of data, as
// they come from HTTP/2. Bounded; whatever is not an answer of gRPC is broken. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/model/seams/transport.h"
#include "postrider/transports/grpc/grpc_text.h"

namespace postrider {

struct GrpcReplyLimits {
  std::uint32_t head_bytes_max = 16 * 1024;       // of all header fields together
  std::uint32_t message_bytes_max = 1024 * 1024;  // of the reply's message
  std::uint32_t text_bytes_max = 1024;            // of grpc-message
};

class GrpcReply {
 public:
  explicit GrpcReply(const GrpcReplyLimits& limits) : limits_(limits) {}

  void begin_fields();  // a block of header fields: interim, head, or trailers
  // Both false once it is broken; then problem() says why, and nothing more is wanted.
  bool field(std::string_view name, std::string_view value);
  bool data(std::string_view bytes);

  bool begun() const { return begun_; }  // the peer has said something
  const std::string& problem() const { return problem_; }

  // The stream has ended. Answered when there is a status of gRPC, or one of HTTP that is not 200;
  // else reset. `status` is that of gRPC; `body` the message without its prefix, or when it was
  // reset what was wrong. Headers: grpc-message (decoded and cleaned), http-status when it is not
  // 200, and grpc-retry-pushback-ms.
  WireReply finish();

 private:
  bool broken(std::string problem);
  bool take_prefix(std::string_view& bytes);

  GrpcReplyLimits limits_;
  bool begun_ = false;
  std::uint32_t head_bytes_ = 0;
  int http_status_ = 0;
  bool status_named_ = false;
  std::optional<int> status_;
  std::string message_;   // grpc-message as it came
  std::string pushback_;  // grpc-retry-pushback-ms
  GrpcPrefix prefix_{};
  std::size_t prefix_used_ = 0;
  std::uint32_t body_bytes_ = 0;  // as the prefix says
  std::string body_;
  std::string problem_;
};

}  // namespace postrider
