// job, hold and audit, and the jobs of dlq, against a daemon that follows a script.
#include "tests/cli/program.h"

namespace postrider {
namespace {

using cli::Daemon;
using cli::moment;
using cli::Ran;
using cli::Reply;
using cli::run;

// req: cli.dlq.2
TEST(DlqCommand, CountsGroupsAndMakesJobs) {
  Daemon daemon(
      {{.body = "{\"groups\":[{\"destination\":\"shop\",\"phase\":\"dead\",\"cause\":\"server\","
                "\"count\":4711,\"first_at\":\"" +
                moment(-600) + "\",\"last_at\":\"" + moment(-600) +
                "\",\"reason\":\"HTTP 500\",\"example\":\"e1\"}],\"letters\":4711,"
                "\"unlisted_groups\":0,\"others\":0,\"unreadable\":0}"},
       {.body = "{\"dry_run\":true,\"action\":\"redrive\",\"matched\":4711,\"looked\":0,"
                "\"complete\":true,\"rate\":100,\"forecast_ms\":47110}"},
       {.body = "{\"id\":\"00000000000000aa\",\"action\":\"redrive\",\"durability\":\"synced\"}",
        .status = 202}});
  EXPECT_EQ(daemon.run("dlq groups --destination shop", "").output,
            "DESTINATION  PHASE  CAUSE   COUNT  FIRST    LAST     REASON    EXAMPLE\n"
            "shop         dead   server  4711   10m ago  10m ago  HTTP 500  e1\n");
  EXPECT_EQ(daemon.run("dlq redrive --destination shop --cause server --dry-run", "").output,
            "4711 to redrive; at 100 per second that takes 47s\n");
  EXPECT_TRUE(daemon.run("dlq redrive --destination shop --rate 50", "")
                  .output.starts_with("job 00000000000000aa runs"));
  EXPECT_EQ(daemon.first_line(0), "GET /v1/dead-letters/groups?destination=shop");
  EXPECT_EQ(daemon.first_line(1), "POST /v1/jobs");
  EXPECT_NE(daemon.request(1).find("{\"action\":\"redrive\",\"filter\":{\"destination\":\"shop\","
                                   "\"cause\":\"server\"},\"dry_run\":true}"),
            std::string::npos)
      << daemon.request(1);
  EXPECT_NE(daemon.request(2).find("\"rate\":50"), std::string::npos);
  EXPECT_EQ(daemon.run("dlq redrive", "").code, 2);
  EXPECT_EQ(daemon.run("dlq drop --cause server n1", "").code, 2);
}

// req: cli.job.2
TEST(JobCommand, IsNotAboutEverythingUnlessItIsToldSo) {
  const Reply started{.body = "{\"id\":\"00000000000000aa\",\"action\":\"drop\"}", .status = 202};
  Daemon daemon({started,
                 started,
                 {.body = R"({"dry_run":true,"action":"drop","matched":1,)"
                          R"("complete":true,"rate":100,"forecast_ms":10})"}});
  for (const std::string what :
       {"job run cancel", "job run drop", "job run redrive", "job run retry", "job run resend",
        "dlq drop", "dlq redrive", "job run drop --rate 5 --reason x", "dlq drop --rate 5",
        "dlq redrive --every 24h", "job run drop --prefix ''", "dlq drop --destination ''"}) {
    const Ran ran = daemon.run(what);
    EXPECT_EQ(ran.code, 2) << what;
    EXPECT_NE(ran.output.find("--all"), std::string::npos) << what << ran.output;
  }
  EXPECT_EQ(daemon.run("job run drop --all --cause gone").code, 2);
  EXPECT_EQ(daemon.run("dlq drop --all n1").code, 2);
  EXPECT_TRUE(daemon.requests().empty());
  EXPECT_EQ(daemon.run("job run drop --all").code, 0);
  EXPECT_EQ(daemon.body(0), R"({"action":"drop","filter":{},"all":true})");
  EXPECT_EQ(daemon.run("dlq redrive --all --every 24h --rate 5").code, 0);
  EXPECT_EQ(daemon.body(1),
            R"({"action":"redrive","filter":{},"all":true,"rate":5,"every":"24h"})");
  EXPECT_EQ(daemon.run("job run drop --dry-run").code, 0) << "counting harms nobody";
}

// req: cli.job.3
TEST(JobCommand, SaysWhatIsWrongBeforeItAsks) {
  const std::pair<const char*, const char*> cases[] = {
      {"job run fly --all", "unknown action 'fly'"},
      {"job run redive --all", "did you mean 'redrive'?"},
      {"job run redrive --all --every soon", "--every"},
      {"dlq drop --all --every 24h", "unknown option '--every'"},
      {"job run redrive --all --rate 0", "--rate"}};
  for (const auto& [arguments, words] : cases) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_NE(ran.output.find(words), std::string::npos) << arguments << ran.output;
  }
}

// req: cli.job.3
TEST(JobCommand, ShowsThePeriodOfOneThatBeginsAnew) {
  const std::string job =
      R"({"id":"00000000000000aa","action":"redrive","filter":{"cause":"timeout"},)"
      R"("state":"waiting","rate":100,"created_at":")" +
      moment(-600) + R"(","every_ms":86400000,"rounds":3,"next_at":")" + moment(3660) +
      R"(","looked":5,"done":4,"refused":0})";
  Daemon daemon({{.body = R"({"jobs":[)" + job + "]}"}, {.body = job}});
  EXPECT_EQ(daemon.run("job ls", "").output,
            "ID                ACTION   STATE    DONE  RATE   EVERY  MADE     FILTER\n"
            "00000000000000aa  redrive  waiting  4     100/s  1d     10m ago  cause=timeout\n");
  const std::string shown = daemon.run("job show 00000000000000aa", "").output;
  EXPECT_NE(shown.find("\nevery       1d\nrounds      3\nnext round  in "), std::string::npos)
      << shown;
}

