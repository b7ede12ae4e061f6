// postrider dest, dlq and group: what is asked and what people read, against a daemon that follows
// a script.
#include <cstdio>
#include <fstream>

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

}  // namespace
}  // namespace postrider
