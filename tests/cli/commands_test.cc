// What the commands ask the daemon and what people read, against a daemon that follows a script.
#include <cstdio>
#include <fstream>

#include "postrider/api/problems.h"
#include "tests/cli/program.h"

namespace postrider {
namespace {

using cli::Daemon;
using cli::moment;
using cli::problem;
using cli::Ran;
using cli::Reply;
using cli::run;

const std::string kId = "0123456789abcdef0123456789abcdef";

std::string waiting_message() {
  return "{\"id\":\"" + kId +
         "\",\"destination\":\"billing\",\"phase\":\"backoff\",\"state\":\"waiting\",\"place\":"
         "\"sleeping\",\"why\":\"waits for its next attempt\",\"next\":\"attempt\",\"next_at\":\"" +
         moment(300) + "\",\"accepted_at\":\"" + moment(-7200) + "\",\"since\":\"" + moment(-180) +
         "\",\"attempts\":3,\"last_failure\":\"server\",\"last_outcome\":\"HTTP 503: "
         "no\\u001b[31m\","
         "\"health\":\"wait\"}";
}

std::string ended_message(const std::string& phase) {
  return "{\"id\":\"" + kId + "\",\"destination\":\"billing\",\"phase\":\"" + phase +
         "\",\"state\":\"" + phase +
         "\",\"place\":\"ended\",\"why\":\"HTTP 200\",\"next\":\"nothing\",\"attempts\":1,"
         "\"health\":\"normal\"}";
}

// req: cli.send.1
TEST(SendCommand, HandsTheMessageOverAndPrintsItsId) {
  Daemon daemon({{.body = "{\"id\":\"" + kId + "\",\"durability\":\"synced\"}", .status = 202}});
  const Ran ran = daemon.run("send billing 'hello \"you\"'", "");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.output, kId + "\n");
  EXPECT_EQ(daemon.first_line(0), "POST /v1/messages");
  EXPECT_EQ(daemon.body(0), R"({"destination":"billing","body":"hello \"you\""})");
}

// req: cli.send.1
TEST(SendCommand, TakesEverythingAMessageCanHave) {
  Daemon daemon({{.body = "{\"id\":\"x\"}", .status = 202}});
  const Ran ran = daemon.run(
      "send billing b --content-type text/plain --header 'x-a: 1' --header x-b:2 --lane 3 "
      "--priority "
      "9 --delay 5s --expires-in 2h --idempotency-key k-1 --order-key 'a b' --event-id e-1 --json",
      "");
  EXPECT_EQ(ran.output, "{\"id\":\"x\"}\n");
  EXPECT_EQ(daemon.body(0),
            R"({"destination":"billing","body":"b","headers":{"x-a":"1","x-b":"2"},"lane":3,)"
            R"("priority":9,"content_type":"text/plain","order_key":"a b","event_id":"e-1",)"
            R"("delay":"5s","expires_in":"2h"})");
  EXPECT_NE(daemon.request(0).find("\r\nidempotency-key: k-1\r\n"), std::string::npos);
}

// req: cli.send.2
TEST(SendCommand, ReadsTheBodyFromAFileOrTheStandardInput) {
  const cli::TemporaryDirectory directory;
  const std::string file = directory.write("body", "from a file\n");
  const std::string binary = directory.write("binary", std::string("\xff\x00z", 3));
  const Reply accepted{.body = "{\"id\":\"x\"}", .status = 202};
  Daemon daemon({accepted, accepted, accepted, accepted});
  EXPECT_EQ(daemon.run("send a @" + file).code, 0);
  EXPECT_EQ(daemon.run("send a @" + binary).code, 0);
  EXPECT_EQ(run("send a -", "printf piped | " + daemon.environment()).code, 0);
  EXPECT_EQ(run("send a", "printf piped | " + daemon.environment()).code, 0);
  EXPECT_EQ(daemon.body(0), R"({"destination":"a","body":"from a file\n"})");
  EXPECT_EQ(daemon.body(1), R"({"destination":"a","body_base64":"/wB6"})");
  EXPECT_EQ(daemon.body(2), R"({"destination":"a","body":"piped"})");
  EXPECT_EQ(daemon.body(3), daemon.body(2));
  const Ran missing = daemon.run("send a @/nowhere/x");
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(missing.output, "postrider send: '/nowhere/x': No such file or directory\n");
}

// req: cli.send.3
TEST(SendCommand, WaitsForTheEndAndShowsIt) {
  const Reply accepted{.body = "{\"id\":\"" + kId + "\"}", .status = 202};
  Daemon daemon({accepted, {.body = waiting_message()}, {.body = ended_message("delivered")}});
  const Ran ran = daemon.run("send billing b --wait", "");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.output,
            "Message " + kId +
                " to billing is delivered.\n  where   ended\n  why     HTTP 200\n  next "
                "   nothing\n  so far  1 attempt\n");
  EXPECT_EQ(daemon.requests().size(), 3U);
  EXPECT_EQ(daemon.first_line(2), "GET /v1/messages/" + kId);

  for (const char* phase : {"dead", "expired", "cancelled", "indeterminate", "parked"}) {
    Daemon other({accepted, {.body = ended_message(phase)}});
    EXPECT_EQ(other.run("send billing b --wait").code, 1) << phase;
  }
  Daemon slow({accepted, {.body = waiting_message()}, {.body = waiting_message()}});
  const Ran late = slow.run("send billing b --wait --time-out 1ms");
  EXPECT_EQ(late.code, 1);
  EXPECT_NE(late.output.find("the message has not ended yet"), std::string::npos) << late.output;
}