// req: cli.job.1
TEST(JobCommand, ListsShowsAndCancels) {
  const std::string job =
      "{\"id\":\"00000000000000aa\",\"action\":\"drop\",\"filter\":{\"cause\":\"gone\"},"
      "\"state\":\"running\",\"rate\":100,\"created_at\":\"" +
      moment(-600) +
      "\",\"actor\":\"ops\",\"expected\":10,\"looked\":5,\"done\":4,\"refused\":1,"
      "\"remaining_ms\":90000}";
  Daemon daemon({{.body = "{\"jobs\":[" + job + "]}"},
                 {.body = job},
                 {.body = "{\"id\":\"00000000000000aa\",\"answer\":\"done\"}"},
                 {.body = "{\"audit\":[{\"at\":\"" + moment(-600) +
                          "\",\"actor\":\"ops\",\"action\":\"pause\",\"target\":\"shop\","
                          "\"reason\":\"night\",\"effect\":\"done\"}]}"}});
  EXPECT_EQ(daemon.run("job ls", "").output,
            "ID                ACTION  STATE    DONE                RATE   EVERY  MADE     FILTER\n"
            "00000000000000aa  drop    running  4 of 10, 1 refused  100/s         10m ago  "
            "cause=gone\n");
  const std::string shown = daemon.run("job show 00000000000000aa", "").output;
  EXPECT_NE(shown.find("1m30s"), std::string::npos) << shown;
  EXPECT_EQ(daemon.run("job cancel 00000000000000aa", "").output, "00000000000000aa: done\n");
  EXPECT_EQ(daemon.run("audit", "").output,
            "WHEN     WHO  ACTION  TARGET  EFFECT  REASON\n"
            "10m ago  ops  pause   shop    done    night\n");
  EXPECT_EQ(daemon.first_line(2), "POST /v1/jobs/00000000000000aa/cancel");
}

// req: cli.hold.1
TEST(HoldCommand, PutsListsAndRemoves) {
  Daemon daemon(
      {{.body = "{\"name\":\"eu\",\"answer\":\"done\",\"detail\":\"held\"}"},
       {.body = "{\"holds\":[{\"name\":\"eu\",\"destination_prefix\":\"eu-\",\"since\":\"" +
                moment(-600) + "\",\"actor\":\"ops\",\"reason\":\"moving\"}]}"},
       {.body = "{\"name\":\"eu\",\"answer\":\"done\"}"}});
  EXPECT_EQ(daemon.run("hold put eu", "").code, 2) << "what to hold must be said";
  EXPECT_EQ(daemon.run("hold put eu --prefix eu- --reason moving", "").output, "eu: done: held\n");
  EXPECT_EQ(daemon.run("hold ls", "").output,
            "NAME  WHAT        SINCE    BY   REASON\neu    prefix eu-  10m ago  ops  moving\n");
  EXPECT_EQ(daemon.run("hold rm eu", "").output, "eu: done\n");
  EXPECT_EQ(daemon.first_line(0), "PUT /v1/holds/eu");
  EXPECT_EQ(daemon.first_line(2), "DELETE /v1/holds/eu");
}

}  // namespace
}  // namespace postrider
