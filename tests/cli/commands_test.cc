// What the commands ask the daemon and what people read, against a daemon that follows a script.
#include <fstream>

#include "postrider/api/problems.h"
#include "tests/cli/answers.h"
#include "tests/cli/program.h"

namespace postrider {
namespace {

using cli::Daemon;
using cli::ended_message;
using cli::kId;
using cli::moment;
using cli::problem;
using cli::Ran;
using cli::Reply;
using cli::run;
using cli::waiting_message;

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
