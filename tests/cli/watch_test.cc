// top, shape, --watch, completion and man against a daemon that follows a script.
#include "tests/cli/program.h"

namespace postrider {
namespace {

using cli::Daemon;
using cli::moment;
using cli::Ran;
using cli::Reply;
using cli::run;

bool has(const Ran& ran, std::string_view part) {
  return ran.output.find(part) != std::string::npos;
}

const std::string kAges = R"({"ages_s":[300,600,1200,2400,4800,9600,19200],)";

Reply first_part() {
  return {.body = kAges + R"("destinations":[{"name":"shop","destination_id":"01","total":3,)" +
                  R"("counts":[1,2,0,0,0,0,0,0],"oldest_at":")" + moment(-420) +
                  R"("}],"looked_at":3,"next":"further"})"};
}
Reply last_part() {
  return {.body = kAges + R"("destinations":[{"name":"shop","destination_id":"01","total":1,)" +
                  R"("counts":[0,0,0,0,0,0,1,0],"oldest_at":")" + moment(-18'000) +
                  R"("},{"name":"till","destination_id":"02","total":7,)" +
                  R"("counts":[7,0,0,0,0,0,0,0],"oldest_at":")" + moment(-600) +
                  R"("}],"looked_at":8})"};
}

// req: cli.shape.1
TEST(ShapeCommand, AddsThePartsUp) {
  Daemon daemon({first_part(), last_part(), first_part(), last_part()});
  const Ran ran = daemon.run("shape", "");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.output,
            "DESTINATION  TOTAL  5  10  20  40  80  160  320  OLDEST\n"
            "all             11  8   2   .   .   .    .    1  5h ago\n"
            "till             7  7   .   .   .   .    .    .  10m ago\n"
            "shop             4  1   2   .   .   .    .    1  5h ago\n"
            "messages by minutes since they were accepted\n");
  EXPECT_EQ(daemon.first_line(0), "GET /v1/shape");
  EXPECT_EQ(daemon.first_line(1), "GET /v1/shape?cursor=further");
  const Ran json = daemon.run("shape --json --sort name", "");
  EXPECT_TRUE(has(json, R"({"name":"shop","counts":[1,2,0,0,0,0,1,0],"total":4,)")) << json.output;
  EXPECT_TRUE(has(json, R"("looked_at":11})")) << json.output;
}

// req: cli.shape.1
TEST(ShapeCommand, PutsTheRestIntoOneRowAndSaysWhenThereIsNothing) {
  Daemon daemon({last_part(), {.body = kAges + R"("destinations":[],"looked_at":0})"}});
  const Ran ran = daemon.run("shape --limit 1 --sort oldest --destination a/b", "");
  EXPECT_TRUE(has(ran, "(1 more)         7  7"));
  EXPECT_EQ(daemon.first_line(0), "GET /v1/shape?destination=a%2Fb");
  EXPECT_EQ(daemon.run("shape", "").output, "nothing waits\n");
}

std::string busy(const std::string& rows) { return R"({"destinations":[)" + rows + "]}"; }
std::string shop_row() {
  return R"({"name":"shop","destination_id":"01","health":"wait","in_window":3,"owed":true,)"
         R"("open_attempts":2,"in_flight_max":16,"delivered_last_minute":90,)"
         R"("failed_last_minute":6,"last_error":"HTTP 503","last_failure_at":")" +
         moment(-30) + R"(","next_at":")" + moment(600) + R"("})";
}

// req: cli.top.1
TEST(TopCommand, PrintsOnceWithoutATerminal) {
  const Reply list{.body = busy(shop_row())};
  const Reply other{.body = R"({"name":"till","destination_id":"02","health":"normal",)"
                            R"("in_window":0,"owed":false,"open_attempts":0})"};
  Daemon daemon({first_part(), last_part(), list, other, first_part(), last_part(), list, other});
  const Ran ran = daemon.run("top", "");
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(has(ran, "pending 11   in flight 2   ok/s 1.50   fail/s 0.10   busy 2, not well 1"))
      << ran.output;
  EXPECT_TRUE(has(ran,
                  "DESTINATION  HEALTH  PENDING  OLDEST  IN FLIGHT  OK/S  FAIL/S  NEXT    LAST "
                  "ERROR\n"))
      << ran.output;
  EXPECT_TRUE(has(ran, "till         normal        7     10m          0     0       0\n"))
      << ran.output;
  EXPECT_TRUE(
      has(ran, "shop         wait          4      5h       2/16  1.50    0.10  in 10m  HTTP 503, "))
      << ran.output;
  const Ran json = daemon.run("top --json --sort name", "");
  EXPECT_TRUE(has(json, R"({"destinations":[{"name":"shop","health":"wait","pending":4,)"
                        R"("exact":true,"oldest_at":)"))
      << json.output;
  EXPECT_EQ(daemon.first_line(2), "GET /v1/destinations?busy=true&limit=1000");
  EXPECT_EQ(daemon.first_line(3), "GET /v1/destinations/till");
}

// req: cli.top.1
TEST(TopCommand, ShowsWhyADestinationIsNotWellAndNotWhyItIsWell) {
  const Reply nothing{.body = kAges + R"("destinations":[],"looked_at":0})"};
  const Reply list{
      .body = busy(R"({"name":"well","destination_id":"01","health":"normal","in_window":1,)"
                   R"("reason":"resumed by the operator"},{"name":"held","destination_id":"02",)"
                   R"("health":"paused","in_window":1,"reason":"night"})")};
  Daemon daemon({nothing, list});
  const Ran ran = daemon.run("top", "");
  EXPECT_TRUE(has(ran, "night")) << ran.output;
  EXPECT_FALSE(has(ran, "resumed")) << ran.output;
}

