#include "postrider/protocols/device/command.h"

#include <set>

#include <gtest/gtest.h>

namespace postrider::device {
namespace {

Command command_at(std::size_t index) { return static_cast<Command>(index); }

Request request_for(Command command) {
  Request request;
  request.command = command;
  request.meter = "47003333623";
  if (command == Command::kSetDate) request.date = Date{2026, 8, 12};
  if (command == Command::kSetTime) request.time = TimeOfDay{14, 30, 0};
  if (is_token(command)) request.token = "12345678901234567890";
  return request;
}

TEST(DeviceCommand, NamesGoBothWaysAndAreDifferent) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kCommands; ++i) {
    EXPECT_EQ(parse_command(name_of(command_at(i))), command_at(i));
    names.insert(name_of(command_at(i)));
  }
  EXPECT_EQ(names.size(), kCommands);
  for (const char* name : {"", "READ", "read_credit", "READ_CREDIT ", "UNKNOWN"})
    EXPECT_EQ(parse_command(name), std::nullopt) << name;
}

// req: device.api.3
TEST(DeviceCommand, SeventeenMayBeSubmittedAndTwoMayNot) {
  const std::set<std::string_view> expected = {"READ_VOLTAGE",
                                               "READ_CURRENT",
                                               "READ_POWER",
                                               "READ_POWER_LIMIT",
                                               "READ_CREDIT",
                                               "READ_VERSION",
                                               "READ_DATE",
                                               "READ_TIME",
                                               "TURN_ON",
                                               "TURN_OFF",
                                               "SET_DATE",
                                               "SET_TIME",
                                               "CLEAR_CREDIT",
                                               "CLEAR_TAMPER",
                                               "SET_POWER_LIMIT",
                                               "TOP_UP_KWH",
                                               "DELIVER_PREEXISTING_TOKEN"};
  std::set<std::string_view> submittable;
  for (std::size_t i = 0; i < kCommands; ++i) {
    const Command command = command_at(i);
    if (is_submittable(command)) submittable.insert(name_of(command));
    EXPECT_EQ(check_request(request_for(command)).has_value(), is_submittable(command))
        << name_of(command);
  }
  EXPECT_EQ(submittable, expected);
  EXPECT_EQ(submittable.size(), kSubmitCommands);
}

TEST(DeviceCommand, EachSubmittableOneIsEitherAReadOrAnAct) {
  for (std::size_t i = 0; i < kCommands; ++i) {
    const Command command = command_at(i);
    const bool named_read = name_of(command).starts_with("READ_") && is_submittable(command);
    EXPECT_EQ(is_read(command), named_read) << name_of(command);
    EXPECT_EQ(is_act(command), is_submittable(command) && !named_read) << name_of(command);
    EXPECT_TRUE(!is_token(command) || is_act(command)) << name_of(command);
  }
  for (const Command command : {Command::kTopUpKwh, Command::kClearCredit, Command::kClearTamper,
                                Command::kSetPowerLimit, Command::kDeliverPreexistingToken})
    EXPECT_TRUE(is_token(command)) << name_of(command);
  for (const Command command :
       {Command::kTurnOn, Command::kTurnOff, Command::kSetDate, Command::kSetTime})
    EXPECT_FALSE(is_token(command)) << name_of(command);
}

TEST(DeviceCommand, ReadsMayBeRepeatedAndActsOnlyWhenTheFormerAttemptIsClosed) {
  for (std::size_t i = 0; i < kSubmitCommands; ++i) {
    const Command command = command_at(i);
    EXPECT_EQ(default_repeat(command), is_read(command) ? Repeat::kFree : Repeat::kClosed);
  }
  EXPECT_EQ(parse_repeat("free"), Repeat::kFree);
  EXPECT_EQ(parse_repeat("closed"), Repeat::kClosed);
  EXPECT_EQ(parse_repeat("never"), Repeat::kNever);
  EXPECT_EQ(parse_repeat("document"), Repeat::kFree);
  EXPECT_EQ(parse_repeat(""), std::nullopt);
  EXPECT_EQ(name_of(Repeat::kNever), "never");
}

TEST(DeviceCommand, PhasesAreABAndC) {
  EXPECT_EQ(parse_meter_phase("A"), MeterPhase::kA);
  EXPECT_EQ(parse_meter_phase("B"), MeterPhase::kB);
  EXPECT_EQ(parse_meter_phase("C"), MeterPhase::kC);
  for (const char* name : {"", "D", "a", "AB"}) EXPECT_EQ(parse_meter_phase(name), std::nullopt);
}

// req: device.send.7
TEST(DeviceCommand, AnImpossibleDateOrTimeIsRefused) {
  Request request = request_for(Command::kSetDate);
  for (const Date date : {Date{2026, 2, 29}, Date{2026, 13, 1}, Date{2026, 0, 1}, Date{2026, 4, 31},
                          Date{1999, 12, 31}, Date{2100, 1, 1}, Date{2026, 1, 0},
                          Date{2026, 257, 1}, Date{2026, 1, 257}, Date{2026, -1, 1}}) {
    request.date = date;
    EXPECT_FALSE(check_request(request)) << date.year << "-" << date.month << "-" << date.day;
  }
  for (const Date date : {Date{2000, 1, 1}, Date{2024, 2, 29}, Date{2099, 12, 31}}) {
    request.date = date;
    EXPECT_TRUE(check_request(request)) << date.year;
  }
  request.date.reset();
  EXPECT_FALSE(check_request(request));

  request = request_for(Command::kSetTime);
  for (const TimeOfDay time :
       {TimeOfDay{24, 0, 0}, TimeOfDay{0, 60, 0}, TimeOfDay{0, 0, 60}, TimeOfDay{-1, 0, 0}}) {
    request.time = time;
    EXPECT_FALSE(check_request(request)) << time.hour << ":" << time.minute;
  }
  request.time = TimeOfDay{23, 59, 59};
  EXPECT_TRUE(check_request(request));
  request.time.reset();
  EXPECT_FALSE(check_request(request));
}

// req: device.send.7
TEST(DeviceCommand, ATokenIsMadeOfDigitsAndIsNeverRepeatedInAnError) {
  Request request = request_for(Command::kTopUpKwh);
  for (const char* token : {"", "1234567890123456789x", "1234 5678", "-1"}) {
    request.token = token;
    const Result<void> checked = check_request(request);
    ASSERT_FALSE(checked) << token;
    EXPECT_TRUE(*token == 0 || checked.error().detail.find(token) == std::string::npos);
  }
  request.token = std::string(kTokenDigitsMax, '7');
  EXPECT_TRUE(check_request(request));
  request.token.push_back('7');
  EXPECT_FALSE(check_request(request));
  EXPECT_EQ(masked_token("12345678901234567890"), "…7890");
  EXPECT_EQ(masked_token("1234567"), "…");
}

TEST(DeviceCommand, TheReferenceIsNeededAndBounded) {
  Request request = request_for(Command::kReadCredit);
  request.meter = "";
  EXPECT_FALSE(check_request(request));
  request.meter = std::string(kReferenceBytesMax, '1');
  EXPECT_TRUE(check_request(request));
  request.meter.push_back('1');
  EXPECT_FALSE(check_request(request));
}

TEST(DeviceCommand, KnowsTheWeekday) {
  EXPECT_EQ(weekday_of({2026, 8, 12}), 3);
  EXPECT_EQ(weekday_of({2026, 8, 16}), 0);
  EXPECT_EQ(weekday_of({2000, 1, 1}), 6);
}

}  // namespace
}  // namespace postrider::device
