#include "postrider/doors/matrix/rig_testing.h"

#include <algorithm>

#include <boost/asio/ssl/context.hpp>

namespace postrider::matrix_door {

const Certificate& rig_authority() {
  static const Certificate kAuthority = make_certificate({.name = "", .authority = true});
  return kAuthority;
}

FarServer::FarServer(WireRig& rig, const std::string& host, Peer::Script script)
    : host_(host),
      context_(server_context(make_certificate({.name = "DNS:" + host}, &rig_authority()))),
      peer(rig.loop, std::move(script), "127.0.0.1", context_.get()) {
  rig.names.known[host] = {{"127.0.0.1"}};
}

FarServer::~FarServer() = default;

EgressRig::EgressRig() {
  ways_options.http.allow = {"127.0.0.0/8"};
  ways_options.http.now = [this] { return now; };
  ways_options.http.name_servers = {names.address()};
  ways_options.discovery.srv.ares.servers = {names.address()};
  relay_options.trust = rig_authority().pem();
  relay_options.ask_closed = [this](const std::string& name,
                                    const std::function<void(bool)>& then) {
    then(std::find(closed_servers.begin(), closed_servers.end(), name) != closed_servers.end());
  };
  relay_options.seen = [this](const std::string& name) { seen.push_back(name); };
  egress_options.secret = kRigSecret;
  egress_options.server_name = kRigName;
}

EgressRig::~EgressRig() = default;

void EgressRig::open() {
  ways = std::move(*Ways::make(loop, clock, ways_options));
  relays = std::make_unique<Relays>(*ways, relay_options);
  egress = std::make_unique<Egress>(egress_options, *relays, [this](const HandedOver& handed) {
    taken.push_back(handed.target.server.text + " " + handed.target.transaction_id + " " +
                    std::string(handed.body));
    handed.exchange->respond({.body = R"({"pdus":{}})"});
  });
  server = std::make_unique<HttpServer>(loop, Egress::limits(limits), egress->handler(), clock);
  const auto bound = server->listen({.address = "127.0.0.1:0"});
  ASSERT_TRUE(bound) << bound.error().detail;
  address = *bound;
}

std::string EgressRig::secret_line() {
  return "Proxy-Authorization: Bearer " + std::string(kRigSecret) + "\r\n";
}

std::unique_ptr<RawClient> EgressRig::send(std::string_view method, const std::string& target,
                                           const std::string& lines, std::string_view body) {
  if (server == nullptr) open();
  auto client = std::make_unique<RawClient>(address);
  std::string bytes(method);
  bytes.append(" ").append(target).append(" HTTP/1.1\r\nHost: x\r\n").append(lines);
  if (!body.empty()) bytes.append("Content-Length: ").append(std::to_string(body.size()) + "\r\n");
  bytes.append("\r\n").append(body);
  EXPECT_TRUE(client->send(bytes));
  return client;
}

HttpReply EgressRig::reply(RawClient& client, bool to_head) {
  std::optional<HttpReply> found;
  until([&] {
    client.receive();
    std::string copy = client.received;
    found = take_reply(copy, to_head);
    if (found) client.received = copy;
    return found.has_value() || client.ended;
  });
  return found.value_or(HttpReply{});
}

HttpReply EgressRig::call(std::string_view method, const std::string& target,
                          const std::string& lines, std::string_view body) {
  const auto client = send(method, target, lines, body);
  return reply(*client, method == "HEAD");
}

HttpReply EgressRig::relayed(std::string_view method, const std::string& server_name,
                             const std::string& path, const std::string& lines,
                             std::string_view body) {
  return call(method, "matrix-federation://" + server_name + path, secret_line() + lines, body);
}

void EgressRig::sweep() {
  ways->sweep();
  server->sweep();
  relays->look();
}

}  // namespace postrider::matrix_door
