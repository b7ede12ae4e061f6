// What a server listens on: addresses, Unix sockets, TLS.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

#include "gtest/gtest.h"
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "postrider/servers/http/http_server.h"
#include "postrider/servers/http/http_server_testing.h"

namespace postrider {
namespace {

// req: daemon.http.20
TEST(HttpUnix, ServesASocketOfItsOwner) {
  HttpRig rig;
  bool local = false;
  std::string peer;
  rig.handler.handle = [&](const HttpRequest& request, HttpExchangePtr exchange) {
    local = request.local;
    peer = request.peer;
    exchange->respond({});
  };
  rig.start();
  const std::string path = rig.scratch_directory() + "/api.sock";
  const mode_t before = ::umask(0);
  const std::string bound = rig.listen({.address = "unix:" + path});
  ::umask(before);
  ASSERT_EQ(bound, "unix:" + path);
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  RawClient client(bound);
  client.send(kGet);
  EXPECT_EQ(rig.reply(client)->status, 200);
  EXPECT_TRUE(local);
  EXPECT_EQ(peer, "unix");
  rig.server->close();
  EXPECT_FALSE(std::filesystem::exists(path));
}

// req: daemon.http.20
TEST(HttpUnix, ReplacesTheSocketOfADeadDaemonOnly) {
  HttpRig rig;
  rig.start();
  const std::string path = rig.scratch_directory() + "/api.sock";
  // What a killed process leaves behind.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(dead, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ::close(dead);
  EXPECT_EQ(rig.listen({.address = "unix:" + path}), "unix:" + path);
  EXPECT_EQ(rig.listen({.address = "unix:" + path}), "error: somebody listens on " + path);
  RawClient client("unix:" + path);
  client.send(kGet);
  EXPECT_EQ(rig.reply(client)->status, 200);

  const std::string file = rig.scratch_directory() + "/file";
  std::ofstream(file) << "precious";
  EXPECT_EQ(rig.listen({.address = "unix:" + file}),
            "error: " + file + " exists and is not a socket");
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_TRUE(
      rig.listen({.address = "unix:" + std::string(108, 'x')}).starts_with("error: the path"));
}

TEST(HttpListen, SaysWhyItCannot) {
  HttpRig rig;
  rig.start();
  for (const std::string text :
       {"", "127.0.0.1", "127.0.0.1:", ":8460", "127.0.0.1:99999", "[::1:80", "somewhere:80"}) {
    EXPECT_TRUE(
        rig.listen({.address = text}).starts_with("error: '" + text + "' is not an address"))
        << text;
  }
  EXPECT_TRUE(rig.listen({.address = rig.address}).ends_with("Address already in use"));
}

// ---- TLS

struct Identity {
  std::string certificate_file;
  std::string key_file;
};

Identity make_identity(const std::string& directory, const std::string& name) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate, subject);
  X509_sign(certificate, key, EVP_sha256());
  Identity identity{directory + "/" + name + ".crt", directory + "/" + name + ".key"};
  std::FILE* file = std::fopen(identity.certificate_file.c_str(), "w");
  PEM_write_X509(file, certificate);
  std::fclose(file);
  file = std::fopen(identity.key_file.c_str(), "w");
  PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return identity;
}

// A TLS client over a raw one.
class TlsClient {
 public:
  TlsClient(RawClient& raw, int version) : context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_min_proto_version(context_, version);
    SSL_CTX_set_max_proto_version(context_, version);
    SSL_CTX_set_security_level(context_, 0);
    tls_ = SSL_new(context_);
    SSL_set_fd(tls_, raw.fd);
  }
  ~TlsClient() {
    SSL_free(tls_);
    SSL_CTX_free(context_);
  }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  bool shake_hands(HttpRig& rig) {
    int code = 0;
    rig.pump_until([&] {
      code = SSL_connect(tls_);
      return code == 1 || SSL_get_error(tls_, code) != SSL_ERROR_WANT_READ;
    });
    return code == 1;
  }
  bool send(std::string_view bytes) {
    return SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size())) ==
           static_cast<int>(bytes.size());
  }
  std::optional<HttpReply> reply(HttpRig& rig) {
    std::optional<HttpReply> found;
    rig.pump_until([&] {
      char buffer[16384];
      int got = 0;
      while ((got = SSL_read(tls_, buffer, sizeof(buffer))) > 0) {
        received_.append(buffer, static_cast<std::size_t>(got));
      }
      const int error = SSL_get_error(tls_, got);
      ended = error != SSL_ERROR_WANT_READ;
      ended_cleanly = error == SSL_ERROR_ZERO_RETURN;
      found = take_reply(received_);
      return found || ended;
    });
    return found;
  }

  bool ended = false;
  bool ended_cleanly = false;  // the server said so

 private:
  SSL_CTX* context_;
  SSL* tls_;
  std::string received_;
};

