// Connection: one TCP or TLS connection to one Origin and the exchange on it, if any. A state
// machine driven by the loop; one read is always under way, so that a kept connection notices when
// its peer leaves. It reports to its owner, the transport, and does what that says; it decides
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include "postrider/base/time.h"
#include "postrider/model/seams/transport.h"
#include "postrider/transports/http/exchange.h"
#include "postrider/transports/http/origins.h"
#include "postrider/transports/http/reply_reader.h"
#include "postrider/transports/net/resolver.h"
#include "postrider/transports/net/target.h"
#include "postrider/transports/net/tls.h"

namespace postrider {

class ConnectionOwner {
 public:
  virtual ~ConnectionOwner() = default;
  // The exchange has its reply. `keep`: the connection is fit for another one.
  virtual void replied(Connection& connection, bool keep) = 0;
  // The exchange has none. `repeatable`: cut off on reuse before any byte of the answer.
  virtual void failed(Connection& connection, WireEnd end, bool repeatable) = 0;
  virtual void lost(Connection& connection) = 0;  // while idle
  virtual void resumed() = 0;                     // TLS, from an earlier session
  virtual bool make_room() = 0;                   // out of descriptors: was one freed?
  virtual Timestamp now() = 0;
  virtual void note_due(Timestamp due) = 0;  // something has to be swept then
  virtual void flush() = 0;                  // the end of every event
};

struct ConnectionSettings {
  Duration connect_time_out{0};
  Duration tls_time_out{0};
  Duration first_byte_time_out{0};
  ReplyLimits reply;
  int descriptors_max = 0;  // 0: no bound
  bool keeps = true;        // false: requests ask the peer to close
};

class Connection final
    : public boost::intrusive_ref_counter<Connection, boost::thread_unsafe_counter>,
      public Hook<struct AnyConnection>,
      public Hook<struct IdleConnection> {
 public:
  using Ref = boost::intrusive_ptr<Connection>;  // counted, because handlers outlive a close

  Connection(boost::asio::io_context& loop, const ConnectionSettings& settings,
             ConnectionOwner& owner, Origin& origin);

  void connect(Exchange& exchange);  // a new one: connects, then sends
  void send(Exchange& exchange);     // an idle one
  Exchange& release_exchange();      // by the owner, when replied or failed
  void time_out(bool whole);         // `whole`: of the exchange and not only of this phase
  void close();                      // nothing is reported afterwards

  Origin& origin() { return origin_; }
  Timestamp phase_due() const { return phase_due_; }

  Timestamp born;        // for the owner
  Timestamp idle_since;  // for the owner

 private:
  enum class State : std::uint8_t { kConnecting, kHandshake, kIdle, kExchange, kClosed };
  using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp,
                                                  boost::asio::io_context::executor_type>;
  using ErrorCodeOf = boost::system::error_code;

  void connect_next();
  boost::system::error_code open_low(bool v4);
  bool open_socket(bool v4);
  void on_connected(ErrorCodeOf error);
  void begin_handshake();
  void begin_exchange();
  void write_head();
  void write();
  void write_plain();
  void write_tls();
  bool flush_tls();
  void encrypt_more();
  bool all_sent() const;
  void wait_writable();
  void read();
  void on_read(ErrorCodeOf error, std::size_t bytes);
  void take_encrypted(std::size_t bytes);
  bool take_handshake();
  void take_plain();
  void end_reply(bool keep);
  void fail_exchange(WireEnd end);
  void on_gone(bool orderly);

  const ConnectionSettings& settings_;
  ConnectionOwner& owner_;
  Origin& origin_;
  Socket socket_;
  Ref self_;  // while open
  State state_ = State::kConnecting;
  bool reused_ = false;
  bool reply_begun_ = false;
  bool write_broken_ = false;
  bool waiting_writable_ = false;
  bool v6_failed_ = false;
  bool tried_ = false;      // some address was
  bool held_back_ = false;  // some was not, because we had no descriptor or no port left
  std::size_t next_address_ = 0;
  std::uint32_t connect_round_ = 0;
  Exchange* exchange_ = nullptr;
  Timestamp phase_due_ = Timestamp::never();
  std::string head_;
  std::size_t sent_ = 0;  // of head and body; for TLS: encrypted
  std::vector<char> in_;  // bytes of the reply that the reader has not taken
  std::size_t in_used_ = 0;
  ReplyReader reader_;
  std::unique_ptr<TlsStream> tls_;
  std::vector<char> encrypted_;
};

}  // namespace postrider
