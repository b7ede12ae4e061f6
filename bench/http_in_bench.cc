// HTTP in: POST of 512 bytes over kept connections, answered at once. What is measured is the
// server.
//
//   http_in_bench [--connections N] [--rounds N]   clients in the same thread; counts allocations
//   http_in_bench --serve                          prints its address and serves, for wrk
#include <arpa/inet.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <netinet/in.h>
#include <new>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "postrider/base/check.h"
#include "postrider/servers/http/http_server.h"

namespace {
std::uint64_t allocations = 0;
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace postrider {
namespace {

HttpHandler make_handler() {
  HttpHandler handler;
  handler.handle = [](const HttpRequest&, const HttpExchangePtr& exchange) {
    exchange->respond({.status = 202, .body = R"({"id":1})"});
  };
  handler.stream = [](const HttpRequest&, const HttpExchangePtr&) { return HttpBodySink(); };
  return handler;
}

int connect_to(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
  ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  POSTRIDER_CHECK(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0);
  return fd;
}

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int run(std::size_t connections, int rounds) {
  boost::asio::io_context loop(1);
  HttpServer server(loop, {}, make_handler());
  auto address = server.listen({.address = "127.0.0.1:0"});
  POSTRIDER_CHECK(address.has_value());
  std::vector<int> clients;
  for (std::size_t i = 0; i < connections; ++i) {
    clients.push_back(connect_to(*address));
    loop.poll();
  }
  const std::string request =
      "POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
      "Content-Length: 512\r\n\r\n" +
      std::string(512, 'x');
  char reply[4096];
  const auto round = [&] {
    for (const int fd : clients) {
      POSTRIDER_CHECK(::send(fd, request.data(), request.size(), 0) ==
                      static_cast<ssize_t>(request.size()));
    }
    for (const int fd : clients) {
      while (::recv(fd, reply, sizeof(reply), MSG_DONTWAIT) <= 0) loop.poll();
    }
  };
  for (int i = 0; i < 20; ++i) round();
  const std::uint64_t before = allocations;
  const double start = now_seconds();
  for (int i = 0; i < rounds; ++i) round();
  const double seconds = now_seconds() - start;
  const double requests = static_cast<double>(rounds) * static_cast<double>(connections);
  std::printf("{\"requests\": %.0f, \"rate\": %.0f, \"allocations_per_request\": %.2f}\n", requests,
              requests / seconds, static_cast<double>(allocations - before) / requests);
  for (const int fd : clients) ::close(fd);
  return 0;
}

int serve() {
  boost::asio::io_context loop(1);
  HttpServer server(loop, {}, make_handler());
  auto address = server.listen({.address = "127.0.0.1:0"});
  POSTRIDER_CHECK(address.has_value());
  std::printf("%s\n", address->c_str());
  std::fflush(stdout);
  loop.run();
  return 0;
}

}  // namespace
}  // namespace postrider

int main(int argc, char** argv) {
  std::size_t connections = 64;
  int rounds = 2000;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--serve") == 0) return postrider::serve();
    if (i + 1 == argc) break;
    if (std::strcmp(argv[i], "--connections") == 0) {
      connections = static_cast<std::size_t>(std::atoi(argv[++i]));
    } else if (std::strcmp(argv[i], "--rounds") == 0) {
      rounds = std::atoi(argv[++i]);
    }
  }
  return postrider::run(connections, rounds);
}
