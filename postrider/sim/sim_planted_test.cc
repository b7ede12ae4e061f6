// Each planted bug must be caught within a number of seeds, all of which the true engine passes.
// Caught means: a checker complains, or the engine aborts on one of its own checks. A hunt that
// hangs is no catch, because nobody is told what is wrong. Every hunt runs in a process of its own,
// because of that.
#include <signal.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "postrider/base/planted.h"
#include "postrider/sim/fields/device/plan.h"
#include "postrider/sim/runner.h"

namespace postrider::sim {
namespace {

constexpr std::uint64_t kSeedsMax = 500;
constexpr unsigned kHangSeconds = 600;  // a loaded machine is slow; nothing is timed by it

std::string_view profile_of(Bug bug, std::uint64_t seed) {
  // A meter that was silent is heard in nearly every world of devices.
  if (bug >= Bug::kBatchTorn && bug <= Bug::kSplitForgotten) return "pack";
  if (bug >= Bug::kNewestSwept && bug <= Bug::kSweepStopsAtPage) return "pack";
  if (bug >= Bug::kDeepTooEarly && bug <= Bug::kPositionBack)
    return "drill";  // only it uses what is wrong
  if (bug >= Bug::kListTorn && bug <= Bug::kTemplateNotFollowed) return "drill";
  if (bug >= Bug::kIdleUseForgotten && bug <= Bug::kIdleTakesMessages)
    return seed % 2 == 0 ? "mailbox" : "drill";
  if (bug == Bug::kSentAgainBlindly || bug == Bug::kAliveIgnored) return "device";
  if (bug >= Bug::kAwaitForgotten && bug <= Bug::kConfirmLost) return "mailbox";
  if (bug >= Bug::kNothingLearnt) return seed % 2 == 0 ? "webhook" : "drill";
  if (bug >= Bug::kTxAckAsTextOnly || bug == Bug::kOlderNameIgnored) return "device";
  if (bug >= Bug::kGateNeverCloses) return "drill";  // only it uses what is wrong
  return seed % 2 == 0 ? "webhook" : "drill";
}

// Where few worlds have what it takes to be wrong.
std::uint32_t messages_for(Bug bug) {
  if (bug == Bug::kItemOfAnother) return 480;
  if (bug == Bug::kAgeingForgotten) return 1200;
  return bug == Bug::kOlderNameIgnored ? 300 : 80;
}

// Who has to wait for whom is seen best in a world that is made for it.
WorldKind world_of(Bug bug) {
  if (bug == Bug::kPlacesNotKept) return WorldKind::kHang;
  if (bug == Bug::kTenantsIgnored) return WorldKind::kFlood;
  return bug == Bug::kSlowStartSkipped ? WorldKind::kStorm : WorldKind::kDrawn;
}

SimOptions world(std::uint64_t seed, Bug bug) {
  SimOptions options;
  options.profile = profile_of(bug, seed);
  options.seed = seed;
  options.span = Duration(3 * 24h);
  options.destinations = 5;
  options.messages = messages_for(bug);
  options.faults = *parse_faults("all");
  options.twins = false;
  options.idle = bug >= Bug::kIdleUseForgotten && bug <= Bug::kIdleTakesMessages;
  options.world = world_of(bug);
  if (options.world != WorldKind::kDrawn) options.messages = 2000;
  return options;
}

// Few worlds have what it takes to be wrong about somebody else's item; the others are not looked
// at.
bool is_of_use(const SimOptions& options, Bug bug) {
  return bug != Bug::kItemOfAnother || is_alike(options);
}

// Where to begin with a bug that only few worlds can notice.
std::uint64_t first_seed(Bug bug) {
  if (bug == Bug::kItemOfAnother) return 430;
  return bug == Bug::kAgeingForgotten ? 100 : 1;
}

// The seed at which the bug was noticed, written to `pipe`; the exit code says whether it was.
void hunt(Bug bug, int pipe) {
  // What the engine says when it aborts is expected here.
  if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(2);
  alarm(kHangSeconds);
  plant(bug);
  for (std::uint64_t seed = first_seed(bug); seed <= first_seed(bug) + kSeedsMax; ++seed) {
    if (write(pipe, &seed, sizeof(seed)) != sizeof(seed)) _exit(2);
    const SimOptions options = world(seed, bug);
    if (is_of_use(options, bug) && !simulate(options).violations.empty()) _exit(0);
  }
  _exit(1);
}

struct Hunt {
  enum class Outcome { kChecker, kAbort, kHang, kNothing, kBroken };
  Outcome outcome = Outcome::kBroken;
  std::uint64_t seed = 0;
};

Hunt::Outcome outcome_of(int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Hunt::Outcome::kChecker;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 1) return Hunt::Outcome::kNothing;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) return Hunt::Outcome::kAbort;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return Hunt::Outcome::kHang;
  return Hunt::Outcome::kBroken;
}

