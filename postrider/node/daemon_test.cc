// A daemon with a door that listens by itself, from its start to a signal.
#include "postrider/node/daemon.h"

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "postrider/doors/matrix/config.h"
#include "postrider/doors/matrix/door.h"

namespace postrider {
namespace {

constexpr const doors::ProfileDoor* kDoors[] = {&doors::kMatrixDoor};

class DaemonWithADoor : public ::testing::Test {
 protected:
  DaemonWithADoor() {
    std::string pattern = testing::TempDir() + "postrider_daemon_XXXXXX";
    directory = mkdtemp(pattern.data());
    options.doors = kDoors;
    options.config.store.directory = directory + "/data";
    options.config.store.free_bytes_reserve = 0;
    options.config.server.listen = {};
    options.config.server.unix_socket = directory + "/api";
    options.config.log.level = "error";
    matrix_door::MatrixConfig& matrix = options.config.parts.of<matrix_door::MatrixConfig>();
    matrix.server_name = "us.example";
    matrix.egress = "unix:" + directory + "/egress";
  }
  ~DaemonWithADoor() override { std::filesystem::remove_all(directory); }

  // The answer to one request at the egress; the daemon runs meanwhile.
  std::string ask(const std::string& request) const {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = directory + "/egress";
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::send(fd, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
    std::string answer;
    char buffer[4096];
    for (ssize_t got = 1; got > 0;) {
      got = ::recv(fd, buffer, sizeof buffer, 0);
      if (got > 0) answer.append(buffer, static_cast<std::size_t>(got));
    }
    ::close(fd);
    return answer;
  }

  std::string directory;
  DaemonOptions options;
};

// req: matrix.egress.1
TEST_F(DaemonWithADoor, DoesNotStartWhenTheDoorCannotListen) {
  const auto daemon = Daemon::start(options);
  ASSERT_FALSE(daemon);
  EXPECT_NE(daemon.error().detail.find("without a secret it does not open"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(directory + "/egress"));
}

TEST_F(DaemonWithADoor, ServesAndEndsWithTheDaemon) {
  const std::string secret = directory + "/secret";
  std::ofstream(secret) << "a secret of sixteen\n";
  std::filesystem::permissions(secret, std::filesystem::perms::owner_read);
  options.config.parts.of<matrix_door::MatrixConfig>().secret_file = secret;
  auto daemon = Daemon::start(options);
  ASSERT_TRUE(daemon) << daemon.error().detail;
  std::string answer;
  // A target that the guard forbids: nothing leaves this machine.
  std::thread client([&] {
    answer =
        ask("GET matrix-federation://127.0.0.1:1/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            "Proxy-Authorization: Bearer a secret of sixteen\r\n\r\n");
    ::kill(::getpid(), SIGTERM);
  });
  EXPECT_EQ((*daemon)->run(), 0);
  client.join();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 502 ")) << answer;
  EXPECT_NE(answer.find("not allowed"), std::string::npos) << answer;
  EXPECT_FALSE(std::filesystem::exists(directory + "/egress")) << "the socket is gone";
}

}  // namespace
}  // namespace postrider
