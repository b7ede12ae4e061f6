// StreamLine: a connection by TCP or a Unix socket, with or without TLS, ours or accepted. What is
// written before it is open waits. The far side's end of its stream is the end of the line.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/posix/stream_descriptor.hpp>

#include "postrider/transports/net/tls.h"
#include "postrider/transports/wire/socket_place.h"
#include "postrider/transports/wire/wire_line.h"

namespace boost::asio {
class io_context;
}

namespace postrider {

struct LineSecurity {
  std::unique_ptr<TlsStream> tls;  // null: none
  std::string pinned;              // the key that the far side must show; empty: any
};

class StreamLine final : public WireLine, public std::enable_shared_from_this<StreamLine> {
 public:
  StreamLine(boost::asio::io_context& loop, LineId line, LineKeeper& keeper,
             const LineRules& rules);
  ~StreamLine() override;
  StreamLine(const StreamLine&) = delete;
  StreamLine& operator=(const StreamLine&) = delete;

  // The places are tried one after another.
  void connect(std::vector<SocketPlace> places, LineSecurity security);
  void adopt(int descriptor, std::string peer, LineSecurity security);
  void fail(LineEnd end, std::string detail);  // it is told soon

  void write(std::string bytes, std::string_view to) override;
  void hold(bool held) override;
  bool close() override;
  void time_out() override;
  void cut() override;

 private:
  enum class State : std::uint8_t { kWaiting, kConnecting, kHandshake, kOpen, kLingering, kOver };

  bool over() const { return state_ == State::kOver; }
  std::size_t unsent() const;
  void connect_next();
  void on_connected(std::uint32_t round);
  void connected();
  void opened();
  void read_soon();
  void on_readable();
  void take_encrypted(std::string_view bytes);
  bool take_handshake();
  void give_plain();
  bool encrypt();
  void flush();
  bool send(std::string_view bytes, std::size_t& sent);
  void write_soon();
  void on_writable();
  void end(LineEnd end, std::string detail);
  void let_go();
  void set_due(Timestamp at);

  boost::asio::io_context& loop_;
  boost::asio::posix::stream_descriptor descriptor_;
  const LineId line_;
  LineKeeper* keeper_;  // null: nothing is told any more
  const LineRules& rules_;
  State state_ = State::kWaiting;
  std::vector<SocketPlace> places_;
  std::size_t next_place_ = 0;
  std::uint32_t round_ = 0;
  std::string peer_;
  LineSecurity security_;
  std::string last_error_;
  bool held_ = false;
  bool reading_ = false;
  bool waits_writable_ = false;
  bool had_to_wait_ = false;
  std::string out_;  // plain; with TLS only until the line is open
  std::size_t out_sent_ = 0;
};

}  // namespace postrider
