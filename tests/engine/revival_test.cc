// Revival by the clock: who is put back in line when its time has come, and who is not.
#include "tests/support/task_rig.h"

namespace postrider {
namespace {

class Revival : public TaskRig {
 protected:
  static constexpr Duration kEvery = 15min;

  MessageId send() {
    post(message(++questions, {{"method", "post"}}));
    return id_of(questions);
  }
  void make(const std::string& strikes) {
    open();
    post(place(++questions, "mill",
               {{"attempts", "1"}, {"strand", "1"}, {"strikes", strikes}, {"wait", "60000"}}));
  }
  // Three that began before another was delivered, and ran out after it: only the clock, or a
  // success after a while, puts them back.
  void lose_while_others_go() {
    for (int i = 0; i < 3; ++i) lost.push_back(send());
    advance(1ms);
    send();
    post(answer(last_attempt(), 200));
    for (std::size_t i = 0; i < 2; ++i) post(ended(starts()[i].attempt, WireEnd::kRefused));
  }
  void deliver_the_third() { post(answer(starts()[2].attempt, 200)); }
  void lose_the_third() { post(ended(starts()[2].attempt, WireEnd::kRefused)); }
  void deliver_one() {
    send();
    post(answer(last_attempt(), 200));
  }
  std::vector<MessageId> started_when_time_has_come() {
    const std::size_t before = starts().size();
    pass(kEvery + 1ms - elapsed);
    return started_since(before);
  }
  std::vector<MessageId> started_since(std::size_t before) const {
    std::vector<MessageId> out;
    for (std::size_t i = before; i < starts().size(); ++i) out.push_back(starts()[i].message);
    return out;
  }

  std::vector<MessageId> lost;
};

// The route opens long before somebody may be tried. req: engine.revive.3
TEST_F(Revival, AnOpeningRevivesNobody) {
  make("1");
  const MessageId one = send();
  post(ended(last_attempt(), WireEnd::kRefused));
  ASSERT_EQ(explained(one).next_at, instant().wall + kEvery);
  pass(2min);
  EXPECT_EQ(starts().size(), 1U);
  EXPECT_EQ(phase(one), Phase::kParked);
  pass(13min);
  EXPECT_EQ(starts().size(), 2U);
}

// req: engine.revive.3, engine.revive.4
TEST_F(Revival, TheClockPutsAllBackWhileTheDestinationIsWell) {
  make("1000");
  lose_while_others_go();
  deliver_the_third();
  EXPECT_EQ(started_when_time_has_come(), (std::vector<MessageId>{lost[0], lost[1]}));
}

// A failure since then says that nobody is there, whenever it began. req: engine.revive.3
TEST_F(Revival, TheClockTriesOneWhileTheDestinationFails) {
  make("1000");
  lose_while_others_go();
  deliver_one();
  advance(1s);
  lose_the_third();
  EXPECT_EQ(started_when_time_has_come(), (std::vector<MessageId>{lost[0]}));
}

// What was delivered before an operator stopped it says nothing about who is there when it is
// resumed. req: engine.revive.3
TEST_F(Revival, OneIsTriedWhenAnOperatorResumesIt) {
  make("1000");
  lose_while_others_go();
  deliver_the_third();
  advance(1s);
  command_to<Pause>();
  const std::size_t before = starts().size();
  advance(1s);
  command_to<Resume>();
  turn();
  EXPECT_EQ(started_since(before), (std::vector<MessageId>{lost[0]}));
}

// A delivery that ended the trouble is of the instant since when all is well. req: engine.revive.3
TEST_F(Revival, TheClockPutsAllBackAfterADeliveryThatEndedTheTrouble) {
  make("3");
  lose_while_others_go();
  lose_the_third();
  pass(2min);
  deliver_one();
  EXPECT_EQ(started_when_time_has_come(), lost);
}

}  // namespace
}  // namespace postrider