Hunt run_hunt(Bug bug) {
  int ends[2] = {};
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    hunt(bug, ends[1]);
  }
  close(ends[1]);
  Hunt result;
  std::uint64_t seed = 0;
  while (read(ends[0], &seed, sizeof(seed)) == sizeof(seed)) result.seed = seed;
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  result.outcome = outcome_of(status);
  return result;
}

class PlantedBug : public ::testing::TestWithParam<Bug> {};

// req: engine.bug.90, engine.bug.91, engine.bug.92, engine.sim.61
// req: engine.bug.102, engine.bug.103, engine.sim.65, engine.sim.66
// req: engine.bug.104, engine.bug.105, engine.bug.106, engine.bug.107, engine.sim.67, engine.sim.68
// req: engine.bug.130, engine.bug.131, engine.bug.132, engine.sim.80
// req: engine.bug.150, engine.bug.151, engine.bug.152, engine.sim.83
// req: engine.bug.133, engine.bug.134, engine.bug.135, engine.sim.82
// req: engine.bug.1, engine.bug.2, engine.bug.3, engine.bug.4, engine.bug.5, engine.bug.6
// req: engine.bug.7, engine.bug.8, engine.bug.9, engine.bug.10, engine.bug.11, engine.bug.12
// req: engine.bug.13, engine.bug.14, engine.bug.15, engine.bug.16, engine.bug.17, engine.bug.18
// req: engine.bug.19, engine.bug.20, engine.bug.21, engine.bug.22, engine.bug.23, engine.bug.24
// req: engine.bug.25, engine.bug.26, engine.bug.27, engine.bug.28, engine.bug.29
// req: engine.sim.28, engine.sim.29, engine.sim.30
// req: engine.bug.30, engine.bug.31, engine.bug.32, engine.bug.33, engine.bug.34
// req: engine.bug.37, engine.bug.38, engine.bug.39, engine.sim.37
// req: engine.bug.60, engine.bug.61, engine.bug.62, engine.bug.63, engine.bug.64, engine.bug.65
// req: engine.bug.70, engine.bug.71, engine.bug.72, engine.bug.73, engine.sim.56
// req: engine.sim.50, engine.sim.51, engine.sim.52, engine.sim.53, engine.sim.57
// req: engine.bug.36, engine.sim.32, engine.sim.33, engine.sim.34, engine.sim.35, engine.sim.36
// req: engine.bug.35, engine.bug.40, engine.bug.41, engine.bug.42, engine.bug.43, engine.bug.44
// req: engine.bug.45, engine.bug.46, engine.bug.47, engine.bug.48
// req: engine.bug.80, engine.bug.81, engine.bug.82, engine.sim.60
// req: engine.sim.40, engine.sim.41, engine.sim.42, engine.sim.54, engine.sim.55
// req: engine.bug.66, engine.bug.67, engine.bug.68, engine.bug.69, engine.bug.74
// req: engine.bug.83
// req: engine.sim.70, engine.sim.71, engine.bug.120, engine.bug.121, engine.bug.122
// req: engine.bug.123, engine.bug.124, engine.bug.125, engine.sim.72, engine.bug.140
// req: engine.bug.141, engine.bug.142, engine.bug.143, engine.bug.144, engine.bug.145
// req: engine.bug.100, engine.bug.93, engine.bug.94, engine.bug.95, engine.bug.96, engine.bug.97
// req: engine.bug.98, engine.bug.99, engine.sim.63, engine.sim.64
TEST_P(PlantedBug, IsCaughtWhereTheTrueEnginePasses) {
  const Hunt result = run_hunt(GetParam());
  ASSERT_NE(result.outcome, Hunt::Outcome::kHang) << "seed " << result.seed << " never ends";
  ASSERT_NE(result.outcome, Hunt::Outcome::kNothing) << "not noticed in " << kSeedsMax << " seeds";
  ASSERT_NE(result.outcome, Hunt::Outcome::kBroken);
  const bool checked = result.outcome == Hunt::Outcome::kChecker;
  std::printf("caught at seed %llu by %s\n", static_cast<unsigned long long>(result.seed),
              checked ? "a checker" : "a check of the engine's own");
  plant(Bug::kNone);
  for (std::uint64_t seed = first_seed(GetParam()); seed <= result.seed; ++seed) {
    const SimOptions options = world(seed, GetParam());
    if (!is_of_use(options, GetParam())) continue;
    const Report truth = simulate(options);
    ASSERT_TRUE(truth.violations.empty())
        << "the true engine fails seed " << seed << ": " << truth.violations.front();
  }
}