// req: cli.refusals.1
TEST(Refusals, AreToldInWords) {
  Daemon daemon(
      {problem(404, "There is nothing of this name",
               "no destination 'biling', did you mean 'billing'?"),
       problem(401, "A token is needed", "send one"),
       problem(429, "Too many of your requests wait already", "", "retry-after: 3\r\n"),
       {.body = "<html>gateway\x1b[1m</html>", .status = 502, .content_type = "text/html"},
       {.body = "not json", .status = 200},
       {.cut = true},
       problem(409, "The message has ended already", "the message has ended: delivered")});
  const std::pair<const char*, std::string> cases[] = {
      {"send biling x", "postrider send: no destination 'biling', did you mean 'billing'?\n"},
      {"dest ls",
       "postrider dest ls: send one; say which with --token-file, POSTRIDER_TOKEN_FILE or "
       "POSTRIDER_TOKEN\n"},
      {"msg cancel 1",
       "postrider msg cancel: Too many of your requests wait already; try again in 3s\n"},
      {"msg get 1", "postrider msg get: the daemon answered with 502: <html>gateway [1m</html>\n"},
      {"msg get 1",
       "postrider msg get: the daemon's answer is no JSON; is this address really Postrider's?\n"},
      {"msg get 1", "postrider msg get: the daemon closed the connection without an answer\n"},
  };
  for (const auto& [arguments, output] : cases) {
    const Ran ran = daemon.run(arguments);
    EXPECT_EQ(ran.code, 1) << arguments;
    EXPECT_EQ(ran.output, output);
  }
  const Ran json = daemon.run("msg retry 1 --json");
  EXPECT_EQ(json.code, 1);
  EXPECT_TRUE(json.output.starts_with("{\"type\":\"urn:postrider:problem:x\"")) << json.output;
}

// What the API says of parameters and headers, said in options; the details are those of the API.
// req: cli.refusals.3
TEST(Refusals, SpeakOfOptionsAndCommands) {
  const auto refused = [](AnswerCode code, std::string detail) {
    Answer answer;
    answer.code = code;
    answer.detail = std::move(detail);
    return problem(409, "A title", api::problem_of(answer)->detail);
  };
  Daemon daemon(
      {refused(AnswerCode::kNotEmpty, "destination 'b' still has messages"),
       refused(AnswerCode::kConflict, ""), refused(AnswerCode::kUnavailable, ""),
       problem(503, "A title", api::problem_of(Door::kRestarting).detail, "retry-after: 2\r\n")});
  const std::pair<const char*, std::string> cases[] = {
      {"dest rm b",
       "postrider dest rm: destination 'b' still has messages; or say --drain to have it removed "
       "when it is empty\n"},
      {"msg cancel 1 --idempotency-key k",
       "postrider msg cancel: this --idempotency-key was used with other content; use a new one "
       "for a new operation\n"},
      {"dest wake b",
       "postrider dest wake: we were interrupted and cannot tell whether it happened; repeat the "
       "command with the same --idempotency-key\n"},
      {"dest wake b", "postrider dest wake: nothing was done; try again in 2s\n"}};
  for (const auto& [arguments, output] : cases) EXPECT_EQ(daemon.run(arguments).output, output);
}

// req: cli.refusals.4
TEST(Refusals, SuggestTheDestinationThatWasMeant) {
  const Reply missing =
      problem(404, "There is nothing of this name", "there is no destination 'biling'");
  const auto list = [](const std::string& names) {
    return Reply{.body = "{\"destinations\":[" + names + "]}"};
  };
  const std::string shop = R"({"name":"shop"})";
  const std::string said = "postrider send: there is no destination 'biling'";
  Daemon daemon({missing, list(shop + R"(,{"name":"billing"})"), missing, list(shop), missing,
                 list(""), missing, problem(403, "The token does not allow this", "")});
  EXPECT_EQ(daemon.run("send biling x").output, said + ", did you mean 'billing'?\n");
  EXPECT_EQ(daemon.first_line(1), "GET /v1/destinations?limit=1000");
  EXPECT_EQ(daemon.run("send biling x").output, said + "; there is shop\n");
  EXPECT_EQ(daemon.run("send biling x").output,
            said + "; there is none yet: postrider dest put NAME URL\n");
  EXPECT_EQ(daemon.run("send biling x").output, said + "\n") << "a token may see less";
}

// req: cli.refusals.2
TEST(Refusals, SayHowToStartADaemonThatIsNotThere) {
  std::string url;
  {
    const Daemon gone({});
    url = gone.url();
  }
  const Ran ran = run("msg ls --url " + url);
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.output, "postrider msg ls: nothing answers at " + url.substr(7) +
                            " (Connection refused); start the daemon with 'postrider serve --dev', "
                            "or say where it is with --url or POSTRIDER_URL\n");
  EXPECT_NE(run("msg ls --url unix:/nowhere/s").output.find("nothing answers at unix:/nowhere/s"),
            std::string::npos);
}

// req: cli.token.1
TEST(Tokens, ComeFromOptionFileOrEnvironment) {
  const cli::TemporaryDirectory directory;
  const std::string file = directory.write("token", "in-a-file\n");
  const Reply none{.body = "{\"messages\":[]}"};
  Daemon daemon({none, none, none, none, none});
  const std::string before = daemon.environment();
  EXPECT_EQ(daemon.run("msg ls --token given").code, 0);
  EXPECT_EQ(daemon.run("msg ls --token-file " + file).code, 0);
  EXPECT_EQ(run("msg ls", before + " POSTRIDER_TOKEN=variable").code, 0);
  EXPECT_EQ(run("msg ls", before + " POSTRIDER_TOKEN_FILE=" + file).code, 0);
  EXPECT_EQ(daemon.run("msg ls").code, 0);
  const char* const wanted[] = {"given", "in-a-file", "variable", "in-a-file"};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NE(daemon.request(i).find("authorization: Bearer " + std::string(wanted[i]) + "\r\n"),
              std::string::npos)
        << daemon.request(i);
  }
  EXPECT_EQ(daemon.request(4).find("authorization"), std::string::npos);
}

