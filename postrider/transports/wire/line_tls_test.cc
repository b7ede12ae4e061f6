// Lines with TLS: which keys and certificates are believed, and far sides that do not speak it.
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "postrider/transports/wire/loop_wire_testing.h"

namespace postrider {
namespace {

std::string pem_of(const Certificate& certificate) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bytes(BIO_new(BIO_s_mem()), &BIO_free);
  PEM_write_bio_PrivateKey(bytes.get(), certificate.key.get(), nullptr, nullptr, 0, nullptr,
                           nullptr);
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bytes.get(), &data);
  return std::string(data, static_cast<std::size_t>(size)) + certificate.pem();
}

std::string key_hash(const Certificate& certificate) {
  unsigned char* encoded = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate.certificate.get()), &encoded);
  std::string out(32, '\0');
  EVP_Digest(encoded, static_cast<std::size_t>(size), reinterpret_cast<unsigned char*>(out.data()),
             nullptr, EVP_sha256(), nullptr);
  OPENSSL_free(encoded);
  return out;
}

class LoopWireTls : public LoopWireTest {
 protected:
  LoopWireTls() {
    secrets["server"] = pem_of(server);
    secrets["client"] = pem_of(client);
    secrets["nonsense"] = "-----BEGIN NOTHING-----";
    secrets["mixed"] =
        pem_of(server).substr(0, pem_of(server).find("-----BEGIN CERT")) + client.pem();
  }
  LineId listen_tls(std::string pinned = {}) {
    return listen({.address = "tls://127.0.0.1:0", .tls = "server", .peer_key = std::move(pinned)});
  }
  void trust(const Certificate& certificate) {
    trust_file = ::testing::TempDir() + "postrider-trust-" + std::to_string(::getpid());
    FILE* const file = std::fopen(trust_file.c_str(), "w");
    ASSERT_NE(file, nullptr);
    std::fputs(certificate.pem().c_str(), file);
    std::fclose(file);
    make({.trust_file = trust_file});
  }
  ~LoopWireTls() override {
    if (!trust_file.empty()) ::unlink(trust_file.c_str());
  }
  Certificate server = make_certificate({.name = "IP:127.0.0.1"});
  Certificate client = make_certificate({.name = "DNS:client.example"});
  std::string trust_file;
};

TEST_F(LoopWireTls, APinnedKeyIsEnough) {  // req: station.tls.1
  const LineId listener = listen_tls();
  const LineId ours = open({.address = "tls://" + of(listener).peer, .peer_key = key_hash(server)});
  ASSERT_TRUE(of(ours).opened);
  const LineId theirs = accept();
  wire->write(ours, "secret", "");
  until([&] { return of(theirs).took == "secret"; });
  const std::size_t size = 3 * kMiB;
  wire->write(theirs, std::string(size, 'x'), "");
  until([&] { return of(ours).took.size() == size; });
  wire->close(ours);
  EXPECT_EQ(end_of(theirs), "lost");
}

TEST_F(LoopWireTls, AnotherKeyThanThePinnedOneIsNoTls) {  // req: station.tls.1
  const LineId listener = listen_tls();
  const LineId ours = open({.address = "tls://" + of(listener).peer, .peer_key = key_hash(client)});
  EXPECT_EQ(end_of(ours), "no-tls");
  EXPECT_EQ(of(ours).ends[0].second, "the far side has another key");
}

TEST_F(LoopWireTls, WithoutAPinnedKeyTheCertificateDecides) {  // req: station.tls.2
  trust(server);
  const LineId listener = listen_tls();
  EXPECT_TRUE(of(open({.address = "tls://" + of(listener).peer})).opened);
  names.known["other.example"] = {{.address = "127.0.0.1"}};
  const std::string port = of(listener).peer.substr(of(listener).peer.find(':'));
  EXPECT_EQ(end_of(open({.address = "tls://other.example" + port})), "no-tls")
      << "it is for another name";
  trust(client);
  const LineId again = listen_tls();
  EXPECT_EQ(end_of(open({.address = "tls://" + of(again).peer})), "no-tls") << "nobody vouches";
}

