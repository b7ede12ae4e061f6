// The example of docs/adding-a-profile.md: a whole profile in this folder, and nothing of the tree
// names it. It runs behind the real API and engine, is configured, described and documented by its
// own tables, and its command is one of the program's form.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/api/http_api_testing.h"
#include "postrider/cli/options.h"
#include "postrider/config/config_rows.h"
#include "postrider/sim/runner.h"
#include "tests/example_profile/all.h"
#include "tests/example_profile/wire_format.h"

namespace postrider::pager {
namespace {

TEST(PagerFormat, IsReadAsItIsWritten) {
  const Page page{.number = "01701234", .text = "call home\nnow"};
  EXPECT_EQ(encode_page(page), "PAGE 01701234 13\ncall home\nnow");
  ASSERT_TRUE(decode_page(encode_page(page)));
  EXPECT_EQ(*decode_page(encode_page(page)), page);
  for (const char* wrong : {"", "PAGE", "PAGE 12 1\nx", "PAGE 123 2\nx", "PAGE 123 x\nx",
                            "PAGE 12a 1\nx", "page 123 1\nx"})
    EXPECT_FALSE(decode_page(wrong)) << wrong;
  EXPECT_FALSE(decode_page(encode_page({"123", std::string(kTextBytesMax + 1, 'x')})));
}

// The API over the lists of a tree with the profile, and the door as the daemon opens it.
class PagerDoor : public api::ApiRig {
 protected:
  PagerDoor() {
    host_options.shard.engine.profiles = all_profiles();
    options.profiles = all_profiles();
    make_doors = [this] {
      std::vector<std::shared_ptr<api::HttpDoor>> opened;
      for (const doors::ProfileDoor* door : all_doors()) {
        if (door->profile == "pager") opened.push_back(door->open(config, {}));
      }
      return opened;
    };
  }
  void SetUp() override {
    ApiRig::SetUp();
    const api::Reply put =
        this->put("/v1/destinations/pager",
                  R"({"profile":"pager","settings":{"url":"https://pager.example/centre"}})");
    ASSERT_EQ(put.status, 200) << put.body;
  }
  api::Reply page(const std::string& text) {
    return post("/pages", R"({"number":"01701234","text":")" + text + "\"}");
  }
  std::string phase_of(const std::string& id) {
    return get("/v1/messages/" + id + "/explain").text("phase");
  }
  void answer_page(const std::string& body) {
    ASSERT_FALSE(transport.started.empty());
    WireReply reply;
    reply.status = 200;
    reply.body = body;
    host->attempt_ended(transport.started.back().attempt, std::move(reply));
    settle();
  }
  Config config;
};

TEST_F(PagerDoor, SendsAPageInTheFormatOfTheCentre) {
  const api::Reply reply = page("call home");
  ASSERT_EQ(reply.status, 202) << reply.body;
  ASSERT_EQ(transport.started.size(), 1U);
  const WireRequest& request = transport.started[0].request;
  EXPECT_EQ(request.target, "https://pager.example/centre");
  EXPECT_EQ(request.body, "PAGE 01701234 9\ncall home");
  EXPECT_EQ(request.headers.find("page-id"), reply.text("id"));
  EXPECT_EQ(phase_of(reply.text("id")), "in-flight");
  answer_page("TAKEN");
  EXPECT_EQ(phase_of(reply.text("id")), "delivered");
}

TEST_F(PagerDoor, MakesAPageAgainThatTheCentreWantsLaterAndNotOneThatItNeverWants) {
  const std::string later = page("later").text("id");
  answer_page("LATER");
  EXPECT_EQ(phase_of(later), "backoff");
  const std::string never = page("never").text("id");
  answer_page("NEVER");
  EXPECT_EQ(phase_of(never), "dead");
}

TEST_F(PagerDoor, RefusesWhatIsNoPageBeforeItIsAccepted) {
  EXPECT_EQ(post("/pages", R"({"number":"1","text":"x"})").problem(), "invalid-content");
  EXPECT_EQ(post("/pages", R"({"number":"01701234"})").text("field"), "text");
  EXPECT_EQ(post("/pages", R"({"nmber":"01701234","text":"x"})").text("suggestion"), "number");
  const std::string as_message = R"({"destination":"pager","body":"PAGE 123 1\nx")";
  EXPECT_EQ(post("/v1/messages", as_message + "}").status, 202);
  EXPECT_EQ(post("/v1/messages", as_message + R"(,"attributes":{"urgent":"yes"}})").problem(),
            "invalid-content");
  EXPECT_EQ(put("/v1/destinations/other", R"({"profile":"pager","settings":{}})").status, 400);
}

TEST_F(PagerDoor, TakesAPageOnceByItsKey) {
  const api::RigHeaders key = {{"idempotency-key", "k"}};
  const std::string body = R"({"number":"01701234","text":"x"})";
  const std::string id = post("/pages", body, key).text("id");
  EXPECT_EQ(post("/pages", body, key).text("id"), id);
  EXPECT_EQ(post("/pages", R"({"number":"01701234","text":"y"})", key).status, 422);
}

TEST_F(PagerDoor, IsDescribedAndNeedsItsScope) {
  expect_described();
  options.tokens = api::rig_tokens();
  open();
  expect_scopes(
      [](const api::RouteRow& row) {
        return row.pattern == "/pages" ? std::string("submit") : std::string();
      },
      [](const api::RouteRow&) { return 200; });
}

TEST(PagerConfiguration, IsASectionOfItsOwn) {
  const auto parts = doors::config_parts(all_doors());
  const auto read = parse_config("[pager]\ndestination = \"north\"\n", "p.toml", {}, {}, parts);
  ASSERT_TRUE(read) << read.error().detail;
  const std::vector<ConfigRow> rows = config_rows(parts);
  const ConfigRow* const row = find_config_row(rows, "pager", "destination");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(written_value(*row, *read), "\"north\"");
  EXPECT_NE(config_reference(parts).find("### [pager]"), std::string::npos);
  const auto wrong = parse_config("[pager]\ndestinatoin = \"x\"\n", "p.toml", {}, {}, parts);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().detail.find("did you mean 'destination'"), std::string::npos);
}

TEST(PagerCommand, StandsInTheCatalogueWithItsOperands) {
  std::vector<Noun> nouns;
  for (const doors::ProfileDoor* door : all_doors())
    nouns.insert(nouns.end(), door->nouns.begin(), door->nouns.end());
  const Catalogue all = catalogue(nouns);
  const auto found = std::find_if(all.begin(), all.end(), [](const CatalogueEntry& entry) {
    return entry.command.name == "page";
  });
  ASSERT_NE(found, all.end());
  EXPECT_NE(usage_line(found->noun, found->command).find("page NUMBER TEXT"), std::string::npos);
}

// Its own field in worlds where everything goes wrong that can: the laws of all worlds hold, and
// the law that the field brings.
TEST(PagerField, HasWorldsInWhichEveryLawHolds) {
  sim::Summary summary;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    sim::SimOptions options;
    options.profile = "pager";
    options.seed = seed;
    options.span = 3 * 24h;
    options.destinations = 4;
    options.messages = 150;
    options.faults.set();
    sim::add(summary, sim::simulate(options, {all_fields(), sim::equipment().checkers}));
  }
  for (const sim::Summary::Finding& finding : summary.violations)
    ADD_FAILURE() << "seed " << finding.seed << ": " << finding.what;
  EXPECT_GT(summary.counters.delivered, 0U);
  EXPECT_GT(summary.counters.dead, 0U) << "the centre never wants some, and budgets are spent";
  EXPECT_GT(summary.restarts, 0U);
}

}  // namespace
}  // namespace postrider::pager
