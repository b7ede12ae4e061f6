// Who may send how much: tenants, groups, hanging destinations, and routes that learn.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/shard_rig.h"

namespace postrider {
namespace {

class Fairness : public ShardRig {
 protected:
  using Far = std::function<int(const std::string& name)>;  // a status, or 0: it hangs

  void make(const std::string& name, NamedTexts settings = {}) {
    post(configure(++ticket_, name, std::move(settings)));
    ASSERT_EQ(code_of(ticket_), AnswerCode::kDone);
  }
  void send(const std::string& name, int count = 1) {
    for (int i = 0; i < count; ++i) post(submit(++ticket_, name));
  }
  // The far sides answer everything that is open and not answered yet, oldest first, up to `most`.
  int serve(const Far& far, int most = 1'000'000) {
    int answered = 0;
    for (bool more = true; more && answered < most;) {
      more = false;
      for (const StartAttempt& start : starts()) {
        if (done_.contains(start.attempt.value())) continue;
        const int status = far(name_of(start));
        if (status == 0) continue;
        done_.insert(start.attempt.value());
        post(answer(start.attempt, status));
        more = true;
        if (++answered == most) break;
      }
    }
    return answered;
  }
  static std::string name_of(const StartAttempt& start) {
    const std::string& target = start.request.target;
    const std::size_t from = target.find("//") + 2;
    return target.substr(from, target.find('.', from) - from);
  }
  std::size_t started(const std::string& name) const {
    const auto all = starts();
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [&](const StartAttempt& it) { return name_of(it) == name; }));
  }
  std::size_t open_of(const std::string& prefix) const {
    std::size_t count = 0;
    for (const StartAttempt& start : starts()) {
      if (!done_.contains(start.attempt.value()) && name_of(start).starts_with(prefix)) ++count;
    }
    return count;
  }

  std::uint64_t ticket_ = 0;
  std::set<std::uint64_t> done_;
};

// req: engine.fair.4
TEST_F(Fairness, HangingDestinationsLeavePlacesToThoseThatAnswer) {
  options.engine.limits.open_attempts_max = 64;
  open();
  for (int i = 0; i < 10; ++i) {
    make("well" + std::to_string(i));
    send("well" + std::to_string(i));
  }
  serve([](const std::string&) { return 200; });
  // Each of them would take eight places; there are 64.
  for (int i = 0; i < 99; ++i) {
    make("hang" + std::to_string(i));
    send("hang" + std::to_string(i), 12);
  }
  EXPECT_LE(open_of("hang"), 56U);
  const Far far = [](const std::string& name) { return name.starts_with("well") ? 200 : 0; };
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 10; ++i) {
      const std::string name = "well" + std::to_string(i);
      const std::size_t before = starts().size();
      const std::size_t own = started(name);
      send(name);
      EXPECT_EQ(started(name), own + 1) << name;
      EXPECT_LE(starts().size(), before + 1) << "foreign sends before its own";
      serve(far);
    }
  }
}

// req: engine.fair.4
TEST_F(Fairness, ADestinationTakesNoMorePlacesThanItLeaves) {
  options.engine.limits.open_attempts_max = 10;
  open();
  make("one", {{"in_flight_max", "100"}});
  send("one", 50);
  EXPECT_EQ(open_of("one"), 5U);
  make("two", {{"in_flight_max", "100"}});
  send("two", 50);
  EXPECT_GE(open_of("two"), 2U);
  serve([](const std::string&) { return 200; });
  EXPECT_EQ(started("one"), 50U);
  EXPECT_EQ(started("two"), 50U);
}

// req: engine.fair.5
TEST_F(Fairness, AnotherTenantsMessagePassesAFlood) {
  options.engine.limits.open_attempts_max = 4;
  open();
  for (int i = 0; i < 30; ++i) {
    make("flood" + std::to_string(i), {{"tenant", "loud"}});
    send("flood" + std::to_string(i), 10);
  }
  make("quiet", {{"tenant", "soft"}});
  serve([](const std::string&) { return 200; }, 20);
  send("quiet");
  const std::size_t before = starts().size();
  serve([](const std::string&) { return 200; }, 2);
  EXPECT_EQ(started("quiet"), 1U);
  EXPECT_LE(starts().size(), before + 2);
  serve([](const std::string&) { return 200; });
  EXPECT_EQ(starts().size(), 301U);
}

