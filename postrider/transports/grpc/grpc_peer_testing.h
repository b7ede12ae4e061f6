// What the tests of the gRPC transport talk to: a server on nghttp2 that does as it is told, well
// or badly, and a rig with a clock that stands still. All on one loop, so that nothing has to
// sleep.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "postrider/transports/grpc/grpc_transport.h"
#include "postrider/transports/http/peers_testing.h"

namespace postrider {

std::string framed(std::string_view message, char flag = 0);  // with the prefix of gRPC

using Fields = std::vector<std::pair<std::string, std::string>>;

struct GrpcAnswer {
  Fields head = {{":status", "200"}, {"content-type", "application/grpc"}};
  std::string data;  // as it goes out: framed() or something worse
  Fields trailers = {{"grpc-status", "0"}};
  std::size_t step = 16'384;  // bytes of one DATA frame
  bool stops = false;         // after the data, and does not end
};
GrpcAnswer good_answer(std::string_view message);
GrpcAnswer only_trailers(int status, std::string_view message);

struct GrpcPeerOptions {
  std::uint32_t streams_max = 100;
  std::uint32_t window = 65'535;  // of each stream, for what the client sends
  bool answers_pings = true;
  std::size_t write_step = 0;                // bytes of one write; 0: all at once
  boost::asio::ssl::context* tls = nullptr;  // with ALPN set up by grpc_server_context
};

class GrpcPeer {
 public:
  struct Served;
  // One call that has come in whole. The connection may be gone when it is answered.
  struct Call {
    std::weak_ptr<Served> served;
    std::int32_t stream = 0;
    int connection = 0;  // from 1
    std::map<std::string, std::string> head;
    std::string data;  // with its prefix

    void answer(GrpcAnswer answer) const;
    void reset(std::uint32_t error) const;
    void go_away(std::int32_t last_stream) const;
    void cut() const;  // the connection, without a word
  };
  using Handler = std::function<void(const Call&)>;

  GrpcPeer(boost::asio::io_context& loop, Handler handler, GrpcPeerOptions options = {});
  ~GrpcPeer();
  std::string url(std::string_view path = "/api.DeviceService/Enqueue",
                  std::string_view host = "127.0.0.1") const;
  void on_call_begun(Handler begun) { begun_ = std::move(begun); }  // head only
  void stop();                                                      // nobody listens any more
  int accepted = 0;
  int open = 0;
  int pings = 0;
  int resets = 0;  // that the client has sent
  int most_streams = 0;

 private:
  void accept();
  boost::asio::io_context& loop_;
  boost::asio::ip::tcp::acceptor acceptor_;
  Handler handler_;
  Handler begun_;
  GrpcPeerOptions options_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

std::unique_ptr<boost::asio::ssl::context> grpc_server_context(const Certificate& certificate,
                                                               bool speaks_h2 = true);

class GrpcRig final : public WireRig {
 public:
  static GrpcTransportOptions local();  // may reach loopback
  explicit GrpcRig(GrpcTransportOptions options = local());
  ~GrpcRig() override;

  using WireRig::start;
  AttemptId start(const std::string& url, std::string_view body = "hi", Duration time_out = 15s,
                  const std::string& trust = "");
  WireReply call(const std::string& url, std::string_view body = "hi") {
    return end_of(start(url, body));
  }
  std::unique_ptr<GrpcTransport> transport;

 private:
  Transport& tested() override { return *transport; }
  void sweep() override { transport->sweep(); }
};

}  // namespace postrider
