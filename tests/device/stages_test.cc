// One transition is one record: whichever commit is the last that survives, a command is in one
// stage, with its data, and goes on from there by itself.
#include <functional>
#include <set>

#include "postrider/model/records/keys.h"
#include "tests/support/device_rig.h"

namespace postrider {
namespace {

using Script = std::vector<std::function<void()>>;

// A life that can be ended at any commit. Each is a world of its own.
class Life : public DeviceRig {
 public:
  void TestBody() override {}

  // The next `commits` are durable; the one behind them dies with the process.
  void kill_after(std::uint64_t commits) { store.holds_after = store.commits() + commits; }
  bool is_dead() const { return store.commits_held() > 0; }
  void rise() {
    store.holds_after = HeldStore::kNever;
    while (store.commits_held() > 0) store.release_commit(CommitOutcome::kFailed);
    restart();
  }
  // True: it was killed on the way.
  bool dies_in(const Script& script) {
    for (const auto& step : script) {
      step();
      if (is_dead()) return true;
    }
    return false;
  }

  // Refused once, taken at the second attempt, answered.
  Script push_life(const device::DeviceMessage& command) {
    return {[this] { lose(calls("Enqueue").back().attempt, WireEnd::kRefused); },
            [this] { pass(2s); },
            [this] {
              item_ = sent_item(1, "i1");
              enqueued("i1");
            },
            [this] { txack("i1"); },
            [this] { ack("i1", true); },
            [this, command] { uplink(frame(command)); },
            [this] { pass(1s); }};
  }
  Script pull_life(const device::DeviceMessage& command) {
    return {[this] { lose(creates().back().attempt, WireEnd::kRefused); },
            [this] { pass(2s); },
            [this] { created("t1"); },
            [this] { pass(10s); },
            [this] { polled("unknown"); },
            [this] { pass(15s); },
            [this, command] { answer_poll(polls().back(), "True", "1.5,ON", item_name(command)); },
            [this] { pass(1s); }};
  }

  // Tokens have none.
  static std::string item_name(const device::DeviceMessage& command) {
    return device::is_token(command.request.command) ? "" : "Current Credit Register";
  }
  // A far side that does what it is asked, and knows what it was asked before.
  void obey(const device::DeviceMessage& command) {
    far_side = [this, command](const StartAttempt& call) {
      if (is_call(call, "GetQueue")) {
        answer_queue(call, item_.id.empty() ? std::vector<chirpstack::QueueItem>()
                                            : std::vector<chirpstack::QueueItem>{item_});
        if (!item_.id.empty()) radiate(command, item_.id);
      } else if (is_call(call, "Enqueue")) {
        item_ = item_of(call, "again" + std::to_string(++asked_));
        accept(call, item_.id);
        radiate(command, item_.id);
      } else if (is_poll(call)) {
        answer_poll(call, "True", "1.5,ON", item_name(command));
      } else {
        give_task(call, "t" + std::to_string(++asked_));
      }
    };
    pass(2h);
    far_side = nullptr;
  }
  void radiate(const device::DeviceMessage& command, const std::string& item) {
    txack(item);
    ack(item, true, "d" + item);
    uplink(frame(command), "d" + item);
  }

  // Records of a live message, wherever they are; one end more when it has ended.
  std::size_t places(MessageId id) {
    const std::size_t hot =
        store.memory().get(keys::hot(id.sequence(), keys::Part::kMessage)) ? 1 : 0;
    const std::size_t cold = store.memory().get(keys::cold(id, keys::Part::kMessage)) ? 1 : 0;
    return hot + cold + (is_end(phase(id)) ? 1 : 0);
  }
  std::uint16_t attempts(MessageId id) { return shown(id).explanation.attempts; }
  // Which ends the consumer was told, each by its event id.
  std::size_t ends_told() const {
    std::set<std::string> out;
    for (const std::string& body : bodies) {
      if (field(body, "deliveryStatus").starts_with("DELIVERY_"))
        out.insert(field(body, "eventId"));
    }
    return out.size();
  }

  using DeviceRig::bodies;
  using DeviceRig::calls;
  using DeviceRig::field;
  using DeviceRig::lose;
  using DeviceRig::message;
  using DeviceRig::open_all;
  using DeviceRig::pass;
  using DeviceRig::phase;
  using DeviceRig::pulled;
  using DeviceRig::report;
  using DeviceRig::send;
  using DeviceRig::state;
  using DeviceRig::with_token;