// req: engine.fair.1
TEST_F(Fairness, AHeavierTenantHasMoreStartsInARow) {
  options.engine.limits.open_attempts_max = 1;
  open();
  make("a", {{"tenant", "heavy"}, {"tenant_weight", "3"}});
  make("b", {{"tenant", "light"}});
  send("a", 40);
  send("b", 40);
  serve([](const std::string&) { return 200; }, 40);
  const double ratio = static_cast<double>(started("a")) / static_cast<double>(started("b"));
  EXPECT_GT(ratio, 2.5);
  EXPECT_LT(ratio, 3.5);
}

// req: engine.fair.2
TEST_F(Fairness, AGroupOfDestinationsSharesItsPlaces) {
  open();
  for (const char* name : {"a", "b", "c"}) {
    make(name, {{"group", "site"}, {"group_in_flight_max", "2"}});
    send(name, 20);
  }
  make("other");
  send("other", 8);
  EXPECT_EQ(open_of("other"), 8U);
  std::map<std::string, std::size_t> half;
  for (int i = 0; i < 60; ++i) {
    EXPECT_LE(open_of("a") + open_of("b") + open_of("c"), 2U);
    serve([](const std::string& name) { return name == "other" ? 0 : 200; }, 1);
    if (i == 29) half = {{"a", started("a")}, {"b", started("b")}, {"c", started("c")}};
  }
  for (const auto& [name, count] : half) EXPECT_NEAR(static_cast<double>(count), 10, 2) << name;
  EXPECT_EQ(started("a") + started("b") + started("c"), 60U);
}

// req: engine.fair.2
TEST_F(Fairness, AGroupHasARateOfItsOwn) {
  open();
  for (const char* name : {"a", "b"}) {
    make(name, {{"group", "site"}, {"group_rate", "10"}});
    send(name, 20);
  }
  advance(1s);
  serve([](const std::string&) { return 200; });
  const std::size_t before = starts().size();
  for (int i = 0; i < 10; ++i) {
    advance(100ms);
    serve([](const std::string&) { return 200; });
    EXPECT_EQ(starts().size(), before + static_cast<std::size_t>(i) + 1);
  }
}

// req: engine.fair.2
TEST_F(Fairness, PlacesOfAGroupAreGivenBackWhenADestinationLeavesIt) {
  open();
  make("a", {{"group", "site"}, {"group_in_flight_max", "1"}});
  make("b", {{"group", "site"}, {"group_in_flight_max", "1"}});
  send("a");
  send("b");
  EXPECT_EQ(started("b"), 0U);
  make("a", {{"in_flight_max", "2"}});
  serve([](const std::string& name) { return name == "a" ? 200 : 0; });
  EXPECT_EQ(started("b"), 1U);
}

// req: engine.fair.3
TEST_F(Fairness, ARouteLearnsHowManyAttemptsItsFarSideTakes) {
  open();
  make("shy", {{"in_flight_max", "8"}, {"strikes_max", "0"}, {"ladder", "1h"}});
  send("shy", 200);
  EXPECT_EQ(open_of("shy"), 8U);
  serve([](const std::string&) { return 503; }, 8);
  EXPECT_EQ(open_of("shy"), 4U);
  serve([](const std::string&) { return 200; }, 60);
  EXPECT_EQ(open_of("shy"), 8U);
}

// req: engine.fair.3
TEST_F(Fairness, ARouteMayBeToldNotToLearn) {
  open();
  make("blunt", {{"in_flight_max", "8"}, {"strikes_max", "0"}, {"ladder", "1h"}, {"adapt", "off"}});
  send("blunt", 200);
  serve([](const std::string&) { return 503; }, 100);
  EXPECT_EQ(open_of("blunt"), 8U);
}

