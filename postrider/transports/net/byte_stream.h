// ByteStream: one TCP or TLS connection to a host, as bytes in and bytes out. Goes through the
// addresses until one answers. On the loop's thread; owned by its user, who also lets it time out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "postrider/base/time.h"
#include "postrider/transports/net/origin_host.h"
#include "postrider/transports/net/resolver.h"
#include "postrider/transports/net/tls.h"

namespace boost::asio {
class io_context;
}

namespace postrider {

enum class StreamEnd : std::uint8_t {
  kRefused,   // no address answered
  kHeldBack,  // none was tried, because we had no descriptor left
  kNoTls,     // no trust, or the peer does not speak what we want
  kLost,      // was open, and is closed by the peer or broken
};

// Nothing of it is called from inside connect, write or close; time_out may tell the end. All of it
// may close and destroy the stream.
class ByteStreamUser {
 public:
  virtual ~ByteStreamUser() = default;
  virtual void stream_opened() = 0;
  virtual void stream_took(std::string_view bytes) = 0;
  virtual void stream_drained() = 0;  // everything that was written has left
  virtual void stream_ended(StreamEnd end) = 0;
};

struct ByteStreamSettings {
  Duration connect_time_out{0};  // of one address
  Duration tls_time_out{0};
  TlsProtocol protocol = TlsProtocol::kHttp1;
  int descriptors_max = 0;  // none above it is used; 0: no bound
};

class ByteStream {
 public:
  ByteStream(boost::asio::io_context& loop, const ByteStreamSettings& settings,
             ByteStreamUser& user);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  void connect(std::shared_ptr<OriginHost> host, Addresses addresses, Timestamp now);
  void write(std::string_view bytes);  // kept until they can leave; nothing once it has ended
  std::size_t unsent() const;          // bytes kept
  std::uint64_t left() const;          // bytes of all writes that may have left the process
  Timestamp due() const;               // of the address or the handshake under way
  void time_out(Timestamp now);        // that one is over: the next address, or the end
  // Reads nothing more of the peer until resume(). What one read brought is told all the same.
  void pause();
  void resume();
  bool ended_in_order() const;  // of kLost: the peer had closed, and nothing was broken
  void close();                 // nothing is told afterwards

 private:
  class Core;
  std::shared_ptr<Core> core_;  // shared with handlers under way
};

}  // namespace postrider
