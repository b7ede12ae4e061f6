#include "postrider/model/setting_table.h"

#include <gtest/gtest.h>

namespace postrider::settings {
namespace {

struct Draft {
  std::uint32_t count = 0;
  std::string extras = {};
};

Result<void> set_count(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(count, number_of(value, 1, 10));
  draft.count = count;
  return {};
}
Result<void> add_extra(Draft& draft, std::string_view value) {
  draft.extras += value;
  return {};
}

constexpr auto kTable = std::to_array<Setting<Draft>>({
    {{"count", "1", "", "1 to 10", "how many"}, set_count},
    {{"extra.*", "", "", "any text", "what else"}, add_extra},
});
constexpr auto kRows = rows_of(kTable);

std::string_view row_name(std::string_view name) {
  return name.starts_with("extra.") ? "extra.*" : name;
}

std::string outcome_of(const NamedTexts& settings) {
  Draft draft;
  const Result<void> applied = apply_all(draft, settings, kTable, kRows, row_name);
  return applied ? std::to_string(draft.count) + draft.extras : applied.error().detail;
}

TEST(SettingTable, ReadsEverySettingIntoTheDraft) {
  EXPECT_EQ(outcome_of({{"count", "7"}, {"extra.a", "x"}, {"extra.b", "y"}}), "7xy");
  EXPECT_EQ(outcome_of({}), "0");
}

TEST(SettingTable, SaysWhatIsWrongAndWhatItMayBe) {
  EXPECT_EQ(outcome_of({{"cuont", "7"}}), "unknown setting 'cuont', did you mean 'count'?");
  EXPECT_EQ(outcome_of({{"count", "11"}}), "count: '11' is out of bounds; it may be 1 to 10");
  EXPECT_EQ(outcome_of({{"count", "many"}}),
            "count: 'many' is not a whole number; it may be 1 to 10");
}

TEST(SettingTable, TakesASettingOnceWhateverTheCaseOfItsName) {
  EXPECT_EQ(outcome_of({{"count", "1"}, {"count", "1"}}), "count is given twice");
  EXPECT_EQ(outcome_of({{"extra.Z", "1"}, {"extra.z", "1"}}), "extra.z is given twice");
  EXPECT_EQ(outcome_of({{"extra.A", "1"}, {"extra.b", "2"}}), "012");
}

TEST(SettingTable, NumbersAndDurationsAreBoundedAtBothEnds) {
  EXPECT_FALSE(number_of("1", 2, 4));
  EXPECT_EQ(number_of("2", 2, 4).value_or(0), 2u);
  EXPECT_EQ(number_of("4", 2, 4).value_or(0), 4u);
  EXPECT_FALSE(number_of("5", 2, 4));
  EXPECT_FALSE(number_of("4294967296", 2, UINT32_MAX));
  EXPECT_FALSE(number_of("3 ", 2, 4));
  const Bounds bounds{.low = 1s, .high = 1min};
  EXPECT_FALSE(duration_of("999ms", bounds));
  EXPECT_EQ(duration_of("1s", bounds).value_or(0s), Duration(1s));
  EXPECT_EQ(duration_of("1m", bounds).value_or(0s), Duration(1min));
  EXPECT_FALSE(duration_of("61s", bounds));
  EXPECT_FALSE(duration_of("0", bounds));
  EXPECT_EQ(duration_of("0", {.low = 1s, .high = 1min, .or_zero = true}).value_or(1s), Duration(0));
}

TEST(SettingTable, WordsAreThoseOfTheListAndCertificatesAreBounded) {
  EXPECT_EQ(second_of("on", "off", "on").value_or(false), true);
  EXPECT_EQ(second_of("off", "off", "on").value_or(true), false);
  EXPECT_EQ(second_of("of", "off", "on").error().detail, "'of' is unknown, did you mean 'off'?");
  const std::string begin = "-----BEGIN CERTIFICATE-----";
  EXPECT_TRUE(check_trust(begin + std::string(12 * 1024 - begin.size(), 'A')));
  EXPECT_FALSE(check_trust(begin + std::string(12 * 1024 - begin.size() + 1, 'A')));
  EXPECT_FALSE(check_trust("AAAA"));
}

}  // namespace
}  // namespace postrider::settings
