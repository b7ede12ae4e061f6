// HttpStreams: HTTP/1.1 out for exchanges whose bodies are handed on while they come, on the loop's
// thread. It is a transport like HttpTransport: it resolves, guards, connects and times out, and
// whatever stands in front of one may stand in front of the other. The difference is in the bodies:
// the request's is written when there is a connection, in pieces; the end that is told is the head
// of the answer, and its body follows in pieces, too. Nothing of either is kept, so an exchange
// holds what one read and one write leave over, whatever its length.
//
// Each exchange has a connection of its own, which ends with it. Before the head of the answer an
// exchange ends like any other, and what stands in front may start it again elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "postrider/transports/http/http_transport.h"

namespace postrider {

enum class StreamBody : std::uint8_t { kNone, kLength, kChunked };

// How the body of a request is framed.
struct StreamForm {
  StreamBody body = StreamBody::kNone;
  std::uint64_t length = 0;  // of kLength
};

// What an exchange tells. It may write, pause, resume and abort from inside.
class StreamUser {
 public:
  virtual ~StreamUser() = default;
  virtual void stream_ready() = 0;     // connected, and the head is written: the body may follow
  virtual void stream_has_room() = 0;  // all that was written has left
  virtual void stream_piece(std::string_view bytes) = 0;  // of the answer's body
  // The last call. `whole`: the answer came to its end; else it was cut off, or took too long.
  virtual void stream_over(bool whole) = 0;
};

struct HttpStreamLimits {
  std::uint32_t streams_max = 256;  // further ones are held back
  // From the head of the answer on: without a byte in either direction, while we read; and in all.
  Duration silence_max{60'000};
  Duration whole_max{600'000};
};

class HttpStreams final : public Transport {
 public:
  using Ended = HttpTransport::Ended;

  // Of `options`, what is about names, addresses, trust, connecting, heads and descriptors holds.
  static Result<std::unique_ptr<HttpStreams>> make(boost::asio::io_context& loop,
                                                   HttpTransportOptions options,
                                                   HttpStreamLimits limits, Ended ended);
  ~HttpStreams() override;
  HttpStreams(const HttpStreams&) = delete;
  HttpStreams& operator=(const HttpStreams&) = delete;

  // The exchange that is started under this number later, once or several times until one of its
  // ends is kAnswered, is the user's; the user outlives it, or aborts it.
  void prepare(AttemptId attempt, StreamForm form, StreamUser& user);
  bool is_prepared(AttemptId attempt) const;

  // request.body is not looked at; request.time_out is until the head of the answer.
  void start(AttemptId attempt, WireRequest request) override;
  // Nothing is told afterwards, and the number is forgotten.
  void abort(AttemptId attempt) override;
  std::size_t connections() const override;

  // Of an exchange that is ready; `last`, when the body is complete. Kept until they can leave.
  void write(AttemptId attempt, std::string_view bytes, bool last);
  std::size_t unsent(AttemptId attempt) const;
  // Reads nothing more of the answer until resume(). What one read brought is told all the same.
  void pause(AttemptId attempt);
  void resume(AttemptId attempt);

  void sweep();  // what its own timer does; for tests that move the clock
  void close();  // cuts everything; nothing is told afterwards

 private:
  class Impl;
  explicit HttpStreams(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