TEST(Addresses, MayBeUnixSocketsAndHavePaths) {
  const cli::TemporaryDirectory directory;
  Daemon local({{.body = "{\"messages\":[]}"}}, directory.path("s"));
  EXPECT_EQ(local.run("msg ls").output, "none\n");
  Daemon daemon({{.body = "{\"messages\":[]}", .chunked = true}});
  EXPECT_EQ(run("msg ls --url " + daemon.url() + "/below/").output, "none\n");
  EXPECT_EQ(daemon.first_line(0), "GET /below/v1/messages?limit=100");
}

// req: cli.msg.1
TEST(MsgCommand, ListsInAlignedColumns) {
  Daemon daemon({{.body = "{\"messages\":[" + waiting_message() + "],\"next\":\"c+1\"}"},
                 {.body = "{\"messages\":[" + ended_message("queued") + "]}"}});
  const Ran ran =
      daemon.run("msg ls --destination 'a b' --phase backoff --older-than 5m --limit 1 --all", "");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.output,
            "ID                                DESTINATION  PHASE    ATTEMPTS  ACCEPTED  NEXT      "
            "     WHY\n" +
                kId +
                "  billing      backoff  3         2h ago    attempt in 5m  waits for its next "
                "attempt\n" +
                kId + "  billing      queued   1                   nothing        HTTP 200\n");
  EXPECT_EQ(daemon.first_line(0),
            "GET /v1/messages?destination=a%20b&phase=backoff&older_than=5m&limit=1");
  EXPECT_EQ(daemon.first_line(1),
            "GET /v1/messages?destination=a%20b&phase=backoff&older_than=5m&limit=1&cursor=c%2B1");
}

TEST(MsgCommand, SaysWhenThereAreMore) {
  const Reply page{.body = "{\"messages\":[" + waiting_message() + "],\"next\":\"c1\"}"};
  Daemon daemon({page, page});
  EXPECT_TRUE(daemon.run("msg ls").output.ends_with("there are more: --all, or --cursor c1\n"));
  EXPECT_EQ(daemon.run("msg ls --cursor c1 --json", "").output, page.body + "\n");
  EXPECT_EQ(daemon.first_line(1), "GET /v1/messages?limit=100&cursor=c1");
}

// req: cli.msg.2
TEST(MsgCommand, ExplainsInAFewLines) {
  const std::string message = waiting_message();
  Daemon daemon({{.body = message}, {.body = message}});
  const Ran ran = daemon.run("msg explain " + kId, "");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(daemon.first_line(0), "GET /v1/messages/" + kId + "/explain");
  const char* const parts[] = {
      " to billing is backoff.\n  where     sleeping, since 3m ago (2",
      "Z)\n  why       waits for its next attempt\n  next      attempt in 5m\n"
      "  so far    3 attempts, the last: server: HTTP 503: no [31m\n  accepted  2h ago (2",
      "Z)\n  route     wait\n"};
  for (const char* part : parts)
    EXPECT_NE(ran.output.find(part), std::string::npos) << part << "\nis not in\n" << ran.output;
  EXPECT_TRUE(ran.output.starts_with("Message " + kId)) << ran.output;
  EXPECT_EQ(daemon.run("msg explain " + kId + " --json", "").output, message + "\n");
}

// req: cli.msg.5
TEST(MsgCommand, ExplainIsACommandOfItsOwnToo) {
  Daemon daemon({{.body = waiting_message()}, {.body = waiting_message()}});
  const std::string output = daemon.run("explain " + kId, "").output;
  EXPECT_EQ(output, daemon.run("msg explain " + kId, "").output);
  EXPECT_EQ(daemon.first_line(0), "GET /v1/messages/" + kId + "/explain");
}

// req: cli.msg.2
TEST(MsgCommand, ExplainsWhoseOrderAMessageIsIn) {
  std::string message = waiting_message();
  message.replace(message.size() - 1, 1, ",\"order_key\":\"customer 7\"}");
  Daemon daemon({{.body = message}});
  const Ran ran = daemon.run("msg explain " + kId, "");
  EXPECT_NE(ran.output.find("\n  order key  customer 7\n"), std::string::npos) << ran.output;
}

// req: cli.msg.2
TEST(MsgCommand, ListsTheAttemptsThatAreKept) {
  const std::string at = moment(-3600);
  const std::string message = "{\"id\":\"" + kId +
                              "\",\"phase\":\"backoff\",\"attempts\":4,\"earlier_attempts\":2,"
                              "\"last_attempts\":[{\"at\":\"" +
                              at +
                              "\",\"took_ms\":1500,\"outcome\":\"failed\",\"failure\":\"server\","
                              "\"reason\":\"HTTP 503\"}," +
                              "{\"at\":\"" + at + "\",\"outcome\":\"open\"}]}";
  Daemon daemon({{.body = message}, {.body = message}});
  const std::string when = "60m ago (" + at + ")";
  const std::string lines = "\nATTEMPT  BEGAN" + std::string(when.size() - 3, ' ') +
                            "TOOK     OUTCOME  REASON\n3        " + when +
                            "  1500 ms  failed   server: HTTP 503\n4        " + when +
                            "           open\n";
  for (const std::string verb : {"get", "explain"}) {
    const std::string output = daemon.run("msg " + verb + " " + kId, "").output;
    EXPECT_TRUE(output.ends_with(lines)) << output << "\ndoes not end with" << lines;
  }
}

