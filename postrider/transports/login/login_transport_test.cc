#include "postrider/transports/login/login_transport.h"

#include <map>
#include <set>
#include <utility>

#include <gtest/gtest.h>

namespace postrider {
namespace {

constexpr std::string_view kPassword = "hunter2";
constexpr std::string_view kLoginUrl = "http://vendor.example/API/User/Login";
constexpr std::string_view kCreateUrl = "http://vendor.example/API/Create";

class ManualClock final : public Clock {
 public:
  Instant read() const override { return now; }
  void advance(Duration time) {
    now.boot = now.boot + time;
    now.wall = now.wall + time;
  }
  Instant now{Timestamp(1'000'000), Timestamp(1'800'000'000'000)};
};

// "token TEXT [EXPIRY]", in milliseconds of wall time.
Result<LoginToken> read_token(int status, std::string_view content_type, std::string_view body) {
  if (status != 200 || content_type != "text/plain" || !body.starts_with("token "))
    return fail(ErrorCode::kUnavailable, "not logged in");
  body.remove_prefix(6);
  LoginToken token;
  const std::size_t blank = body.find(' ');
  token.authorization = "Bearer " + std::string(body.substr(0, blank));
  if (blank != std::string_view::npos)
    token.expires_at = Timestamp(std::stoll(std::string(body.substr(blank + 1))));
  return token;
}

std::shared_ptr<const LoginCall> call_of(std::string key = "lorawan",
                                         std::string_view password = kPassword) {
  return std::make_shared<LoginCall>(LoginCall{.key = std::move(key),
                                               .target = std::string(kLoginUrl),
                                               .body = "user=u&password=" + std::string(password),
                                               .read = &read_token});
}

// The transport below: notes what is started, and ends it as the test says.
class Scripted final : public Transport {
 public:
  void start(AttemptId attempt, WireRequest request) override {
    EXPECT_TRUE(open.insert(attempt.value()).second);
    started.emplace_back(attempt, std::move(request));
  }
  void abort(AttemptId attempt) override {
    open.erase(attempt.value());
    aborted.push_back(attempt.value());
  }
  std::size_t connections() const override { return 7; }
  std::vector<std::pair<AttemptId, WireRequest>> started;
  std::set<std::uint64_t> open;
  std::vector<std::uint64_t> aborted;
};

class LoginTransportTest : public ::testing::Test {
 protected:
  LoginTransportTest() { make({}); }
  void make(LoginTransportOptions options) {
    transport = std::make_unique<LoginTransport>(
        clock, options, [this](AttemptId attempt, WireReply reply) {
          ends[attempt.value()].push_back(std::move(reply));
          if (on_end) on_end(attempt);
        });
    transport->over(inner);
  }

  void start(std::uint64_t attempt, const std::shared_ptr<const LoginCall>& how,
             Duration time_out = 120s) {
    WireRequest request;
    request.verb = "POST";
    request.target = kCreateUrl;
    request.headers.add("x-first", "1");
    request.owner = Blob::copy_of("body " + std::to_string(attempt));
    request.body = request.owner.view();
    request.time_out = time_out;
    request.trust = "PEM";
    request.login = how;
    transport->start(AttemptId(attempt), std::move(request));
  }
  void start(std::uint64_t attempt) { start(attempt, call); }

  bool is_login(std::size_t at) const { return inner.started.at(at).second.target == kLoginUrl; }
  std::size_t logins() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < inner.started.size(); ++i) count += is_login(i) ? 1U : 0U;
    return count;
  }
  void end_last(WireReply reply) { end(inner.started.back().first, std::move(reply)); }
  void end(AttemptId attempt, WireReply reply) {
    EXPECT_EQ(inner.open.erase(attempt.value()), 1U);
    transport->inner_ended(attempt, std::move(reply));
  }
  void answer(std::uint64_t attempt, int status) {
    end(AttemptId(attempt), {.end = WireEnd::kAnswered, .status = status});
  }
  // Answers the login that was started last.
  void log_in(const std::string& body, int status = 200) {
    ASSERT_TRUE(is_login(inner.started.size() - 1));
    end_last({.end = WireEnd::kAnswered,
              .status = status,
              .headers = {{"content-type", "text/plain"}},
              .body = body});
  }
  std::string token_until(const std::string& text, Duration life) const {
    return "token " + text + " " + std::to_string((clock.now.wall + life).ms());
  }
  std::string authorization(std::size_t at) const {
    return std::string(inner.started.at(at).second.headers.find("authorization"));
  }
  WireReply end_of(std::uint64_t attempt) {
    EXPECT_EQ(ends[attempt].size(), 1U) << attempt;
    return ends[attempt].empty() ? WireReply{} : ends[attempt].front();
  }

