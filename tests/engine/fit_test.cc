// What is written fits together, and nobody waits for nothing. Random lives of an engine whose
// limits are all narrow; between any two events the records of the store are held against each
// other and against what the engine tells, and in the end everything is gone that should be.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/base/rng.h"
#include "postrider/model/id_address.h"
#include "tests/support/engine_driver.h"
#include "tests/support/record_audit.h"

namespace postrider {
namespace {

// Settings, limits and events, all by one seed.
class Weather {
 public:
  // Each seed is fond of something else.
  explicit Weather(std::uint64_t seed) : mood_(seed % 4), rng_(seed) {}

  EngineOptions options() {
    EngineOptions out = EngineDriver::narrow();
    EngineLimits& limits = out.limits;
    if (rng_.chance(1, 2)) limits.window_bytes_max = 64U << 20;
    limits.refill_rows_max = pick<std::uint32_t>({0, 3, 4, 5, 64});
    limits.hot_sleepers_max = pick<std::uint32_t>({0, 1, 4, 100});
    limits.residents_max = pick<std::uint32_t>({1, 2, 5});
    limits.restore_rows_max = pick<std::uint32_t>({0, 1, 3, 4, 256});
    limits.due_rows_max = pick<std::uint32_t>({0, 1, 2, 4});
    limits.timers_per_step_max = pick<std::uint32_t>({1, 3, 256});
    limits.lane_waiters_max = pick<std::uint32_t>({0, 1, 3, 1024});
    limits.open_attempts_max = pick<std::uint32_t>({1, 2, 9, 1024});
    limits.hot_sleep_max = pick<Duration>({1s, 10s, 60s});
    limits.due_horizon = pick<Duration>({10s, 60s, 600s});
    return out;
  }
  Configure configure(std::size_t which) {
    Configure out;
    out.config.name = kNames[which];
    if (which >= 4) {
      out.config.profile = "webhook";
      out.config.settings = {{"url", "https://" + out.config.name + ".example/"},
                             {"order", which == 4 ? "fifo" : "by-key"},
                             {"ladder", pick<const char*>({"1s,2h", "5s", "30s,2m"})},
                             {"strikes_max", pick<const char*>({"0", "2", "3"})},
                             {"in_flight_max", pick<const char*>({"1", "4"})}};
      return out;
    }
    out.config.profile = "drill";
    const auto set = [&](const char* name, std::initializer_list<int> values) {
      out.config.settings.emplace_back(name, std::to_string(pick(values)));
    };
    set("window", {1, 2, 3, 64});
    set("in-use", {0, 1, 2});
    set("fifo", {0, 0, 2});
    set("attempts", {0, 1, 2, 4});
    set("strand", {0, 1});
    set("strikes", {0, 2, 3});
    set("wait", {2000, 100'000});
    set("disable-after", {0, 0, 7'200'000});
    set("base", {1000, 5000, 100'000});
    set("lower", {0, 2, 3, 16});
    set("ageing", {0, 0, 4000});
    set("spacing", {0, 0, 700});
    set("tokens", {0, 0, 1});
    set("burst", {0, 2});
    set("group", {0, 0, 1});
    set("tenant", {0, 1, 2});
    set("adapt", {0, 1});
    set("poison", {0, 1, 2});
    set("poison-after", {1, 2, 5});
    set("life", {0, 0, 3'600'000});
    set("clears", {0, 1});
    return out;
  }
  Event draw(const EngineDriver& driver) {
    switch (rng_.below(20)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
      case 6: return submit(driver.now());
      case 7:
      case 8:
      case 9:
      case 10:
      case 11:
      case 12:
      case 13: return AttemptEnded{attempt(driver), reply()};
      case 14: return on_message(driver);
      case 15: return on_destination();
      case 16: return PeerSeen{.destination = name()};
      case 17: return ReceiptArrived{message(driver), On::kConfirmed, "detail"};
      case 18: return arrived();
      default:
        if (!rng_.chance(1, 4)) return TimersDue{};
        Configure event = configure(rng_.below(kNames.size()));
        event.config.removed = rng_.chance(1, 12);
        return event;
    }
  }
  Duration time() {
    return Duration(static_cast<std::int64_t>(
        rng_.below(pick<std::uint64_t>({1, 1, 1, 1500, 20'000, 200'000, 7'200'000}))));
  }
  bool stops() { return rng_.chance(1, 50); }

  static constexpr std::array<const char*, 6> kNames = {"a", "b", "c", "d", "fifo", "keys"};

 private:
  template <class T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[rng_.below(from.size())];
  }
  std::string name() { return kNames[rng_.below(kNames.size())]; }
  MessageId message(const EngineDriver& driver) {
    const auto& all = driver.messages();
    if (all.empty()) return {1, 1};
    return all[all.size() - 1 - rng_.below(std::min<std::uint64_t>(all.size(), 30))];
  }
  AttemptId attempt(const EngineDriver& driver) {
    const auto& all = driver.attempts();
    if (all.empty()) return AttemptId(7);
    return all[all.size() - 1 - rng_.below(std::min<std::uint64_t>(all.size(), 10))];
  }
  WireReply reply() {
    WireReply out;
    out.status = pick({200, 200, 200, 200, 202, 204, 206, 404, 410, 429, 500, 503, 503});
    if (rng_.chance(1, 4)) out.end = static_cast<WireEnd>(rng_.below(7));
    if (rng_.chance(1, 8)) out.headers.emplace_back("retry-after", std::to_string(rng_.below(100)));
    if (rng_.chance(1, 4)) out.headers.emplace_back("task", "t" + std::to_string(rng_.below(3)));
    return out;
  }
  Event submit(Timestamp now) {
    Submit out;
    const std::size_t which = rng_.below(kNames.size());
    out.caller.ticket = Ticket(1);
    out.destination = kNames[which];
    out.lane = static_cast<std::uint8_t>(rng_.below(2) * rng_.below(3));
    out.priority = pick<std::uint16_t>({0, 0, 1, 5, 65'535});
    if (rng_.chance(1, 9)) out.not_before = now + time();
    if (rng_.chance(1, 9)) out.expires = now + time() + Duration(1);
    out.body.assign(rng_.below(300), 'x');
    NamedTexts texts;
    if (which < 4) {
      texts.emplace_back("method", pick<const char*>({"relay", "post", "once", "task", "post"}));
      const auto maybe = [&](const char* what, const char* value, std::uint32_t of) {
        if (rng_.chance(1, of)) texts.emplace_back(what, value);
      };
      maybe("order", "1", mood_ == 0 ? 2 : 8);
      maybe("line", pick<const char*>({"l", "m"}), mood_ == 1 ? 2 : 8);
      maybe("supersede", "k", 8);
      maybe("narrow", "yes", mood_ == 2 ? 2 : 8);
      maybe("wide", "yes", 8);
      maybe("spaced", "yes", 10);
      maybe("tokens", "yes", 10);
      maybe("frail", "yes", 8);
    } else if (which == 5) {
      texts.emplace_back("order-key", pick<const char*>({"x", "y"}));
    }
    if (!texts.empty()) out.attributes = encode_texts(texts);
    return out;
  }
  Event on_message(const EngineDriver& driver) {
    switch (rng_.below(3)) {
      case 0: return Cancel{{}, message(driver)};
      case 1: return RetryNow{{}, message(driver)};
      default: return Redrive{{}, message(driver)};
    }
  }
  Event on_destination() {
    switch (rng_.below(6)) {
      case 0: return Pause{{}, name(), "reason"};
      case 1: return Wake{{}, name()};
      default: return Resume{{}, name()};
    }
  }
  Event arrived() {
    Arrived event;
    event.profile = "drill";
    event.source.origin = "peer";
    event.bytes = pick<const char*>({"done t1", "lost t1", "seen t2", "alive x", "nudge 1"});
    return event;
  }

  std::uint64_t mood_;
  Rng rng_;
};

class Fit : public ::testing::TestWithParam<int> {
 protected:
  Fit() : weather_(static_cast<std::uint64_t>(GetParam())), options_(weather_.options()) {
    start();
    for (std::size_t i = 0; i < Weather::kNames.size(); ++i) driver_->event(weather_.configure(i));
  }
  void start() {
    const Timestamp now = driver_ ? driver_->now() : kDriverStart;
    driver_ = std::make_unique<EngineDriver>(store_, now, options_);
  }
  // Time passes, and nothing that falls due on the way is late.
  void pass(Duration time) {
    const Timestamp until = driver_->now() + time;
    for (int round = 0; round < 10'000; ++round) {
      const auto next = driver_->next_deadline();
      if (!next || *next > until) break;
      driver_->pass(std::max(Duration(0), *next - driver_->now()));
    }
    driver_->pass(until - driver_->now());
  }
  bool audit() {
    driver_->pass(Duration(0));
    const RecordAudit records(store_.contents(), driver_profiles(), driver_->now());
    std::vector<std::string> wrong = records.misfits();
    const Stats stats = driver_->stats();
    if (records.live().size() != stats.counters.live())
      wrong.emplace_back("live ones are miscounted");
    if (!stats.restoring) look_at_time(records, wrong);
    if (!stats.restoring) look_for_stalls(records, wrong);
    EXPECT_EQ(wrong, std::vector<std::string>());
    return wrong.empty();
  }
  // Nothing falls due before the engine wants to be asked again.
  void look_at_time(const RecordAudit& records, std::vector<std::string>& wrong) {
    const Timestamp next = driver_->next_deadline().value_or(Timestamp::never());
    for (const auto& [id, one] : records.live()) {
      const bool hot_sleeper = one.hot && one.waits_until(driver_->now());
      if (hot_sleeper && one.state->due < next) wrong.push_back("nobody wakes " + to_string(id));
    }
  }
  // Who could go is gone.
  void look_for_stalls(const RecordAudit& records, std::vector<std::string>& wrong) {
    std::set<std::pair<std::uint64_t, std::uint8_t>> busy;
    std::vector<Explanation> waiting;
    for (const auto& [id, one] : records.live()) {
      Query question;
      question.what = Query::What::kExplain;
      question.id = id;
      const Answer answer = driver_->ask(question);
      const auto* told = std::get_if<Explanation>(&answer.view);
      if (told == nullptr) {
        wrong.push_back("nobody knows " + to_string(id));
        continue;
      }
      using Place = Explanation::Place;
      if (told->place == Place::kWindow || told->place == Place::kOnTheWire ||
          told->place == Place::kAtPeer)
        busy.emplace(id.destination().value(), id.lane());
      waiting.push_back(*told);
    }
    for (const Explanation& told : waiting) {
      if (told.health != Health::kNormal) continue;                        // one probe at a time
      if (records.policy(told.id).route.tokens_per_second != 0) continue;  // it waits for those
      const bool roomy = options_.limits.open_attempts_max == 1024;
      if (roomy && told.why == "it waits for its turn")
        wrong.push_back("could go: " + told.destination + " " + to_string(told.id));
      if (told.why == "it waits on disk for a place in the window" &&
          !busy.contains({told.id.destination().value(), told.id.lane()}))
        wrong.push_back("could come from disk: " + told.destination + " " + to_string(told.id));
    }
  }
  // Everybody answers well from now on.
  void calm_down() {
    for (int round = 0; round < 300 && driver_->stats().counters.live() > 0; ++round) {
      for (const char* name : Weather::kNames) driver_->event(Resume{{}, name});
      const Timestamp until = driver_->now() + 1h;
      for (int i = 0; i < 10'000 && driver_->now() < until; ++i) {
        driver_->answer_all();
        const Timestamp next = driver_->next_deadline().value_or(until);
        driver_->pass(std::max(Duration(1), std::min(next, until) - driver_->now()));
      }
      Query question;
      question.what = Query::What::kDeadLetters;
      const auto letters = std::get<DeadLetters>(driver_->ask(question).view).letters;
      for (const DeadLetter& letter : letters) {
        if (letter.phase == Phase::kParked) driver_->event(RetryNow{{}, letter.id});
      }
    }
  }

  std::string who_is_left() {
    std::string out;
    const RecordAudit records(store_.contents(), driver_profiles(), driver_->now());
    for (const auto& [id, one] : records.live()) {
      Query question;
      question.what = Query::What::kExplain;
      question.id = id;
      const Answer answer = driver_->ask(question);
      if (const auto* told = std::get_if<Explanation>(&answer.view))
        out += told->destination + " " + to_string(id) + " " + std::string(told->state) + ": " +
               told->why + "\n";
    }
    return out;
  }

  MemoryStore store_{{.remember_once = true}};
  Weather weather_;
  EngineOptions options_;
  std::unique_ptr<EngineDriver> driver_;
};

// req: engine.record.2, engine.restore.6, engine.life.12
TEST_P(Fit, RecordsAgreeAndNobodyWaitsForNothing) {
  for (int i = 0; i < 400 && !HasFatalFailure(); ++i) {
    pass(weather_.time());
    driver_->event(weather_.draw(*driver_));
    if (weather_.stops()) start();
    if (i % 4 != 0) continue;
    ASSERT_TRUE(audit()) << "after event " << i;
  }
  calm_down();
  pass(24h);  // the last route opens
  const Stats stats = driver_->stats();
  EXPECT_EQ(stats.counters.live(), 0U) << who_is_left();
  EXPECT_EQ(stats.in_window, 0U);
  EXPECT_EQ(stats.open_attempts, 0U);
  EXPECT_LE(stats.residents, options_.limits.residents_max);
  const RecordAudit records(store_.contents(), driver_profiles(), driver_->now());
  EXPECT_EQ(records.misfits(), std::vector<std::string>());
  for (const char space : {keys::kHot, keys::kCold, keys::kDue, keys::kParked, keys::kHolding,
                           keys::kOwed, keys::kNested})
    EXPECT_EQ(records.records_in(space), 0U) << "left over in " << space;
}

INSTANTIATE_TEST_SUITE_P(Seeds, Fit, ::testing::Range(1, 51));

}  // namespace
}  // namespace postrider