TEST(MsgCommand, ShowsAMessageAndItsBody) {
  const std::string message =
      "{\"id\":\"" + kId +
      "\",\"destination\":\"billing\",\"phase\":\"queued\",\"attempts\":0,\"content_type\":\"text/"
      "plain\",\"headers\":{\"x-a\":\"1\"},\"has_body\":true,\"body_bytes\":3,\"lane\":2,"
      "\"priority\":0,\"order_key\":\"k 7\",\"event_id\":\"e-1\"";
  Daemon daemon({{.body = message + "}"},
                 {.body = message + ",\"body\":\"a\\nb\"}"},
                 {.body = message + ",\"body_base64\":\"/wB6\"}"},
                 {.body = "{\"has_body\":false}"}});
  EXPECT_EQ(daemon.run("msg get " + kId, "").output,
            "id            " + kId +
                "\ndestination   billing\nphase         queued\nattempts      0\nlane          2\n"
                "priority      0\norder key     k 7\nevent id      e-1\ncontent type  "
                "text/plain\nheader x-a    1\nbody          3 bytes\n");
  EXPECT_EQ(daemon.run("msg get --body " + kId, "").output, "a\nb");
  EXPECT_EQ(daemon.run("msg get --body " + kId, "").output, std::string("\xff\x00z", 3));
  const Ran gone = daemon.run("msg get --body " + kId);
  EXPECT_EQ(gone.code, 1);
  EXPECT_EQ(gone.output, "postrider msg get: the body is not kept any more\n");
  EXPECT_EQ(daemon.first_line(1), "GET /v1/messages/" + kId + "?body=true");
}

TEST(MsgCommand, ShowsTheTimeline) {
  const std::string first = moment(-3600);
  Daemon daemon({{.body = "{\"id\":\"x\",\"entries\":[{\"at\":\"" + first +
                          "\",\"what\":\"accepted\"},{\"what\":\"waits-for-attempt\",\"detail\":"
                          "\"back-off\"}]}"}});
  const std::string when = "60m ago (" + first + ")";
  EXPECT_EQ(daemon.run("msg timeline x", "").output,
            "WHEN" + std::string(when.size() - 2, ' ') + "WHAT               DETAIL\n" + when +
                "  accepted\n" + std::string(when.size() + 2, ' ') +
                "waits-for-attempt  back-off\n");
}

// req: cli.msg.3
TEST(MsgCommand, ActsOnEachMessageAndFailsIfOneFails) {
  Daemon daemon({{.body = "{\"id\":\"a\",\"answer\":\"done\"}"},
                 problem(409, "The message has ended already", "the message has ended: delivered"),
                 {.body = "{\"id\":\"c\",\"answer\":\"nothing\",\"detail\":\"it is at work\"}"},
                 {.body = "{\"id\":\"d\",\"answer\":\"done\"}"}});
  const Ran ran = daemon.run("msg cancel a b c");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.output.find("a: done\n"), std::string::npos);
  EXPECT_NE(ran.output.find("c: nothing to do: it is at work\n"), std::string::npos);
  EXPECT_NE(ran.output.find(": the message has ended: delivered\n"), std::string::npos);
  EXPECT_EQ(daemon.first_line(2), "POST /v1/messages/c/cancel");
  EXPECT_EQ(daemon.run("msg retry 'd/../x' --idempotency-key k").code, 0);
  EXPECT_EQ(daemon.first_line(3), "POST /v1/messages/d%2F..%2Fx/retry");
  EXPECT_NE(daemon.request(3).find("idempotency-key: k\r\n"), std::string::npos);
}

// req: cli.msg.4
TEST(MsgCommand, ResendsAndSaysAsWhich) {
  Daemon daemon({{.body = R"({"id":"b2","resends":"a1","durability":"synced"})", .status = 202}});
  EXPECT_EQ(daemon.run("msg resend a1", "").output, "a1: sent again as b2\n");
  EXPECT_EQ(daemon.first_line(0), "POST /v1/messages/a1/resend");
}

// req: cli.dest.1
TEST(DestCommand, PutsADestinationWithItsSettings) {
  const cli::TemporaryDirectory directory;
  const std::string secret = directory.write("s", "whsec_abc\n");
  const Reply done{.body = "{\"destination\":\"billing\",\"answer\":\"done\"}"};
  Daemon daemon({done, done});
  const Ran ran = daemon.run("dest put billing https://example.com/h --secret-file " + secret +
                                 " --header 'x-team: blue' --set rate=5 --set ladder=5s,10s",
                             "");
  EXPECT_EQ(ran.output, "billing: done\n");
  EXPECT_EQ(daemon.first_line(0), "PUT /v1/destinations/billing");
  EXPECT_EQ(
      daemon.body(0),
      R"({"profile":"webhook","settings":{"url":"https://example.com/h","secret":"whsec_abc",)"
      R"("headers.x-team":"blue","rate":"5","ladder":"5s,10s"}})");
  EXPECT_EQ(daemon.run("dest put a --profile p --set a=b=c --json", "").output, done.body + "\n");
  EXPECT_EQ(daemon.body(1), R"({"profile":"p","settings":{"a":"b=c"}})");
}

