#include "postrider/sim/fields/device/peers/vendor.h"

#include <map>

#include <gtest/gtest.h>

#include "postrider/protocols/calin/calin.h"
#include "postrider/protocols/device/mint.h"

namespace postrider::sim {
namespace {

using device::Command;
using device::PollVerdict;
using device::Request;
using device::SendVerdict;

constexpr Timestamp kVendorStart(1'786'536'000'000);

Request ask_vendor(Command command, std::string token = "") {
  Request request;
  request.command = command;
  request.meter = "47003333623";
  request.token = std::move(token);
  if (command == Command::kSetDate) request.date = device::Date{2027, 2, 3};
  return request;
}

// A vendor of one version, and our own codec as its client.
class VendorRig {
 public:
  explicit VendorRig(int version, std::uint64_t seed = 1) : version_(version) {
    VendorOptions options;
    options.version = version;
    options.company = "acme";
    options.user = "u";
    options.password = "p";
    vendor = std::make_unique<Vendor>(options, meters, Rng(seed), kVendorStart);
  }

  VendorReply call(const calin::Call& call) {
    vendor->call(now, {++ticket_, call.path, authorization, call.body, 0});
    for (int i = 0; i < 1000 && vendor->next(); ++i) {
      now = std::max(now, *vendor->next());
      for (VendorReply& reply : vendor->due(now)) {
        if (reply.ticket == ticket_) return std::move(reply);
      }
    }
    ADD_FAILURE() << "no reply";
    return {};
  }
  void wait(Duration time) {
    now = now + time;
    EXPECT_TRUE(vendor->due(now).empty());
  }
  void log_in() {
    const calin::CredentialsV2 who{"u", "p", "acme", "c"};
    const VendorReply reply = call(calin::login_call_v2(who));
    const Result<calin::Login> login = calin::read_login_v2(http(reply));
    ASSERT_TRUE(login.has_value());
    EXPECT_EQ(login->expires_at->ms() / 1000, (now + 600s).ms() / 1000);
    authorization = calin::authorization(*login);
  }
  static calin::HttpAnswer http(const VendorReply& reply) {
    return {reply.status, reply.content_type, reply.body};
  }

  VendorReply create_raw(const Request& request) {
    return call(version_ == 1 ? calin::create_call_v1({"acme", "u", "p"}, request).value()
                              : calin::create_call_v2({"u", "p", "acme", "c"}, request).value());
  }
  device::SendReply create(const Request& request) {
    const VendorReply reply = create_raw(request);
    EXPECT_EQ(reply.end, CallEnd::kAnswered);
    return version_ == 1 ? calin::read_create_v1(request, http(reply))
                         : calin::read_create_v2(http(reply));
  }
  device::PollReply poll(const Request& request, const std::string& task) {
    const VendorReply reply =
        call(version_ == 1 ? calin::poll_call_v1({"acme", "u", "p"}, request, task).value()
                           : calin::poll_call_v2({"u", "p", "acme", "c"}, request, task).value());
    if (reply.end != CallEnd::kAnswered) return {};
    return version_ == 1 ? calin::read_poll_v1(request, task, http(reply))
                         : calin::read_poll_v2(request, http(reply));
  }

  Meters meters;
  std::unique_ptr<Vendor> vendor;
  Timestamp now = kVendorStart;
  std::string authorization;

