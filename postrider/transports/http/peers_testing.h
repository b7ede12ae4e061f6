// What the tests of the HTTP transport talk to: scripted TCP and TLS peers, a name server,
// certificates made on the spot, and a rig with a clock that stands still. All on one loop, so that
// nothing has to sleep.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <gtest/gtest.h>

#include "postrider/transports/http/http_transport.h"

// NOLINTBEGIN(readability-identifier-naming): OpenSSL's names
using SSL_CTX = struct ssl_ctx_st;
using X509 = struct x509_st;
using EVP_PKEY = struct evp_pkey_st;
// NOLINTEND(readability-identifier-naming)

namespace boost::asio::ssl {
class context;
}

namespace postrider {

using Task = boost::asio::awaitable<void>;

// One accepted connection, seen by the peer's script. A script that does not end waits for ever.
class Link {
 public:
  explicit Link(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context* tls);
  ~Link();

  boost::asio::awaitable<bool> handshake();
  boost::asio::awaitable<std::string> request();  // head and body; empty when the client has gone
  boost::asio::awaitable<std::string> some(std::size_t bytes);  // at least that many, or the end
  Task write(std::string bytes);
  Task gone();  // until the client closes
  Task forever();
  Task until(std::function<bool()> so);
  void close();    // in good order
  void reset();    // without
  int number = 0;  // of the connection at its peer, from 1
  bool resumed = false;

 private:
  struct Stream;
  boost::asio::awaitable<bool> fill();
  std::unique_ptr<Stream> stream_;
  std::string in_;
};

class Peer {
 public:
  using Script = std::function<Task(Link&)>;
  Peer(boost::asio::io_context& loop, Script script, const std::string& address = "127.0.0.1",
       boost::asio::ssl::context* tls = nullptr, std::uint16_t port = 0);
  std::uint16_t port() const { return port_; }
  std::string url(std::string_view path = "/hook") const;  // by its address
  int accepted = 0;
  int open = 0;  // scripts that run
  void stop();   // nobody listens any more

 private:
  Task accept();
  Task serve(std::shared_ptr<Link> link);

  boost::asio::io_context& loop_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::ssl::context* tls_;
  Script script_;
  std::string address_;
  std::uint16_t port_ = 0;
};

// Answers every request with the same bytes until the client leaves.
Peer::Script always(std::string answer);
std::string answer(int status, std::string_view body = "", std::string_view headers = "");

// A name server that says what it is told to, on UDP.
class NameServer {
 public:
  struct Record {
    std::string address;  // of either family
    std::uint32_t ttl = 60;
  };
  struct Service {  // SRV
    std::string target;
    std::uint16_t port = 0;
    std::uint16_t priority = 0;
    std::uint16_t weight = 0;
    std::uint32_t ttl = 60;
  };
  explicit NameServer(boost::asio::io_context& loop);
  std::string address() const;  // for HttpTransportOptions::name_servers
  std::map<std::string, std::vector<Record>> known;
  std::map<std::string, std::vector<Service>> services;
  bool silent = false;
  std::string silent_below;  // "void.example": never answered for, and for no name below it
  int questions = 0;         // for IPv4; each comes with one for IPv6
  std::map<std::string, int> services_asked;  // by name

 private:
  Task serve();
  std::string reply_to(std::string_view question);
  std::string records_of(const std::string& name, int type, int& count) const;
  boost::asio::ip::udp::socket socket_;
};

struct Certificate {
  std::shared_ptr<EVP_PKEY> key;
  std::shared_ptr<X509> certificate;
  std::string pem() const;
};
struct CertificateWish {
  std::string name;  // "DNS:example.org" or "IP:127.0.0.1"
  bool expired = false;
  bool authority = false;
};
Certificate make_certificate(const CertificateWish& wish, const Certificate* issuer = nullptr);
std::unique_ptr<boost::asio::ssl::context> server_context(const Certificate& certificate);

// What a transport stands in while it is tested: a loop, names, a clock that stands still, and a
// book of what has ended.
class WireRig {
 public:
  WireRig();
  virtual ~WireRig();
  WireRig(const WireRig&) = delete;
  WireRig& operator=(const WireRig&) = delete;

  AttemptId start(WireRequest request);
  WireReply end_of(AttemptId attempt);  // waits for it, and that it comes once
  bool has_ended(AttemptId attempt) const { return ended.contains(attempt.value()); }
  // Lets the loop run until it is so; a test that waits in vain fails.
  void until(const std::function<bool()>& so);
  void settle();                // until the loop has nothing to do at once
  void advance(Duration time);  // and sweep

  boost::asio::io_context loop{1};
  NameServer names{loop};
  Timestamp now{1'000'000};
  std::map<std::uint64_t, std::vector<WireReply>> ended;
  std::vector<std::uint64_t> order;  // of the ends
  std::function<void(AttemptId)> on_end;

 protected:
  // Its clock is ours, unless the options bring one. All names are asked of `names`.
  template <class TransportType, class Options>
  std::unique_ptr<TransportType> make(Options options) {
    if (!options.now) options.now = [this] { return now; };
    options.name_servers = {names.address()};
    auto made = TransportType::make(
        loop, std::move(options),
        [this](AttemptId id, WireReply reply) { note_end(id, std::move(reply)); });
    EXPECT_TRUE(made.has_value());
    return std::move(*made);
  }

 private:
  virtual Transport& tested() = 0;
  virtual void sweep() = 0;
  void note_end(AttemptId attempt, WireReply reply);
  std::uint64_t next_ = 1;
};

class Rig final : public WireRig {
 public:
  static HttpTransportOptions local();  // may reach loopback
  explicit Rig(HttpTransportOptions options = local());
  ~Rig() override;

  using WireRig::start;
  AttemptId start(const std::string& url, std::string_view body = "{}", Duration time_out = 15s);
  WireReply post(const std::string& url, std::string_view body = "{}") {
    return end_of(start(url, body));
  }
  std::unique_ptr<HttpTransport> transport;

 private:
  Transport& tested() override { return *transport; }
  void sweep() override { transport->sweep(); }
};

}  // namespace postrider
