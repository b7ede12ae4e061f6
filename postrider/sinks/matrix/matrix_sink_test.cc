// The modelled Matrix server over TLS, as a real process would meet it.
#include "postrider/sinks/matrix/matrix_sink.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <openssl/pem.h>

#include "postrider/protocols/matrix/x_matrix.h"
#include "postrider/transports/http/peers_testing.h"

namespace postrider {
namespace {

class MatrixSinkTest : public ::testing::Test {
 protected:
  MatrixSinkTest() {
    std::string pattern = testing::TempDir() + "postrider_sink_XXXXXX";
    directory = mkdtemp(pattern.data());
    certificate = make_certificate({.name = "IP:127.0.0.1"});
    options.tls = {.certificate_file = directory + "/cert.pem", .key_file = directory + "/key.pem"};
    std::ofstream(options.tls.certificate_file) << certificate.pem();
    std::FILE* const file = std::fopen(options.tls.key_file.c_str(), "w");
    EXPECT_EQ(
        PEM_write_PrivateKey(file, certificate.key.get(), nullptr, nullptr, 0, nullptr, nullptr),
        1);
    std::fclose(file);
    options.receiver.server_name = "far.example";
    options.receiver.keys = {{.id = key.id(), .key = key.public_key()}};
  }
  ~MatrixSinkTest() override {
    if (sink != nullptr) sink->stop();
    if (thread.joinable()) thread.join();
    std::filesystem::remove_all(directory);
  }
  void open() {
    auto opened = open_matrix_sink(options);
    ASSERT_TRUE(opened) << opened.error().detail;
    sink = std::move(*opened);
    thread = std::thread([this] { sink->run(false); });
  }
  WireReply put(const std::string& id, const std::string& body) {
    const std::string uri = "/_matrix/federation/v1/send/" + id;
    const matrix::RequestWords words{
        .method = "PUT", .uri = uri, .origin = "us.example", .destination = "far.example"};
    const Blob owner = Blob::copy_of(body);
    return rig.end_of(rig.start(WireRequest{
        .verb = "PUT",
        .target = "https://" + sink->address() + uri,
        .headers = {{"authorization",
                     matrix::authorization_of(words, key.id(),
                                              key.sign(matrix::signed_request(words, body)))}},
        .owner = owner,
        .body = owner.view(),
        .time_out = 10s,
        .trust = certificate.pem(),
        .once = true}));
  }
  WireReply control(const std::string& verb, const std::string& path,
                    const std::string& body = {}) {
    const Blob owner = Blob::copy_of(body);
    return rig.end_of(rig.start(WireRequest{.verb = verb,
                                            .target = "http://" + sink->control_address() + path,
                                            .owner = owner,
                                            .body = owner.view(),
                                            .time_out = 10s}));
  }

  std::string directory;
  Certificate certificate;
  matrix::SigningKey key = matrix::SigningKey::make("ed25519:a", matrix::Seed{});
  MatrixSinkOptions options;
  std::unique_ptr<FarSide> sink;
  std::thread thread;
  Rig rig;
};

constexpr const char* kBody =
    R"({"origin":"us.example","origin_server_ts":1,"pdus":[{"content":{},"depth":1,)"
    R"("room_id":"!r:us","sender":"@u:us.example","type":"m.x"}]})";

TEST_F(MatrixSinkTest, TakesSignedTransactionsOverTlsAndCountsThem) {
  open();
  EXPECT_EQ(put("1", kBody).status, 200);
  EXPECT_EQ(put("1", kBody).status, 200);
  EXPECT_EQ(put("2", kBody).body, R"({"pdus":{}})");
  const std::string counts = control("GET", "/counts").body;
  EXPECT_NE(counts.find(R"("transactions":2,"repeats":1)"), std::string::npos) << counts;
  EXPECT_NE(counts.find(R"("items":1,"doubled":1)"), std::string::npos) << counts;
  EXPECT_NE(control("GET", "/applied").body.find(R"("room":"!r:us","times":2)"), std::string::npos);
}

TEST_F(MatrixSinkTest, DoesBadlyWhileItIsTold) {
  open();
  EXPECT_EQ(control("POST", "/faults", R"({"fail":100,"fail_status":502})").status, 200);
  EXPECT_EQ(put("1", kBody).status, 502);
  EXPECT_EQ(control("POST", "/faults", R"({"fail":0,"slow":1})").status, 400);
  EXPECT_EQ(put("1", kBody).status, 502) << "all of the body or nothing";
  EXPECT_EQ(control("POST", "/faults", R"({"fail":0,"lose_answers":100})").status, 200);
  EXPECT_EQ(put("1", kBody).end, WireEnd::kReset);
  EXPECT_EQ(control("POST", "/faults", R"({"lose_answers":0})").status, 200);
  EXPECT_EQ(put("1", kBody).status, 200);
}

TEST_F(MatrixSinkTest, SaysWhatIsWrongWithItsCertificate) {
  options.tls.key_file = directory + "/none";
  const auto opened = open_matrix_sink(options);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace postrider
