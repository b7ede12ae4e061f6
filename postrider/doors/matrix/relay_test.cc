// Requests that are handed on: what the far server sees, what the homeserver gets back, and what
// is held meanwhile.
#include "postrider/doors/matrix/relay.h"

#include <algorithm>
#include <ostream>
#include <string>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "postrider/doors/matrix/rig_testing.h"

namespace postrider::matrix_door {
namespace {

constexpr const char* kPath = "/_matrix/federation/v1/make_join/%21r%3Athem/%40u%3Aus?ver=9&ver=10";

Peer::Script noting(std::string& request, std::string reply) {
  return [&request, reply = std::move(reply)](Link& link) -> Task {
    request = co_await link.request();
    co_await link.write(reply);
    co_await link.gone();
  };
}

bool has_line(const std::string& request, const std::string& line) {
  return request.find("\r\n" + line + "\r\n") != std::string::npos;
}

std::string big(std::size_t bytes) {
  std::string out;
  while (out.size() < bytes) out.append("0123456789abcdef");
  out.resize(bytes);
  return out;
}

// req: matrix.egress.5
TEST(Relay, HandsOnMethodPathHeadersAndBody) {
  EgressRig rig;
  std::string request;
  FarServer far(rig, "far.example", noting(request, answer(200, "{}")));
  const HttpReply reply =
      rig.relayed("POST", far.name(), kPath,
                  "Authorization: X-Matrix origin=\"us.example\",key=\"ed25519:1\",sig=\"x\"\r\n"
                  "Authorization: X-Matrix origin=\"us.example\",key=\"ed25519:2\",sig=\"y\"\r\n"
                  "Content-Type: application/json\r\nUser-Agent: Synapse/1.163.2\r\nX-Hop: 1\r\n"
                  "Connection: close, x-hop\r\nKeep-Alive: timeout=5\r\n",
                  "{\"a\": 1}");
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(request.starts_with("POST " + std::string(kPath) +
                                  " HTTP/1.1\r\nhost: " + far.name() + "\r\n"))
      << request;
  EXPECT_TRUE(has_line(
      request, "authorization: X-Matrix origin=\"us.example\",key=\"ed25519:1\",sig=\"x\""));
  EXPECT_TRUE(has_line(
      request, "authorization: X-Matrix origin=\"us.example\",key=\"ed25519:2\",sig=\"y\""));
  EXPECT_TRUE(has_line(request, "content-type: application/json"));
  EXPECT_TRUE(has_line(request, "user-agent: Synapse/1.163.2"));
  EXPECT_TRUE(has_line(request, "content-length: 8"));
  EXPECT_TRUE(request.ends_with("\r\n\r\n{\"a\": 1}"));
  for (const char* hidden : {"proxy-authorization", "x-hop", "keep-alive", "secret"})
    EXPECT_EQ(request.find(hidden), std::string::npos) << hidden;
}

// req: matrix.egress.5
TEST(Relay, BringsTheAnswerBackWithItsHeaders) {
  EgressRig rig;
  std::string request;
  FarServer far(rig, "far.example",
                noting(request, answer(403, R"({"errcode":"M_FORBIDDEN"})",
                                       "Content-Type: application/json; charset=x\r\n"
                                       "Server: Far\r\nX-Two: 1\r\nX-Two: 2\r\nX-Hop: 1\r\n"
                                       "Connection: X-Hop\r\nKeep-Alive: 5\r\n")));
  const HttpReply reply = rig.relayed("GET", far.name(), "/_matrix/key/v2/server");
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(reply.body, R"({"errcode":"M_FORBIDDEN"})");
  EXPECT_EQ(reply.header("content-type"), "application/json; charset=x");
  EXPECT_EQ(reply.header("server"), "Far");
  EXPECT_EQ(reply.header("x-hop"), "");
  EXPECT_EQ(reply.header("keep-alive"), "");
  EXPECT_EQ(std::count_if(reply.headers.begin(), reply.headers.end(),
                          [](const auto& header) { return header.first == "x-two"; }),
            2);
  EXPECT_EQ(request.find("content-length"), std::string::npos) << "a GET without a body";
  EXPECT_EQ(rig.relays->counts().answered, 1U);
  EXPECT_EQ(rig.relays->open(), 0U);
}

// req: matrix.egress.5
TEST(Relay, AnswersToHeadAndWithoutContentHaveNoBody) {
  EgressRig rig;
  std::string request;
  FarServer head(rig, "head.example",
                 noting(request, "HTTP/1.1 200 OK\r\ncontent-length: 12\r\nx-a: b\r\n\r\n"));
  EXPECT_EQ(rig.relayed("HEAD", head.name(), "/x").header("x-a"), "b");
  FarServer none(rig, "none.example", noting(request, "HTTP/1.1 204 No Content\r\n\r\n"));
  EXPECT_EQ(rig.relayed("DELETE", none.name(), "/x").status, 204);
  EXPECT_TRUE(has_line(request, "content-length: 0"));
}

// A relay is for the server behind a name of SRV; the first target does not answer.
// req: matrix.egress.5
TEST(Relay, FindsTheServerByDiscovery) {
  EgressRig rig;
  std::string request;
  FarServer gone(rig, "gone.example", noting(request, answer(200)));
  FarServer far(rig, "far.example", noting(request, answer(200, "found")));
  gone.peer.stop();
  rig.ways_options.discovery.well_known_port = gone.peer.port();  // there is none
  rig.names.services["_matrix-fed._tcp.far.example"] = {
      {.target = "gone.example", .port = gone.peer.port(), .priority = 1},
      {.target = "far.example", .port = far.peer.port(), .priority = 2}};
  const HttpReply reply = rig.relayed("PUT", "far.example", "/x", "", "the body");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.body, "found");
  EXPECT_TRUE(request.starts_with("PUT /x HTTP/1.1\r\nhost: far.example\r\n")) << request;
  EXPECT_TRUE(request.ends_with("the body"));
}

// req: matrix.egress.5
TEST(Relay, StreamsALargeAnswerToASlowClientInBoundedMemory) {
  EgressRig rig;
  constexpr std::size_t kBytes = 20U << 20;
  bool all_written = false;
  FarServer far(rig, "far.example", [&](Link& link) -> Task {
    co_await link.request();
    co_await link.write(answer(200, big(kBytes)));
    all_written = true;
    co_await link.gone();
  });
  const auto client =
      rig.send("GET", "matrix-federation://" + far.name() + "/media", EgressRig::secret_line());
  // The client takes nothing: everything that can be under way comes to a stand.
  rig.until([&] { return rig.relays->counts().held_peak > Relays::kAheadBytes; });
  rig.settle();
  EXPECT_FALSE(all_written);
  EXPECT_LE(rig.server->held_bytes(), Relays::kHeldBytesMax);
  std::size_t got = 0;
  rig.until([&] {
    client->receive();
    got += client->received.size();
    const bool end = client->received.ends_with("0\r\n\r\n");
    client->received.clear();
    return end;
  });
  EXPECT_GT(got, kBytes);
  EXPECT_TRUE(all_written);
  EXPECT_LE(rig.relays->counts().held_peak, Relays::kHeldBytesMax);
  EXPECT_EQ(rig.relays->counts().answered, 1U);
}

// req: matrix.egress.5
TEST(Relay, StreamsALargeBodyToASlowServerInBoundedMemory) {
  EgressRig rig;
  constexpr std::size_t kBytes = 20U << 20;
  bool reads = false;
  std::size_t got = 0;
  FarServer far(rig, "far.example", [&](Link& link) -> Task {
    co_await link.until([&] { return reads; });
    while (got < kBytes) got += (co_await link.some(1)).size();
    co_await link.write(answer(200, "thanks"));
    co_await link.gone();
  });
  const auto client =
      rig.send("PUT", "matrix-federation://" + far.name() + "/x",
               EgressRig::secret_line() + "Content-Length: " + std::to_string(kBytes) + "\r\n");
  const std::string body = big(kBytes);
  std::size_t sent = 0;
  const auto push = [&] {
    const ssize_t now = ::send(client->fd, body.data() + sent, body.size() - sent, MSG_NOSIGNAL);
    if (now > 0) sent += static_cast<std::size_t>(now);
    return now > 0;
  };
  rig.until([&] { return far.peer.accepted == 1; });
  for (int i = 0; i < 200; ++i) {
    while (push()) continue;
    rig.settle();
  }
  EXPECT_LT(sent, kBytes);
  EXPECT_LE(rig.server->held_bytes(), Relays::kHeldBytesMax);
  reads = true;
  rig.until([&] {
    if (sent < kBytes) push();
    return sent == kBytes;
  });
  const HttpReply reply = rig.reply(*client);
  EXPECT_EQ(reply.body, "thanks");
  EXPECT_LE(rig.relays->counts().held_peak, Relays::kHeldBytesMax);
}

struct FailureCase {
  std::string name;
  std::string server;
  std::string words;
};
void PrintTo(const FailureCase& each, std::ostream* out) { *out << each.name; }

class RelayFailure : public ::testing::TestWithParam<FailureCase> {};

// req: matrix.egress.6
TEST_P(RelayFailure, IsToldAs502) {
  EgressRig rig;
  rig.names.known["metadata.example"] = {{"169.254.169.254"}};
  rig.names.known["nobody.example"] = {{"127.0.0.1"}};
  const HttpReply reply = rig.relayed("GET", GetParam().server, "/_matrix/key/v2/server");
  EXPECT_EQ(reply.status, 502);
  EXPECT_EQ(reply.header("content-type"), "application/json");
  EXPECT_TRUE(reply.body.starts_with(R"({"errcode":"M_UNKNOWN","error":")")) << reply.body;
  EXPECT_NE(reply.body.find(GetParam().words), std::string::npos) << reply.body;
  EXPECT_EQ(rig.relays->counts().failed, 1U);
  EXPECT_EQ(rig.relays->open(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Relay, RelayFailure,
    ::testing::Values(FailureCase{"OfAnUnknownName", "unknown.example:8448", "cannot be found"},
                      FailureCase{"OfAForbiddenAddress", "169.254.169.254:80", "not allowed"},
                      FailureCase{"OfANameThatLeadsThere", "metadata.example:80", "not allowed"},
                      FailureCase{"OfIpv6Loopback", "[::1]:8448", "not allowed"},
                      FailureCase{"OfAPortWhereNothingListens", "nobody.example:1",
                                  "cannot be connected to"}),
    [](const auto& each) { return each.param.name; });

// req: matrix.egress.6
TEST(Relay, ToACertificateOfAnotherNameIsToldAs502) {
  EgressRig rig;
  std::string request;
  FarServer far(rig, "far.example", noting(request, answer(200)));
  rig.names.known["other.example"] = {{"127.0.0.1"}};
  const HttpReply reply =
      rig.relayed("GET", "other.example:" + std::to_string(far.peer.port()), "/x");
  EXPECT_EQ(reply.status, 502);
  EXPECT_NE(reply.body.find("not trusted"), std::string::npos) << reply.body;
  EXPECT_EQ(request, "");
}

// req: matrix.egress.6
TEST(Relay, EndsAfterAMinuteWith502) {
  EgressRig rig;
  std::string request;
  FarServer far(rig, "far.example", [&](Link& link) -> Task {
    request = co_await link.request();
    co_await link.forever();
  });
  const auto client =
      rig.send("GET", "matrix-federation://" + far.name() + "/x", EgressRig::secret_line());
  rig.until([&] { return !request.empty(); });
  rig.advance(59s);
  rig.settle();
  EXPECT_EQ(rig.relays->open(), 1U);
  rig.advance(2s);
  const HttpReply reply = rig.reply(*client);
  EXPECT_EQ(reply.status, 502);
  EXPECT_NE(reply.body.find("did not answer in time"), std::string::npos) << reply.body;
  EXPECT_TRUE(rig.seen.empty());
}

TEST(Relay, AnswerThatBreaksOffIsCut) {
  EgressRig rig;
  FarServer far(rig, "far.example", [&](Link& link) -> Task {
    co_await link.request();
    co_await link.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf");
    link.reset();
  });
  const auto client =
      rig.send("GET", "matrix-federation://" + far.name() + "/x", EgressRig::secret_line());
  rig.until([&] {
    client->receive();
    return client->ended;
  });
  EXPECT_TRUE(client->received.starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(client->received.ends_with("4\r\nhalf\r\n")) << client->received;
  EXPECT_EQ(rig.relays->counts().broken, 1U);
}

// req: matrix.egress.6
TEST(Relay, ToAClosedServerGoesOneAtATime) {
  EgressRig rig;
  bool answers = false;
  FarServer far(rig, "far.example", [&](Link& link) -> Task {
    co_await link.request();
    co_await link.until([&] { return answers; });
    co_await link.write(answer(200, "alive"));
    co_await link.gone();
  });
  rig.closed_servers = {far.name()};
  const auto first =
      rig.send("GET", "matrix-federation://" + far.name() + "/x", EgressRig::secret_line());
  rig.until([&] { return far.peer.accepted == 1; });
  EXPECT_EQ(rig.relayed("GET", far.name(), "/x").status, 502);
  EXPECT_EQ(rig.relays->counts().refused, 1U);
  EXPECT_TRUE(rig.seen.empty());
  answers = true;
  EXPECT_EQ(rig.reply(*first).body, "alive");
  EXPECT_EQ(rig.seen, std::vector<std::string>{far.name()});
  EXPECT_EQ(rig.relayed("GET", far.name(), "/x").status, 200);
  EXPECT_EQ(far.peer.accepted, 2);
}

// req: matrix.egress.6
TEST(Relay, IsASignOfLifeOnlyWhenAClosedServerAnswersWithSuccess) {
  EgressRig rig;
  std::string request;
  FarServer angry(rig, "angry.example", noting(request, answer(500)));
  FarServer open(rig, "open.example", noting(request, answer(200)));
  rig.closed_servers = {angry.name(), "nobody.example:1"};
  rig.names.known["nobody.example"] = {{"127.0.0.1"}};
  EXPECT_EQ(rig.relayed("GET", angry.name(), "/x").status, 500);
  EXPECT_EQ(rig.relayed("GET", "nobody.example:1", "/x").status, 502);
  EXPECT_EQ(rig.relayed("GET", open.name(), "/x").status, 200);
  EXPECT_TRUE(rig.seen.empty());
}

// req: matrix.egress.6
TEST(Relay, NumberIsBoundedInAllAndForOneServer) {
  EgressRig rig;
  rig.relay_options.relays_max = 3;
  rig.relay_options.per_server_max = 2;
  const auto hang = [](Link& link) -> Task { co_await link.forever(); };
  FarServer far(rig, "far.example", hang);
  FarServer other(rig, "other.example", hang);
  const auto ask = [&](const FarServer& server) {
    return rig.send("GET", "matrix-federation://" + server.name() + "/x", EgressRig::secret_line());
  };
  const auto a = ask(far);
  const auto b = ask(far);
  rig.until([&] { return rig.relays->open() == 2; });
  EXPECT_EQ(rig.relayed("GET", far.name(), "/x").status, 502);
  const auto c = ask(other);
  rig.until([&] { return rig.relays->open() == 3; });
  EXPECT_EQ(rig.relayed("GET", other.name(), "/x").status, 502);
  EXPECT_EQ(rig.relays->counts().refused, 2U);
}

TEST(Relay, IsGivenUpWhenTheClientHasGone) {
  EgressRig rig;
  FarServer far(rig, "far.example", [](Link& link) -> Task {
    co_await link.request();
    co_await link.gone();
  });
  const auto client =
      rig.send("GET", "matrix-federation://" + far.name() + "/x", EgressRig::secret_line());
  rig.until([&] { return far.peer.open == 1; });
  client->reset();
  rig.until([&] { return rig.server->connections() == 0; });
  rig.relays->look();
  EXPECT_EQ(rig.relays->open(), 0U);
  EXPECT_EQ(rig.relays->counts().abandoned, 1U);
  rig.until([&] { return far.peer.open == 0; });
}

TEST(Relay, HeadersOfOneConnectionStayThere) {
  EXPECT_TRUE(is_end_to_end("authorization", ""));
  EXPECT_TRUE(is_end_to_end("x-a", "close"));
  EXPECT_FALSE(is_end_to_end("x-a", "close ,\tX-A"));
  EXPECT_FALSE(is_end_to_end("proxy-authorization", ""));
  EXPECT_FALSE(is_end_to_end("transfer-encoding", ""));
}

}  // namespace
}  // namespace postrider::matrix_door
