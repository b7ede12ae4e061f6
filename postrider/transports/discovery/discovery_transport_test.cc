// Discovery over the real HTTP transport: a name server, TLS peers and well-known objects, all on
// loopback. Only ports differ from those of the Internet where they must.
#include "postrider/transports/discovery/discovery_transport.h"

#include <map>
#include <string>
#include <unistd.h>

#include <boost/asio/ssl/context.hpp>
#include <gtest/gtest.h>

#include "postrider/transports/http/http_transport.h"
#include "postrider/transports/http/peers_testing.h"

namespace postrider {
namespace {

const Certificate& authority() {
  static const Certificate kAuthority = make_certificate({.name = "", .authority = true});
  return kAuthority;
}

class RigClock final : public Clock {
 public:
  explicit RigClock(const Timestamp& boot) : boot_(boot) {}
  Instant read() const override {
    return {.boot = boot_, .wall = boot_ + Duration(1'800'000'000'000)};
  }

 private:
  const Timestamp& boot_;
};

// A TLS peer for `name` that notes its requests and answers them.
class NamedPeer {
 public:
  NamedPeer(WireRig& rig, const std::string& name, std::string reply,
            const std::string& address = "127.0.0.1", std::uint16_t port = 0)
      : context_(server_context(make_certificate({.name = name}, &authority()))),
        reply_(std::move(reply)),
        peer(
            rig.loop, [this](Link& link) { return serve(link); }, address, context_.get(), port) {}

  std::vector<std::string> requests;
  void say(std::string reply) { reply_ = std::move(reply); }

 private:
  Task serve(Link& link) {
    std::string request = co_await link.request();
    while (!request.empty()) {
      requests.push_back(request);
      co_await link.write(reply_);
      request = co_await link.request();
    }
  }
  std::unique_ptr<boost::asio::ssl::context> context_;
  std::string reply_;

 public:
  Peer peer;
};

bool has(const std::string& request, const std::string& line) {
  return request.find("\r\n" + line + "\r\n") != std::string::npos;
}

class DiscoveryRig final : public WireRig {
 public:
  explicit DiscoveryRig(DiscoveryOptions options = {},
                        std::vector<std::string> allow = {"127.0.0.0/8"}) {
    HttpTransportOptions http;
    http.allow = std::move(allow);
    http.now = [this] { return now; };
    http.name_servers = {names.address()};
    http.name_negative_ttl = Duration(1);
    options.srv.ares.servers = {names.address()};
    well_known = std::make_unique<NamedPeer>(
        *this, "DNS:us.example,DNS:a.example,DNS:b.example,DNS:c.example", answer(404));
    if (options.well_known_port == 443) options.well_known_port = well_known->peer.port();
    discovery = std::move(
        *DiscoveryTransport::make(loop, clock, options, [this](AttemptId attempt, WireReply reply) {
          ended[attempt.value()].push_back(std::move(reply));
          order.push_back(attempt.value());
        }));
    transport =
        std::move(*HttpTransport::make(loop, http, [this](AttemptId attempt, WireReply reply) {
          discovery->inner_ended(attempt, std::move(reply));
        }));
    discovery->over(*transport);
    names.known["us.example"] = {{"127.0.0.1"}};
  }
  ~DiscoveryRig() override {
    discovery->close();
    transport->close();
  }

  using WireRig::start;
  AttemptId start(const std::string& target, Duration time_out = 60s) {
    const Blob owner = Blob::copy_of("{}");
    return start(WireRequest{.verb = "PUT",
                             .target = target,
                             .headers = {{"x-ours", "1"}},
                             .owner = owner,
                             .body = owner.view(),
                             .time_out = time_out,
                             .trust = authority().pem()});
  }
  WireReply put(const std::string& target) { return end_of(start(target)); }
  void delegate(const std::string& server, std::string_view headers = "") {
    well_known->say(answer(200, R"({"m.server":")" + server + "\"}", headers));
  }

