// What one exchange of the HTTP transport costs: POSTs on kept connections to a trivial server on
// loopback, which runs in a process of its own, so that callgrind and the CPU clock see the client
// only.
//
//   http_out_bench [--connections N] [--payload B] [--seconds S | --exchanges N] [--hosts N]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <new>
#include <signal.h>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "postrider/base/check.h"
#include "postrider/transports/http/http_transport.h"

namespace {
// Counted by the operators below.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
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

struct Options {
  std::uint32_t connections = 64;
  std::uint32_t payload = 512;
  std::uint32_t hosts = 1;  // names for the same server
  double seconds = 3;
  std::uint64_t exchanges =
      0;  // instead of seconds: a fixed amount of work, for instruction counts
};

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

constexpr std::string_view kAnswer =
    "HTTP/1.1 204 No Content\r\nserver: bench\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n";

int listen_anywhere() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  POSTRIDER_CHECK(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  POSTRIDER_CHECK(listen(listener, 4096) == 0);
  return listener;
}

std::uint16_t port_of(int listener) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

// Takes every read for one request, which holds for requests of one write on loopback.
[[noreturn]] void serve(int listener) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int poll = epoll_create1(0);
  epoll_event event{EPOLLIN, {}};
  event.data.fd = listener;
  epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
  std::vector<epoll_event> ready(1024);
  std::vector<char> bytes(1 << 20);
  while (true) {
    const int count = epoll_wait(poll, ready.data(), static_cast<int>(ready.size()), -1);
    for (int i = 0; i < count; ++i) {
      const int socket = ready[static_cast<std::size_t>(i)].data.fd;
      if (socket == listener) {
        const int fresh = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
        if (fresh < 0) continue;
        const int on = 1;
        setsockopt(fresh, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        event = {EPOLLIN, {}};
        event.data.fd = fresh;
        epoll_ctl(poll, EPOLL_CTL_ADD, fresh, &event);
        continue;
      }
      const ssize_t got = read(socket, bytes.data(), bytes.size());
      if (got > 0) {
        const ssize_t written = write(socket, kAnswer.data(), kAnswer.size());
        static_cast<void>(written);
      } else if (got == 0) {
        close(socket);
      }
    }
  }
}

class Bench {
 public:
  Bench(const Options& options, std::uint16_t port)
      : options_(options), body_(Blob::copy_of(std::string(options.payload, 'x'))) {
    HttpTransportOptions settings;
    settings.allow = {"127.0.0.0/8"};
    settings.connections_max = options.connections;
    settings.idle_per_host_max = options.connections;
    auto made = HttpTransport::make(loop_, settings, [this](AttemptId, const WireReply& reply) {
      POSTRIDER_CHECK(reply.end == WireEnd::kAnswered && reply.status == 204);
      ++done_;
      start();
    });
    POSTRIDER_CHECK(made.has_value());
    transport_ = std::move(*made);
    for (std::uint32_t i = 0; i < options.hosts; ++i)
      targets_.push_back("http://127.0.0." + std::to_string(i + 1) + ":" + std::to_string(port) +
                         "/hook");
    headers_.add("content-type", "application/json");
    headers_.add("user-agent", "Postrider");
    headers_.add("webhook-id", "00000000-0000-0000-0000-000000000000");
    headers_.add("webhook-timestamp", "1800000000");
    headers_.add("webhook-signature", "v1,abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqr=");
    for (std::uint32_t i = 0; i < options.connections; ++i) start();
  }

  void run_until(std::uint64_t done) {
    while (done_ < done) loop_.run_one();
  }
  void run_for(double seconds) {
    const double end = now_seconds() + seconds;
    while (now_seconds() < end) {
      const std::uint64_t some = done_ + 1000;
      run_until(some);
    }
  }
  std::uint64_t done() const { return done_; }
  HttpTransportCounts counts() const { return transport_->counts(); }

 private:
  void start() {
    ++next_;
    transport_->start(AttemptId(next_), WireRequest{.verb = "POST",
                                                    .target = targets_[next_ % targets_.size()],
                                                    .headers = headers_,
                                                    .owner = body_,
                                                    .body = body_.view(),
                                                    .time_out = 15s,
                                                    .trust = {}});
  }

  Options options_;
  Blob body_;
  HeaderLines headers_;
  boost::asio::io_context loop_{1};
  std::unique_ptr<HttpTransport> transport_;
  std::vector<std::string> targets_;
  std::uint64_t next_ = 0;
  std::uint64_t done_ = 0;
};

int run(const Options& options) {
  const int listener = listen_anywhere();
  const std::uint16_t port = port_of(listener);
  const pid_t server = fork();
  POSTRIDER_CHECK(server >= 0);
  if (server == 0) serve(listener);
  close(listener);
  {
    Bench bench(options, port);
    bench.run_until(4 * std::uint64_t{options.connections});
    const std::uint64_t done_before = bench.done();
    const std::uint64_t allocations_before = allocations;
    const double start = now_seconds();
    const double cpu_start = cpu_seconds();
    if (options.exchanges > 0) {
      bench.run_until(done_before + options.exchanges);
    } else {
      bench.run_for(options.seconds);
    }
    const double wall = now_seconds() - start;
    const double cpu = cpu_seconds() - cpu_start;
    const auto exchanges = static_cast<double>(bench.done() - done_before);
    const auto made = static_cast<double>(allocations - allocations_before);
    std::printf("{\n  \"exchanges\": %.0f,\n  \"rate\": %.0f,\n", exchanges, exchanges / wall);
    std::printf("  \"cpu_us_per_exchange\": %.2f,\n  \"rate_per_cpu_second\": %.0f,\n",
                cpu * 1e6 / exchanges, exchanges / cpu);
    std::printf("  \"allocations_per_exchange\": %.2f,\n", made / exchanges);
    std::printf("  \"connects\": %llu,\n",
                static_cast<unsigned long long>(bench.counts().connects));
    std::printf("  \"connections\": %u,\n  \"payload\": %u\n}\n", options.connections,
                options.payload);
  }
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  return 0;
}

}  // namespace
}  // namespace postrider

int main(int argc, char** argv) {
  postrider::Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--connections")
      options.connections = static_cast<std::uint32_t>(std::stoul(value));
    if (name == "--payload") options.payload = static_cast<std::uint32_t>(std::stoul(value));
    if (name == "--hosts") options.hosts = static_cast<std::uint32_t>(std::stoul(value));
    if (name == "--seconds") options.seconds = std::stod(value);
    if (name == "--exchanges") options.exchanges = std::stoull(value);
  }
  return postrider::run(options);
}
