// What a station costs, in one run and beside what it is compared with: a ping over a line of a
// seated station beside an echo of Asio alone; a durable round trip over a line beside a synced
// submit of our own; a mailbox read to its end beside a scan of the same records; and what lines
// that stay open, and messages that wait in a mailbox, take of memory.
//
//   station_bench [--pings N] [--trips N] [--messages N] [--lines N] [--waiting N] [--directory
//   DIR]
#include "postrider/model/seams/station.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "postrider/base/check.h"
#include "postrider/model/records/keys.h"
#include "postrider/node/node.h"
#include "postrider/profiles/mailbox/profile.h"
#include "postrider/profiles/webhook/profile.h"
#include "postrider/runtime/system_clock.h"

namespace postrider {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::uint16_t kStationPort = 41'871;
constexpr std::uint16_t kBarePort = 41'872;
constexpr std::size_t kPingBytes = 64;
constexpr std::uint32_t kBlocks = 8;

struct Options {
  std::uint32_t pings = 50'000;
  std::uint32_t trips = 1'000;
  std::uint32_t messages = 10'000;
  std::uint32_t lines = 4'095;  // beside the listener; one more is refused
  std::uint32_t waiting = 0;    // 1,000,000 take minutes
  std::string directory = "/tmp/postrider-station-bench";
};

// Says back what begins with 'p' at once, and the rest when it is durable.
class BenchStation final : public Station {
 public:
  std::string_view verb() const override { return "BENCH"; }
  void on(const StationNow&, const station::Happened& happened,
          std::vector<station::Wanted>& wanted) override {
    if (std::holds_alternative<station::NewEpoch>(happened)) {
      if (std::exchange(listens_, true)) return;
      LineOrder order;
      order.address = "tcp://127.0.0.1:" + std::to_string(kStationPort);
      order.listens = true;
      wanted.emplace_back(station::OpenLine{LineId(1), std::move(order)});
    } else if (const auto* took = std::get_if<station::LineTook>(&happened)) {
      line_ = took->line;
      if (took->bytes.front() == 'p')
        return void(wanted.emplace_back(station::WriteLine{line_, std::string(took->bytes), {}}));
      Arrived arrived;
      arrived.profile = "bench";
      arrived.source = {.origin = "line", .kind = "text", .format = "raw"};
      arrived.bytes = took->bytes;
      wanted.emplace_back(station::Post{Token(++tokens_), std::move(arrived)});
    } else if (std::holds_alternative<station::Told>(happened)) {
      wanted.emplace_back(station::WriteLine{line_, std::string(kPingBytes, 'd'), {}});
    }
  }
  std::optional<Timestamp> next_deadline() const override { return std::nullopt; }
  void tell(StationFigures&) const override {}

