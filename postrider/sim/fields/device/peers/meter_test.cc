#include "postrider/sim/fields/device/peers/meter.h"

#include <gtest/gtest.h>

#include "postrider/protocols/meter/frame.h"

namespace postrider::sim {
namespace {

using device::Command;
using device::Request;
using device::Response;

constexpr Timestamp kNoon(1'786'536'000'000);  // 2026-08-12T12:00:00Z

Request ask(Command command, std::string token = "") {
  Request request;
  request.command = command;
  request.meter = "47003333623";
  request.token = std::move(token);
  return request;
}

// What the meter answers, seen through the frames of both directions.
Response over_the_air(Meter& meter, const Request& request) {
  const Result<std::string> down = device::encode_request(request);
  EXPECT_TRUE(down.has_value());
  const Result<Request> heard = device::decode_request(*down);
  EXPECT_TRUE(heard.has_value());
  const std::string up = meter.answer(*heard, meter.run(kNoon, *heard));
  const Result<device::Uplink> uplink = device::read_uplink(up, request.meter, &request);
  EXPECT_TRUE(uplink.has_value());
  EXPECT_EQ(uplink->kind, device::UplinkKind::kAnswer);
  return uplink->response;
}

TEST(Meter, DoesWhatItsFramesSay) {
  Meter meter("47003333623");
  EXPECT_TRUE(meter.relay_on());
  EXPECT_TRUE(over_the_air(meter, ask(Command::kTurnOff)).executed);
  EXPECT_FALSE(meter.relay_on());
  EXPECT_EQ(over_the_air(meter, ask(Command::kReadCredit)).relay_on, false);
  EXPECT_TRUE(over_the_air(meter, ask(Command::kTurnOn)).executed);
  EXPECT_TRUE(meter.relay_on());
  for (const Command read : {Command::kReadVoltage, Command::kReadCurrent, Command::kReadPower,
                             Command::kReadPowerLimit, Command::kReadCredit}) {
    const Response response = over_the_air(meter, ask(read));
    EXPECT_TRUE(response.executed) << device::name_of(read);
    EXPECT_TRUE(response.value.has_value()) << device::name_of(read);
  }
}

TEST(Meter, KeepsTheClockThatItWasGiven) {
  Meter meter("47003333623");
  EXPECT_EQ(over_the_air(meter, ask(Command::kReadDate)).date, (device::Date{2026, 8, 12}));
  Request date = ask(Command::kSetDate);
  date.date = device::Date{2027, 2, 3};
  EXPECT_TRUE(over_the_air(meter, date).executed);
  Request time = ask(Command::kSetTime);
  time.time = device::TimeOfDay{14, 30, 5};
  EXPECT_TRUE(over_the_air(meter, time).executed);
  EXPECT_EQ(over_the_air(meter, ask(Command::kReadDate)).date, (device::Date{2027, 2, 3}));
  EXPECT_EQ(over_the_air(meter, ask(Command::kReadTime)).time, (device::TimeOfDay{14, 30, 5}));
}

TEST(Meter, AcceptsATokenOnce) {
  Meter meter("47003333623");
  const std::int64_t before = meter.credit();
  const Request token = ask(Command::kTopUpKwh, "12345678901234560250");
  EXPECT_TRUE(over_the_air(meter, token).executed);
  EXPECT_EQ(meter.credit(), before + 250);
  const Response again = over_the_air(meter, token);
  EXPECT_FALSE(again.executed);
  EXPECT_EQ(again.reason, device::kTokenRejected);
  EXPECT_EQ(meter.credit(), before + 250);
  EXPECT_TRUE(over_the_air(meter, ask(Command::kSetPowerLimit, "90000000000000003500")).executed);
  EXPECT_EQ(meter.limit(), 3500);
  EXPECT_TRUE(over_the_air(meter, ask(Command::kClearCredit, "80000000000000000001")).executed);
  EXPECT_EQ(meter.credit(), 0);
}

TEST(Meter, ReportsUnaskedInAFrameThatOurCodecReads) {
  const Meter meter("47003333623");
  const Result<device::Uplink> uplink =
      device::read_uplink(meter.report(kNoon), "47003333623", nullptr);
  ASSERT_TRUE(uplink.has_value());
  ASSERT_EQ(uplink->kind, device::UplinkKind::kReport);
  EXPECT_TRUE(uplink->report.readable);
  EXPECT_EQ(uplink->report.frozen_on, (device::Date{2026, 8, 12}));
  EXPECT_EQ(uplink->report.credit, device::make_decimal(meter.credit(), 2));
}

Copy copy_of(const Request& request, std::uint64_t tag = 0) {
  Copy copy;
  copy.name = "item";
  copy.meter = request.meter;
  copy.what = describe_act(request);
  copy.is_act = device::is_act(request.command);
  copy.tag = tag;
  return copy;
}

TEST(MeterLedger, CountsHowOftenACommandReallyRan) {
  Meters meters;
  const Request on = ask(Command::kTurnOn);
  EXPECT_EQ(meters.ledger.count(on).ran, 0U);
  const auto first = meters.ledger.take(kNoon, copy_of(on));
  EXPECT_EQ(meters.ledger.count(on).open, 1U);
  meters.ledger.radiate(first, kNoon + 1s);
  meters.run(first, kNoon + 2s, on);
  meters.ledger.close(first, kNoon + 3s, CopyEnd::kAcked);
  meters.ledger.close(first, kNoon + 9s, CopyEnd::kNacked);
  const auto second = meters.ledger.take(kNoon + 4s, copy_of(on));
  meters.ledger.radiate(second, kNoon + 5s);
  meters.run(second, kNoon + 6s, on);
  const MeterLedger::Count count = meters.ledger.count(on);
  EXPECT_EQ(count.copies, 2U);
  EXPECT_EQ(count.ran, 2U);
  EXPECT_EQ(count.open, 1U);
  EXPECT_EQ(meters.ledger.copy(first).end, CopyEnd::kAcked);
  EXPECT_EQ(meters.ledger.copy(first).closed_at, kNoon + 3s);
  EXPECT_EQ(meters.ledger.count(ask(Command::kTurnOff)).copies, 0U);
  // One after the other is no double.
  EXPECT_TRUE(meters.ledger.doubled().empty());
}

TEST(MeterLedger, SeesAnActRadiatedWhileAnotherCopyCouldStillRun) {
  Meters meters;
  const Request off = ask(Command::kTurnOff);
  const auto first = meters.ledger.take(kNoon, copy_of(off));
  const auto second = meters.ledger.take(kNoon, copy_of(off));
  EXPECT_TRUE(meters.ledger.doubled().empty());
  meters.ledger.radiate(second, kNoon + 1s);
  ASSERT_EQ(meters.ledger.doubled().size(), 1U);
  EXPECT_EQ(meters.ledger.doubled()[0].copy, second);
  EXPECT_EQ(meters.ledger.doubled()[0].other, first);
}

TEST(MeterLedger, TellsReadsOtherCommandsMetersAndTagsApart) {
  Meters meters;
  const auto radiate_twice = [&](const Copy& one, const Copy& other) {
    meters.ledger.take(kNoon, one);
    meters.ledger.radiate(meters.ledger.take(kNoon, other), kNoon);
    return meters.ledger.doubled().size();
  };
  const Request read = ask(Command::kReadCredit);
  EXPECT_EQ(radiate_twice(copy_of(read), copy_of(read)), 0U);
  EXPECT_EQ(radiate_twice(copy_of(ask(Command::kTurnOn)), copy_of(ask(Command::kTurnOff))), 0U);
  Request elsewhere = ask(Command::kTurnOn);
  elsewhere.meter = "47003333624";
  EXPECT_EQ(radiate_twice(copy_of(elsewhere), copy_of(ask(Command::kTurnOn, ""), 7)), 0U);
  const Request token = ask(Command::kTopUpKwh, "1234");
  EXPECT_EQ(radiate_twice(copy_of(token, 1), copy_of(token, 2)), 0U);
  // Zeros in front of a meter number say nothing, and all tokens are alike.
  Request padded = ask(Command::kDeliverPreexistingToken, "1234");
  padded.meter = "047003333623";
  EXPECT_EQ(radiate_twice(copy_of(padded, 2), copy_of(token, 3)), 0U);
  EXPECT_EQ(radiate_twice(copy_of(padded, 9), copy_of(token, 9)), 1U);
}

TEST(MeterLedger, KeepsTheOrderInWhichAMeterRan) {
  Meters meters;
  const Request on = ask(Command::kTurnOn);
  const Request off = ask(Command::kTurnOff);
  const auto first = meters.ledger.take(kNoon, copy_of(on));
  const auto second = meters.ledger.take(kNoon, copy_of(off));
  meters.run(second, kNoon + 1s, off);
  meters.run(first, kNoon + 2s, on);
  const std::vector<std::uint32_t>& order = meters.ledger.order_of("047003333623");
  ASSERT_EQ(order.size(), 2U);
  EXPECT_EQ(meters.ledger.runs()[order[0]].copy, second);
  EXPECT_EQ(meters.ledger.runs()[order[1]].copy, first);
  EXPECT_TRUE(meters.ledger.order_of("1").empty());
}

}  // namespace
}  // namespace postrider::sim