// The secret in what was sent: 32 bytes in base64.
std::string secret_in(const std::string& body) {
  const std::size_t begin = body.find("whsec_");
  return begin == std::string::npos ? "" : body.substr(begin, body.find('"', begin) - begin);
}

// req: cli.dest.3
TEST(DestCommand, MakesASecretAndPrintsItOnce) {
  const Reply done{.body = R"({"destination":"b","answer":"done","detail":"created"})"};
  Daemon daemon({done, done, problem(400, "What is asked for makes no sense", "url is missing")});
  const std::string output = daemon.run("dest put b https://e/h --new-secret", "").output;
  const std::string secret = secret_in(daemon.body(0));
  EXPECT_EQ(secret.size(), 6 + 44U) << daemon.body(0);
  EXPECT_TRUE(output.starts_with("b: done: created\nsecret: " + secret + "\nIt is shown this once"))
      << output;
  const std::string json = daemon.run("dest put b https://e/h --new-secret --json", "").output;
  EXPECT_EQ(json, R"({"destination":"b","answer":"done","detail":"created","secret":")" +
                      secret_in(daemon.body(1)) + "\"}\n");
  EXPECT_NE(secret_in(daemon.body(1)), secret);
  const Ran refused = daemon.run("dest put b --new-secret");
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(refused.output.find("whsec_"), std::string::npos) << "it is nobody's secret";
  EXPECT_EQ(daemon.run("dest put b https://e/h --new-secret --secret-file x").code, 2);
}

// req: cli.dest.4
TEST(DestCommand, RotatesASecret) {
  const cli::TemporaryDirectory directory;
  const std::string file = directory.write("s", "whsec_abc\n");
  const Reply done{.body = R"({"destination":"b","answer":"done","detail":"changed"})"};
  Daemon daemon({done, done, done, done});
  std::string output = daemon.run("dest rotate b", "").output;
  EXPECT_EQ(daemon.first_line(0), "POST /v1/destinations/b/rotate");
  const std::string secret = secret_in(daemon.body(0));
  EXPECT_EQ(daemon.body(0), R"({"secret":")" + secret + R"(","overlap":"24h"})");
  EXPECT_TRUE(output.starts_with(
      "b: rotated; the old secret signs for another 24h\nsecret: " + secret + "\n"))
      << output;
  output = daemon.run("dest rotate b --overlap 0s --json", "").output;
  EXPECT_EQ(daemon.body(1), R"({"secret":")" + secret_in(daemon.body(1)) + R"(","overlap":"0s"})");
  EXPECT_NE(output.find(R"("secret":")" + secret_in(daemon.body(1)) + "\"}"), std::string::npos);
  EXPECT_EQ(daemon.run("dest rotate b --overlap 0s --secret-file " + file, "").output,
            "b: rotated; the old secret signs no longer\n");
  EXPECT_EQ(daemon.body(2), R"({"secret":"whsec_abc","overlap":"0s"})");
  EXPECT_EQ(daemon.run("dest rotate b --overlap tomorrow").code, 2);
  EXPECT_EQ(daemon.run("dest rotate").code, 2);
}

// req: cli.dest.5
TEST(DestCommand, ListsAndShows) {
  const std::string since = moment(-172800);
  const std::string one =
      "{\"name\":\"billing\",\"destination_id\":\"d1\",\"profile\":\"webhook\",\"settings\":{"
      "\"url\":\"https://e/"
      "h\",\"secret\":"
      "\"***\"},\"secrets\":1,\"health\":\"wait\",\"health_since\":\"" +
      since +
      "\",\"reason\":\"HTTP 503\",\"strikes\":5,\"in_window\":8,\"open_attempts\":1,\"owed\":true,"
      "\"draining\":false}";
  const std::string other = R"({"name":"acme","destination_id":"d2","open_attempts":0})";
  Daemon daemon({{.body = "{\"destinations\":[" + one + "," + other + "]}"},
                 {.body = R"({"queues":[{"destination_id":"d1","live":41}]})"},
                 {.body = one}});
  // Sorted by name; what waits is counted wherever it is, less what is on the wire.
  EXPECT_EQ(daemon.run("dest ls --prefix b --health wait", "").output,
            "NAME     PROFILE  HEALTH  SINCE   WAITING  OPEN  URL\n"
            "acme                              0        0\n"
            "billing  webhook  wait    2d ago  40       1     https://e/h\n");
  EXPECT_EQ(daemon.first_line(0), "GET /v1/destinations?prefix=b&health=wait&limit=1000");
  EXPECT_EQ(daemon.first_line(1), "GET /v1/queues?limit=1000");
  EXPECT_EQ(
      daemon.run("dest show billing", "").output,
      "name           billing\nprofile        webhook\nhealth         wait\n"
      "since          2d ago (" +
          since +
          ")\nreason         HTTP 503\nstrikes        5\n"
          "in window      8\non disk only   more\nopen attempts  1\nurl            https://e/h\n"
          "secret         ***\n");
}

