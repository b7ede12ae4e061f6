// GrpcConnection: one HTTP/2 connection and the calls on it, by nghttp2 over a ByteStream. It
// reports to its owner, the transport, and decides nothing. On the loop's thread.
//
// What may have left the process is counted in bytes: a call whose first byte has not left was not
// sent, whatever happens to the connection.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/model/seams/transport.h"
#include "postrider/transports/grpc/grpc_reply.h"
#include "postrider/transports/net/byte_stream.h"
#include "postrider/transports/net/linked_list.h"

// NOLINTBEGIN(readability-identifier-naming): nghttp2's names
struct nghttp2_session;
// NOLINTEND(readability-identifier-naming)

namespace postrider {

class GrpcConnection;
struct GrpcChannel;

enum class GrpcPlace : std::uint8_t { kWaiting, kStream, kTelling, kDropped };

// One call and what became of it. Owned by the transport.
struct GrpcCall : Hook<struct WaitingCall> {
  GrpcCall(AttemptId id, WireRequest what, const GrpcReplyLimits& limits)
      : attempt(id), request(std::move(what)), answer(limits) {}
  AttemptId attempt;
  WireRequest request;
  std::string path;  // "/package.Service/Method"
  Timestamp due;
  Timestamp held_due;  // of the wait for a place of ours
  GrpcPlace place = GrpcPlace::kWaiting;
  GrpcChannel* channel = nullptr;        // of kWaiting
  GrpcConnection* connection = nullptr;  // of kStream
  std::int32_t stream = 0;
  Timestamp submitted;
  std::uint64_t first_byte = UINT64_MAX;  // where it begins among the bytes of the connection
  std::size_t given = 0;                  // bytes of prefix and body that nghttp2 has taken
  GrpcReply answer;
  WireReply reply;
};

struct GrpcConnectionSettings {
  ByteStreamSettings stream;
  Duration greeting_time_out{0};           // from open to the peer's SETTINGS
  Duration ping_time_out{0};               //
  std::uint32_t streams_max = 0;           // at the same time
  std::uint32_t calls_per_connection = 0;  // then a new one is used
  std::uint32_t head_bytes_max = 0;
};

class GrpcConnectionOwner {
 public:
  virtual ~GrpcConnectionOwner() = default;
  virtual void call_ended(GrpcCall& call, WireReply reply) = 0;
  // Room, an answered ping, or no new calls any more: look at it again.
  virtual void connection_changed(GrpcConnection& connection) = 0;
  // It is closed. `reached`: it was ready once, so the next one may be too.
  virtual void connection_ended(GrpcConnection& connection, WireEnd end, bool reached) = 0;
  virtual Timestamp now() = 0;
  virtual void note_due(Timestamp due) = 0;
  virtual void flush() = 0;  // the end of every event
};

class GrpcConnection final : public ByteStreamUser, public Hook<struct AnyGrpcConnection> {
 public:
  GrpcConnection(boost::asio::io_context& loop, const GrpcConnectionSettings& settings,
                 GrpcConnectionOwner& owner, std::shared_ptr<GrpcChannel> channel);
  ~GrpcConnection() override;
  GrpcConnection(const GrpcConnection&) = delete;
  GrpcConnection& operator=(const GrpcConnection&) = delete;

  void connect(std::shared_ptr<OriginHost> host, Addresses addresses);
  bool ready() const { return state_ == State::kReady; }
  bool retired() const { return retired_; }  // takes no new calls
  bool pinging() const { return ping_due_ != Timestamp::never(); }
  bool full() const;
  bool idle() const { return streams_.empty() && !pinging(); }
  Timestamp heard() const { return heard_; }
  GrpcChannel& channel() { return *channel_; }

  void submit(GrpcCall& call, const OriginHost& host);  // when ready, not retired, not full
  void ping();
  // Takes the call off; nobody is told. True when bytes of it may have left.
  bool cancel(GrpcCall& call);
  Timestamp due() const;
  void time_out(Timestamp now);  // what is due
  void close();                  // says good-bye; nothing is told afterwards

  // ByteStreamUser
  void stream_opened() override;
  void stream_took(std::string_view bytes) override;
  void stream_drained() override;
  void stream_ended(StreamEnd end) override;

 private:
  friend struct GrpcCallbacks;
  enum class State : std::uint8_t { kConnecting, kGreeting, kReady, kClosed };
  struct SessionFree {
    void operator()(nghttp2_session* session) const;
  };

  void pump();
  void end(WireEnd end);
  void end_call(GrpcCall& call, WireReply reply, bool reset_stream);
  GrpcCall* call_of(std::int32_t stream) const;
  bool maybe_sent(const GrpcCall& call) const;
  void on_stream_closed(std::int32_t stream, std::uint32_t error);
  void on_whole(GrpcCall& call);

  GrpcConnectionSettings settings_;
  GrpcConnectionOwner& owner_;
  std::shared_ptr<GrpcChannel> channel_;  // shared with the transport, which forgets unused ones
  std::unique_ptr<ByteStream> stream_;
  std::unique_ptr<nghttp2_session, SessionFree> session_;
  State state_ = State::kConnecting;
  bool retired_ = false;
  bool reached_ = false;
  bool in_session_ = false;  // nghttp2 is running and must not be called for bytes
  std::uint64_t produced_ = 0;
  std::uint32_t calls_ = 0;
  Timestamp greeting_due_ = Timestamp::never();
  Timestamp ping_due_ = Timestamp::never();
  Timestamp heard_;
  // Open streams; null: nobody waits for this one any more.
  std::unordered_map<std::int32_t, GrpcCall*> streams_;
};

}  // namespace postrider