// req: engine.health.14
TEST_F(Fairness, AfterAnOutageARouteStartsSlowly) {
  open();
  make("back", {{"in_flight_max", "32"}, {"wait_base", "1s"}, {"ladder", "1s"}});
  send("back", 300);
  serve([](const std::string&) { return 503; }, 32);
  ASSERT_EQ(open_of("back"), 0U);
  advance(2s);
  ASSERT_EQ(open_of("back"), 1U) << "one probe";
  std::size_t delivered = 0;
  while (delivered < 10) {
    EXPECT_LE(open_of("back"), 1 + delivered);
    serve([](const std::string&) { return 200; }, 1);
    ++delivered;
  }
  EXPECT_GT(open_of("back"), 4U);
}

// The peer is back, and answers 503 above ten a second: attempts stay within the slow start.
// req: engine.health.14, engine.fair.3
TEST_F(Fairness, ARetryStormStaysWithinTheSlowStart) {
  options.engine.limits.open_attempts_max = 1024;
  open();
  make("weak",
       {{"in_flight_max", "64"}, {"wait_base", "1s"}, {"wait_max", "4s"}, {"ladder", "1s"}});
  send("weak", 1000);
  serve([](const std::string&) { return 503; }, 64);
  int budget = 0;
  std::size_t worst = 0;
  std::size_t before = starts().size();
  for (int tenth = 0; tenth < 300; ++tenth) {
    advance(100ms);
    budget = std::min(10, budget + 1);
    worst = std::max(worst, open_of("weak"));
    serve([&budget](const std::string&) { return budget-- > 0 ? 200 : 503; }, 64);
    budget = std::max(budget, 0);
  }
  EXPECT_LE(worst, 16U);
  EXPECT_LE(starts().size() - before, 1200U) << "in 30 s, of which 300 can be answered";
  EXPECT_GT(starts().size() - before, 60U);
}

// req: engine.fair.7
TEST_F(Fairness, IsToldInFigures) {
  open();
  make("a", {{"tenant", "shop"}});
  send("a", 2);
  serve([](const std::string&) { return 200; });
  make("weak", {{"strikes_max", "1"}, {"wait_base", "10m"}, {"ladder", "1h"}});
  send("weak");
  serve([](const std::string&) { return 503; });
  for (std::size_t i = 0; i < kTenantsTold + 2; ++i) {
    const std::string name = "tenant" + std::to_string(i);
    make(name, {{"tenant", name}});
    send(name);
  }
  post(ask(++ticket_, Query::What::kStats));
  const Stats stats = view_of<Stats>(ticket_);
  EXPECT_EQ(stats.tallies.slow_starts, 1U);
  ASSERT_EQ(stats.tallies.tenants.size(), kTenantsTold);
  EXPECT_EQ(stats.tallies.tenants[0].name, "shop");
  EXPECT_EQ(stats.tallies.tenants[0].starts, 2U);
  EXPECT_EQ(stats.tallies.tenants[1].starts, 1U);
  EXPECT_EQ(stats.tallies.other_tenants, 3U);
  post(ask(++ticket_, Query::What::kQueues));
  const QueuePage page = view_of<QueuePage>(ticket_);
  const auto weak = std::find_if(page.rows.begin(), page.rows.end(),
                                 [](const QueueRow& it) { return it.destination == "weak"; });
  ASSERT_NE(weak, page.rows.end());
  EXPECT_EQ(weak->health, Health::kWait);
  EXPECT_EQ(weak->slots_max, 1U);
}

// req: engine.health.15
TEST_F(Fairness, ContactOpensAClosedRouteOnlyWhereTheRuleSaysSo) {
  open();
  const NamedTexts settings = {{"strikes_max", "1"}, {"wait_base", "10m"}, {"ladder", "1h"}};
  make("strict", settings);
  NamedTexts eased = settings;
  eased.emplace_back("clears", "contact");
  make("eased", eased);
  for (const char* name : {"strict", "eased"}) {
    send(name, 1);
    serve([](const std::string&) { return 503; });
    send(name, 3);
    ASSERT_EQ(open_of(name), 0U) << name;
  }
  for (const char* name : {"strict", "eased"}) post(PeerSeen{.destination = name});
  EXPECT_EQ(open_of("strict"), 1U) << "a probe";
  EXPECT_EQ(open_of("eased"), 2U) << "slowly, but it is open";
  post(PeerSeen{.destination = "eased"});
  EXPECT_EQ(open_of("eased"), 3U) << "another place, and no attempt need end before it is taken";
  Query asked = ask(++ticket_, Query::What::kDestination);
  asked.destination = "eased";
  post(asked);
  EXPECT_EQ(view_of<DestinationView>(ticket_).route.health, Health::kNormal);
  asked = ask(++ticket_, Query::What::kDestination);
  asked.destination = "strict";
  post(asked);
  EXPECT_EQ(view_of<DestinationView>(ticket_).route.health, Health::kProbe);
}

