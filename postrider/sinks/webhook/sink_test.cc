#include "postrider/sinks/webhook/sink.h"

#include <arpa/inet.h>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <sstream>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/protocols/web/standard_webhooks.h"
#include "postrider/sinks/common/sink_http.h"

namespace postrider {
namespace {

constexpr std::string_view kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

class Client {
 public:
  explicit Client(const std::string& address) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    inet_pton(AF_INET, "127.0.0.1", &place.sin_addr);
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0;
  }
  ~Client() { close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }
  void send_bytes(std::string_view bytes) const {
    EXPECT_EQ(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void end_sending() const { shutdown(fd_, SHUT_WR); }
  // The next answer's head, which has no body; empty when the connection was closed.
  std::string answer() {
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      char bytes[4096];
      const ssize_t got = recv(fd_, bytes, sizeof bytes, 0);
      if (got <= 0) return {};
      buffer_.append(bytes, static_cast<std::size_t>(got));
    }
    std::string head = buffer_.substr(0, end);
    buffer_.erase(0, end + 4);
    return head;
  }
  bool is_quiet() const {  // nothing has come, and the connection is open
    char byte = 0;
    return recv(fd_, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
  }

 private:
  int fd_ = -1;
  bool connected_ = false;
  std::string buffer_;
};

std::string request(std::string_view body, std::string_view more = "") {
  return "POST /hook HTTP/1.1\r\nhost: x\r\nwebhook-id: m1\r\n" + std::string(more) +
         "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

class LogFile {
 public:
  LogFile() {
    std::string pattern = testing::TempDir() + "postrider_sink_XXXXXX";
    const int fd = mkstemp(pattern.data());
    close(fd);
    path_ = pattern;
  }
  ~LogFile() { std::filesystem::remove(path_); }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  const std::string& path() const { return path_; }
  // Each line, split into columns.
  std::vector<std::vector<std::string>> lines() const {
    std::ifstream file(path_);
    std::vector<std::vector<std::string>> lines;
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::vector<std::string> columns;
      for (std::string word; words >> word;) columns.push_back(word);
      lines.push_back(columns);
    }
    return lines;
  }

 private:
  std::string path_;
};

std::unique_ptr<SinkThread> start(SinkOptions options) {
  auto sink = SinkThread::start(std::move(options));
  EXPECT_TRUE(sink) << sink.error().detail;
  return sink ? std::move(*sink) : nullptr;
}

// req: sink.log.1
TEST(Sink, TakesRequestsAndLogsThemBeforeItAnswers) {
  const LogFile log;
  const auto sink = start({.log_file = log.path()});
  Client client(sink->address());
  for (int i = 0; i < 3; ++i) {
    client.send_bytes(request("hello"));
    EXPECT_TRUE(client.answer().starts_with("HTTP/1.1 200 "));
    // Whoever has an answer finds the request in the log.
    EXPECT_EQ(log.lines().size(), static_cast<std::size_t>(i + 1));
  }
  const std::vector<std::string> line = log.lines()[0];
  ASSERT_EQ(line.size(), 6U);
  EXPECT_EQ(line[0].size(), std::string("2026-11-15T23:40:55.123Z").size());
  EXPECT_EQ(line[1], "m1");
  EXPECT_EQ(line[2], "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
  EXPECT_EQ(line[3], "200");
  EXPECT_EQ(line[4], "-");
  EXPECT_EQ(line[5], "/hook");
  EXPECT_EQ(sink->counts().requests, 3U);
  EXPECT_EQ(sink->counts().good, 3U);
  EXPECT_EQ(sink->counts().connections, 1U);
}

TEST(Sink, AnswersPipelinedAndSlicedRequestsInOrder) {
  const auto sink = start({.status = 204});
  Client client(sink->address());
  client.send_bytes(request("a") + request("bb") + request(""));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(client.answer().starts_with("HTTP/1.1 204 "));
  for (const char c : request("sliced")) client.send_bytes(std::string_view(&c, 1));
  EXPECT_TRUE(client.answer().starts_with("HTTP/1.1 204 "));
  EXPECT_EQ(sink->counts().requests, 4U);
}

TEST(Sink, TakesChunkedBodiesAndExpectations) {
  const LogFile log;
  const auto sink = start({.log_file = log.path()});
  Client client(sink->address());
  client.send_bytes(
      "POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n");
  EXPECT_TRUE(client.answer().starts_with("HTTP/1.1 200 "));
  client.send_bytes("POST /e HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_TRUE(client.answer().starts_with("HTTP/1.1 100 "));
  client.send_bytes("hello");
  EXPECT_TRUE(client.answer().starts_with("HTTP/1.1 200 "));
  const auto lines = log.lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0][2], lines[1][2]) << "the same body, however it came";
  EXPECT_EQ(lines[0][1], "-") << "no webhook-id";
}

TEST(Sink, ClosesWhenAskedTo) {
  const auto sink = start({});
  Client client(sink->address());
  client.send_bytes(request("x", "connection: close\r\n"));
  EXPECT_NE(client.answer().find("connection: close"), std::string::npos);
  EXPECT_EQ(client.answer(), "");
}

// req: sink.behaviour.1
TEST(Sink, FailsAsOftenAsItIsTold) {
  const auto sink = start({.fail_percent = 30, .fail_status = 503});
  Client client(sink->address());
  int failed = 0;
  for (int i = 0; i < 1000; ++i) {
    client.send_bytes(request("x"));
    failed += client.answer().starts_with("HTTP/1.1 503 ") ? 1 : 0;
  }
  EXPECT_GT(failed, 200);
  EXPECT_LT(failed, 400);
  EXPECT_EQ(sink->counts().failed, static_cast<std::uint64_t>(failed));
  EXPECT_EQ(sink->counts().good, static_cast<std::uint64_t>(1000 - failed));
}

TEST(Sink, TakesSoManyMembersAndRefusesSomeTexts) {
  const auto sink = start({.members_max = 2, .refuse = "bad"});
  Client client(sink->address());
  const auto answered = [&client](std::string_view body) {
    client.send_bytes(request(body));
    return client.answer().substr(9, 3);
  };
  EXPECT_EQ(answered("[1]"), "200");
  EXPECT_EQ(answered("[1,2]"), "200");
  EXPECT_EQ(answered("[1,2,3]"), "413");
  EXPECT_EQ(answered("[1,2,\"bad\"]"), "422");
  EXPECT_EQ(answered("bad"), "422");
  EXPECT_EQ(answered("{\"a\":1,\"b\":2,\"c\":3}"), "200") << "no array";
  EXPECT_EQ(answered("[1,2,3"), "200") << "no JSON";
  EXPECT_EQ(sink->counts().failed, 3U);
}

// req: sink.behaviour.1
TEST(Sink, CutsOffWhatItHasTakenSoThatItComesAgain) {
  const LogFile log;
  const auto sink = start({.duplicate_percent = 100, .log_file = log.path()});
  Client client(sink->address());
  client.send_bytes(request("x"));
  EXPECT_EQ(client.answer(), "");
  ASSERT_EQ(log.lines().size(), 1U);
  EXPECT_EQ(log.lines()[0][3], "cut");
  EXPECT_EQ(sink->counts().cut, 1U);
}

// req: sink.behaviour.1
TEST(Sink, IsSlowWithoutHoldingUpOthers) {
  const auto sink = start({.slow = 50ms});
  const auto begin = std::chrono::steady_clock::now();
  Client one(sink->address());
  Client other(sink->address());
  one.send_bytes(request("a") + request("b"));
  other.send_bytes(request("c"));
  EXPECT_TRUE(other.answer().starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(one.answer().starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(one.answer().starts_with("HTTP/1.1 200 "));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 100ms) << "one answer after the other";
}

// req: sink.behaviour.1
TEST(Sink, HangsWithTheConnectionOpen) {
  const auto sink = start({.hang = true});
  Client client(sink->address());
  client.send_bytes(request("x"));
  while (sink->counts().requests == 0) std::this_thread::yield();
  EXPECT_TRUE(client.is_quiet());
  EXPECT_EQ(sink->counts().good, 0U);
}

// req: sink.behaviour.1
TEST(Sink, IsDeadForAWhileAndThenBack) {
  const auto dead = start({.dead = true});
  EXPECT_FALSE(Client(dead->address()).connected());
  EXPECT_FALSE(Sink::open({.listen = dead->address()})) << "the port is kept";

  const auto later = start({.back_after = 1h});
  EXPECT_FALSE(Client(later->address()).connected());
  const auto back = start({.back_after = 1ms});
  while (!Client(back->address()).connected()) std::this_thread::yield();
}

std::string signed_request(std::string_view body, std::int64_t seconds) {
  const auto keys = parse_webhook_secrets(kSecret);
  const std::string stamp = std::to_string(seconds);
  // The secret has no times, so that of the signature does not matter.
  const std::string signature =
      webhook_signatures(*keys, {.id = "m1", .timestamp = stamp, .body = body}, Timestamp());
  return request("hello", "webhook-timestamp: " + stamp + "\r\nwebhook-signature: v1,AAAA " +
                              signature + "\r\n");
}

// req: sink.verify.1
TEST(Sink, VerifiesSignatures) {
  const LogFile log;
  const auto sink = start({.log_file = log.path(), .verify = std::string(kSecret)});
  Client client(sink->address());
  const std::int64_t now = std::time(nullptr);
  const std::pair<std::string, const char*> cases[] = {
      {signed_request("hello", now), "good"},      {signed_request("other", now), "bad"},
      {signed_request("hello", now - 301), "bad"}, {signed_request("hello", now + 310), "bad"},
      {signed_request("hello", INT64_MIN), "bad"}, {request("hello"), "bad"},
  };
  std::size_t count = 0;
  for (const auto& [text, verdict] : cases) {
    client.send_bytes(text);
    const bool good = std::string_view(verdict) == "good";
    EXPECT_TRUE(client.answer().starts_with(good ? "HTTP/1.1 200 " : "HTTP/1.1 401 ")) << count;
    EXPECT_EQ(log.lines()[count][4], verdict) << count;
    ++count;
  }
  EXPECT_EQ(sink->counts().forged, 5U);
}

TEST(Sink, RefusesWhatIsNoRequest) {
  const auto sink = start({.head_bytes_max = 100, .body_bytes_max = 10});
  const std::pair<std::string, const char*> cases[] = {
      {"nonsense\r\n\r\n", "400"},
      {"GET /\r\n\r\n", "400"},
      {"GET / HTTP/2.0\r\n\r\n", "400"},
      {"POST / HTTP/1.1\r\nno colon\r\n\r\n", "400"},
      {"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n", "400"},
      {"POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", "400"},
      {"POST / HTTP/1.1\r\ncontent-length: 11\r\n\r\n", "413"},
      {"POST / HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n", "400"},
      {"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "400"},
      {"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nb\r\n", "413"},
      {std::string(101, 'x'), "413"},
  };
  for (const auto& [text, status] : cases) {
    Client client(sink->address());
    client.send_bytes(text);
    EXPECT_EQ(client.answer().substr(9, 3), status) << text;
    EXPECT_EQ(client.answer(), "") << "the connection is closed";
  }
  EXPECT_EQ(sink->counts().garbage, std::size(cases));
  // At the limits all is well.
  Client client(sink->address());
  const std::string head = "POST / HTTP/1.1\r\ncontent-length: 10\r\nx: ";
  client.send_bytes(head + std::string(100 - head.size(), 'y') + "\r\n\r\n" + std::string(10, 'b'));
  EXPECT_TRUE(client.answer().starts_with("HTTP/1.1 200 "));
}

TEST(Sink, KeepsItsLogInColumnsWhateverComes) {
  const LogFile log;
  const auto sink = start({.log_file = log.path()});
  Client client(sink->address());
  client.send_bytes("POST /a\x01\xff HTTP/1.1\r\nwebhook-id: a b\tc\x7f" + std::string(300, 'i') +
                    "\r\n\r\n");
  EXPECT_TRUE(client.answer().starts_with("HTTP/1.1 200 "));
  const auto lines = log.lines();
  ASSERT_EQ(lines.size(), 1U);
  ASSERT_EQ(lines[0].size(), 6U);
  EXPECT_EQ(lines[0][1].size(), 200U);
  EXPECT_TRUE(lines[0][1].starts_with("a?b?c?iii"));
  EXPECT_EQ(lines[0][5], "/a??");
}

TEST(Sink, HasALimitOfConnections) {
  const auto sink = start({.connections_max = 2});
  Client one(sink->address());
  Client two(sink->address());
  one.send_bytes(request("x"));
  two.send_bytes(request("x"));
  EXPECT_NE(one.answer(), "");
  EXPECT_NE(two.answer(), "");
  Client three(sink->address());
  EXPECT_EQ(three.answer(), "") << "closed at once";
  one.send_bytes(request("x"));
  EXPECT_NE(one.answer(), "");
}

TEST(Sink, StopsWithAWordWhenItsLogCannotBeWritten) {
  auto sink = Sink::open({.log_file = "/dev/full"});
  ASSERT_TRUE(sink) << sink.error().detail;
  std::thread client([address = (*sink)->address()] {
    Client one(address);
    one.send_bytes(request("x"));
    EXPECT_EQ(one.answer(), "") << "what is not in the log is not answered";
  });
  const Result<void> ran = (*sink)->run();
  ASSERT_FALSE(ran);
  EXPECT_NE(ran.error().detail.find("the log: "), std::string::npos);
  sink->reset();
  client.join();
}

TEST(Sink, RefusesOptionsThatMakeNoSense) {
  EXPECT_FALSE(Sink::open({.listen = "nowhere"}));
  EXPECT_FALSE(Sink::open({.listen = "127.0.0.1:65536"}));
  EXPECT_FALSE(Sink::open({.listen = "127.0.0.1:"}));
  EXPECT_FALSE(Sink::open({.status = 199}));
  EXPECT_FALSE(Sink::open({.fail_percent = 101}));
  EXPECT_FALSE(Sink::open({.duplicate_percent = 101}));
  EXPECT_FALSE(Sink::open({.verify = "whsec_short"}));
  EXPECT_FALSE(Sink::open({.log_file = "/nowhere/log"}));
  EXPECT_TRUE(Sink::open({.listen = "localhost:0"}));
}

}  // namespace
}  // namespace postrider
