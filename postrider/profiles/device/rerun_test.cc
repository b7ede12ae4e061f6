#include "postrider/profiles/device/rerun.h"

#include <gtest/gtest.h>

#include "postrider/profiles/device/notes.h"
#include "postrider/protocols/device/message.h"

namespace postrider::device {
namespace {

Content content_of(Command command) {
  DeviceMessage message;
  message.request.command = command;
  message.request.meter = "47003333623";
  message.plugin = "lora";
  if (is_token(command)) message.request.token = "12345678901234567890";
  return message;
}

std::string why(const Content& content, postrider::Rerun rerun) {
  const OpaqueOf<Content> parsed(content);
  rerun.values.parsed = &parsed;
  return why_not_again(Rerun(rerun));
}

std::string notes_of(bool may_have_run) {
  Notes notes;
  notes.outcome = "failed";
  notes.may_have_run = may_have_run;
  return encode_notes(notes);
}

// req: device.again.1
TEST(DeviceWhyNotAgain, AsksWhetherAnActCanHaveRun) {
  struct Case {
    const char* what;
    bool live;
    bool again;
    std::uint16_t attempts;
    std::string notes;
    const char* why;  // part of it; empty: it may
  };
  const Case cases[] = {
      {"never tried", false, false, 0, "", ""},
      {"tried, and its end says that it cannot have run", false, false, 3, notes_of(false), ""},
      {"its end says that it may have run", false, false, 3, notes_of(true), "may have run"},
      {"said without a counted attempt", false, false, 0, notes_of(true), "may have run"},
      {"tried, and its end is forgotten", false, false, 1, "", "it is not known whether"},
      {"tried, and its end cannot be read", false, false, 1, "?", "it is not known whether"},
      {"it lives", true, false, 0, "", "is still under way"},
      {"it was sent again", false, true, 1, notes_of(false), "was sent again already"},
  };
  for (const Case& one : cases) {
    const postrider::Rerun rerun{.values = {},
                                 .live = one.live,
                                 .repeated = one.again,
                                 .attempts = one.attempts,
                                 .notes = one.notes};
    for (const Command command : {Command::kTurnOff, Command::kTopUpKwh, Command::kSetDate}) {
      const std::string said = why(content_of(command), rerun);
      EXPECT_EQ(said.empty(), std::string_view(one.why).empty()) << one.what << ": " << said;
      EXPECT_NE(said.find(one.why), std::string::npos) << one.what << ": " << said;
      const bool names_it = said.find(name_of(command)) != std::string::npos;
      EXPECT_TRUE(said.empty() || names_it) << said;
    }
    EXPECT_EQ(why(content_of(Command::kReadCredit), rerun), "") << one.what;
  }
}

// req: device.again.1
TEST(DeviceWhyNotAgain, CountsTheMakingOfATokenAsAnAct) {
  const std::string ran = notes_of(true);
  EXPECT_EQ(why(Mint(), {}), "");
  EXPECT_EQ(why(Mint(), {.attempts = 1, .notes = ran}), "the making of a token may have run");
}

// What cannot be read is refused at the door anyway.
TEST(DeviceWhyNotAgain, SaysNothingOfWhatCannotBeRead) {
  EXPECT_EQ(why_not_again(Rerun({.attempts = 1})), "");
}

}  // namespace
}  // namespace postrider::device