  RigClock clock{now};
  std::unique_ptr<NamedPeer> well_known;
  std::unique_ptr<DiscoveryTransport> discovery;
  std::unique_ptr<HttpTransport> transport;

 private:
  Transport& tested() override { return *discovery; }
  void sweep() override {
    transport->sweep();
    discovery->sweep();
  }
};

// An address of loopback that no other test has, for the fixed port.
std::string own_address() {
  const auto pid = static_cast<unsigned>(getpid());
  return "127." + std::to_string(100 + (pid >> 16) % 100) + "." + std::to_string((pid >> 8) & 255) +
         "." + std::to_string(1 + (pid & 127));
}

std::string port_of(const NamedPeer& named) { return std::to_string(named.peer.port()); }

constexpr const char* kUri = "/_matrix/federation/v1/send/1";

// req: matrix.http.8
TEST(Discovery, OfAPortAsksNothingElse) {
  DiscoveryRig rig;
  NamedPeer server(rig, "DNS:us.example", answer(200, "{}"));
  EXPECT_EQ(rig.put("matrix://Us.example:" + port_of(server) + kUri).status, 200);
  ASSERT_EQ(server.requests.size(), 1U);
  EXPECT_TRUE(server.requests[0].starts_with("PUT /_matrix/federation/v1/send/1 HTTP/1.1\r\n"));
  EXPECT_TRUE(has(server.requests[0], "host: us.example:" + port_of(server)));
  EXPECT_TRUE(has(server.requests[0], "x-ours: 1"));
  EXPECT_TRUE(server.requests[0].ends_with("\r\n\r\n{}"));
  EXPECT_EQ(rig.discovery->counts().well_knowns, 0U);
  EXPECT_TRUE(rig.names.services_asked.empty());
}

// req: matrix.http.8
TEST(Discovery, OfAnAddressChecksTheCertificateForIt) {
  DiscoveryRig rig;
  NamedPeer server(rig, "IP:127.0.0.1", answer(200, "{}"));
  EXPECT_EQ(rig.put("matrix://127.0.0.1:" + port_of(server) + kUri).status, 200);
  EXPECT_TRUE(has(server.requests.at(0), "host: 127.0.0.1:" + port_of(server)));
  NamedPeer other(rig, "DNS:us.example", answer(200, "{}"));
  EXPECT_EQ(rig.put("matrix://127.0.0.1:" + port_of(other) + kUri).end, WireEnd::kNoTls);
}

// req: matrix.http.8
TEST(Discovery, OfAnAddressWithoutAPortGoesTo8448) {
  DiscoveryRig rig;
  const std::string address = own_address();
  NamedPeer server(rig, "IP:" + address, answer(200, "{}"), address, matrix::kFederationPort);
  EXPECT_EQ(rig.put("matrix://" + address + kUri).status, 200);
  EXPECT_TRUE(has(server.requests.at(0), "host: " + address));
}

// req: matrix.http.8
TEST(Discovery, FollowsADelegationWithAPort) {
  DiscoveryRig rig;
  NamedPeer server(rig, "DNS:m.other", answer(200, "{}"));
  rig.names.known["m.other"] = {{"127.0.0.1"}};
  rig.delegate("m.other:" + port_of(server));
  EXPECT_EQ(rig.put(std::string("matrix://us.example") + kUri).status, 200);
  EXPECT_TRUE(has(server.requests.at(0), "host: m.other:" + port_of(server)));
  ASSERT_EQ(rig.well_known->requests.size(), 1U);
  EXPECT_TRUE(rig.well_known->requests[0].starts_with("GET /.well-known/matrix/server HTTP/1.1"));
  EXPECT_TRUE(has(rig.well_known->requests[0], "host: us.example"));
  EXPECT_TRUE(rig.names.services_asked.empty());
}

// req: matrix.http.8
TEST(Discovery, AsksForServicesOfTheDelegatedName) {
  DiscoveryRig rig;
  // The certificate is for the delegated name, and not for the target of SRV.
  NamedPeer server(rig, "DNS:m.other", answer(200, "{}"));
  rig.names.known["host7.other"] = {{"127.0.0.1"}};
  rig.names.services["_matrix-fed._tcp.m.other"] = {{"host7.other", server.peer.port()}};
  rig.delegate("m.other");
  EXPECT_EQ(rig.put(std::string("matrix://us.example") + kUri).status, 200);
  EXPECT_TRUE(has(server.requests.at(0), "host: m.other"));
  EXPECT_EQ(rig.names.services_asked.count("_matrix-fed._tcp.us.example"), 0U);
}

// req: matrix.http.8
TEST(Discovery, AsksForBothServicesAndStaysWithTheName) {
  DiscoveryRig rig;
  NamedPeer server(rig, "DNS:us.example", answer(200, "{}"));
  rig.names.known["host1.other"] = {{"127.0.0.1"}};
  rig.names.services["_matrix._tcp.us.example"] = {{"host1.other", server.peer.port()}};
  EXPECT_EQ(rig.put(std::string("matrix://us.example") + kUri).status, 200);
  EXPECT_TRUE(has(server.requests.at(0), "host: us.example"));
  EXPECT_EQ(rig.names.services_asked["_matrix-fed._tcp.us.example"], 1);
  EXPECT_EQ(rig.names.services_asked["_matrix._tcp.us.example"], 1);
}

// req: matrix.http.8
TEST(Discovery, EndsAtPort8448) {
  DiscoveryRig rig;
  const std::string address = own_address();
  rig.names.known["bare.example"] = {{address}};
  NamedPeer server(rig, "DNS:bare.example", answer(200, "{}"), address, matrix::kFederationPort);
  // Its well-known object would be at the same address, where no such port is open.
  EXPECT_EQ(rig.put(std::string("matrix://bare.example") + kUri).status, 200);
  EXPECT_TRUE(has(server.requests.at(0), "host: bare.example"));
}

// req: matrix.http.8
TEST(Discovery, GoesOnToTheNextTargetWhenNothingCouldBeSent) {
  DiscoveryRig rig;
  NamedPeer server(rig, "DNS:us.example", answer(200, "{}"));
  NamedPeer wrong(rig, "DNS:wrong.example", answer(200, "{}"));
  rig.names.known["good.other"] = {{"127.0.0.1"}};
  rig.names.known["wrong.other"] = {{"127.0.0.1"}};
  rig.names.services["_matrix-fed._tcp.us.example"] = {{"nobody.other", 1, 0},
                                                       {"wrong.other", wrong.peer.port(), 1},
                                                       {"good.other", server.peer.port(), 2}};
  EXPECT_EQ(rig.put(std::string("matrix://us.example") + kUri).status, 200);
  EXPECT_EQ(rig.discovery->counts().fallbacks, 2U);
  EXPECT_TRUE(wrong.requests.empty());
  // Of several failures the first is told.
  rig.names.services["_matrix-fed._tcp.us.example"] = {{"nobody.other", 1, 0},
                                                       {"wrong.other", wrong.peer.port(), 1}};
  rig.advance(61s);
  EXPECT_EQ(rig.put(std::string("matrix://us.example") + kUri).end, WireEnd::kNoName);
}

TEST(Discovery, StaysWithATargetThatMayHaveGotTheRequest) {
  DiscoveryRig rig;
  NamedPeer server(rig, "DNS:us.example", answer(503));
  NamedPeer second(rig, "DNS:us.example", answer(200));
  rig.names.known["host.other"] = {{"127.0.0.1"}};
  rig.names.services["_matrix-fed._tcp.us.example"] = {{"host.other", server.peer.port(), 0},
                                                       {"host.other", second.peer.port(), 1}};
  EXPECT_EQ(rig.put(std::string("matrix://us.example") + kUri).status, 503);
  EXPECT_TRUE(second.requests.empty());
}

// req: matrix.http.10
TEST(Discovery, GuardsWhereItLeads) {
  for (const std::string_view to : {"169.254.169.254", "127.0.0.1", "inner.other:443",
                                    "10.0.0.1:80", "[::1]:8448", "srv.other"}) {
    DiscoveryRig rig({}, {"127.0.0.2"});
    rig.names.known["us.example"] = {{"127.0.0.2"}};
    rig.names.known["inner.other"] = {{"169.254.169.254"}};
    rig.names.services["_matrix-fed._tcp.srv.other"] = {{"inner.other", 8448}};
    NamedPeer well_known(rig, "DNS:us.example",
                         answer(200, R"({"m.server":")" + std::string(to) + "\"}"), "127.0.0.2",
                         rig.well_known->peer.port());
    EXPECT_EQ(rig.put(std::string("matrix://us.example") + kUri).end, WireEnd::kForbidden) << to;
    EXPECT_EQ(well_known.requests.size(), 1U) << to;
    EXPECT_TRUE(rig.well_known->requests.empty());
  }
}

