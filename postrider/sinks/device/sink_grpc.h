// SinkGrpc: unary gRPC calls over cleartext HTTP/2, for the sink that models a network server. Each
// call is handed over whole and answered when the model says so, or its stream is reset, or nothing
// ever comes. The loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/protocols/grpc/grpc.h"

namespace boost::asio {
class io_context;
}

namespace postrider {

struct SinkGrpcCall {
  std::string path;
  std::string authorization;
  std::string message;  // without its frame
};

// To answer one call with, once. The stream may be gone by then.
class SinkGrpcResponder {
 public:
  class Connection;
  SinkGrpcResponder(std::weak_ptr<Connection> connection, std::int32_t stream)
      : connection_(std::move(connection)), stream_(stream) {}
  // `text` and `message` as in the status and the body of gRPC.
  void answer(grpc::Status status, std::string_view text, std::string_view message) const;
  void reset() const;

 private:
  std::weak_ptr<Connection> connection_;
  std::int32_t stream_;
};

struct SinkGrpcLimits {
  std::uint32_t connections_max = 1000;
  std::uint32_t streams_max = 1000;  // of one connection
  std::uint32_t message_bytes_max = 1024 * 1024;
};

class SinkGrpc {
 public:
  class Impl;
  using Handler = std::function<void(const SinkGrpcCall&, SinkGrpcResponder)>;

  // `address` as with SinkListener.
  static Result<std::unique_ptr<SinkGrpc>> open(boost::asio::io_context& loop,
                                                std::string_view address, Handler handler,
                                                SinkGrpcLimits limits = {});
  ~SinkGrpc();
  SinkGrpc(const SinkGrpc&) = delete;
  SinkGrpc& operator=(const SinkGrpc&) = delete;

  std::string address() const;

 private:
  explicit SinkGrpc(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  // shared with nobody; handlers watch it weakly
};

}  // namespace postrider
