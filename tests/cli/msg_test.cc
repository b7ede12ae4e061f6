// postrider msg: what is asked and what people read, against a daemon that follows a script.
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

}  // namespace
}  // namespace postrider