 private:
  chirpstack::QueueItem item_;
  int asked_ = 0;
};

// Ends the life of a command at each of its commits in turn; tells how many there were.
int kill_everywhere(const device::DeviceMessage& command, bool push) {
  int kills = 0;
  for (bool died = true; died; ++kills) {
    Life life;
    life.open_all();
    const MessageId id = life.send(command);
    life.kill_after(static_cast<std::uint64_t>(kills));
    died = life.dies_in(push ? life.push_life(command) : life.pull_life(command));
    life.rise();
    EXPECT_EQ(life.places(id), 1U) << "killed after " << kills;
    EXPECT_FALSE(life.state(id).empty()) << kills;
    EXPECT_EQ(Life::field(life.report(id), "externalReference"), command.request.meter) << kills;
    EXPECT_EQ(Life::field(life.report(id), "commandType"), name_of(command.request.command));
    life.obey(command);
    EXPECT_TRUE(is_end(life.phase(id))) << life.state(id) << " after " << kills;
    EXPECT_EQ(life.places(id), 1U) << kills;
    EXPECT_EQ(life.ends_told(), 1U) << kills;
  }
  return kills;
}

// req: device.st.5
TEST(DeviceStages, AReadIsInOneStageWithItsDataWhicheverCommitWasTheLast) {
  EXPECT_GT(kill_everywhere(Life::message("READ_CREDIT"), true), 6);
  EXPECT_GT(kill_everywhere(Life::pulled("READ_CREDIT"), false), 6);
}

// req: device.st.5
TEST(DeviceStages, AnActIsInOneStageWithItsDataWhicheverCommitWasTheLast) {
  EXPECT_GT(kill_everywhere(Life::message("TURN_ON"), true), 6);
  EXPECT_GT(kill_everywhere(Life::with_token(Life::pulled("TOP_UP_KWH")), false), 6);
}

class DeviceRace : public DeviceRig {};

// req: device.st.5
TEST_F(DeviceRace, AnAnswerAtTheInstantOfItsTimeOutLeavesOneStage) {
  open_all();
  const auto command = message("READ_CREDIT");
  const MessageId id = send(command);
  enqueued("i1");
  txack("i1");
  pass(12s - 1ms);
  ASSERT_EQ(state(id), "OnAir");
  elapsed += 1ms;
  ack("i1", true);  // in one turn with the timer, which goes first
  uplink(frame(command));
  EXPECT_EQ(outcome(id), "executed");
  EXPECT_FALSE(store.memory().get(keys::hot(id.sequence(), keys::Part::kMessage)));
  EXPECT_FALSE(store.memory().get(keys::cold(id, keys::Part::kMessage)));
  pass(1h);
  EXPECT_EQ(calls("Enqueue").size(), 1U);
  EXPECT_EQ(events_of("DELIVERY_SUCCESSFUL"), 1U);
  EXPECT_EQ(events_of("DELIVERY_FAILED"), 0U);
}

// Whose back-off is `base` long; others of its queue take the place when it is over.
int kill_around_the_end_of_a_back_off(std::string_view base, Duration wait) {
  int kills = 0;
  for (bool died = true; died; ++kills) {
    Life life;
    life.open_all({{"retry_base", std::string(base)}, {"spacing", "5s"}});
    const auto command = Life::message("READ_CREDIT");
    const MessageId id = life.send(command);
    life.lose(life.calls("Enqueue").back().attempt, WireEnd::kRefused);
    EXPECT_EQ(life.state(id), "ToRetry");
    life.pass(wait - 1s);
    auto other = Life::message("READ_CREDIT", "47003000001");
    other.priority = 9;
    life.send(other);
    life.kill_after(static_cast<std::uint64_t>(kills));
    died = life.dies_in({[&] { life.pass(1s); }, [&] { life.pass(4s); }, [&] { life.pass(2s); }});
    life.rise();
    EXPECT_EQ(life.places(id), 1U) << kills;
    life.pass(30s);  // and nothing else happens
    EXPECT_GE(life.attempts(id), 2U) << life.state(id) << " after " << kills;
    life.obey(command);
    EXPECT_TRUE(is_end(life.phase(id))) << life.state(id) << " after " << kills;
  }
  return kills;
}

// req: device.retry.6, device.st.5
TEST(DeviceStages, WhoLeavesToRetryIsKnownToItsQueueWhicheverCommitWasTheLast) {
  EXPECT_GT(kill_around_the_end_of_a_back_off("2s", 2s), 1);
  EXPECT_GT(kill_around_the_end_of_a_back_off("2m", 2min), 1) << "from the disk";
}

}  // namespace
}  // namespace postrider