// req: daemon.http.21
TEST(HttpTls, ServesRequests) {
  HttpRig rig;
  rig.start();
  const Identity identity = make_identity(rig.scratch_directory(), "a");
  const std::string bound =
      rig.listen({"127.0.0.1:0", identity.certificate_file, identity.key_file});
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    RawClient raw(bound);
    TlsClient client(raw, version);
    ASSERT_TRUE(client.shake_hands(rig));
    ASSERT_TRUE(client.send(post("/a", "x")));
    EXPECT_EQ(client.reply(rig)->body, "POST /a x");
    const std::string large(200'000, 'y');
    for (std::size_t i = 0; i < 4; ++i) {
      ASSERT_TRUE(
          client.send(i == 0 ? "POST /b HTTP/1.1\r\nhost: a\r\ncontent-length: 200000\r\n\r\n" +
                                   large.substr(0, 50'000)
                             : large.substr(0, 50'000)));
      rig.pump();
    }
    EXPECT_EQ(client.reply(rig)->body, "POST /b " + large);
    ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"));
    EXPECT_TRUE(client.reply(rig));
    EXPECT_FALSE(client.reply(rig));
    EXPECT_TRUE(client.ended_cleanly);
  }
}

// req: daemon.http.21
TEST(HttpTls, RefusesOldVersionsAndPlainText) {
  HttpRig rig;
  rig.start();
  const Identity identity = make_identity(rig.scratch_directory(), "a");
  const std::string bound =
      rig.listen({"127.0.0.1:0", identity.certificate_file, identity.key_file});
  RawClient raw(bound);
  TlsClient old(raw, TLS1_1_VERSION);
  EXPECT_FALSE(old.shake_hands(rig));
  RawClient plain(bound);
  plain.send(kGet);
  ASSERT_TRUE(rig.pump_until([&] { return plain.receive(), plain.ended; }));
  EXPECT_EQ(plain.received.find("HTTP"), std::string::npos);
  EXPECT_TRUE(rig.pump_until([&] { return rig.server->connections() == 0; }));
}

// req: daemon.http.13
TEST(HttpTls, AHandshakeHasATimeOut) {
  HttpRig rig;
  rig.start();
  const Identity identity = make_identity(rig.scratch_directory(), "a");
  const std::string bound =
      rig.listen({"127.0.0.1:0", identity.certificate_file, identity.key_file});
  RawClient silent(bound);
  ASSERT_TRUE(rig.pump_until([&] { return rig.server->connections() == 1; }));
  rig.pass(rig.limits.head_time_out - Duration(1));
  EXPECT_EQ(rig.server->connections(), 1U);
  rig.pass(Duration(1));
  EXPECT_EQ(rig.server->connections(), 0U);
}

// req: daemon.http.21
TEST(HttpTls, SaysWhatIsWrongWithItsFiles) {
  HttpRig rig;
  rig.start();
  const std::string directory = rig.scratch_directory();
  const Identity a = make_identity(directory, "a");
  const Identity b = make_identity(directory, "b");
  const auto error = [&](const std::string& certificate, const std::string& key) {
    return rig.listen({"127.0.0.1:0", certificate, key});
  };
  EXPECT_EQ(error(a.certificate_file, ""),
            "error: TLS needs both a certificate file and a key file");
  EXPECT_EQ(
      error(directory + "/none", a.key_file),
      "error: certificate file " + directory + "/none cannot be read: No such file or directory");
  EXPECT_EQ(error(a.certificate_file, b.key_file),
            "error: key file " + b.key_file + " does not belong to " + a.certificate_file);
  EXPECT_TRUE(error(a.key_file, a.key_file)
                  .starts_with("error: certificate file " + a.key_file + " holds no certificate"));
  EXPECT_TRUE(error(a.certificate_file, a.certificate_file)
                  .starts_with("error: key file " + a.certificate_file + " holds no plain key"));
}

}  // namespace
}  // namespace postrider