// req: matrix.http.9
TEST(DiscoveryWellKnown, FollowsFiveRedirects) {
  DiscoveryRig rig;
  NamedPeer server(rig, "DNS:m.other", answer(200, "{}"));
  rig.names.known["m.other"] = {{"127.0.0.1"}};
  std::vector<std::unique_ptr<NamedPeer>> hops;
  std::string next = answer(200, R"({"m.server":"m.other:)" + port_of(server) + "\"}");
  for (int i = 5; i >= 1; --i) {
    const std::string name = "hop" + std::to_string(i) + ".example";
    rig.names.known[name] = {{"127.0.0.1"}};
    hops.push_back(std::make_unique<NamedPeer>(rig, "DNS:" + name, next));
    next = answer(302, "", "location: https://" + name + ":" + port_of(*hops.back()) + "/x\r\n");
  }
  rig.well_known->say(next);
  EXPECT_EQ(rig.put(std::string("matrix://us.example") + kUri).status, 200);
  for (const auto& hop : hops) EXPECT_EQ(hop->requests.size(), 1U);
  EXPECT_EQ(rig.discovery->counts().well_knowns, 1U);
}

struct NoObject {
  const char* name;
  std::string reply;
};

// req: matrix.http.9
TEST(DiscoveryWellKnown, ThatIsNoneLeadsToTheServices) {
  const NoObject cases[] = {
      {"absent", answer(404)},
      {"a page", answer(200, "<html>welcome</html>")},
      {"a list", answer(200, "[]")},
      {"a bad name", answer(200, R"({"m.server":"https://m.other"})")},
      {"huge", answer(200, R"({"m.server":"m.other"})" + std::string(60 * 1024, ' '))},
      {"endless", answer(200, std::string(3 << 20, 'x'))},
      {"in clear text", answer(301, "", "location: http://us.example/x\r\n")},
      {"without a location", answer(301)},
      {"broken", answer(500)},
  };
  for (const NoObject& one : cases) {
    DiscoveryRig rig;
    NamedPeer server(rig, "DNS:us.example", answer(200, "{}"));
    rig.names.services["_matrix-fed._tcp.us.example"] = {{"us.example", server.peer.port()}};
    rig.well_known->say(one.reply);
    EXPECT_EQ(rig.put(std::string("matrix://us.example") + kUri).status, 200) << one.name;
    EXPECT_EQ(server.requests.size(), 1U) << one.name;
  }
}

// req: matrix.http.9
TEST(DiscoveryWellKnown, ThatRedirectsInACircleIsLeftAfterFiveRounds) {
  DiscoveryRig rig;
  NamedPeer server(rig, "DNS:us.example", answer(200, "{}"));
  rig.names.services["_matrix-fed._tcp.us.example"] = {{"us.example", server.peer.port()}};
  rig.well_known->say(
      answer(307, "", "location: https://us.example:" + port_of(*rig.well_known) + "/round\r\n"));
  EXPECT_EQ(rig.put(std::string("matrix://us.example") + kUri).status, 200);
  EXPECT_EQ(rig.well_known->requests.size(), 1U + matrix::kRedirectsMax);
}

// req: matrix.http.9
TEST(DiscoveryWellKnown, IsRememberedForItsTime) {
  DiscoveryRig rig;
  NamedPeer server(rig, "DNS:m.other", answer(200, "{}"));
  rig.names.known["m.other"] = {{"127.0.0.1"}};
  rig.delegate("m.other:" + port_of(server), "cache-control: max-age=600\r\n");
  const std::string target = std::string("matrix://us.example") + kUri;
  EXPECT_EQ(rig.put(target).status, 200);
  rig.advance(599s);
  EXPECT_EQ(rig.put(target).status, 200);
  EXPECT_EQ(rig.discovery->counts().well_knowns, 1U);
  rig.advance(1s);
  // An object that cannot be had for the moment is believed for two more minutes.
  rig.well_known->say(answer(503));
  EXPECT_EQ(rig.put(target).status, 200);
  EXPECT_EQ(rig.discovery->counts().well_knowns, 2U);
  rig.advance(100s);
  EXPECT_EQ(rig.put(target).status, 200);
  EXPECT_EQ(rig.discovery->counts().well_knowns, 2U);
  rig.advance(40s);
  rig.delegate("m.other:" + port_of(server));
  EXPECT_EQ(rig.put(target).status, 200);
  EXPECT_EQ(rig.discovery->counts().well_knowns, 3U);
  rig.advance(21h);
  EXPECT_EQ(rig.put(target).status, 200);
  EXPECT_EQ(rig.discovery->counts().well_knowns, 3U);
}

// req: matrix.http.9
TEST(DiscoveryWellKnown, ThatIsAbsentIsAskedForAgainAfterAnHour) {
  DiscoveryRig rig;
  NamedPeer server(rig, "DNS:us.example", answer(200, "{}"));
  rig.names.services["_matrix-fed._tcp.us.example"] = {
      {"us.example", server.peer.port(), 0, 0, 30}};
  const std::string target = std::string("matrix://us.example") + kUri;
  EXPECT_EQ(rig.put(target).status, 200);
  rig.advance(50min);
  EXPECT_EQ(rig.put(target).status, 200);
  EXPECT_EQ(rig.discovery->counts().well_knowns, 1U);
  EXPECT_EQ(rig.names.services_asked["_matrix-fed._tcp.us.example"], 2);
  rig.advance(20min);
  EXPECT_EQ(rig.put(target).status, 200);
  EXPECT_EQ(rig.discovery->counts().well_knowns, 2U);
}

TEST(DiscoveryWellKnown, IsForgottenWhenThereAreTooMany) {
  DiscoveryOptions options;
  options.servers_max = 2;
  DiscoveryRig rig(options);
  NamedPeer server(rig, "DNS:m.other", answer(200, "{}"));
  rig.names.known["m.other"] = {{"127.0.0.1"}};
  rig.delegate("m.other:" + port_of(server));
  for (const std::string name : {"a.example", "b.example", "c.example", "b.example", "a.example"}) {
    rig.names.known[name] = {{"127.0.0.1"}};
    EXPECT_EQ(rig.put("matrix://" + name + kUri).status, 200) << name;
  }
  EXPECT_EQ(rig.discovery->counts().well_knowns, 4U);
}

// req: matrix.http.6
TEST(Discovery, AsksOnceForManyRequestsAndKeepsTheConnection) {
  DiscoveryRig rig;
  NamedPeer server(rig, "DNS:us.example", answer(200, "{}"));
  rig.names.known["host1.other"] = {{"127.0.0.1"}};
  rig.names.services["_matrix-fed._tcp.us.example"] = {{"host1.other", server.peer.port()}};
  std::vector<AttemptId> attempts;
  for (int i = 0; i < 20; ++i)
    attempts.push_back(rig.start(std::string("matrix://us.example") + kUri));
  for (const AttemptId attempt : attempts) EXPECT_EQ(rig.end_of(attempt).status, 200);
  EXPECT_EQ(rig.discovery->counts().well_knowns, 1U);
  EXPECT_EQ(rig.names.services_asked["_matrix-fed._tcp.us.example"], 1);
  const int connections = server.peer.accepted;
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(rig.put(std::string("matrix://us.example") + kUri).status, 200);
  EXPECT_EQ(server.peer.accepted, connections);
}

TEST(Discovery, EndsWithAReasonWhenNobodyKnowsTheServices) {
  DiscoveryOptions options;
  options.srv.ares.ask_time_out = Duration(20);
  options.srv.ares.asks_max = 1;
  DiscoveryRig rig(options);
  rig.names.silent_below = "_tcp.us.example";
  const WireReply reply = rig.put(std::string("matrix://us.example") + kUri);
  EXPECT_EQ(reply.end, WireEnd::kNoName);
  EXPECT_EQ(reply.body, "discovery: its SRV records could not be asked for");
}

TEST(Discovery, EndsWithAReasonWhenTheServiceIsDeclaredAbsent) {
  DiscoveryRig rig;
  rig.names.services["_matrix-fed._tcp.us.example"] = {{".", 0}};
  const WireReply reply = rig.put(std::string("matrix://us.example") + kUri);
  EXPECT_EQ(reply.end, WireEnd::kNoName);
  EXPECT_EQ(reply.body, "discovery: its SRV records name no target");
}

TEST(Discovery, RefusesTargetsThatAreNone) {
  DiscoveryRig rig;
  for (const std::string target :
       {"matrix://", "matrix://a b/x", "matrix://u@a/x", "matrix://a:0/x"}) {
    const WireReply reply = rig.put(target);
    EXPECT_EQ(reply.end, WireEnd::kNoName) << target;
    EXPECT_TRUE(reply.body.starts_with("discovery: ")) << target;
  }
}

TEST(Discovery, LetsOtherRequestsPass) {
  DiscoveryRig rig;
  NamedPeer server(rig, "DNS:us.example", answer(200, "hi"));
  EXPECT_EQ(rig.put("https://us.example:" + port_of(server) + "/hook").body, "hi");
  EXPECT_EQ(rig.discovery->counts().well_knowns, 0U);
}

TEST(Discovery, TellsNothingOfWhatWasAborted) {
  DiscoveryRig rig;
  NamedPeer server(rig, "DNS:m.other", answer(200, "{}"));
  rig.names.known["m.other"] = {{"127.0.0.1"}};
  rig.delegate("m.other:" + port_of(server));
  const std::string target = std::string("matrix://us.example") + kUri;
  const AttemptId aborted = rig.start(target);
  const AttemptId kept = rig.start(target);
  rig.discovery->abort(aborted);
  EXPECT_EQ(rig.end_of(kept).status, 200);
  EXPECT_FALSE(rig.has_ended(aborted));
  EXPECT_EQ(server.requests.size(), 1U);
}

TEST(Discovery, IsHeldBackBeyondItsLimits) {
  DiscoveryOptions options;
  options.lookups_max = 1;
  DiscoveryRig rig(options);
  NamedPeer server(rig, "DNS:m.other", answer(200, "{}"));
  rig.names.known["m.other"] = {{"127.0.0.1"}};
  rig.delegate("m.other:" + port_of(server));
  const AttemptId first = rig.start(std::string("matrix://us.example") + kUri);
  const AttemptId second = rig.start(std::string("matrix://other.example") + kUri);
  EXPECT_EQ(rig.end_of(second).end, WireEnd::kHeldBack);
  EXPECT_EQ(rig.end_of(first).status, 200);
}

TEST(Discovery, CountsItsOwnTimeIntoThatOfTheRequest) {
  DiscoveryRig rig;
  rig.well_known->say("");  // never answers
  const AttemptId attempt = rig.start(std::string("matrix://us.example") + kUri, 10s);
  rig.until([&] { return rig.well_known->requests.size() == 1; });
  rig.advance(31s);  // the lookup gives up, and the time of the request is over
  const WireReply reply = rig.end_of(attempt);
  EXPECT_EQ(reply.end, WireEnd::kNoName);
}

}  // namespace
}  // namespace postrider
