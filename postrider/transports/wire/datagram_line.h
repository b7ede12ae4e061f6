// DatagramLine: a UDP socket, for one far side or for all. Datagrams may be lost: what the system
// does not take at once is, and so is what is too large, or written before the line is open.
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

class DatagramLine final : public WireLine, public std::enable_shared_from_this<DatagramLine> {
 public:
  // Foreign: the guard looks at each address that is written to.
  DatagramLine(boost::asio::io_context& loop, LineId line, LineKeeper& keeper,
               const LineRules& rules, bool foreign);

  void listen(const SocketPlace& place);
  void connect(const SocketPlace& place);
  void fail(LineEnd end, std::string detail);

  void write(std::string bytes, std::string_view to) override;
  void hold(bool held) override;
  bool close() override;
  void time_out() override {}
  void cut() override;

 private:
  bool open(const SocketPlace& place);
  void told_open(std::string peer);
  void read_soon();
  void on_readable();
  bool read_one();

  boost::asio::io_context& loop_;
  boost::asio::posix::stream_descriptor descriptor_;
  const LineId line_;
  LineKeeper* keeper_;  // null: nothing is told any more
  const LineRules& rules_;
  const bool foreign_;
  bool listens_ = false;
  bool open_ = false;
  bool held_ = false;
  bool reading_ = false;
};

}  // namespace postrider
