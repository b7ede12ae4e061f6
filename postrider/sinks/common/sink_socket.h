// The listening socket of a sink: an address as people write it, bound and listening. Brings Asio
// along; only the .cc files of sinks include it.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "postrider/base/result.h"

namespace postrider {

// "PORT" on loopback or "ADDRESS:PORT"; port 0 is any.
inline Result<void> listen_on(boost::asio::ip::tcp::acceptor& acceptor, std::string_view text) {
  namespace ip = boost::asio::ip;
  const std::size_t colon = text.rfind(':');
  const std::string host(colon == std::string_view::npos ? "127.0.0.1" : text.substr(0, colon));
  const std::string_view port = colon == std::string_view::npos ? text : text.substr(colon + 1);
  boost::system::error_code error;
  const ip::address address = ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
  std::uint16_t number = 0;
  const auto [rest, wrong] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error || wrong != std::errc() || rest != port.data() + port.size())
    return fail(ErrorCode::kInvalid,
                "'" + std::string(text) + "' is no address: write 8080 or 127.0.0.1:8080");
  const ip::tcp::endpoint endpoint(address, number);
  acceptor.open(endpoint.protocol(), error);
  if (!error && number != 0) acceptor.set_option(ip::tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(boost::asio::socket_base::max_listen_connections, error);
  if (error) return fail(ErrorCode::kUnavailable, std::string(text) + ": " + error.message());
  return {};
}

inline std::string address_of(const boost::asio::ip::tcp::acceptor& acceptor) {
  boost::system::error_code error;
  const boost::asio::ip::tcp::endpoint endpoint = acceptor.local_endpoint(error);
  return endpoint.address().to_string() + ":" + std::to_string(endpoint.port());
}

}  // namespace postrider
