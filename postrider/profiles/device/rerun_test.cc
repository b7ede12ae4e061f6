#include "postrider/profiles/device/rerun.h"

#include <gtest/gtest.h>

#include "postrider/profiles/device/mint.h"
#include "postrider/profiles/device/notes.h"
#include "postrider/protocols/device_message.h"

namespace postrider::device {
namespace {

std::string body_of(Command command) {
  DeviceMessage message;
  message.request.command = command;
  message.request.meter = "47003333623";
  message.plugin = "lora";
  if (is_token(command)) message.request.token = "12345678901234567890";
  return encode_device_message(message);
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
    for (const Command command : {Command::kTurnOff, Command::kTopUpKwh, Command::kSetDate}) {
      const std::string body = body_of(command);
      const std::string why = why_not_again({.attributes = {},
                                             .body = body,
                                             .live = one.live,
                                             .repeated = one.again,
                                             .attempts = one.attempts,
                                             .notes = one.notes});
      EXPECT_EQ(why.empty(), std::string_view(one.why).empty()) << one.what << ": " << why;
      EXPECT_NE(why.find(one.why), std::string::npos) << one.what << ": " << why;
      const bool names_it = why.find(name_of(command)) != std::string::npos;
      EXPECT_TRUE(why.empty() || names_it) << why;
    }
    const std::string read = body_of(Command::kReadCredit);
    EXPECT_EQ(why_not_again({.attributes = {},
                             .body = read,
                             .live = one.live,
                             .repeated = one.again,
                             .attempts = one.attempts,
                             .notes = one.notes}),
              "")
        << one.what;
  }
}

// req: device.again.1
TEST(DeviceWhyNotAgain, CountsTheMakingOfATokenAsAnAct) {
  const std::string attributes = mint_attributes();
  const std::string ran = notes_of(true);
  EXPECT_EQ(why_not_again({.attributes = attributes, .body = "{}"}), "");
  EXPECT_EQ(why_not_again({.attributes = attributes, .body = "{}", .attempts = 1, .notes = ran}),
            "the making of a token may have run");
}

}  // namespace
}  // namespace postrider::device
