#include "postrider/transports/wire/loop_wire.h"

#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <netinet/in.h>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "postrider/transports/http/peers_testing.h"
#include "postrider/transports/wire/socket_place.h"

namespace postrider {
namespace {

constexpr std::size_t kMiB = 1U << 20;

// A far side that obeys no protocol: a socket of the system.
class RawSocket {
 public:
  explicit RawSocket(int descriptor) : descriptor_(descriptor) {}
  ~RawSocket() { shut(); }
  RawSocket(RawSocket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  RawSocket& operator=(RawSocket&&) = delete;
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  static RawSocket to(const SocketPlace& place, int type = SOCK_STREAM) {
    const int descriptor = ::socket(place.family(), type | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(descriptor, place.raw(), place.size), 0);
    ::fcntl(descriptor, F_SETFL, O_NONBLOCK);
    return RawSocket(descriptor);
  }
  static RawSocket to(const std::string& endpoint, int type = SOCK_STREAM) {
    return to(place_of(*parse_line_endpoint(endpoint)), type);
  }
  ssize_t send(std::string_view bytes) const {
    return ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  // What there is now; the end of the stream sets `ended`.
  std::string read() {
    std::string out(kMiB, '\0');
    const ssize_t got = ::recv(descriptor_, out.data(), out.size(), MSG_DONTWAIT);
    ended = ended || got == 0 || (got < 0 && errno == ECONNRESET);
    out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return out;
  }
  void half_close() const { ::shutdown(descriptor_, SHUT_WR); }
  void reset() {
    const linger hard{1, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    shut();
  }
  void shut() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }
  int descriptor() const { return descriptor_; }
  bool ended = false;

 private:
  int descriptor_;
};

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

// What the wire told of one line.
struct LineNote {
  bool opened = false;
  LineId listener;
  std::string peer;
  std::string took;
  std::vector<std::pair<std::string, std::string>> datagrams;  // from, bytes
  int inputs = 0;
  int drained = 0;
  std::vector<std::pair<LineEnd, std::string>> ends;
};

class LoopWireTest : public ::testing::Test {
 protected:
  LoopWireTest() { make({}); }

  void make(LoopWireOptions options) {
    wire.reset();
    options.now = [this] { return now; };
    options.name_servers = {names.address()};
    options.secret = [this](std::string_view name) -> Result<std::string> {
      const auto found = secrets.find(std::string(name));
      if (found == secrets.end()) return fail(ErrorCode::kNotFound, "there is no such secret");
      return found->second;
    };
    auto made = LoopWire::make(loop, std::move(options),
                               [this](const station::Happened& happened) { note(happened); });
    ASSERT_TRUE(made.has_value());
    wire = std::move(*made);
  }

  void note(const station::Happened& happened) {
    if (const auto* opened = std::get_if<station::LineOpened>(&happened)) {
      LineNote& line = lines[opened->line.value()];
      line.opened = true;
      line.listener = opened->listener;
      line.peer = opened->peer;
      if (opened->listener.is_set()) accepted.push_back(opened->line);
    } else if (const auto* took = std::get_if<station::LineTook>(&happened)) {
      LineNote& line = lines[took->line.value()];
      ++line.inputs;
      if (took->from.empty()) {
        line.took += took->bytes;
      } else {
        line.datagrams.emplace_back(took->from, took->bytes);
      }
    } else if (const auto* drained = std::get_if<station::LineDrained>(&happened)) {
      ++lines[drained->line.value()].drained;
    } else {
      const auto& closed = std::get<station::LineClosed>(happened);
      lines[closed.line.value()].ends.emplace_back(closed.end, closed.detail);
    }
    if (on_note) on_note(happened);
  }
  // Lets the loop run until it is so; a test that waits in vain fails.
  void until(const std::function<bool()>& so) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!so()) {
      if (loop.stopped()) loop.restart();
      loop.run_one_for(std::chrono::milliseconds(20));
      if (std::chrono::steady_clock::now() < give_up) continue;
      ADD_FAILURE() << "waited in vain";
      return;
    }
  }
  void settle() {
    if (loop.stopped()) loop.restart();
    while (loop.poll() > 0) continue;
  }
  LineId open(LineOrder order) {
    const LineId line(++last);
    wire->open(line, std::move(order));
    EXPECT_EQ(lines.count(line.value()), 0U) << "nothing is told from inside a call";
    until([&] { return lines[line.value()].opened || !lines[line.value()].ends.empty(); });
    return line;
  }
  LineNote& of(LineId line) { return lines[line.value()]; }
  // The only end of a line, by name.
  std::string end_of(LineId line) {
    until([&] { return !of(line).ends.empty(); });
    settle();
    EXPECT_EQ(of(line).ends.size(), 1U);
    return of(line).ends.empty() ? "" : std::string(name_of(of(line).ends.front().first));
  }
  LineId listen(LineOrder order = {.address = "tcp://127.0.0.1:0"}) {
    order.listens = true;
    const LineId line = open(std::move(order));
    EXPECT_TRUE(of(line).opened) << (of(line).ends.empty() ? "" : of(line).ends[0].second);
    return line;
  }
  LineId accept() {
    const std::size_t before = accepted_seen++;
    until([&] { return accepted.size() > before; });
    return accepted.size() > before ? accepted[before] : LineId();
  }