std::string name_of_case(const ::testing::TestParamInfo<Bug>& bug) {
  std::string name(name_of(bug.param));
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Simulator, PlantedBug,
    ::testing::Values(
        Bug::kReplyBeforeCommit, Bug::kReadPastView, Bug::kForgottenSeal, Bug::kAttemptCapOffByOne,
        Bug::kContactClearsBackoff, Bug::kDedupeWithoutFingerprint, Bug::kRefillSkipsBoundary,
        Bug::kExpiredMessageSent, Bug::kSlotLeakedOnTimeout, Bug::kCursorMovedBeforeCommit,
        Bug::kLateReceiptDropped, Bug::kJitterOutsideRange, Bug::kEndWithoutLog,
        Bug::kColdOvertakesHot, Bug::kRetryAfterIgnored, Bug::kBudgetCountsHeldTime,
        Bug::kLetterStaysCounted, Bug::kListSkipsBoundary, Bug::kResendRestamped,
        Bug::kNotesForgotten, Bug::kHalfForgotten, Bug::kWindowOpenTooLong,
        Bug::kSupersedesWhatIsOut, Bug::kNestedAfterCommit, Bug::kAskedTooOften,
        Bug::kLastingGateForgotten, Bug::kOrderOvertaken, Bug::kRevivalForgotten,
        Bug::kGateNeverCloses, Bug::kEverybodyTries, Bug::kHolderForgotten, Bug::kNameGoesStale,
        Bug::kStepLost, Bug::kStartNotTold, Bug::kIntentForgotten, Bug::kOlderNameIgnored,
        Bug::kExtensionForgotten, Bug::kGroupKeepsRedriven, Bug::kJobCursorLate,
        Bug::kJobOrderByBucket, Bug::kDryRunActs, Bug::kAuditForgotten, Bug::kHoldForgotten,
        Bug::kHistoryForgotten, Bug::kResendsWhatWasCalledOff, Bug::kAliveIgnored,
        Bug::kCensusForgotten, Bug::kArrivalSendsNothing, Bug::kTxAckAsTextOnly,
        Bug::kNackLostBeforeTxAck, Bug::kCapCheckedThenTaken, Bug::kOneLookIsAbsence,
        Bug::kFailedLookIsAbsence, Bug::kFailedPollResends, Bug::kItemOfAnother,
        Bug::kUnseenIsAbsence, Bug::kNothingLearnt, Bug::kPlacesHogged, Bug::kGroupIgnored,
        Bug::kBodyFreedEarly, Bug::kFanoutTorn, Bug::kBodyLeaked, Bug::kSubscriptionTooWide,
        Bug::kLowerStarved, Bug::kLowerOnDiskForgotten, Bug::kPoisonTooLate, Bug::kGapNotMarked,
        Bug::kGapKeepsGate, Bug::kSentAgainBlindly, Bug::kAttemptForgotten, Bug::kPlacesNotKept,
        Bug::kTenantsIgnored, Bug::kSlowStartSkipped, Bug::kAgeingForgotten, Bug::kRoundTooEarly,
        Bug::kTenantNotHeld, Bug::kImportedTwice, Bug::kImportLosesContent, Bug::kAwaitForgotten,
        Bug::kQuotaIgnored, Bug::kMailboxSkipsBoundary, Bug::kConfirmLost, Bug::kDeepTooEarly,
        Bug::kIntervalNotStored, Bug::kCatchUpNeverEnds, Bug::kSpentNotTold, Bug::kSeenForgetsPause,
        Bug::kBatchTorn, Bug::kBatchRegrown, Bug::kSecondBatch, Bug::kBatchForgotten,
        Bug::kMemberLost, Bug::kSplitForgotten, Bug::kPositionBack, Bug::kListTorn, Bug::kMadeTwice,
        Bug::kTemplateNotFollowed, Bug::kIdleUseForgotten, Bug::kIdleNotLookedFor,
        Bug::kIdleTakesMessages, Bug::kNewestSwept, Bug::kSweptWhileOut, Bug::kSweepStopsAtPage),
    name_of_case);

}  // namespace
}  // namespace postrider::sim