// req: engine.explain.1
TEST_F(Fairness, ExplainNamesWhatAMessageWaitsFor) {
  open();
  make("a", {{"group", "site"}, {"group_in_flight_max", "1"}});
  send("a", 2);
  Query asked = ask(++ticket_, Query::What::kExplain);
  asked.id = id_of(3);
  post(asked);
  EXPECT_EQ(view_of<Explanation>(ticket_).why, "its group of destinations has no place free");
}

// The turn of a group comes by its clock, when the engine may have no place left.
// req: engine.fair.2, engine.limit.1
TEST_F(Fairness, AGroupWhoseTimeHasComeWaitsForAPlaceOfTheEngine) {
  options.engine.limits.open_attempts_max = 4;
  open();
  for (const char* name : {"x", "y", "z"}) {
    make(name);
    send(name, 1);
  }
  serve([](const std::string&) { return 200; });
  for (const char* name : {"a", "b"}) make(name, {{"group", "site"}, {"group_rate", "1"}});
  advance(10s);
  send("a", 1);
  send("b", 1);  // waits for the group
  EXPECT_EQ(open_of("a") + open_of("b"), 1U);
  for (const char* name : {"x", "y", "z"}) send(name, 1);
  ASSERT_EQ(open_of(""), 4U);
  advance(2s);
  EXPECT_EQ(open_of(""), 4U) << "every place is taken";
  serve([](const std::string& name) { return name == "x" ? 200 : 0; });
  EXPECT_EQ(open_of("b"), 1U) << "one was given back";
}

// req: engine.fair.4
TEST_F(Fairness, PlacesForUnprovenDestinationsAreExact) {
  options.engine.limits.open_attempts_max = 16;
  open();
  for (int i = 0; i < 20; ++i) {
    make("new" + std::to_string(i));
    send("new" + std::to_string(i), 1);
  }
  EXPECT_EQ(open_of("new"), 14U) << "two of sixteen are for those who answer";
  serve([](const std::string& name) { return name == "new0" || name == "new1" ? 503 : 0; });
  EXPECT_EQ(open_of("new"), 14U) << "as many come in as went";
  EXPECT_EQ(starts().size(), 16U);
}

// req: engine.fair.4
TEST_F(Fairness, WhoWaitedForAPlaceAndIsGoneIsNotLetIn) {
  options.engine.limits.open_attempts_max = 8;
  options.engine.limits.residents_max = 0;
  open();
  for (int i = 0; i < 9; ++i) {
    make("new" + std::to_string(i));
    send("new" + std::to_string(i), 1);
  }
  ASSERT_EQ(open_of("new"), 7U);
  for (const int i : {7, 8}) {
    Cancel cancel;
    cancel.caller.ticket = Ticket(++ticket_);
    cancel.id = id_of(static_cast<std::uint64_t>(2 * i + 2));
    post(cancel);
    EXPECT_EQ(code_of(ticket_), AnswerCode::kDone);
  }
  serve([](const std::string&) { return 503; });
  EXPECT_EQ(starts().size(), 7U);
  send("new8", 1);
  EXPECT_EQ(started("new8"), 1U);
}

// req: engine.fair.1
TEST_F(Fairness, AStartCostsOneAndALookNothing) {
  options.engine.limits.open_attempts_max = 1;
  open();
  make("a", {{"tenant", "heavy"}, {"tenant_weight", "3"}});
  make("b", {{"tenant", "light"}});
  send("a", 20);
  send("b", 20);
  serve([](const std::string&) { return 200; }, 17);
  std::string order;
  for (const StartAttempt& start : starts()) order += name_of(start);
  EXPECT_NE(order.find("aaabaaabaaab"), std::string::npos) << order;
}

}  // namespace
}  // namespace postrider