  boost::asio::io_context loop{1};
  NameServer names{loop};
  Timestamp now{1'000'000};
  std::map<std::string, std::string> secrets;
  std::map<std::uint64_t, LineNote> lines;
  std::vector<LineId> accepted;
  std::size_t accepted_seen = 0;
  std::function<void(const station::Happened&)> on_note;
  std::uint64_t last = 0;
  std::unique_ptr<LoopWire> wire;
};

TEST_F(LoopWireTest, CarriesBytesBothWays) {  // req: station.line.1
  const LineId listener = listen();
  const LineId ours = open({.address = "tcp://" + of(listener).peer});
  const LineId theirs = accept();
  EXPECT_EQ(of(theirs).listener, listener);
  EXPECT_NE(theirs.value() & kAcceptedLine, 0U);
  wire->write(ours, "ping", "");
  until([&] { return of(theirs).took == "ping"; });
  wire->write(theirs, "pong", "");
  until([&] { return of(ours).took == "pong"; });
  wire->close(ours);
  EXPECT_EQ(end_of(theirs), "lost");
  EXPECT_TRUE(of(ours).ends.empty()) << "nothing is told after a close";
  wire->close(listener);
  EXPECT_EQ(wire->lines(), 0U);
}

TEST_F(LoopWireTest, WhatIsWrittenBeforeALineIsOpenWaits) {  // req: station.line.1
  const LineId listener = listen();
  const LineId ours(++last);
  wire->open(ours, {.address = "tcp://" + of(listener).peer});
  wire->write(ours, "early ", "");
  wire->write(ours, "words", "");
  const LineId theirs = accept();
  until([&] { return of(theirs).took == "early words"; });
}

TEST_F(LoopWireTest, AnAddressWithoutAListenerIsRefused) {  // req: station.line.2
  const LineId listener = listen();
  const std::string address = of(listener).peer;
  wire->close(listener);
  const LineId ours = open({.address = "tcp://" + address});
  EXPECT_EQ(end_of(ours), "refused");
  EXPECT_EQ(wire->lines(), 0U);
}

TEST_F(LoopWireTest, AnAddressThatIsTakenIsRefused) {  // req: station.line.2
  const LineId listener = listen();
  EXPECT_EQ(end_of(open({.address = "tcp://" + of(listener).peer, .listens = true})), "refused");
}

TEST_F(LoopWireTest, WaysThatAreNotBuiltAreNamed) {  // req: station.line.3
  const LineId socks = open({.address = "socks5://127.0.0.1:9050/abc.onion:443"});
  EXPECT_EQ(end_of(socks), "bad-address");
  EXPECT_NE(of(socks).ends[0].second.find("SOCKS5"), std::string::npos);
  const LineId group = open({.address = "udp://[::]:0", .listens = true, .group = "ff12::1%lo"});
  EXPECT_EQ(end_of(group), "bad-address");
  EXPECT_NE(of(group).ends[0].second.find("multicast"), std::string::npos);
  EXPECT_EQ(end_of(open({.address = "smoke:signals"})), "bad-address");
  EXPECT_EQ(end_of(open({.address = "tcp://x.example:0", .listens = true})), "bad-address");
  EXPECT_EQ(end_of(open({.address = "tcp://127.0.0.1:1", .peer_key = "short"})), "bad-address");
}

TEST_F(LoopWireTest, ARefusalThatIsClosedFirstIsNotTold) {  // req: station.line.4
  wire->open(LineId(++last), {.address = "smoke:signals"});
  wire->close(LineId(last));
  settle();
  EXPECT_TRUE(lines.empty());
}

TEST_F(LoopWireTest, ANameIsResolvedAndAForeignPrivateAddressIsNot) {  // req: station.guard.1
  names.known["here.example"] = {{.address = "127.0.0.1"}};
  const LineId listener = listen();
  const std::string port = of(listener).peer.substr(of(listener).peer.find(':'));
  const LineId ours = open({.address = "tcp://Here.example" + port});
  EXPECT_TRUE(of(ours).opened) << "an address of the configuration may be private";
  const auto foreign = [&](const std::string& host) {
    return end_of(open({.address = host + port, .foreign = true}));
  };
  EXPECT_EQ(foreign("tcp://here.example"), "forbidden");
  EXPECT_EQ(foreign("tcp://127.0.0.1"), "forbidden");
  EXPECT_EQ(foreign("tcp://[::ffff:127.0.0.1]"), "forbidden");
  EXPECT_EQ(foreign("tcp://2130706433"), "forbidden");
  EXPECT_EQ(foreign("udp://127.0.0.1"), "forbidden");
  EXPECT_EQ(end_of(open({.address = "unix:/run/x", .foreign = true})), "forbidden");
  EXPECT_EQ(end_of(open({.address = "tcp://0.0.0.0:0", .listens = true, .foreign = true})),
            "forbidden");
  EXPECT_EQ(foreign("tcp://nowhere.example"), "no-name");
  make({.allow = {"127.0.0.0/8"}});
  const LineId again = listen();
  EXPECT_TRUE(of(open({.address = "tcp://" + of(again).peer, .foreign = true})).opened);
}

TEST_F(LoopWireTest, AFarSideThatDoesNotAnswerIsGivenUp) {  // req: station.line.2
  // A queue for no connection at all: two are kept there by the system, and others hear nothing.
  const int deaf = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const SocketPlace any = place_of({IpAddress::v4(0x7F000001), 0});
  ASSERT_EQ(::bind(deaf, any.raw(), any.size), 0);
  ASSERT_EQ(::listen(deaf, 0), 0);
  const std::string address = own_place(deaf);
  std::vector<LineId> ours;
  for (int i = 0; i < 4; ++i) {
    ours.emplace_back(++last);
    wire->open(ours.back(), {.address = "tcp://" + address});
  }
  settle();
  now = now + Duration(9'999);
  wire->sweep();
  settle();
  EXPECT_TRUE(of(ours.back()).ends.empty());
  now = now + Duration(1);
  wire->sweep();
  EXPECT_EQ(end_of(ours.back()), "refused");
  EXPECT_EQ(of(ours.back()).ends[0].second, "no answer in time");
  ::close(deaf);
}

TEST_F(LoopWireTest, AHalfClosedStreamIsTheEndOfTheLine) {  // req: station.foreign.1
  const LineId listener = listen();
  RawSocket client = RawSocket::to(of(listener).peer);
  client.send("last words");
  client.half_close();
  const LineId theirs = accept();
  EXPECT_EQ(end_of(theirs), "lost");
  EXPECT_EQ(of(theirs).took, "last words");
  until([&] {
    client.read();
    return client.ended;
  });
}

TEST_F(LoopWireTest, AResetIsTheEndOfTheLine) {  // req: station.foreign.1
  const LineId listener = listen();
  RawSocket client = RawSocket::to(of(listener).peer);
  const LineId theirs = accept();
  client.reset();
  EXPECT_EQ(end_of(theirs), "lost");
  wire->write(theirs, "too late", "");
  settle();
  EXPECT_EQ(of(theirs).ends.size(), 1U);
}

TEST_F(LoopWireTest, AWriteIntoABrokenLineEndsItOnce) {  // req: station.foreign.1
  const LineId listener = listen();
  RawSocket client = RawSocket::to(of(listener).peer);
  const LineId theirs = accept();
  wire->hold(theirs, true);  // so that reading does not notice it first
  client.reset();
  for (int i = 0; i < 3; ++i) {
    wire->write(theirs, "x", "");
    settle();
  }
  EXPECT_EQ(end_of(theirs), "lost");
}

TEST_F(LoopWireTest, ASlowFarSideOverflowsAtItsLimit) {  // req: station.limit.6
  constexpr std::size_t kLimit = 8 * kMiB;
  const LineId listener = listen();
  RawSocket client = RawSocket::to(of(listener).peer);
  const LineId theirs = accept();
  const std::string piece(64 * 1024, 'x');
  std::size_t written = 0;
  while (of(theirs).ends.empty() && written < 64 * kMiB) {
    wire->write(theirs, piece, "");
    written += piece.size();
    settle();
  }
  EXPECT_EQ(end_of(theirs), "overflow");
  // What the system had taken still arrives; the rest was unsent.
  std::size_t got = 0;
  until([&] {
    got += client.read().size();
    return client.ended;
  });
  EXPECT_GT(written - got, kLimit) << "not before";
  EXPECT_LE(written - got, kLimit + piece.size()) << "and not later";
}

TEST_F(LoopWireTest, TheLimitOfUnsentBytesIsExact) {  // req: station.limit.6
  make({.limits = {.unsent_bytes_max = 1000}});
  const int deaf = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const SocketPlace any = place_of({IpAddress::v4(0x7F000001), 0});
  ASSERT_EQ(::bind(deaf, any.raw(), any.size), 0);
  ASSERT_EQ(::listen(deaf, 0), 0);
  // Lines that are not open yet keep everything that is written.
  std::vector<LineId> ours;
  for (int i = 0; i < 4; ++i) {
    ours.emplace_back(++last);
    wire->open(ours.back(), {.address = "tcp://" + own_place(deaf)});
  }
  wire->write(ours[3], std::string(999, 'x'), "");
  wire->write(ours[3], "x", "");
  settle();
  EXPECT_TRUE(of(ours[3]).ends.empty());
  wire->write(ours[3], "x", "");
  EXPECT_EQ(end_of(ours[3]), "overflow");
  ::close(deaf);
}

TEST_F(LoopWireTest, ALineThatHadToWaitTellsThatItIsDrained) {  // req: station.line.5
  const LineId listener = listen();
  RawSocket client = RawSocket::to(of(listener).peer);
  const LineId theirs = accept();
  wire->write(theirs, "little", "");
  settle();
  EXPECT_EQ(of(theirs).drained, 0) << "it did not have to wait";
  const std::size_t size = 7 * kMiB;
  wire->write(theirs, std::string(size, 'x'), "");
  std::size_t got = 0;
  until([&] {
    got += client.read().size();
    return got == size + 6;
  });
  until([&] { return of(theirs).drained == 1; });
  settle();
  EXPECT_EQ(of(theirs).drained, 1);
}

TEST_F(LoopWireTest, WhatWasWrittenBeforeACloseStillLeaves) {  // req: station.line.4
  const LineId listener = listen();
  RawSocket client = RawSocket::to(of(listener).peer);
  const LineId theirs = accept();
  const std::size_t size = 6 * kMiB;
  wire->write(theirs, std::string(size, 'x'), "");
  wire->close(theirs);
  EXPECT_EQ(wire->lines(), 2U) << "it lingers";
  std::size_t got = 0;
  until([&] {
    got += client.read().size();
    return client.ended;
  });
  EXPECT_EQ(got, size);
  EXPECT_EQ(wire->lines(), 1U);
  EXPECT_TRUE(of(theirs).ends.empty());
  EXPECT_EQ(of(theirs).drained, 0);
}

TEST_F(LoopWireTest, AClosedLineLingersForItsTimeOnly) {  // req: station.line.4
  const LineId listener = listen();
  RawSocket client = RawSocket::to(of(listener).peer);
  const LineId theirs = accept();
  wire->write(theirs, std::string(7 * kMiB, 'x'), "");
  wire->close(theirs);
  settle();
  now = now + Duration(4'999);
  wire->sweep();
  EXPECT_EQ(wire->lines(), 2U);
  now = now + Duration(1);
  wire->sweep();
  EXPECT_EQ(wire->lines(), 1U);
  settle();
  EXPECT_TRUE(of(theirs).ends.empty());
}

TEST_F(LoopWireTest, NothingIsReadFromAHeldLine) {  // req: station.hold.1
  const LineId listener = listen();
  RawSocket client = RawSocket::to(of(listener).peer);
  const LineId theirs = accept();
  wire->hold(theirs, true);
  // A far side that floods fills what the system keeps, and then has to wait.
  std::size_t sent = 0;
  const std::string flood(kMiB, 'f');
  for (ssize_t took = 1; took > 0;) {
    took = client.send(flood);
    if (took > 0) sent += static_cast<std::size_t>(took);
    settle();
  }
  EXPECT_EQ(of(theirs).inputs, 0);
  EXPECT_LT(sent, 64 * kMiB);
  wire->hold(theirs, false);
  until([&] { return of(theirs).took.size() == sent; });
  client.send("more");
  until([&] { return of(theirs).took.size() == sent + 4; });
}

TEST_F(LoopWireTest, AFloodTakesTurnsWithOtherLines) {  // req: station.foreign.2
  const LineId listener = listen();
  RawSocket flooding = RawSocket::to(of(listener).peer);
  RawSocket modest = RawSocket::to(of(listener).peer);
  const LineId loud = accept();
  const LineId quiet = accept();
  const std::string flood(kMiB, 'f');
  while (flooding.send(flood) > 0) continue;
  modest.send("hello");
  const int before = of(loud).inputs;
  until([&] {
    flooding.send(flood);
    return of(quiet).took == "hello";
  });
  EXPECT_LE(of(loud).inputs - before, 8) << "one read for one wake-up";
}

TEST_F(LoopWireTest, OneReadIsOneInput) {  // req: station.line.1
  const LineId listener = listen();
  RawSocket client = RawSocket::to(of(listener).peer);
  const LineId theirs = accept();
  client.send("a");
  until([&] { return of(theirs).inputs == 1; });
  client.send("b");
  until([&] { return of(theirs).inputs == 2; });
  EXPECT_EQ(of(theirs).took, "ab");
}

TEST_F(LoopWireTest, AsManyLinesAsMayBeAndTheNextIsRefusedByName) {  // req: station.limit.7
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_max < 9'000) GTEST_SKIP() << "the system gives fewer than 9,000 descriptors";
  const rlimit before = files;
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  const LineId listener = listen();
  std::vector<RawSocket> clients;
  for (std::size_t i = 1; i < 4095; ++i) {
    clients.push_back(RawSocket::to(of(listener).peer));
    if (i % 256 == 0) until([&] { return accepted.size() == clients.size(); });
  }
  until([&] { return accepted.size() == 4094; });
  EXPECT_EQ(wire->lines(), 4095U);
  const LineId fits = open({.address = "udp://127.0.0.1:0", .listens = true});
  EXPECT_TRUE(of(fits).opened);
  EXPECT_EQ(wire->lines(), 4096U);
  EXPECT_EQ(wire->counts().refused, 0U);
  EXPECT_EQ(end_of(open({.address = "tcp://" + of(listener).peer})), "full");
  RawSocket surplus = RawSocket::to(of(listener).peer);
  until([&] {
    surplus.read();
    return surplus.ended;
  });
  EXPECT_EQ(wire->counts().refused, 2U);
  EXPECT_EQ(accepted.size(), 4094U);
  clients.pop_back();
  until([&] { return wire->lines() == 4095U; });
  RawSocket next = RawSocket::to(of(listener).peer);
  until([&] { return accepted.size() == 4095U; });
  wire.reset();
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(LoopWireTest, DatagramsGoBothWays) {  // req: station.datagram.1
  const LineId here = open({.address = "udp://127.0.0.1:0", .listens = true});
  const LineId there = open({.address = "udp://" + of(here).peer});
  EXPECT_EQ(of(there).peer, of(here).peer);
  wire->write(there, "one", "");
  wire->write(there, "two", "");
  until([&] { return of(here).datagrams.size() == 2; });
  EXPECT_EQ(of(here).datagrams[0].second, "one");
  EXPECT_EQ(of(here).datagrams[1].second, "two");
  wire->write(here, "back", of(here).datagrams[0].first);
  until([&] { return of(there).datagrams.size() == 1; });
  EXPECT_EQ(of(there).datagrams[0].second, "back");
}

TEST_F(LoopWireTest, ADatagramIsLostWhenItCannotBeSent) {  // req: station.datagram.2
  const LineId here = open({.address = "udp://127.0.0.1:0", .listens = true});
  const LineId there = open({.address = "udp://" + of(here).peer});
  wire->write(there, std::string(65'507, 'x'), "");
  until([&] { return of(here).datagrams.size() == 1; });
  EXPECT_EQ(of(here).datagrams[0].second.size(), 65'507U);
  EXPECT_EQ(wire->counts().datagrams_lost, 0U);
  wire->write(there, std::string(65'508, 'x'), "");
  wire->write(here, "x", "nowhere.example:1");
  wire->write(here, "x", "");
  EXPECT_EQ(wire->counts().datagrams_lost, 3U);
  EXPECT_TRUE(of(here).ends.empty());
}

TEST_F(LoopWireTest, ADatagramToAForeignPrivateAddressIsLost) {  // req: station.guard.1
  const LineId here = open({.address = "udp://127.0.0.1:0", .listens = true});
  const LineId guarded = open({.address = "udp://127.0.0.1:0", .listens = true, .foreign = true});
  ASSERT_TRUE(of(guarded).opened);
  wire->write(guarded, "x", of(here).peer);
  EXPECT_EQ(wire->counts().datagrams_lost, 1U);
}

TEST_F(LoopWireTest, AHeldDatagramLineReadsNothing) {  // req: station.hold.1
  const LineId here = open({.address = "udp://127.0.0.1:0", .listens = true});
  wire->hold(here, true);
  RawSocket client = RawSocket::to(of(here).peer, SOCK_DGRAM);
  client.send("x");
  settle();
  EXPECT_TRUE(of(here).datagrams.empty());
  wire->hold(here, false);
  until([&] { return of(here).datagrams.size() == 1; });
  client.reset();
  settle();
  EXPECT_TRUE(of(here).ends.empty()) << "a datagram line has no far side that could close it";
}

TEST_F(LoopWireTest, UnixSocketsAreLinesToo) {  // req: station.unix.1
  const std::string path = ::testing::TempDir() + "postrider-wire-" + std::to_string(::getpid());
  const LineId listener = listen({.address = "unix:" + path});
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  const LineId ours = open({.address = "unix:" + path});
  const LineId theirs = accept();
  wire->write(ours, "hello", "");
  until([&] { return of(theirs).took == "hello"; });
  EXPECT_EQ(end_of(open({.address = "unix:" + path, .listens = true})), "refused")
      << "the file of a living listener stays";
  wire->close(listener);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(end_of(open({.address = "unix:" + path})), "refused");
}

TEST_F(LoopWireTest, AFileThatACrashLeftIsReplaced) {  // req: station.unix.1
  const std::string path = ::testing::TempDir() + "postrider-left-" + std::to_string(::getpid());
  const SocketPlace place = place_of_unix(path, false);
  const int dead = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(dead, place.raw(), place.size), 0);
  ::close(dead);
  ASSERT_TRUE(std::filesystem::exists(path));
  const LineId listener = listen({.address = "unix:" + path});
  EXPECT_TRUE(of(open({.address = "unix:" + path})).opened);
  wire->close(listener);
}

TEST_F(LoopWireTest, AbstractNamesNeedNoFile) {  // req: station.unix.1
  const std::string name = "unix:@postrider-" + std::to_string(::getpid());
  listen({.address = name});
  EXPECT_TRUE(of(open({.address = name})).opened);
}

TEST_F(LoopWireTest, NothingIsToldAfterTheWireIsGone) {  // req: station.line.4
  const LineId listener = listen();
  RawSocket client = RawSocket::to(of(listener).peer);
  accept();
  client.send("x");
  wire->open(LineId(++last), {.address = "smoke:signals"});
  wire.reset();
  lines.clear();
  settle();
  EXPECT_TRUE(lines.empty());
}

TEST_F(LoopWireTest, ALineMayBeClosedByWhatItTells) {  // req: station.line.4
  const LineId listener = listen();
  on_note = [this](const station::Happened& happened) {
    if (const auto* took = std::get_if<station::LineTook>(&happened)) wire->close(took->line);
    if (const auto* opened = std::get_if<station::LineOpened>(&happened);
        opened != nullptr && opened->listener.is_set() && accepted.size() == 1)
      wire->close(opened->line);
  };
  RawSocket first = RawSocket::to(of(listener).peer);
  RawSocket second = RawSocket::to(of(listener).peer);
  second.send("x");
  until([&] {
    first.read();
    second.read();
    return first.ended && second.ended;
  });
  EXPECT_EQ(wire->lines(), 1U);
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
