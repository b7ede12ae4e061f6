// Feeds arbitrary frames of HTTP/2 to a connection with calls on it. Each call has exactly one end,
// unless it was cancelled; nothing is told after the end of the connection.
//
// The first byte says in what pieces the bytes come. Then each frame is type, flags, stream, the
// length of its payload, and that; types from 0xF0 on are what our own side does meanwhile.
#include "postrider/transports/grpc/grpc_connection.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "postrider/base/check.h"

namespace postrider {
namespace {

constexpr std::size_t kCallsMax = 8;
constexpr GrpcReplyLimits kReplyLimits{
    .head_bytes_max = 512, .message_bytes_max = 64, .text_bytes_max = 32};
enum Own : std::uint8_t { kSubmit = 0xF0, kCancel = 0xF1, kPing = 0xF2, kRaw = 0xF3 };

class Owner final : public GrpcConnectionOwner {
 public:
  void call_ended(GrpcCall& call, WireReply reply) override {
    POSTRIDER_CHECK(!ended && ++ends[&call] == 1 && call.connection == nullptr);
    if (reply.end == WireEnd::kAnswered)
      POSTRIDER_CHECK(reply.body.size() <= kReplyLimits.message_bytes_max);
  }
  void connection_changed(GrpcConnection& connection) override {
    POSTRIDER_CHECK(!ended);
    POSTRIDER_CHECK(connection.ready());
  }
  void connection_ended(GrpcConnection& connection, WireEnd end, bool reached) override {
    POSTRIDER_CHECK(!ended && !connection.ready() && connection.retired());
    POSTRIDER_CHECK(reached || end != WireEnd::kReset);
    ended = true;
  }
  Timestamp now() override { return Timestamp(1'000'000); }
  void note_due(Timestamp /*due*/) override {}
  void flush() override {}

  std::map<GrpcCall*, int> ends;
  bool ended = false;
};

std::string_view take(std::string_view& bytes, std::size_t most) {
  const std::string_view out = bytes.substr(0, most);
  bytes.remove_prefix(out.size());
  return out;
}

std::string frame_of(std::string_view head, std::string_view payload) {
  std::string out = {0, 0, static_cast<char>(payload.size()), head[0], head[1], 0, 0, 0, head[2]};
  return out.append(payload);
}

class Exchange {
 public:
  explicit Exchange(std::size_t step) : step_(step) {
    host_.authority = "far.example";
    connection_.stream_opened();
    feed(frame_of(std::string_view("\4\0\0", 3), ""));  // SETTINGS
    submit();
  }

  ~Exchange() {
    if (!owner_.ended) connection_.stream_ended(StreamEnd::kLost);
    POSTRIDER_CHECK(owner_.ended);
    for (GrpcCall& call : calls_) POSTRIDER_CHECK(owner_.ends[&call] == 1);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  bool over() const { return owner_.ended; }

  void take_frame(std::string_view head, std::string_view payload) {
    switch (static_cast<std::uint8_t>(head[0])) {
      case kSubmit: return submit();
      case kCancel: return cancel(static_cast<std::uint8_t>(head[2]));
      case kPing: return connection_.ping();
      case kRaw: return feed(payload);
      default: return feed(frame_of(head, payload));
    }
  }

 private:
  void submit() {
    if (!connection_.ready() || connection_.retired() || connection_.full()) return;
    if (calls_.size() >= kCallsMax) return;
    WireRequest request;
    request.headers.add("authorization", "Bearer x");
    request.body = "hello";
    GrpcCall& call = calls_.emplace_back(AttemptId(calls_.size() + 1), request, kReplyLimits);
    call.path = "/package.Service/Method";
    call.due = Timestamp(1'010'000);
    connection_.submit(call, host_);
  }

  void cancel(std::size_t which) {
    GrpcCall& call = calls_[which % calls_.size()];
    if (call.connection == nullptr) return;
    connection_.cancel(call);
    owner_.ends[&call] = 1;
  }

  void feed(std::string_view bytes) {
    while (!bytes.empty() && !owner_.ended) connection_.stream_took(take(bytes, step_));
  }

  std::size_t step_;
  boost::asio::io_context loop_;
  Owner owner_;
  OriginHost host_;
  std::deque<GrpcCall> calls_;
  GrpcConnection connection_{loop_,
                             {.stream = {},
                              .greeting_time_out = Duration(5000),
                              .ping_time_out = Duration(5000),
                              .streams_max = 4,
                              .calls_per_connection = 6,
                              .head_bytes_max = 512},
                             owner_,
                             nullptr};
};

}  // namespace
}  // namespace postrider

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace postrider;  // NOLINT(google-build-using-namespace): one function, one namespace
  if (size == 0) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  Exchange exchange(1 + data[0]);
  while (bytes.size() >= 4 && !exchange.over()) {
    const std::string_view head = take(bytes, 4);
    exchange.take_frame(head, take(bytes, static_cast<std::uint8_t>(head[3]) % 128));
  }
  return 0;
}