 private:
  bool listens_ = false;
  LineId line_;
  std::uint64_t tokens_ = 0;
};

Received receive_bench(const Inbound& inbound) {
  Received out;
  NestedSubmit submit;
  submit.destination = "inbox";
  submit.body = inbound.bytes;
  out.submits.push_back(std::move(submit));
  out.firm = true;
  return out;
}

ProfileSpec bench_profile() {
  ProfileSpec spec = kWebhook;
  spec.name = "bench";
  spec.news.receive = &receive_bench;
  spec.news.notice = [](const Facts&, const Notice&) { return Reading{.declines = true}; };
  spec.keeps_arrivals = false;
  spec.make_station = [](const NamedTexts&, const Secrets&) -> Result<std::unique_ptr<Station>> {
    return std::unique_ptr<Station>(std::make_unique<BenchStation>());
  };
  return spec;
}

int connect_to(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (;;) {
    const int line = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(line, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      const int on = 1;
      ::setsockopt(line, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      return line;
    }
    ::close(line);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// Microseconds of each round trip.
std::vector<double> ping(std::uint16_t port, std::uint32_t times, char kind = 'p') {
  const int line = connect_to(port);
  std::string out(kPingBytes, kind);
  std::array<char, kPingBytes> in{};
  std::vector<double> took;
  took.reserve(times);
  for (std::uint32_t i = 0; i < times; ++i) {
    const auto begun = Steady::now();
    POSTRIDER_CHECK(::send(line, out.data(), out.size(), 0) == static_cast<ssize_t>(out.size()));
    for (std::size_t got = 0; got < in.size();) {
      const ssize_t size = ::recv(line, in.data(), in.size() - got, 0);
      POSTRIDER_CHECK(size > 0);
      got += static_cast<std::size_t>(size);
    }
    took.push_back(std::chrono::duration<double, std::micro>(Steady::now() - begun).count());
  }
  ::close(line);
  return took;
}

double percentile(std::vector<double> all, double part) {
  std::sort(all.begin(), all.end());
  return all[static_cast<std::size_t>(part * static_cast<double>(all.size() - 1))];
}

double cpu_us_of(std::thread& thread) {
  clockid_t clock{};
  ::pthread_getcpuclockid(thread.native_handle(), &clock);
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

void pin(pthread_t thread, std::size_t core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  POSTRIDER_CHECK(::pthread_setaffinity_np(thread, sizeof cores, &cores) == 0);
}

double cpu_ms_of_process() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Of this process, without what it maps of files.
double memory_mb() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word && word != "RssAnon:") continue;
  double kib = 0;
  status >> kib;
  return kib * 1024 / 1e6;
}

struct Block {
  double cpu = 0;  // of one ping, in microseconds
  double p50 = 0;
};

// What Asio alone costs: one buffer, one connection after the other.
class BareEcho {
 public:
  explicit BareEcho(boost::asio::io_context& loop)
      : acceptor_(loop, {boost::asio::ip::address_v4::loopback(), kBarePort}), socket_(loop) {
    accept();
  }

 private:
  void accept() {
    acceptor_.async_accept(socket_, [this](boost::system::error_code error) {
      if (error) return;
      socket_.set_option(boost::asio::ip::tcp::no_delay(true));
      read();
    });
  }
  void read() {
    socket_.async_read_some(boost::asio::buffer(buffer_),
                            [this](boost::system::error_code error, std::size_t size) {
                              if (!error) return write(size);
                              socket_.close();
                              accept();
                            });
  }
  void write(std::size_t size) {
    boost::asio::async_write(socket_, boost::asio::buffer(buffer_, size),
                             [this](boost::system::error_code error, std::size_t) {
                               if (!error) read();
                             });
  }
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::ip::tcp::socket socket_;
  std::array<char, 16 * 1024> buffer_{};
};

class Bench {
 public:
  explicit Bench(Options options) : options_(std::move(options)) {
    std::filesystem::remove_all(options_.directory);
    open();
    Configure box;
    box.config.name = "inbox";
    box.config.profile = "mailbox";
    box.config.settings = {{"kept_max", "0"}, {"kept_bytes_max", "0"}};
    while (ask(box).code == AnswerCode::kUnavailable)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ~Bench() {
    close();
    std::filesystem::remove_all(options_.directory);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void pings() {
    boost::asio::io_context bare_loop;
    BareEcho echo(bare_loop);
    std::thread bare([&bare_loop] { bare_loop.run(); });
    // Where threads run decides more than what they do, so all of them stay where they are put, and
    // both sides take turns.
    pin(bare.native_handle(), 0);
    pin(loop_.native_handle(), 0);
    pin(::pthread_self(), 1);
    const auto run = [this](std::thread& server, std::uint16_t port) {
      const double before = cpu_us_of(server);
      const std::vector<double> took = ping(port, options_.pings / kBlocks);
      return Block{(cpu_us_of(server) - before) / (options_.pings / kBlocks),
                   percentile(took, 0.5)};
    };
    std::vector<double> own;
    std::vector<double> plain;
    for (std::uint32_t i = 0; i < kBlocks; ++i) {
      const Block theirs = run(bare, kBarePort);
      const Block ours = run(loop_, kStationPort);
      std::printf("  block %u: station %.2f us CPU, p50 %.1f us; bare Asio %.2f us, p50 %.1f us\n",
                  i, ours.cpu, ours.p50, theirs.cpu, theirs.p50);
      own.push_back(ours.cpu);
      plain.push_back(theirs.cpu);
    }
    const double ours = percentile(own, 0.5);
    const double theirs = percentile(plain, 0.5);
    std::printf(
        "ping of %zu bytes, median of %u blocks: station %.2f us CPU, bare Asio %.2f us; %.2f x\n",
        kPingBytes, kBlocks, ours, theirs, ours / theirs);
    bare_loop.stop();
    bare.join();
  }

  void trips() {
    std::vector<double> submits;
    for (std::uint32_t i = 0; i < options_.trips; ++i) {
      Submit submit;
      submit.destination = "inbox";
      submit.body = std::string(kPingBytes, 's');
      const auto begun = Steady::now();
      POSTRIDER_CHECK(ask(std::move(submit)).code == AnswerCode::kAccepted);
      submits.push_back(std::chrono::duration<double, std::micro>(Steady::now() - begun).count());
    }
    const std::vector<double> lines = ping(kStationPort, options_.trips, 'd');
    const double own = percentile(submits, 0.5);
    const double over = percentile(lines, 0.5);
    std::printf(
        "durable round trip: line p50 %.0f us, p99 %.0f us; own synced submit p50 %.0f us; %.2f "
        "x\n",
        over, percentile(lines, 0.99), own, over / own);
  }

  void mailbox() {
    for (std::uint32_t i = 2 * options_.trips; i < options_.messages; i += 64) fill();
    const double cpu_before = cpu_ms_of_process();
    auto begun = Steady::now();
    const std::uint64_t read = read_all();
    const double ours = std::chrono::duration<double, std::milli>(Steady::now() - begun).count();
    const double cpu = cpu_ms_of_process() - cpu_before;
    begun = Steady::now();
    std::uint64_t rows = 0;
    std::string from = keys::space(keys::kCold);
    for (bool more = true; more;) {
      const Scan scan{from, keys::after_prefix(keys::space(keys::kCold)), 201};
      const auto found = node_->store().read({.keys = {}, .scans = {scan}});
      const Rows* page = found->scan(scan);
      rows += page->rows.size();
      more = page->rows.size() == scan.limit;
      if (more) from = page->rows.back().first + '\0';
    }
    const double plain = std::chrono::duration<double, std::milli>(Steady::now() - begun).count();
    std::printf(
        "mailbox of %llu messages: read in %.0f ms, %.0f ms of CPU; plain scan of %llu records "
        "%.0f ms\n",
        static_cast<unsigned long long>(read), ours, cpu, static_cast<unsigned long long>(rows),
        plain);
  }

  // Lines that a far side holds open and says nothing on. The client's ends are in this process,
  // too, as bare descriptors.
  void lines() {
    const double before = memory_mb();
    std::vector<int> open;
    for (std::uint32_t i = 0; i < options_.lines; ++i) open.push_back(connect_to(kStationPort));
    const bool last_is_open = answers(open.back());
    const double with_lines = memory_mb();
    const int beyond = connect_to(kStationPort);
    std::printf("%u lines open: %.1f MB, %.2f KB each; the last %s, the next %s\n", options_.lines,
                with_lines - before, (with_lines - before) * 1e3 / options_.lines,
                last_is_open ? "answers" : "is closed", answers(beyond) ? "answers" : "is closed");
    ::close(beyond);
    for (const int line : open) ::close(line);
  }

  // The rest of the process and of the store is there before.
  void waiting() {
    const double before = memory_mb();
    for (std::uint32_t i = 0; i < options_.waiting; i += 64) fill();
    const double full = memory_mb();
    close();
    open();
    while (ask(Query{.ticket = {}, .what = Query::What::kStats}).code == AnswerCode::kUnavailable)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const double anew = memory_mb();
    const std::uint64_t read = read_all();
    std::printf(
        "%u messages came to a mailbox: the process has %.1f MB, %.1f MB before; %.1f MB when the "
        "store was opened anew; %.1f MB after all %llu were read\n",
        options_.waiting, full, before, anew, memory_mb(), static_cast<unsigned long long>(read));
  }

 private:
  void open() {
    NodeOptions node;
    node.store.directory = options_.directory;
    node.free_bytes_min = 0;
    node.host.shard.engine.profiles = profiles_;
    node.stations["bench"] = {};
    auto made = Node::open(std::move(node), clock_);
    if (!made) {
      std::fprintf(stderr, "%s\n", made.error().detail.c_str());
      std::exit(1);
    }
    node_ = std::move(*made);
    loop_ = std::thread([this] { node_->loop().run(); });
  }
  void close() {
    boost::asio::post(node_->loop().context(), [this] { node_->loop().stop(); });
    loop_.join();
    node_.reset();
  }
  static bool answers(int line) {
    const std::string out(kPingBytes, 'p');
    if (::send(line, out.data(), out.size(), MSG_NOSIGNAL) <= 0) return false;
    std::array<char, kPingBytes> in{};
    return ::recv(line, in.data(), in.size(), 0) > 0;
  }
  std::uint64_t read_all() {
    std::uint64_t read = 0;
    MessageId last;
    for (bool more = true; more;) {
      Query query;
      query.what = Query::What::kReadMailbox;
      query.destination = "inbox";
      query.id = last;
      const Answer answer = ask(std::move(query));
      const auto& page = std::get<MailboxPage>(answer.view);
      read += page.items.size();
      if (!page.items.empty()) last = page.items.back().id;
      more = page.more;
    }
    return read;
  }
  // From this thread, answered on the loop's.
  Answer ask(Event event) {
    std::promise<Answer> promise;
    boost::asio::post(node_->loop().context(), [this, &promise,
                                                event = std::move(event)]() mutable {
      const Door door = node_->host().post("bench", std::move(event), [&promise](Answer answer) {
        promise.set_value(std::move(answer));
      });
      if (door != Door::kOpen) promise.set_value(Answer{.code = AnswerCode::kUnavailable});
    });
    return promise.get_future().get();
  }
  void fill() {
    std::array<std::promise<void>, 64> done;
    boost::asio::post(node_->loop().context(), [this, &done] {
      for (std::promise<void>& one : done) {
        Submit submit;
        submit.destination = "inbox";
        submit.body = std::string(512, 'm');
        static_cast<void>(node_->host().post("bench", std::move(submit),
                                             [&one](const Answer&) { one.set_value(); }));
      }
    });
    for (std::promise<void>& one : done) one.get_future().wait();
  }

  Options options_;
  ProfileSpec spec_ = bench_profile();
  std::array<const ProfileSpec*, 2> profiles_ = {&spec_, &kMailbox};
  SystemClock clock_;
  std::unique_ptr<Node> node_;
  std::thread loop_;
};

}  // namespace
}  // namespace postrider

int main(int count, char** words) {
  using namespace postrider;
  Options options;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view name = words[i];
    const auto number = [&] {
      return static_cast<std::uint32_t>(std::strtoul(words[i + 1], nullptr, 10));
    };
    if (name == "--pings") options.pings = number();
    if (name == "--trips") options.trips = number();
    if (name == "--messages") options.messages = number();
    if (name == "--lines") options.lines = number();
    if (name == "--waiting") options.waiting = number();
    if (name == "--directory") options.directory = words[i + 1];
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  Bench bench(options);
  bench.pings();
  bench.trips();
  bench.mailbox();
  if (options.lines > 0) bench.lines();
  if (options.waiting > 0) bench.waiting();
  return 0;
}