// req: cli.top.1
TEST(TopCommand, FailsWithoutADaemon) {
  const Ran ran = run("top --once --url http://127.0.0.1:1");
  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(has(ran, "nothing answers")) << ran.output;
}

// req: cli.watch.1
TEST(Watch, ComesAgainUntilTheDaemonIsGoneAndTellsIt) {
  const Reply page{.body = R"({"destinations":[{"name":"shop","profile":"webhook"}]})"};
  const Reply queues{.body = R"({"queues":[]})"};
  Daemon daemon({page,
                 queues,
                 page,
                 queues,
                 {.body = R"({"type":"x","title":"Stopping","status":503})",
                  .status = 503,
                  .content_type = "application/problem+json"}});
  const Ran ran = daemon.run("dest ls --watch=1");
  EXPECT_EQ(ran.code, 1);
  std::size_t heads = 0;
  for (std::size_t at = 0; (at = ran.output.find("NAME ", at)) != std::string::npos; ++at) ++heads;
  EXPECT_EQ(heads, 2U) << ran.output;
  EXPECT_TRUE(has(ran, "Stopping"));
}

// req: cli.watch.1
TEST(Watch, IsForEveryList) {
  const Reply gone{.body = R"({"type":"x","title":"Stopping","status":503})",
                   .status = 503,
                   .content_type = "application/problem+json"};
  const std::pair<const char*, const char*> cases[] = {
      {"msg ls", R"({"messages":[]})"},
      {"dest ls", R"({"destinations":[]})"},
      {"dlq ls", R"({"dead_letters":[]})"},
      {"dlq groups", R"({"groups":[],"unlisted_groups":0,"others":0})"},
      {"job ls", R"({"jobs":[]})"},
      {"job show aa", R"({"id":"aa","state":"none"})"},
      {"hold ls", R"({"holds":[]})"},
      {"group ls", R"({"groups":[]})"},
      {"audit", R"({"audit":[]})"},
      {"device queue", R"({"destinations":[]})"}};
  // All at once: each waits a second between its looks.
  std::vector<std::thread> all;
  for (const auto& [command, body] : cases) {
    all.emplace_back([&gone, command = std::string(command), body = std::string(body)] {
      Daemon daemon({{.body = body}, gone});
      const Ran ran = daemon.run(command + " --watch=1", "");
      EXPECT_EQ(ran.code, 1) << command;
      EXPECT_NE(ran.output.find("none"), std::string::npos) << command << ran.output;
      EXPECT_EQ(daemon.requests().size(), 2U) << command;
    });
  }
  for (std::thread& one : all) one.join();
}

// req: cli.completion.1
TEST(CompletionCommand, KnowsEveryCommandVerbAndOption) {
  const Ran bash = run("completion bash", "", "");
  const Ran zsh = run("completion zsh", "", "");
  const Ran fish = run("completion fish", "", "");
  const std::string help = run("--help", "", "").output;
  for (const char* noun : {"serve", "msg", "dest", "dlq", "device", "tail", "top", "shape", "sim",
                           "sink", "bench", "profile", "completion", "man"}) {
    EXPECT_NE(help.find(std::string("  ") + noun), std::string::npos) << noun;
    EXPECT_TRUE(has(bash, noun));
    EXPECT_TRUE(has(zsh, std::string("'") + noun + ":"));
    EXPECT_TRUE(has(fish, std::string("-a '") + noun + "'"));
  }
  EXPECT_TRUE(has(bash, "'msg ls') words='--destination --phase")) << bash.output;
  EXPECT_TRUE(has(bash, "'sink chirpstack') words="));
  EXPECT_TRUE(has(zsh, "'--watch=-[look again"));
  EXPECT_TRUE(has(fish, "-l destination -r "));
  EXPECT_EQ(run("completion bash", "", " | bash -n").code, 0);
  // What a shell would offer.
  const std::string ask =
      "bash -c 'source /dev/stdin; COMP_WORDS=(postrider dest pa); COMP_CWORD=2; _postrider; "
      "echo \"${COMPREPLY[@]}\"; COMP_WORDS=(postrider shape --s); _postrider; "
      "echo \"${COMPREPLY[@]}\"; COMP_WORDS=(postrider to); COMP_CWORD=1; _postrider; "
      "echo \"${COMPREPLY[@]}\"'";
  EXPECT_EQ(run("completion bash", "", " | " + ask).output, "pause\n--sort\ntop\n");
}

// req: cli.man.1
TEST(ManCommand, HasAPageForEveryCommandWithEveryOption) {
  EXPECT_TRUE(run("man", "", "").output.starts_with(".TH POSTRIDER 1"));
  const Ran page = run("man msg", "", "");
  for (const char* part : {".B postrider msg ls [OPTION", "\\-\\-older\\-than DURATION",
                           "\\-\\-watch[=SECONDS]", "\\-\\-token\\-file FILE", ".SH EXIT STATUS"})
    EXPECT_TRUE(has(page, part)) << part << page.output;
  const cli::TemporaryDirectory directory;
  EXPECT_EQ(run("man --directory " + directory.path("man1")).code, 0);
  EXPECT_TRUE(std::filesystem::exists(directory.path("man1/postrider.1")));
  EXPECT_TRUE(std::filesystem::exists(directory.path("man1/postrider-shape.1")));
  const Ran refused = run("man --directory /proc/nowhere");
  EXPECT_EQ(refused.code, 1);
}

}  // namespace
}  // namespace postrider
