// Two real daemons with the drill station over TCP, TLS and UDP on loopback, either killed.
#include "tests/crash/link_rounds.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <sys/stat.h>

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "postrider/transports/http/peers_testing.h"

namespace postrider::crash {
namespace {

// A share of what `make crash` asks for.
std::uint32_t rounds_wanted() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread sets variables
  const char* const text = std::getenv("POSTRIDER_LINK_ROUNDS");
  return text == nullptr ? 4 : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

std::string key_hash(const Certificate& certificate) {
  unsigned char* bytes = nullptr;
  const int size = ::i2d_PUBKEY(certificate.key.get(), &bytes);
  unsigned char hash[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  ::EVP_Digest(bytes, static_cast<std::size_t>(size), hash, &length, ::EVP_sha256(), nullptr);
  ::OPENSSL_free(bytes);
  std::string out;
  for (unsigned int i = 0; i < length; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", hash[i]);
    out += digits;
  }
  return out;
}

// As a secret for lines has it: the key, and its certificate.
std::string secret_of(const Certificate& certificate) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bytes(BIO_new(BIO_s_mem()), &BIO_free);
  PEM_write_bio_PrivateKey(bytes.get(), certificate.key.get(), nullptr, nullptr, 0, nullptr,
                           nullptr);
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bytes.get(), &data);
  return std::string(data, static_cast<std::size_t>(size)) + certificate.pem();
}

struct LinkCase {
  const char* name;
  LinkWay way;
};
class LinkRounds : public ::testing::TestWithParam<LinkCase> {
 protected:
  LinkRounds() {
    directory_ = testing::TempDir() + "postrider-links-XXXXXX";
    if (::mkdtemp(directory_.data()) == nullptr) std::abort();
  }
  ~LinkRounds() override {
    std::error_code ignored;
    if (!HasFailure()) std::filesystem::remove_all(directory_, ignored);
  }
  std::string directory_;
};

// req: station.real.1
TEST_P(LinkRounds, LoseAndDoubleNothingWhicheverDaemonIsKilled) {
  const Certificate certificate = make_certificate({.name = "IP:127.0.0.1"});
  LinkRoundsOptions options;
  options.daemon = POSTRIDER_LINK_BINARY;
  options.directory = directory_;
  options.way = GetParam().way;
  options.rounds = rounds_wanted();
  options.seed = 617 + options.rounds;
  options.certificate = directory_ + "/link.pem";
  options.peer_key = key_hash(certificate);
  std::ofstream(options.certificate) << secret_of(certificate);
  ASSERT_EQ(::chmod(options.certificate.c_str(), 0600), 0);
  const LinkRoundsReport report = run_link_rounds(options);
  std::string all;
  for (const std::string& finding : report.findings) all += finding + "\n";
  EXPECT_TRUE(report.findings.empty()) << all << directory_;
  EXPECT_EQ(report.kills, options.rounds);
  EXPECT_EQ(report.accepted, 2U * options.rounds * options.messages);
  EXPECT_EQ(report.confirmed, report.accepted);
}

INSTANTIATE_TEST_SUITE_P(Over, LinkRounds,
                         ::testing::Values(LinkCase{"Tcp", LinkWay::kTcp},
                                           LinkCase{"Tls", LinkWay::kTls},
                                           LinkCase{"Udp", LinkWay::kUdp}),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace postrider::crash
