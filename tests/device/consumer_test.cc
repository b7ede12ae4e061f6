// A consumer of events that is away, or refuses: nothing is lost, and what was missed follows.
#include <set>

#include "tests/support/device_rig.h"

namespace postrider {
namespace {

class DeviceConsumer : public DeviceRig {
 protected:
  static constexpr int kAway = 0;

  void open_with(const NamedTexts& more = {}) {
    deaf = true;  // answered below
    open_all({{"spacing", "0"}});
    // As docs/profiles/device.md has it.
    NamedTexts settings = {{"ladder", "2s,4s,8s,16s,32s"}, {"jitter_percent", "0"},
                           {"attempts_max", "6"},          {"time_out", "10s"},
                           {"in_flight_max", "16"},        {"when_exhausted", "park"}};
    for (const NamedText& setting : more) put(settings, setting);
    const std::uint64_t ticket = ++tickets;
    post(configure(ticket, "hear", settings));
    ASSERT_EQ(code_of(ticket), AnswerCode::kDone) << told(ticket).detail;
  }
  void read(std::uint64_t which) {
    const auto command = message("READ_CREDIT", meter(which));
    const std::string item = "i" + std::to_string(which);
    send(command);
    enqueued(item);
    txack(item, eui_of(meter(which)));
    uplink(frame(command), "d" + item, eui_of(meter(which)));
  }
  // Time passes while the consumer answers everything so.
  void meanwhile(Duration time, int status) {
    const Duration until = elapsed + time;
    for (;;) {
      answer_events(status);
      const auto next = shard->next_deadline();
      if (!next || *next > Timestamp(1000) + until) break;
      elapsed = std::max(elapsed, *next - Timestamp(1000));
      turn();
    }
    elapsed = until;
    turn();
    answer_events(status);
  }
  void answer_events(int status) {
    for (; answered_ < actions.size(); ++answered_) {
      const auto* start = std::get_if<StartAttempt>(&actions[answered_]);
      if (start == nullptr || !is_event(*start)) continue;
      const StartAttempt call = *start;
      ++posts;
      if (status == kAway) {
        lose(call.attempt, WireEnd::kRefused);
      } else {
        if (status < 300) bodies.emplace_back(call.request.body);
        reply(call.attempt, status, "");
      }
    }
  }
  void restart_all() {
    answered_ = 0;
    restart();
  }
  std::vector<DeadLetter> letters() {
    const std::uint64_t ticket = ++tickets;
    post(ask(ticket, Query::What::kDeadLetters));
    return view_of<DeadLetters>(ticket).letters;
  }
  std::vector<std::string> heard(std::string_view name) const {
    std::vector<std::string> out;
    for (const std::string& body : bodies) out.push_back(field(body, name));
    return out;
  }
  // Of one message, in the order in which they came.
  std::vector<std::string> heard_of(std::string_view meter) const {
    std::vector<std::string> out;
    for (const std::string& body : bodies) {
      if (field(body, "externalReference") == meter) out.push_back(field(body, "deliveryStatus"));
    }
    return out;
  }

  std::size_t posts = 0;

 private:
  std::size_t answered_ = 0;
};

// req: device.ev.7 by scenario A18
TEST_F(DeviceConsumer, WhatItMissedWhileItWasAwayFollowsInOrderWhenItAnswersAgain) {
  open_with();
  for (std::uint64_t i = 1; i <= 4; ++i) read(i);
  meanwhile(10min, kAway);
  EXPECT_TRUE(bodies.empty());
  EXPECT_FALSE(letters().empty());
  for (const DeadLetter& letter : letters()) EXPECT_EQ(letter.phase, Phase::kParked);
  restart_all();
  const std::size_t before = posts;
  read(5);
  meanwhile(1min, 200);
  ASSERT_EQ(bodies.size(), 10U) << "two for each";
  EXPECT_GT(posts, before);
  EXPECT_TRUE(letters().empty());
  const std::vector<std::string> ids = heard("eventId");
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 10U) << "each once";
  for (std::uint64_t i = 1; i <= 5; ++i)
    EXPECT_EQ(heard_of(meter(i)), (std::vector<std::string>{"SENT_TO_NS", "DELIVERY_SUCCESSFUL"}))
        << i;
}

// req: device.ev.7
TEST_F(DeviceConsumer, WhatItRefusedIsKeptForAWeekListedAndReplayed) {
  open_with();
  read(1);
  meanwhile(1s, 400);
  ASSERT_EQ(letters().size(), 2U);
  EXPECT_EQ(posts, 2U) << "refused at once, and not repeated";
  meanwhile(7 * 24h, 200);
  const std::vector<DeadLetter> kept = letters();
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].phase, Phase::kDead);
  EXPECT_TRUE(bodies.empty());
  std::set<std::string> before;
  for (const StartAttempt& event : events()) before.insert(field(event.request.body, "eventId"));
  for (const DeadLetter& letter : kept) {
    Redrive again;
    again.caller.ticket = Ticket(++tickets);
    again.id = letter.id;
    post(again);
    EXPECT_EQ(code_of(tickets), AnswerCode::kAccepted);
  }
  meanwhile(1s, 200);
  ASSERT_EQ(bodies.size(), 2U);
  const std::vector<std::string> ids = heard("eventId");
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()), before) << "under the same ids";
}

}  // namespace
}  // namespace postrider