  ManualClock clock;
  Scripted inner;
  std::unique_ptr<LoginTransport> transport;
  std::map<std::uint64_t, std::vector<WireReply>> ends;
  std::function<void(AttemptId)> on_end;
  std::shared_ptr<const LoginCall> call = call_of();
};

// req: daemon.login.1
TEST_F(LoginTransportTest, PassesOnWhatNeedsNoLogin) {
  start(1, nullptr);
  ASSERT_EQ(inner.started.size(), 1U);
  EXPECT_EQ(inner.started[0].first, AttemptId(1));
  EXPECT_EQ(authorization(0), "");
  answer(1, 401);
  EXPECT_EQ(end_of(1).status, 401);
  start(2, nullptr);
  transport->abort(AttemptId(2));
  EXPECT_EQ(inner.aborted, (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(transport->connections(), 7U);
  EXPECT_EQ(transport->counts().tries, 0U);
}

// req: daemon.login.1
TEST_F(LoginTransportTest, LogsInFirstAndAddsTheToken) {
  start(1);
  ASSERT_EQ(inner.started.size(), 1U);
  const WireRequest login = inner.started[0].second;
  EXPECT_EQ(login.verb, "POST");
  EXPECT_EQ(login.target, kLoginUrl);
  EXPECT_EQ(login.body, "user=u&password=hunter2");
  EXPECT_EQ(login.headers.find("content-type"), "application/json");
  EXPECT_EQ(login.time_out, 5s);
  EXPECT_EQ(login.reply_bytes, 16U * 1024);
  EXPECT_EQ(login.trust, "PEM");
  log_in("token abc");
  ASSERT_EQ(inner.started.size(), 2U);
  const WireRequest& sent = inner.started[1].second;
  EXPECT_EQ(inner.started[1].first, AttemptId(1));
  EXPECT_EQ(sent.headers.text(), "x-first: 1\r\nauthorization: Bearer abc\r\n");
  EXPECT_EQ(sent.body, "body 1");
  EXPECT_EQ(sent.time_out, 120s);
  EXPECT_EQ(sent.login, nullptr);
  EXPECT_EQ(sent.trust, "PEM");
  answer(1, 200);
  EXPECT_EQ(end_of(1).status, 200);
}

// req: daemon.login.2, device.send.6
TEST_F(LoginTransportTest, KeepsATokenUntilOneSecondBeforeItsEnd) {
  start(1);
  log_in(token_until("abc", 60s));
  clock.advance(58'999ms);
  start(2);
  EXPECT_EQ(logins(), 1U);
  EXPECT_EQ(authorization(2), "Bearer abc");
  clock.advance(1ms);
  start(3);
  EXPECT_EQ(logins(), 2U);
  log_in(token_until("new", 60s));
  EXPECT_EQ(authorization(4), "Bearer new");
}

// req: daemon.login.2
TEST_F(LoginTransportTest, KeepsATokenThatNamesNoEnd) {
  start(1);
  log_in("token abc");
  clock.advance(240h);
  start(2);
  EXPECT_EQ(logins(), 1U);
  EXPECT_EQ(authorization(2), "Bearer abc");
}

// The clocks of the two sides may differ.
// req: daemon.login.2
TEST_F(LoginTransportTest, UsesATokenThatHasEndedAlreadyForThoseWhoWaitedForIt) {
  start(1);
  log_in(token_until("abc", -10s));
  EXPECT_EQ(authorization(1), "Bearer abc");
  start(2);
  EXPECT_EQ(logins(), 2U);
}

// req: daemon.login.3, device.send.6
TEST_F(LoginTransportTest, LogsInOnceForAllWhoWait) {
  for (std::uint64_t i = 1; i <= 5; ++i) start(i);
  EXPECT_EQ(inner.started.size(), 1U);
  log_in("token abc");
  ASSERT_EQ(inner.started.size(), 6U);
  for (std::uint64_t i = 1; i <= 5; ++i) {
    EXPECT_EQ(inner.started[i].first, AttemptId(i));
    EXPECT_EQ(authorization(i), "Bearer abc");
  }
}

// req: daemon.login.3
TEST_F(LoginTransportTest, KeepsAccountsApart) {
  start(1, call_of("one"));
  start(2, call_of("two"));
  EXPECT_EQ(logins(), 2U);
  log_in("token second");
  EXPECT_EQ(inner.started.back().first, AttemptId(2));
  end(inner.started[0].first, {.end = WireEnd::kAnswered,
                               .status = 200,
                               .headers = {{"content-type", "text/plain"}},
                               .body = "token first"});
  EXPECT_EQ(authorization(2), "Bearer second");
  EXPECT_EQ(authorization(3), "Bearer first");
  // The same one with another password is another one; equal credentials are the same, wherever
  // they are kept.
  start(3, call_of("one", "changed"));
  EXPECT_EQ(logins(), 3U);
  start(4, call_of("one"));
  EXPECT_EQ(authorization(5), "Bearer first");
}

// req: daemon.login.4, device.send.6
TEST_F(LoginTransportTest, TriesThreeTimesAndThenTellsAllWhoWait) {
  for (const WireEnd end : {WireEnd::kRefused, WireEnd::kNoName, WireEnd::kNoTls,
                            WireEnd::kForbidden, WireEnd::kTimedOut, WireEnd::kReset}) {
    inner.started.clear();
    ends.clear();
    start(1);
    start(2);
    for (std::size_t tries = 1; tries <= 3; ++tries) {
      EXPECT_EQ(inner.started.size(), tries);
      EXPECT_TRUE(ends.empty());
      end_last({.end = end});
    }
    EXPECT_EQ(inner.started.size(), 3U);
    EXPECT_EQ(logins(), 3U);
    for (const std::uint64_t attempt : {1U, 2U}) {
      EXPECT_EQ(end_of(attempt).end, WireEnd::kNoLogin);
      EXPECT_EQ(end_of(attempt).body, "login: no answer");
    }
  }
}

// req: daemon.login.4
TEST_F(LoginTransportTest, ASecondOrThirdTryMaySucceed) {
  start(1);
  end_last({.end = WireEnd::kTimedOut});
  log_in("", 503);
  log_in("token abc");
  EXPECT_EQ(logins(), 3U);
  EXPECT_EQ(authorization(3), "Bearer abc");
  // The next login has all its tries again.
  answer(1, 401);
  log_in("", 500);
  log_in("", 500);
  log_in("token def");
  EXPECT_EQ(authorization(7), "Bearer def");
}

// req: daemon.login.4
TEST_F(LoginTransportTest, DoesNotAskAgainWhoHasSaidNo) {
  for (const int status : {200, 400, 401, 403, 499}) {
    inner.started.clear();
    ends.clear();
    start(1);
    log_in("wrong password", status);
    EXPECT_EQ(logins(), 1U) << status;
    EXPECT_EQ(end_of(1).end, WireEnd::kNoLogin);
    EXPECT_EQ(end_of(1).body, "login: not logged in");
  }
}

// req: daemon.login.4
TEST_F(LoginTransportTest, LogsInAnewForTheNextRequestAfterAFailure) {
  start(1);
  log_in("", 403);
  start(2);
  EXPECT_EQ(logins(), 2U);
  log_in("token abc");
  EXPECT_EQ(authorization(2), "Bearer abc");
}

// req: daemon.login.5, device.send.6
TEST_F(LoginTransportTest, A401IsWorthOneLoginAndOneRepeat) {
  start(1);
  log_in("token old");
  answer(1, 401);
  EXPECT_TRUE(ends.empty());
  EXPECT_EQ(logins(), 2U);
  log_in("token new");
  ASSERT_EQ(inner.started.size(), 4U);
  EXPECT_EQ(inner.started[3].first, AttemptId(1));
  EXPECT_EQ(inner.started[3].second.headers.text(), "x-first: 1\r\nauthorization: Bearer new\r\n");
  EXPECT_EQ(inner.started[3].second.body, "body 1");
  answer(1, 401);
  EXPECT_EQ(end_of(1).status, 401);
  EXPECT_EQ(inner.started.size(), 4U);
  EXPECT_EQ(transport->counts().repeats, 1U);
}

// req: daemon.login.5
TEST_F(LoginTransportTest, NothingElseIsRepeated) {
  start(1);
  log_in("token abc");
  for (const WireReply& reply :
       {WireReply{.end = WireEnd::kAnswered, .status = 403},
        WireReply{.end = WireEnd::kAnswered, .status = 500},
        WireReply{.end = WireEnd::kTimedOut, .status = 401}, WireReply{.end = WireEnd::kReset},
        WireReply{.end = WireEnd::kRefused}}) {
    inner.started.clear();
    ends.clear();
    start(2);
    end_last(reply);
    EXPECT_EQ(end_of(2).end, reply.end);
    EXPECT_EQ(end_of(2).status, reply.status);
    EXPECT_EQ(inner.started.size(), 1U);
  }
}

// req: daemon.login.5
TEST_F(LoginTransportTest, Several401sOfOneTokenAreWorthOneLogin) {
  start(1);
  start(2);
  start(3);
  log_in("token old");
  answer(1, 401);
  answer(2, 401);
  EXPECT_EQ(logins(), 2U);
  log_in("token new");
  // This one was sent with the old token, and there is a newer one already.
  answer(3, 401);
  EXPECT_EQ(logins(), 2U);
  for (const std::size_t at : {5U, 6U, 7U}) EXPECT_EQ(authorization(at), "Bearer new");
  EXPECT_EQ(inner.started.size(), 8U);
}

// req: daemon.login.5
TEST_F(LoginTransportTest, ALoginThatFailsAfterA401EndsTheRequest) {
  start(1);
  log_in("token old");
  answer(1, 401);
  log_in("", 403);
  EXPECT_EQ(end_of(1).end, WireEnd::kNoLogin);
}

// req: daemon.login.6
TEST_F(LoginTransportTest, AnAbortedRequestIsToldNoMore) {
  start(1);
  start(2);
  transport->abort(AttemptId(1));
  log_in("token abc");
  ASSERT_EQ(inner.started.size(), 2U);
  EXPECT_EQ(inner.started[1].first, AttemptId(2));
  answer(2, 401);
  transport->abort(AttemptId(2));
  log_in("token def");
  EXPECT_EQ(inner.started.size(), 3U);
  start(3);
  transport->abort(AttemptId(3));
  EXPECT_EQ(inner.aborted.back(), 3U);
  EXPECT_TRUE(ends.empty());
  // The token of a login that nobody waited for is there for the next.
  start(4);
  EXPECT_EQ(logins(), 2U);
  EXPECT_EQ(inner.started.back().second.headers.find("authorization"), "Bearer def");
}

// req: daemon.login.6
TEST_F(LoginTransportTest, WhoIsToldMayAbortAndStartOthers) {
  start(1);
  start(2);
  start(3);
  on_end = [this](AttemptId attempt) {
    if (attempt != AttemptId(1)) return;
    transport->abort(AttemptId(2));
    start(4);
    start(2);
  };
  log_in("", 403);
  EXPECT_EQ(end_of(1).end, WireEnd::kNoLogin);
  EXPECT_EQ(end_of(3).end, WireEnd::kNoLogin);
  EXPECT_FALSE(ends.contains(2));
  EXPECT_FALSE(ends.contains(4));
  EXPECT_EQ(logins(), 2U);
  log_in("token abc");
  EXPECT_EQ(inner.started[2].first, AttemptId(4));
  EXPECT_EQ(inner.started[3].first, AttemptId(2));
}

// req: daemon.login.7
TEST_F(LoginTransportTest, TheWaitCountsAsTimeOfTheRequest) {
  start(1, call, 10s);
  start(2, call, 3s);
  start(3, call, 0s);
  clock.advance(3s);
  log_in("token abc");
  EXPECT_EQ(end_of(2).end, WireEnd::kNoLogin);
  EXPECT_EQ(end_of(2).body, "login: it took too long");
  ASSERT_EQ(inner.started.size(), 3U);
  EXPECT_EQ(inner.started[1].second.time_out, 7s);
  EXPECT_EQ(inner.started[2].second.time_out, 0s);
  clock.advance(7s);
  answer(1, 401);  // no time is left for a repeat
  EXPECT_EQ(end_of(1).status, 401);
  EXPECT_EQ(logins(), 1U);
}

// req: daemon.ways.8
TEST_F(LoginTransportTest, LoginsThatHangDoNotKeepOthersFromTheirs) {
  constexpr std::uint64_t kHanging = 2000;  // more than are remembered
  for (std::uint64_t i = 1; i <= kHanging; ++i) start(i, call_of("hangs " + std::to_string(i)));
  EXPECT_EQ(logins(), kHanging);
  start(kHanging + 1, call_of("good"));
  log_in("token good");
  answer(kHanging + 1, 200);
  EXPECT_EQ(end_of(kHanging + 1).status, 200);
  start(kHanging + 2, call_of("good"));
  EXPECT_EQ(logins(), kHanging + 1) << "the token is remembered";
  answer(kHanging + 2, 200);
  EXPECT_EQ(end_of(kHanging + 2).status, 200);
}

// req: daemon.ways.6
TEST_F(LoginTransportTest, ALoginThatWasHeldBackHoldsBackThoseWhoWaitForIt) {
  start(1);
  start(2);
  end_last({.end = WireEnd::kHeldBack});
  EXPECT_EQ(end_of(1).end, WireEnd::kHeldBack);
  EXPECT_EQ(end_of(2).end, WireEnd::kHeldBack);
  EXPECT_EQ(logins(), 1U) << "not tried again at once";
  start(3);
  log_in("token A");
  answer(3, 200);
  EXPECT_EQ(end_of(3).status, 200);
}

// req: daemon.login.8
TEST_F(LoginTransportTest, NeverTellsThePasswordOrAToken) {
  const std::string token = "SECRETTOKEN";
  for (const std::string& bad : {token + "\r\nx:y", token + '\x01', token + "\x7f",
                                 token + std::string(8 * 1024, 'x'), token + "\xc3\xa4"}) {
    ends.clear();
    start(1);
    log_in("token " + bad);
    EXPECT_EQ(end_of(1).end, WireEnd::kNoLogin);
    EXPECT_EQ(end_of(1).body, "login: the token cannot be sent");
  }
  for (const int status : {200, 403, 503}) {
    ends.clear();
    start(1);
    while (!ends.contains(1)) log_in(token + " " + std::string(kPassword), status);
    const WireReply reply = end_of(1);
    EXPECT_TRUE(reply.headers.empty());
    EXPECT_EQ(reply.body.find(token), std::string::npos);
    EXPECT_EQ(reply.body.find(kPassword), std::string::npos);
  }
}

// req: daemon.login.8
TEST_F(LoginTransportTest, TakesATokenAtItsLimit) {
  LoginTransportOptions options;
  options.authorization_bytes_max = 10;
  make(options);
  start(1);
  log_in("token abc");  // "Bearer abc"
  EXPECT_EQ(authorization(1), "Bearer abc");
  start(2, call_of("other"));
  log_in("token abcd");
  EXPECT_EQ(end_of(2).end, WireEnd::kNoLogin);
}

// req: daemon.login.8
TEST_F(LoginTransportTest, ForgetsTheAccountThatWasNotUsedForLongest) {
  LoginTransportOptions options;
  options.accounts_max = 2;
  make(options);
  start(1, call_of("a"));
  log_in("token a");
  start(2, call_of("b"));
  log_in("token b");
  start(3, call_of("a"));
  EXPECT_EQ(logins(), 2U);  // two are remembered
  start(4, call_of("c"));
  log_in("token c");
  start(5, call_of("a"));
  EXPECT_EQ(logins(), 3U);
  // The request under way with a forgotten account may still log in anew.
  answer(2, 401);
  EXPECT_EQ(logins(), 4U);
  log_in("token b2");
  EXPECT_EQ(inner.started.back().first, AttemptId(2));
  start(6, call_of("b"));
  EXPECT_EQ(logins(), 5U);
}

}  // namespace
}  // namespace postrider