// req: cli.dest.2
TEST(DestCommand, HoldsWakesLimitsAndRemoves) {
  const Reply done{.body = "{\"answer\":\"done\"}"};
  Daemon daemon({done, done, done, done, done, done, done});
  for (const char* arguments :
       {"dest pause b --reason 'moving house'", "dest pause b", "dest resume b", "dest wake b",
        "dest limit b rate=5 burst=default time_out=10s", "dest rm b", "dest rm b --drain"}) {
    EXPECT_EQ(daemon.run(arguments, "").output, "b: done\n") << arguments;
  }
  const char* const lines[] = {
      "POST /v1/destinations/b/pause",       "POST /v1/destinations/b/pause",
      "POST /v1/destinations/b/resume",      "POST /v1/destinations/b/wake",
      "PATCH /v1/destinations/b/limits",     "DELETE /v1/destinations/b",
      "DELETE /v1/destinations/b?drain=true"};
  for (std::size_t i = 0; i < std::size(lines); ++i) EXPECT_EQ(daemon.first_line(i), lines[i]);
  EXPECT_EQ(daemon.body(0), R"({"reason":"moving house"})");
  EXPECT_EQ(daemon.body(1), "");
  EXPECT_EQ(daemon.body(4), R"({"rate":"5","burst":null,"time_out":"10s"})");
}

TEST(DestCommand, TestsADestination) {
  const Reply accepted{.body = "{\"id\":\"" + kId + "\"}", .status = 202};
  Daemon daemon({accepted, accepted, {.body = ended_message("delivered")}});
  EXPECT_EQ(daemon.run("dest test b", "").output, kId + "\n");
  EXPECT_EQ(daemon.first_line(0), "POST /v1/destinations/b/test");
  EXPECT_EQ(daemon.run("dest test b --wait").code, 0);
}

// req: cli.dest.12
TEST(DestCommand, RecoversByTwoJobs) {
  const Reply job = {.body = "{\"id\":\"00000000000000aa\",\"action\":\"redrive\"}", .status = 202};
  Daemon daemon({job, {.body = R"({"name":"b","settings":{"url":"x"}})"}, job, job});
  const std::string both =
      daemon.run("dest recover b --since 2026-01-02T03:04:05Z --rate 50 --idempotency-key k")
          .output;
  EXPECT_NE(both.find("job 00000000000000aa runs"), std::string::npos) << both;
  EXPECT_EQ(daemon.first_line(0), "POST /v1/jobs");
  EXPECT_NE(daemon.request(0).find("{\"action\":\"redrive\",\"filter\":{\"destination\":\"b\","
                                   "\"since\":\"2026-01-02T03:04:05Z\"},\"rate\":50}"),
            std::string::npos)
      << daemon.request(0);
  EXPECT_EQ(daemon.first_line(1), "GET /v1/destinations/b");
  EXPECT_NE(daemon.request(2).find("\"action\":\"resend\""), std::string::npos);
  EXPECT_NE(daemon.request(2).find("k#delivered"), std::string::npos);
  EXPECT_NE(both.find("history is off"), std::string::npos) << both;
  EXPECT_EQ(daemon.run("dest recover b --since 2h --dead-only").code, 0);
  EXPECT_NE(daemon.request(3).find("\"since\":\"20"), std::string::npos) << "two hours ago";
  EXPECT_EQ(daemon.run("dest recover b").code, 2);
}

// req: cli.dlq.1
TEST(DlqCommand, ListsShowsRedrivesAndDrops) {
  Daemon daemon(
      {{.body = R"({"name":"shop","destination_id":"d1"})"},
       {.body = "{\"dead_letters\":[{\"id\":\"" + kId +
                "\",\"destination_id\":\"d1\",\"phase\":\"dead\",\"at\":\"" + moment(-600) +
                "\",\"cause\":\"rejected\",\"attempts\":1,\"reason\":\"HTTP 400\"}]}"},
       {.body = R"({"destinations":[{"name":"shop","destination_id":"d1"}]})"},
       {.body = "{\"id\":\"n2\",\"redrives\":\"n1\",\"durability\":\"synced\"}", .status = 202},
       {.body = "{\"id\":\"n1\",\"answer\":\"done\"}"},
       {.body = ended_message("dead")}});
  EXPECT_EQ(daemon.run("dlq ls --destination shop", "").output,
            "ID                                DESTINATION  PHASE  WHEN     ATTEMPTS  CAUSE     "
            "REASON\n" +
                kId + "  shop         dead   10m ago  1         rejected  HTTP 400\n");
  EXPECT_EQ(daemon.first_line(0), "GET /v1/destinations/shop");
  EXPECT_EQ(daemon.first_line(1), "GET /v1/dead-letters?destination_id=d1&limit=100");
  EXPECT_EQ(daemon.run("dlq redrive n1", "").output, "n1: redriven as n2\n");
  EXPECT_EQ(daemon.run("dlq drop n1", "").output, "n1: done\n");
  EXPECT_TRUE(daemon.run("dlq show n1", "").output.starts_with("id "));
  EXPECT_EQ(daemon.first_line(3), "POST /v1/dead-letters/n1/redrive");
  EXPECT_EQ(daemon.first_line(4), "DELETE /v1/dead-letters/n1");
  EXPECT_EQ(daemon.first_line(5), "GET /v1/dead-letters/n1");
}