 private:
  int version_;
  std::uint64_t ticket_ = 0;
};

class VendorVersions : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (GetParam() == 2) rig.log_in();
  }
  VendorRig rig{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Both, VendorVersions, testing::Values(1, 2));

TEST_P(VendorVersions, RunsATaskAndTellsHowItWent) {
  constexpr Command kAll[] = {Command::kReadVoltage, Command::kReadCurrent,    Command::kReadPower,
                              Command::kReadDate,    Command::kReadPowerLimit, Command::kReadCredit,
                              Command::kReadVersion, Command::kTurnOff,        Command::kTurnOn,
                              Command::kSetDate,     Command::kTopUpKwh};
  for (const Command command : kAll) {
    const Request request =
        ask_vendor(command, device::is_token(command) ? "12345678901234567890" : "");
    const device::SendReply created = rig.create(request);
    ASSERT_EQ(created.verdict, SendVerdict::kAccepted) << device::name_of(command);
    EXPECT_EQ(rig.poll(request, created.item).verdict, PollVerdict::kPending);
    rig.wait(10s);
    const device::PollReply polled = rig.poll(request, created.item);
    EXPECT_EQ(polled.verdict, PollVerdict::kAnswered)
        << device::name_of(command) << " " << polled.reason;
    EXPECT_TRUE(polled.response.executed) << device::name_of(command);
    EXPECT_EQ(rig.meters.ledger.count(request).ran, 1U);
    EXPECT_EQ(rig.meters.ledger.count(request).open, 0U);
  }
  EXPECT_TRUE(rig.meters.at("47003333623").relay_on());
}

// req: cli.sink.3
TEST_P(VendorVersions, MakesTokensOrFailsAsTheFaultSays) {
  device::Mint mint;
  mint.plugin = "calin";
  mint.meter = "47003333623";
  mint.issued = kVendorStart;
  mint.kwh = device::make_decimal(5, 0);
  const auto made = [&] {
    const bool v1 = GetParam() == 1;
    const VendorReply reply =
        rig.call(v1 ? device::mint_call_v1({{"acme", "u", "p"}, "v"}, mint)
                    : device::mint_call_v2({{"u", "p", "acme", "c"}, "v", "serial"}, mint));
    return v1 ? device::read_mint_v1(VendorRig::http(reply))
              : device::read_mint_v2(VendorRig::http(reply));
  };
  const auto first = made();
  EXPECT_EQ(first.verdict, SendVerdict::kAccepted) << first.reason;
  EXPECT_EQ(first.item.size(), 20U);
  mint.type = Command::kClearTamper;
  mint.kwh.reset();
  const auto second = made();
  EXPECT_EQ(second.verdict, SendVerdict::kAccepted) << second.reason;
  EXPECT_NE(second.item, first.item);
  rig.vendor->faults.refuse = 100;
  EXPECT_EQ(made().verdict, SendVerdict::kFailed);
  rig.vendor->faults.refuse = 0;
  rig.vendor->faults.html = 100;
  EXPECT_EQ(made().verdict, SendVerdict::kUnknown);
  EXPECT_EQ(rig.vendor->counts().tokens, 3U) << "the last was made, and nobody was told";
}

TEST_P(VendorVersions, RejectsAUsedToken) {
  const Request token = ask_vendor(Command::kTopUpKwh, "12345678901234567890");
  const std::string first = rig.create(token).item;
  const std::string second = rig.create(token).item;
  rig.wait(20s);
  std::map<bool, int> executed;
  for (const std::string& task : {first, second}) {
    const device::PollReply reply = rig.poll(token, task);
    ++executed[reply.verdict == PollVerdict::kAnswered && reply.response.executed];
  }
  EXPECT_EQ(executed[true], 1);
  EXPECT_EQ(rig.meters.ledger.count(token).ran, 2U);
  EXPECT_EQ(rig.meters.ledger.count(token).executed, 1U);
}

TEST_P(VendorVersions, KnowsNoOtherTask) {
  EXPECT_EQ(rig.poll(ask_vendor(Command::kTurnOn), "77").verdict, PollVerdict::kError);
}

TEST_P(VendorVersions, EndsACreateAsTheFaultSays) {
  struct Row {
    std::uint32_t VendorFaults::*fault;
    SendVerdict verdict;
    std::uint64_t taken;
  };
  const Row kRows[] = {
      {&VendorFaults::errors, SendVerdict::kUnknown, 0},
      {&VendorFaults::fail_taken, SendVerdict::kUnknown, 1},
      {&VendorFaults::html, SendVerdict::kUnknown, 1},
      {&VendorFaults::garbage, SendVerdict::kUnknown, 1},
      {&VendorFaults::refuse, SendVerdict::kFailed, 0},
      {&VendorFaults::no_task, SendVerdict::kUnknown, 1},
  };
  std::uint64_t taken = 0;
  for (const Row& row : kRows) {
    rig.vendor->faults = {};
    rig.vendor->faults.*row.fault = 100;
    EXPECT_EQ(rig.create(ask_vendor(Command::kTurnOn)).verdict, row.verdict);
    taken += row.taken;
    EXPECT_EQ(rig.vendor->counts().taken, taken);
  }
  rig.vendor->faults = {};
  rig.vendor->faults.lose_calls = 100;
  EXPECT_EQ(rig.create_raw(ask_vendor(Command::kTurnOn)).end, CallEnd::kCut);
  EXPECT_EQ(rig.vendor->counts().taken, taken);
  rig.vendor->faults = {};
  rig.vendor->faults.lose_replies = 100;
  EXPECT_EQ(rig.create_raw(ask_vendor(Command::kTurnOn)).end, CallEnd::kCut);
  rig.vendor->faults = {};
  rig.vendor->faults.hang = 100;
  EXPECT_EQ(rig.create_raw(ask_vendor(Command::kTurnOn)).end, CallEnd::kSilent);
  EXPECT_EQ(rig.vendor->counts().taken, taken + 2);
}

TEST_P(VendorVersions, LiesAboutAnotherItem) {
  const Request request = ask_vendor(Command::kReadCredit);
  const std::string task = rig.create(request).item;
  rig.wait(10s);
  rig.vendor->faults.lies = 100;
  EXPECT_EQ(rig.poll(request, task).verdict, PollVerdict::kMismatched);
  rig.vendor->faults.lies = 0;
  EXPECT_EQ(rig.poll(request, task).verdict, PollVerdict::kAnswered);
  EXPECT_EQ(rig.meters.ledger.runs().size(), 1U);
}

TEST_P(VendorVersions, FailsPollsInManyWaysButNeverTheTask) {
  const Request request = ask_vendor(Command::kTurnOff);
  const std::string task = rig.create(request).item;
  rig.vendor->faults.fail_polls = 100;
  for (int i = 0; i < 30; ++i) {
    rig.wait(1s);
    EXPECT_EQ(rig.poll(request, task).verdict, PollVerdict::kError);
  }
  rig.vendor->faults.fail_polls = 0;
  EXPECT_TRUE(rig.poll(request, task).response.executed);
  EXPECT_EQ(rig.meters.ledger.count(request).ran, 1U);
}

TEST_P(VendorVersions, HasTasksThatFailAndTasksThatTakeLong) {
  const Request request = ask_vendor(Command::kTurnOff);
  rig.vendor->faults.fail_tasks = 100;
  const std::string failed = rig.create(request).item;
  rig.vendor->faults.fail_tasks = 0;
  rig.vendor->faults.slow_tasks = 100;
  rig.vendor->faults.slow_task_ms = 300'000;
  const std::string slow = rig.create(request).item;
  rig.wait(60s);
  const device::PollReply polled = rig.poll(request, failed);
  EXPECT_EQ(polled.verdict, PollVerdict::kAnswered);
  EXPECT_FALSE(polled.response.executed);
  EXPECT_EQ(rig.poll(request, slow).verdict, PollVerdict::kPending);
  EXPECT_EQ(rig.meters.ledger.count(request).ran, 0U);
  rig.wait(400s);
  EXPECT_TRUE(rig.poll(request, slow).response.executed);
  EXPECT_EQ(rig.meters.ledger.count(request).ran, 1U);
}

TEST_P(VendorVersions, AnswersTwice) {
  rig.vendor->faults.twice = 100;
  EXPECT_TRUE(rig.create_raw(ask_vendor(Command::kTurnOn)).twice);
}

TEST(VendorV1, RefusesATokenWithCode99) {
  VendorRig rig(1);
  rig.vendor->faults.code_99 = 100;
  EXPECT_EQ(rig.create(ask_vendor(Command::kTopUpKwh, "1234")).verdict, SendVerdict::kRejected);
  EXPECT_EQ(rig.create(ask_vendor(Command::kTurnOn)).verdict, SendVerdict::kAccepted);
}

TEST(VendorV1, LooksAtTheCredentials) {
  VendorRig rig(1);
  const calin::Call call =
      calin::create_call_v1({"acme", "u", "wrong"}, ask_vendor(Command::kTurnOn)).value();
  const VendorReply reply = rig.call(call);
  EXPECT_EQ(calin::read_create_v1(ask_vendor(Command::kTurnOn), VendorRig::http(reply)).verdict,
            SendVerdict::kFailed);
  EXPECT_EQ(rig.call({"/nowhere", "{}"}).status, 404);
  EXPECT_EQ(rig.call({"/COMM_RemoteControl", "no json"}).status, 400);
}

TEST(VendorV2, WantsALoginUntilItsVeryEnd) {
  VendorRig rig(2);
  EXPECT_EQ(rig.create(ask_vendor(Command::kTurnOn)).verdict, SendVerdict::kLoginNeeded);
  rig.log_in();
  EXPECT_EQ(rig.create(ask_vendor(Command::kTurnOn)).verdict, SendVerdict::kAccepted);
  rig.vendor->faults.forget_logins = 100;
  EXPECT_EQ(rig.create(ask_vendor(Command::kTurnOn)).verdict, SendVerdict::kLoginNeeded);
  rig.vendor->faults.forget_logins = 0;
  EXPECT_EQ(rig.create(ask_vendor(Command::kTurnOn)).verdict, SendVerdict::kLoginNeeded);
  rig.log_in();
  EXPECT_EQ(rig.create(ask_vendor(Command::kTurnOn)).verdict, SendVerdict::kAccepted);
  rig.wait(600s);
  EXPECT_EQ(rig.create(ask_vendor(Command::kTurnOn)).verdict, SendVerdict::kLoginNeeded);
  EXPECT_EQ(rig.vendor->counts().logins, 2U);
}

TEST(VendorV2, RefusesALogin) {
  VendorRig rig(2);
  const VendorReply wrong = rig.call(calin::login_call_v2({"u", "wrong", "acme", "c"}));
  EXPECT_FALSE(calin::read_login_v2(VendorRig::http(wrong)).has_value());
  rig.vendor->faults.fail_logins = 100;
  const VendorReply refused = rig.call(calin::login_call_v2({"u", "p", "acme", "c"}));
  EXPECT_FALSE(calin::read_login_v2(VendorRig::http(refused)).has_value());
}

TEST(VendorFaults, AreSetByTheirNames) {
  VendorFaults faults;
  EXPECT_TRUE(set_fault(vendor_fault_rows(), faults, "code-99", 100).has_value());
  EXPECT_EQ(faults.code_99, 100U);
  EXPECT_FALSE(set_fault(vendor_fault_rows(), faults, "error-status", 600).has_value());
  EXPECT_FALSE(set_fault(vendor_fault_rows(), faults, "code99", 1).has_value());
}

}  // namespace
}  // namespace postrider::sim
