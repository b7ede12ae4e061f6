// Checker 10 must bite: what a restart would find is compared with what runs, and a disk that says
// otherwise is noticed.
#include "postrider/sim/world/twin.h"

#include <gtest/gtest.h>

#include "postrider/model/records/keys.h"
#include "postrider/sim/fields/all.h"

namespace postrider::sim {
namespace {

// A process in a world without faults, one destination and one message that is not due for an hour.
class TwinTest : public ::testing::Test {
 protected:
  TwinTest() {
    disk.observe([this](const Applied& applied) {
      std::vector<std::string> faults;
      static_cast<void>(notebook.read({machine.moment(machine.running()), applied}, faults));
      EXPECT_TRUE(faults.empty());
    });
    machine.start();
    Configure configure;
    configure.config = {"destination-0", "drill", {{"peer", "peer-0"}}, false};
    ask(configure);
    Submit submit;
    submit.destination = "destination-0";
    submit.body = "body";
    submit.not_before = machine.engine_now() + Duration(1h);
    ask(submit);
    EXPECT_EQ(last.code, AnswerCode::kAccepted);
  }

  void ask(Event event) {
    std::visit(
        [](auto& one) {
          if constexpr (requires { one.caller; }) one.caller.ticket = Ticket(1);
        },
        event);
    EXPECT_TRUE(machine.post(machine.running(), event));
    settle();
  }

  // Runs everything that is entered for this instant; the process itself wakes up much later.
  void settle() {
    machine.pump();
    while (!agenda.empty() && agenda.next_at() <= agenda.now()) {
      agenda.run_next();
      machine.pump();
    }
  }

  static ShardOptions shard_options() {
    ShardOptions options;
    static const std::vector<const ProfileSpec*> kProfiles = all_fields().profiles();
    options.engine.profiles = kProfiles;
    return options;
  }

  Agenda agenda{Timestamp(1'700'000'000'000)};
  SimClock clock{agenda};
  Trace trace{nullptr};
  SimDisk disk;
  StoreSurroundings store{
      .agenda = agenda, .disk = disk, .after_operation = [this] { machine.store_operation(); }};
  Witness nobody;
  Verdicts verdicts{agenda};
  Notebook notebook{all_fields(), *all_fields().find("drill")};
  ShardOptions options = shard_options();
  Answer last;
  Machine machine{{.agenda = agenda,
                   .clock = clock,
                   .store = store,
                   .trace = trace,
                   .witness = nobody,
                   .fields = all_fields(),
                   .shard = options,
                   .start = [](Incarnation, const StartAttempt&, const Call&) {},
                   .abort = [](Incarnation, AttemptId) {},
                   .tell =
                       [this](Incarnation process, Ticket ticket, const Answer& answer) {
                         if (!twins.take(process, ticket, answer)) last = answer;
                       },
                   .died = [](Incarnation) {},
                   .violation = [](const std::string&) {},
                   .buried = [](const Engine&) {},
                   .restart_after = [] { return Duration(0); }}};
  Twins twins{{agenda, machine, disk, options, notebook, verdicts}, {"destination-0"}};
};

TEST_F(TwinTest, IsEqualWhenNothingIsWrong) {  // req: engine.sim.11
  ASSERT_TRUE(machine.quiet());
  twins.compare();
  settle();
  EXPECT_EQ(twins.compared(), 2U) << "one message and one destination";
  EXPECT_EQ(verdicts.size(), 0U) << verdicts.list().front();
}

TEST_F(TwinTest, SeesARouteThatTheDiskTellsOtherwise) {  // req: engine.sim.11
  Route route;
  route.health = Health::kPaused;
  route.held_since = machine.engine_now();
  WriteBatch batch;
  batch.put(keys::route(destination_id("destination-0", "destination-0", 0)), encode_route(route));
  disk.apply(disk.owner(), batch);
  twins.compare();
  settle();
  EXPECT_GT(verdicts.size(), 0U);
}

TEST_F(TwinTest, SeesCountersThatTheDiskTellsOtherwise) {  // req: engine.sim.11
  Meta meta = notebook.meta();
  ++meta.counters.delivered;
  WriteBatch batch;
  batch.put(keys::meta(), encode_meta(meta));
  disk.apply(disk.owner(), batch);
  twins.compare();
  settle();
  EXPECT_GT(verdicts.size(), 0U);
}

}  // namespace
}  // namespace postrider::sim