// req: cli.group.1
TEST(GroupCommand, ChangesListsShowsAndSends) {
  const std::string group = "{\"name\":\"eu\",\"skip_closed\":true,\"changed_at\":\"" +
                            moment(-600) +
                            "\",\"members\":[{\"destination\":\"shop\",\"types\":[\"a.*\",\"b\"]},"
                            "{\"destination\":\"bank\",\"types\":[]}]}";
  const std::string done = "{\"name\":\"eu\",\"answer\":\"done\"}";
  Daemon daemon({{.body = done},
                 {.body = done},
                 {.body = done},
                 {.body = "{\"groups\":[" + group + "]}"},
                 {.body = group},
                 {.body = "{\"id\":\"00000000000000aa\",\"members\":[{\"destination\":\"shop\","
                          "\"message\":\"m1\"}],\"skipped\":[\"bank\"],\"group\":\"eu\","
                          "\"durability\":\"synced\"}",
                  .status = 202},
                 {.body = done}});
  EXPECT_EQ(daemon.run("group put eu shop bank --skip-closed", "").output, "eu: done\n");
  EXPECT_EQ(daemon.run("group add eu shop --type 'a.*' --type b", "").output, "eu: done\n");
  EXPECT_EQ(daemon.run("group remove eu bank", "").output, "eu: done\n");
  EXPECT_EQ(daemon.run("group ls", "").output,
            "NAME  MEMBERS  CLOSED ONES  CHANGED\neu    2        left out     10m ago\n");
  EXPECT_EQ(daemon.run("group show eu", "").output,
            "MEMBER  SUBSCRIBES TO\nshop    a.*, b\nbank    everything\n");
  EXPECT_EQ(daemon.run("group send eu hello --type a.x --priority 2 --order-key k", "").output,
            "00000000000000aa\nm1 shop\nleft out: bank\n");
  EXPECT_EQ(daemon.run("group rm eu", "").output, "eu: done\n");
  EXPECT_EQ(daemon.first_line(0), "PUT /v1/groups/eu");
  EXPECT_NE(daemon.request(0).find("{\"skip_closed\":true,\"members\":[{\"destination\":\"shop\","
                                   "\"types\":[]},{\"destination\":\"bank\",\"types\":[]}]}"),
            std::string::npos)
      << daemon.request(0);
  EXPECT_EQ(daemon.first_line(1), "POST /v1/groups/eu/members");
  EXPECT_NE(daemon.request(1).find("\"types\":[\"a.*\",\"b\"]"), std::string::npos);
  EXPECT_EQ(daemon.first_line(2), "DELETE /v1/groups/eu/members?destination=bank");
  EXPECT_EQ(daemon.first_line(5), "POST /v1/groups/eu/messages");
  EXPECT_NE(daemon.request(5).find("{\"type\":\"a.x\",\"body\":\"hello\",\"priority\":2,"
                                   "\"order_key\":\"k\"}"),
            std::string::npos)
      << daemon.request(5);
  EXPECT_EQ(daemon.first_line(6), "DELETE /v1/groups/eu");
  EXPECT_EQ(daemon.run("group add eu", "").code, 2);
}

// req: cli.dlq.3
TEST(DlqCommand, ExportsPageByPageAndImports) {
  Daemon daemon(
      {{.body = "{\"id\":\"a\"}\n{\"next\":\"c1\"}\n", .content_type = "application/x-ndjson"},
       {.body = "{\"id\":\"b\"}\n", .content_type = "application/x-ndjson"},
       {.body = "{\"line\":1,\"id\":\"n1\"}\n{\"line\":2,\"id\":\"n2\",\"replayed\":true}\n",
        .content_type = "application/x-ndjson"}});
  EXPECT_EQ(daemon.run("dlq export", "").output, "{\"id\":\"a\"}\n{\"id\":\"b\"}\n");
  EXPECT_EQ(daemon.first_line(1), "GET /v1/dead-letters/export?cursor=c1");
  const std::string path = ::testing::TempDir() + "dlq_import_test.ndjson";
  std::ofstream(path) << "{\"id\":\"a\"}\n{\"id\":\"b\"}\n";
  EXPECT_EQ(daemon.run("dlq import " + path, "").output, "1 taken, 1 known already, 0 refused\n");
  std::remove(path.c_str());
  EXPECT_NE(daemon.request(2).find("application/x-ndjson"), std::string::npos);
}

// req: cli.tail.1
TEST(TailCommand, ShowsEventsAndComesBackBehindTheLastOne) {
  const std::string first =
      "retry: 1\n\n: heartbeat\n\nid: 1.1.1\nevent: end\ndata: {\"kind\":\"end\",\"at\":\"T1\","
      "\"destination\":\"shop\",\"destination_id\":\"d\",\"id\":\"m1\",\"phase\":\"delivered\","
      "\"attempts\":1,\"latency_ms\":12}\n\nid: 1.1.2\n"
      "event: destination-closed\ndata: {\"kind\":\"destination-closed\",\"at\":\"T2\","
      "\"destination_id\":\"d\",\"reason\":\"HTTP 503\"}\n\nid: 1.1.3\ndata: half";
  const std::string second =
      "id: 1.1.3\r\nevent: end\r\ndata: {\"kind\":\"end\",\"at\":\"T3\",\"id\":\"m2\",\"phase\":"
      "\"dead\",\"attempts\":3,\"cause\":\"rejected\",\"latency_ms\":7200000,\"reason\":"
      "\"HTTP 400\",\"event\":\"1.1.3\"}\r\n\r\n";
  const auto stream = [](std::string body) {
    return Reply{.body = std::move(body), .content_type = "text/event-stream", .chunked = true};
  };
  Daemon daemon({stream(first), stream(second)});
  const Ran ran = daemon.run("tail --from start --limit 3", "");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.output,
            "T1  delivered  shop  m1  attempts 1  after 12 ms  1.1.1\n"
            "T2  destination-closed  d  HTTP 503  1.1.2\n"
            "T3  dead    m2  attempts 3  after 2h  rejected  HTTP 400  1.1.3\n");
  EXPECT_EQ(daemon.first_line(0), "GET /v1/events?from=start");
  EXPECT_EQ(daemon.request(0).find("last-event-id"), std::string::npos);
  EXPECT_NE(daemon.request(1).find("last-event-id: 1.1.3\r\n"), std::string::npos);

  Daemon once({stream(second), problem(503, "Too many readers follow the events", "close one")});
  EXPECT_EQ(
      once.run("tail --once --json --last-event 1.1.2", "").output,
      "{\"kind\":\"end\",\"at\":\"T3\",\"id\":\"m2\",\"phase\":\"dead\",\"attempts\":3,"
      "\"cause\":\"rejected\",\"latency_ms\":7200000,\"reason\":\"HTTP 400\",\"event\":\"1.1.3\"}"
      "\n");
  EXPECT_NE(once.request(0).find("last-event-id: 1.1.2\r\n"), std::string::npos);
  EXPECT_EQ(once.run("tail").code, 1);
}

