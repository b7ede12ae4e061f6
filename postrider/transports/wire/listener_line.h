// ListenerLine: takes connections by TCP or a Unix socket and hands them to the wire. While it is
// held, and while the system has no descriptor left, far sides wait in the system's own queue.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/posix/stream_descriptor.hpp>

#include "postrider/transports/wire/socket_place.h"
#include "postrider/transports/wire/wire_line.h"

namespace boost::asio {
class io_context;
}

namespace postrider {

class ListenerLine final : public WireLine, public std::enable_shared_from_this<ListenerLine> {
 public:
  ListenerLine(boost::asio::io_context& loop, LineId line, LineKeeper& keeper);

  // `file`: of a Unix socket, removed again when the line is closed; empty: there is none.
  void listen(const SocketPlace& place, std::string file);
  void fail(LineEnd end, std::string detail);

  void write(std::string /*bytes*/, std::string_view /*to*/) override {}
  void hold(bool held) override;
  bool close() override;
  void time_out() override;  // a pause is over
  void cut() override;

 private:
  bool bind_to(const SocketPlace& place) const;
  void accept_soon();
  void on_readable();

  boost::asio::io_context& loop_;
  boost::asio::posix::stream_descriptor descriptor_;
  const LineId line_;
  LineKeeper* keeper_;  // null: nothing is told any more
  std::string file_;
  bool open_ = false;
  bool held_ = false;
  bool pauses_ = false;
  bool waiting_ = false;
};

}  // namespace postrider
