// TLS: who is trusted, and who is not.
#include "postrider/transports/net/tls.h"

#include <cstdio>
#include <fstream>
#include <string>

#include <boost/asio/ssl/context.hpp>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "postrider/transports/http/http_transport.h"
#include "postrider/transports/http/peers_testing.h"

namespace postrider {
namespace {

const Certificate& authority() {
  static const Certificate kAuthority = make_certificate({.name = "", .authority = true});
  return kAuthority;
}

// A peer whose certificate is for `name`, and which answers 200.
struct TlsPeer {
  TlsPeer(Rig& rig, const Certificate& certificate, Peer::Script script = always(answer(200, "hi")))
      : context(server_context(certificate)),
        peer(rig.loop, std::move(script), "127.0.0.1", context.get()) {
    rig.names.known["hook.example"] = {{"127.0.0.1"}};
  }
  std::string url(const std::string& host = "hook.example") const {
    return "https://" + host + ":" + std::to_string(peer.port()) + "/";
  }
  std::unique_ptr<boost::asio::ssl::context> context;
  Peer peer;
};

WireReply post(Rig& rig, const std::string& url, const std::string& trust,
               std::string_view body = "{}") {
  const Blob owner = Blob::copy_of(body);
  return rig.end_of(rig.start(WireRequest{.verb = "POST",
                                          .target = url,
                                          .headers = {},
                                          .owner = owner,
                                          .body = owner.view(),
                                          .time_out = 15s,
                                          .trust = trust}));
}

// req: webhook.wire.3
TEST(HttpTls, TrustsTheAuthorityOfTheDestination) {
  Rig rig;
  TlsPeer peer(rig, make_certificate({.name = "DNS:hook.example"}, &authority()));
  const WireReply reply = post(rig, peer.url(), authority().pem());
  EXPECT_EQ(reply.end, WireEnd::kAnswered);
  EXPECT_EQ(reply.body, "hi");
  EXPECT_EQ(post(rig, peer.url("HOOK.example"), authority().pem()).status, 200);
  EXPECT_EQ(post(rig, peer.url("hook.example."), authority().pem()).status, 200);
}

// req: webhook.wire.3
TEST(HttpTls, TrustsTheFileOfTheOptions) {
  const std::string file = ::testing::TempDir() + "postrider_trust_" + std::to_string(getpid());
  std::ofstream(file) << authority().pem();
  HttpTransportOptions options = Rig::local();
  options.trust_file = file;
  Rig rig(options);
  std::remove(file.c_str());
  TlsPeer peer(rig, make_certificate({.name = "DNS:hook.example"}, &authority()));
  EXPECT_EQ(post(rig, peer.url(), "").status, 200);
  const Certificate other = make_certificate({.name = "", .authority = true});
  EXPECT_EQ(post(rig, peer.url(), other.pem()).end, WireEnd::kNoTls)
      << "a destination's own authority stands instead of the file, not beside it";
}

// req: webhook.wire.3
TEST(HttpTls, TrustsNobodyElse) {
  struct TlsCase {
    const char* name;
    Certificate certificate;
    std::string trust;
    std::string host = "hook.example";
  };
  const Certificate other = make_certificate({.name = "", .authority = true});
  const Certificate good = make_certificate({.name = "DNS:hook.example"}, &authority());
  const Certificate inner = make_certificate({.name = "DNS:hook.example"}, &good);
  const TlsCase cases[] = {
      {"the system's authorities do not know ours", good, ""},
      {"another authority", good, other.pem()},
      {"another name", make_certificate({.name = "DNS:other.example"}, &authority()),
       authority().pem()},
      {"a name above", make_certificate({.name = "DNS:example"}, &authority()), authority().pem()},
      {"a wildcard one level up", make_certificate({.name = "DNS:*.hook.example"}, &authority()),
       authority().pem()},
      {"a wildcard in a part", make_certificate({.name = "DNS:h*k.example"}, &authority()),
       authority().pem()},
      {"no name at all", make_certificate({.name = ""}, &authority()), authority().pem()},
      {"expired", make_certificate({.name = "DNS:hook.example", .expired = true}, &authority()),
       authority().pem()},
      {"self-signed", make_certificate({.name = "DNS:hook.example"}), authority().pem()},
      {"self-signed, system", make_certificate({.name = "DNS:hook.example"}), ""},
      {"issued by one that is no authority", inner, authority().pem()},
      {"an address, by its name", good, authority().pem(), "127.0.0.1"},
      {"another address", make_certificate({.name = "IP:127.0.0.9"}, &authority()),
       authority().pem(), "127.0.0.1"},
      {"an address as a name", make_certificate({.name = "DNS:127.0.0.1"}, &authority()),
       authority().pem(), "127.0.0.1"},
  };
  for (const TlsCase& c : cases) {
    Rig rig;
    bool served = false;
    TlsPeer peer(rig, c.certificate, [&](Link& link) -> Task {
      const std::string request = co_await link.request();
      served = served || !request.empty();
    });
    EXPECT_EQ(post(rig, peer.url(c.host), c.trust).end, WireEnd::kNoTls) << c.name;
    rig.until([&] { return peer.peer.accepted == 1 && peer.peer.open == 0; });
    EXPECT_FALSE(served) << c.name;
    EXPECT_EQ(rig.transport->connections(), 0U) << c.name;
  }
}

// req: webhook.wire.3
TEST(HttpTls, ChecksAddressesToo) {
  Rig rig;
  TlsPeer peer(rig, make_certificate({.name = "IP:127.0.0.1"}, &authority()));
  EXPECT_EQ(post(rig, peer.url("127.0.0.1"), authority().pem()).status, 200);
  EXPECT_EQ(post(rig, peer.url("2130706433"), authority().pem()).status, 200);
}

TEST(HttpTls, TrustsTheVeryCertificateOfADestination) {
  Rig rig;
  const Certificate itself = make_certificate({.name = "DNS:hook.example"});
  TlsPeer alone(rig, itself);
  EXPECT_EQ(post(rig, alone.url(), itself.pem()).status, 200);
  const Certificate issued = make_certificate({.name = "DNS:hook.example"}, &authority());
  TlsPeer pinned(rig, issued);
  EXPECT_EQ(post(rig, pinned.url(), issued.pem()).status, 200);
  const std::string both = issued.pem() + itself.pem();
  EXPECT_EQ(post(rig, alone.url(), both).status, 200);
  EXPECT_EQ(post(rig, pinned.url(), both).status, 200);
}

// req: webhook.wire.3
TEST(HttpTls, DoesNotShareConnectionsBetweenTrusts) {
  Rig rig;
  TlsPeer peer(rig, make_certificate({.name = "DNS:hook.example"}, &authority()));
  EXPECT_EQ(post(rig, peer.url(), authority().pem()).status, 200);
  EXPECT_EQ(rig.transport->idle_connections(), 1U);
  EXPECT_EQ(post(rig, peer.url(), "").end, WireEnd::kNoTls);
  EXPECT_EQ(post(rig, peer.url(), authority().pem()).status, 200);
  EXPECT_EQ(peer.peer.accepted, 2);
}

TEST(HttpTls, SaysNoTlsWhenTheTrustCannotBeRead) {
  const std::string pem = authority().pem();
  std::string damaged = pem;
  damaged[damaged.size() / 2] = '!';
  Rig rig;
  TlsPeer peer(rig, make_certificate({.name = "DNS:hook.example"}, &authority()));
  for (const std::string& trust : {std::string("nonsense"), damaged, pem + damaged,
                                   pem.substr(0, pem.size() / 2), std::string(1, '\0')})
    EXPECT_EQ(post(rig, peer.url(), trust).end, WireEnd::kNoTls);
  EXPECT_EQ(peer.peer.accepted, 0);
  EXPECT_EQ(post(rig, peer.url(), "a comment\n" + pem).status, 200);
}

TEST(HttpTls, SaysNoTlsToAPeerThatSpeaksNone) {
  Rig rig;
  for (const bool talks : {false, true}) {
    Peer plain(rig.loop, [&](Link& link) -> Task {
      co_await link.some(1);
      if (talks) co_await link.write("HTTP/1.1 400 Bad Request\r\n\r\n");
      link.close();
    });
    EXPECT_EQ(rig.post("https" + plain.url().substr(4)).end, WireEnd::kNoTls);
  }
}

TEST(HttpTls, SaysNoTlsToAnOldProtocol) {
  for (const int version : {TLS1_1_VERSION, TLS1_2_VERSION, TLS1_3_VERSION}) {
    Rig rig;
    TlsPeer peer(rig, make_certificate({.name = "DNS:hook.example"}, &authority()));
    SSL_CTX* raw = peer.context->native_handle();
    SSL_CTX_set_security_level(raw, 0);
    SSL_CTX_set_min_proto_version(raw, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(raw, version);
    EXPECT_EQ(post(rig, peer.url(), authority().pem()).end,
              version >= TLS1_2_VERSION ? WireEnd::kAnswered : WireEnd::kNoTls)
        << version;
  }
}

TEST(HttpTls, ResumesSessions) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Rig rig;
    int resumed = 0;
    TlsPeer peer(rig, make_certificate({.name = "DNS:hook.example"}, &authority()),
                 [&](Link& link) -> Task {
                   resumed += link.resumed ? 1 : 0;
                   co_await link.request();
                   co_await link.write(answer(200, "", "connection: close\r\n"));
                   co_await link.gone();
                 });
    SSL_CTX_set_max_proto_version(peer.context->native_handle(), version);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(post(rig, peer.url(), authority().pem()).status, 200);
    EXPECT_EQ(peer.peer.accepted, 3);
    EXPECT_EQ(resumed, 2) << version;
    EXPECT_EQ(rig.transport->counts().resumptions, 2U);
  }
}

TEST(HttpTls, KeepsConnectionsAndCarriesLargeBodiesBothWays) {
  HttpTransportOptions options = Rig::local();
  options.reply_bytes_max = 1'000'000;
  options.excerpt_bytes_max = 1'000'000;
  Rig rig(options);
  std::string seen;
  const std::string back(900'000, 'b');
  TlsPeer peer(rig, make_certificate({.name = "DNS:hook.example"}, &authority()),
               [&](Link& link) -> Task {
                 std::string request = co_await link.request();
                 while (!request.empty()) {
                   seen = request;
                   co_await link.write(answer(200, back));
                   request = co_await link.request();
                 }
               });
  const std::string body(4'000'000, 'x');
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(post(rig, peer.url(), authority().pem(), body).body, back);
    EXPECT_TRUE(seen.ends_with("\r\n\r\n" + body));
  }
  EXPECT_EQ(peer.peer.accepted, 1);
}

TEST(HttpTls, RepeatsWhatIsCutOffOnReuse) {
  Rig rig;
  TlsPeer peer(rig, make_certificate({.name = "DNS:hook.example"}, &authority()),
               [&](Link& link) -> Task {
                 co_await link.request();
                 co_await link.write(answer(200));
                 const std::string second = co_await link.request();
                 if (!second.empty()) link.reset();
               });
  EXPECT_EQ(post(rig, peer.url(), authority().pem()).status, 200);
  EXPECT_EQ(post(rig, peer.url(), authority().pem()).status, 200);
  EXPECT_EQ(peer.peer.accepted, 2);
}

TEST(HttpTls, ReadsABodyThatEndsWithTheConnection) {
  Rig rig;
  TlsPeer peer(rig, make_certificate({.name = "DNS:hook.example"}, &authority()),
               [&](Link& link) -> Task {
                 co_await link.request();
                 co_await link.write("HTTP/1.1 200 OK\r\n\r\nall of it");
                 link.close();  // without TLS's good-bye, as many do
               });
  const WireReply reply = post(rig, peer.url(), authority().pem());
  EXPECT_EQ(reply.end, WireEnd::kAnswered);
  EXPECT_EQ(reply.body, "all of it");
}

// req: matrix.http.8
TEST(HttpTls, IsWithTheNameWhileTheConnectionGoesElsewhere) {
  Rig rig;
  std::string seen;
  TlsPeer peer(rig, make_certificate({.name = "DNS:us.example"}, &authority()),
               [&](Link& link) -> Task {
                 seen = co_await link.request();
                 co_await link.write(answer(200));
               });
  const auto get = [&](const std::string& url, const std::string& via) {
    return rig.end_of(rig.start(WireRequest{.verb = "GET",
                                            .target = url,
                                            .headers = {},
                                            .owner = {},
                                            .body = {},
                                            .time_out = 15s,
                                            .trust = authority().pem(),
                                            .login = {},
                                            .reply_bytes = 0,
                                            .once = false,
                                            .first = {},
                                            .via = via}));
  };
  const std::string port = std::to_string(peer.peer.port());
  // us.example has no address: only hook.example is asked for.
  EXPECT_EQ(get("https://us.example/x", "hook.example:" + port).status, 200);
  EXPECT_NE(seen.find("\r\nhost: us.example\r\n"), std::string::npos);
  EXPECT_EQ(get("https://us.example/x", "127.0.0.1:" + port).status, 200);
  EXPECT_EQ(get("https://hook.example/x", "127.0.0.1:" + port).end, WireEnd::kNoTls);
  EXPECT_EQ(get("https://us.example/x", "no host").end, WireEnd::kNoName);
  EXPECT_EQ(get("https://us.example/x", "10.0.0.1:" + port).end, WireEnd::kForbidden);
}

}  // namespace
}  // namespace postrider