// req: cli.tail.2
TEST(TailCommand, ChoosesEventsAndEndsWithThePresent) {
  Daemon daemon({{.body = "retry: 1\n\n", .content_type = "text/event-stream", .chunked = true},
                 problem(400, "A parameter has a value that it cannot have",
                         "unknown kind 'daed', did you mean 'dead'?")});
  EXPECT_EQ(daemon.run("tail --until-now --destination 'a b' --kind dead,parked").code, 0);
  EXPECT_EQ(daemon.first_line(0),
            "GET /v1/events?from=start&until=now&destination=a%20b&kind=dead%2Cparked");
  EXPECT_EQ(daemon.run("tail --kind daed").output,
            "postrider tail: unknown kind 'daed', did you mean 'dead'?\n");
}

// req: cli.status.1
TEST(StatusCommand, ShowsTheDaemonAtOneLook) {
  const std::vector<Reply> replies = {
      {.body = R"({"tenant":"t","scopes":[],"version":"1.2.3"})"},
      {.body = R"({"conservation":{"accepted":9,"delivered":5,"dead":1,"expired":0,"cancelled":0,)"
               R"("indeterminate":0,"live":3},"dead_letters":{"there":1,"parked":0},)"
               R"("quarantined":0,"jobs_running":0,"open_attempts":1,"restoring":false,)"
               R"("process":{"free_bytes":3221225472,"resident_bytes":1048576}})"},
      {.body = R"({"destinations":[{"health":"normal"},{"health":"wait"},{"health":"normal"}]})"},
      {.body = R"({"queues":[{"destination":"a","live":1,"oldest_at":")" + moment(-60) +
               R"("},{"destination":"b","live":2,"oldest_at":")" + moment(-7200) + R"("}]})"}};
  Daemon daemon({replies[0], replies[1], replies[2], replies[3], replies[0], replies[1], replies[2],
                 replies[3]});
  const std::string output = daemon.run("status", "").output;
  for (const std::string part :
       {"postrider 1.2.3 at http://127.0.0.1:", "9 accepted = 5 delivered + 1 dead + 3 live\n",
        "2h ago (", ") for b\n", "3: 2 normal, 1 wait\n", "1 attempts\n", "3.0 GiB free\n",
        "1.0 MiB\n"})
    EXPECT_NE(output.find(part), std::string::npos) << part << " is not in\n" << output;
  const std::string json = daemon.run("status --json", "").output;
  EXPECT_TRUE(json.starts_with(R"({"version":"1.2.3","conservation":{"accepted":9,)")) << json;
  EXPECT_NE(json.find(R"("destinations":{"normal":2,"wait":1},"oldest_at":)"), std::string::npos);
  EXPECT_TRUE(json.ends_with("\"restoring\":false}\n")) << json;
}

// req: cli.colour.1
TEST(Colour, IsForTerminalsOnly) {
  const Reply reply{.body = ended_message("delivered")};
  Daemon daemon({reply, reply, reply});
  const std::string before = "env -u NO_COLOR TERM=xterm POSTRIDER_URL=" + daemon.url();
  EXPECT_EQ(run("msg explain x", before, "").output.find('\033'), std::string::npos);
  // `script` gives the program a terminal.
  const auto on_terminal = [&](const std::string& variables) {
    return run("msg explain x",
               variables + " script -qec \"env TERM=xterm POSTRIDER_URL=" + daemon.url(),
               "\" /dev/null 2>&1");
  };
  if (std::system("command -v script >/dev/null") != 0) GTEST_SKIP() << "there is no script(1)";
  EXPECT_NE(on_terminal("env -u NO_COLOR").output.find("\033[32mdelivered"), std::string::npos);
  EXPECT_EQ(on_terminal("NO_COLOR=1").output.find('\033'), std::string::npos);
}

// req: cli.sink.1
TEST(SinkCommand, ReceivesLogsAndEndsWithASummary) {
  const cli::TemporaryDirectory directory;
  const std::string log = directory.path("log");
  const std::string words = directory.path("words");
  // The shell starts the sink, waits until it says where it is, sends to it, and ends it.
  const Ran ran = run("",
                      "sh -c '\"$0\" sink --listen 127.0.0.1:0 --status 202 --log " + log + " 2>" +
                          words + " & pid=$!; until grep -q sink " + words +
                          "; do :; done; \"$0\" send --url $(sed -n \"s/sink at //p\" " + words +
                          ") x y; kill $pid; wait $pid; cat " + words + "'",
                      " 2>&1");
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_NE(ran.output.find("the daemon's answer is no JSON"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("1 requests: 1 good, 0 failed, 0 cut off, 0 forged\n"),
            std::string::npos)
      << ran.output;
  std::ifstream file(log);
  std::string line;
  std::getline(file, line);
  EXPECT_TRUE(line.ends_with(" 202 - /v1/messages")) << line;
}

}  // namespace
}  // namespace postrider