TEST_F(LoopWireTls, AListenerKnowsItsFarSideByItsKey) {  // req: station.tls.3
  const LineId listener = listen_tls(key_hash(client));
  const std::string address = "tls://" + of(listener).peer;
  const LineId known = open({.address = address, .tls = "client", .peer_key = key_hash(server)});
  EXPECT_TRUE(of(known).opened);
  accept();
  // Without a key, and with another one: the client learns it when the listener closes.
  const LineId nameless = open({.address = address, .peer_key = key_hash(server)});
  until([&] { return !of(nameless).ends.empty(); });
  const LineId other = open({.address = address, .tls = "server", .peer_key = key_hash(server)});
  until([&] { return !of(other).ends.empty(); });
  settle();
  EXPECT_EQ(accepted.size(), 1U) << "a far side that shows no good key is never told of";
}

TEST_F(LoopWireTls, SecretsThatCannotServeAreNamed) {  // req: station.tls.4
  const auto refused = [&](std::string name) {
    const LineId line = open({.address = "tls://127.0.0.1:0", .listens = true, .tls = name});
    EXPECT_EQ(end_of(line), "no-tls") << name;
    return of(line).ends[0].second;
  };
  EXPECT_NE(refused("").find("needs a key"), std::string::npos);
  EXPECT_NE(refused("unknown").find("no such secret"), std::string::npos);
  EXPECT_NE(refused("nonsense").find("no private key"), std::string::npos);
  EXPECT_NE(refused("mixed").find("not that of the key"), std::string::npos);
  EXPECT_EQ(end_of(open({.address = "udp://127.0.0.1:0", .listens = true, .tls = "server"})),
            "no-tls");
  EXPECT_EQ(end_of(open({.address = "tcp://127.0.0.1:1", .peer_key = key_hash(server)})), "no-tls")
      << "a key without TLS proves nothing";
}

TEST_F(LoopWireTls, ASilentFarSideIsGivenUp) {  // req: station.foreign.3
  const LineId listener = listen_tls();
  RawSocket silent = RawSocket::to(of(listener).peer);
  until([&] { return wire->lines() == 2U; });
  settle();
  now = now + Duration(10'000);
  wire->sweep();
  until([&] {
    silent.read();
    return silent.ended;
  });
  EXPECT_EQ(wire->lines(), 1U);
  EXPECT_TRUE(accepted.empty());
  EXPECT_EQ(lines.size(), 1U) << "only the listener was told of";
}

TEST_F(LoopWireTls, AFarSideThatSpeaksSomethingElseIsNotToldOf) {  // req: station.foreign.3
  const LineId listener = listen_tls();
  RawSocket plain = RawSocket::to(of(listener).peer);
  plain.send("GET / HTTP/1.1\r\n\r\n");
  until([&] {
    plain.read();
    return plain.ended;
  });
  EXPECT_TRUE(accepted.empty());
  RawSocket hasty = RawSocket::to(of(listener).peer);
  hasty.reset();
  settle();
  until([&] { return wire->lines() == 1U; });
  EXPECT_EQ(lines.size(), 1U);
}

TEST_F(LoopWireTls, AServerThatHangsInTheHandshakeIsGivenUp) {  // req: station.foreign.3
  const LineId plain = listen();
  const LineId ours(++last);
  wire->open(ours, {.address = "tls://" + of(plain).peer, .peer_key = key_hash(server)});
  accept();
  settle();
  now = now + Duration(10'000);
  wire->sweep();
  EXPECT_EQ(end_of(ours), "no-tls");
}

TEST_F(LoopWireTls, AHeldLineGivesWhatItHadReadWhenItIsFree) {  // req: station.hold.1
  const LineId listener = listen_tls();
  const LineId ours = open({.address = "tls://" + of(listener).peer, .peer_key = key_hash(server)});
  const LineId theirs = accept();
  bool first = true;
  on_note = [&](const station::Happened& happened) {
    const auto* took = std::get_if<station::LineTook>(&happened);
    if (took != nullptr && took->line == theirs && std::exchange(first, false))
      wire->hold(theirs, true);
  };
  wire->write(ours, std::string(40'000, 'a'), "");
  until([&] { return of(theirs).inputs == 1; });
  settle();
  EXPECT_EQ(of(theirs).inputs, 1);
  EXPECT_LT(of(theirs).took.size(), 40'000U);
  wire->hold(theirs, false);
  until([&] { return of(theirs).took.size() == 40'000U; });
}

}  // namespace
}  // namespace postrider
