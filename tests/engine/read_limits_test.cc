// How much is read at once: what a limit says, and no row more.
#include <algorithm>
#include <map>
#include <set>

#include "tests/support/task_rig.h"

namespace postrider {
namespace {

// A store that remembers the largest limit of a scan, by the first byte of its range.
class CountingStore final : public Store {
 public:
  explicit CountingStore(HeldStore& store) : store_(store) {}
  Result<Epoch> acquire(std::uint32_t shard) override { return store_.acquire(shard); }
  void commit(Epoch epoch, std::shared_ptr<const WriteBatch> batch, CommitDone done) override {
    store_.commit(epoch, std::move(batch), std::move(done));
  }
  void read(const Reads& reads, ReadDone done) override {
    for (const Scan& scan : reads.scans) {
      if (scan.limit == UINT32_MAX) continue;  // the books, whose writer is bounded
      std::uint32_t& most = asked[scan.first[0]];
      most = std::max(most, scan.limit);
      if (scan.once) once.insert(scan.first[0]);
    }
    store_.read(reads, std::move(done));
  }

  std::map<char, std::uint32_t> asked;
  std::set<char> once;  // spaces of which something was read that no cache should keep

 private:
  HeldStore& store_;
};

class ReadLimits : public TaskRig {
 protected:
  void open_counted() {
    shard.reset();
    actions.clear();
    acted_at.clear();
    auto opened = Shard::open(options, counting, instant(), [this](Action&& action) {
      actions.push_back(std::move(action));
      acted_at.push_back(elapsed);
    });
    ASSERT_TRUE(opened.has_value());
    shard = std::move(*opened);
    turn();
  }
  CountingStore counting{store};
};

// Whatever is read page by page has pages of the size that the limit says.
// req: engine.limit.1
TEST_F(ReadLimits, AreThoseOfWhatIsReadAtOnce) {
  EngineLimits& limits = options.engine.limits;
  for (std::uint32_t* rows : {&limits.restore_rows_max, &limits.refill_rows_max,
                              &limits.due_rows_max, &limits.job_rows_max, &limits.body_rows_max})
    *rows = 1;
  limits.hot_sleep_max = Duration(0);
  open_counted();
  for (const std::string name : {"mill", "bell", "horn"}) {
    post(place(++questions, name,
               {{"attempts", "2"},
                {"base", "1000"},
                {"strikes", "1000"},
                {"history", "1"},
                {"strand", "1"},
                {"in-use", "1"}}));
    post(message(++questions, {{"method", "post"}}, name));
    for (int i = 0; i < 2; ++i) {
      post(ended(last_attempt(), WireEnd::kRefused));  // parked for want of reach
      pass(2s);
    }
    post(message(++questions, {{"method", "relay"}}, name));
    post(answer(last_attempt(), 400));
    post(message(++questions, {{"method", "task"}, {"then", "bell"}}, name));
    post(named(last_attempt(), "t-" + name));
    for (int i = 0; i < 3; ++i) post(message(++questions, {{"method", "post"}}, name));
    post(news(++questions, "done early-" + name));
  }
  PutHold hold;
  hold.caller.ticket = Ticket(++questions);
  hold.rule.name = "all";
  post(hold);
  open_counted();
  turn();
  pass(1s);
  DropHold drop;
  drop.caller.ticket = Ticket(++questions);
  drop.name = "all";
  post(drop);
  pass(1s);
  for (const JobAction action :
       {JobAction::kDrop, JobAction::kResend, JobAction::kRetry, JobAction::kCancel}) {
    StartJob start;
    start.caller.ticket = Ticket(++questions);
    start.order.action = action;
    start.order.rate = 1000;
    post(start);
    pass(1s);
  }
  const std::map<char, std::uint32_t>& asked = counting.asked;
  for (const char space :
       {keys::kHolding, keys::kOwed, keys::kNested, keys::kPendingNews, keys::kDue, keys::kParked,
        keys::kDead, keys::kHistory, keys::kBodyLetter, keys::kCensus, keys::kRoute}) {
    ASSERT_TRUE(asked.contains(space)) << space;
    EXPECT_EQ(asked.at(space), 1U) << space;
  }
  EXPECT_EQ(asked.at(keys::kHot), 3U) << "a message, its state, and the next one";
  EXPECT_LE(asked.at(keys::kCold), 3U);
  EXPECT_EQ(counting.once,
            (std::set<char>{keys::kDead, keys::kHistory, keys::kParked, keys::kHot, keys::kCold}))
      << "what jobs look through must not push anything out of a cache";
}

// req: engine.limit.1
TEST_F(ReadLimits, ARefillReadsWhatAWindowHasRoomFor) {
  open_counted();
  const auto rows = [this](const std::string& window) {
    const std::string name = "mill" + window;
    counting.asked.clear();
    post(place(++questions, name, {{"window", window}, {"in-use", "1"}}));
    for (int i = 0; i < 9; ++i) post(message(++questions, {{"method", "post"}}, name));
    for (int i = 0; i < 9; ++i) post(answer(last_attempt(), 200));
    return counting.asked[keys::kCold];
  };
  EXPECT_EQ(rows("1"), 3U) << "a message, its state, and the next one";
  EXPECT_EQ(rows("2"), 3U) << "it has room for one";
  EXPECT_EQ(rows("4"), 3U);
  EXPECT_EQ(rows("8"), 5U);
}

}  // namespace
}  // namespace postrider
