// The tables of docs/spec/matrix.md against those of the code, cell by cell.
#include <array>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/base/durations.h"
#include "postrider/model/spec_tables_testing.h"
#include "postrider/profiles/matrix/lanes.h"
#include "postrider/profiles/matrix/numbers.h"
#include "postrider/profiles/matrix/table.h"
#include "postrider/profiles/matrix/verdict.h"

namespace postrider::matrix {
namespace {

SpecTable table_named(std::string_view heading) {
  const std::optional<SpecTable> table =
      find_table(read_spec_tables("docs/spec/matrix.md"), heading);
  EXPECT_TRUE(table.has_value()) << heading;
  return table.value_or(SpecTable{});
}

TEST(MatrixTables, StatesAreThoseOfTheDocument) {
  EXPECT_EQ(compare_states(table_named("States"), kStates), Differences());
}

// req: matrix.q.2, matrix.txn.14
TEST(MatrixTables, EveryCellIsThatOfTheDocument) {
  const SpecTable table = table_named("Transitions");
  EXPECT_EQ(table.rows.size() * (table.columns.size() - 1), 112U);
  EXPECT_EQ(compare_transitions(table, kStates, kMethods[0]), Differences());
}

TEST(MatrixTables, AnyChangeOfTheDocumentIsFound) {
  const SpecTable table = table_named("Transitions");
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      SpecTable changed = table;
      std::string& cell = changed.rows[row][column];
      cell = cell == "·" ? "Dead/dead-letter" : "·";
      EXPECT_FALSE(compare_transitions(changed, kStates, kMethods[0]).empty())
          << row << "," << column;
    }
  }
}

// The ends of a try that a row of the document stands for.
std::vector<TryFacts> ends_of(const std::string& row) {
  const auto answered = [](int low, int high, bool object) {
    std::vector<TryFacts> all;
    for (int status = low; status <= high; ++status)
      all.push_back({.end = WireEnd::kAnswered, .status = status, .object = object});
    return all;
  };
  const auto ended = [](std::initializer_list<WireEnd> ends) {
    std::vector<TryFacts> all;
    for (const WireEnd end : ends) all.push_back({.end = end});
    return all;
  };
  if (row == "2xx with an object") return answered(200, 299, true);
  if (row == "2xx with another body") return answered(200, 299, false);
  if (row == "429") return answered(429, 429, true);
  if (row == "500, first time") return answered(500, 500, true);
  if (row == "500, again") {
    std::vector<TryFacts> again = answered(500, 500, false);
    again[0].refused_before = true;
    return again;
  }
  if (row == "501-599") return answered(501, 599, false);
  if (row == "400") return answered(400, 400, true);
  if (row == "413") return answered(413, 413, false);
  if (row == "other") {
    std::vector<TryFacts> all = answered(300, 499, true);
    std::erase_if(all, [](const TryFacts& facts) {
      return facts.status == 400 || facts.status == 413 || facts.status == 429;
    });
    return all;
  }
  if (row == "no connection, name or TLS")
    return ended({WireEnd::kRefused, WireEnd::kNoName, WireEnd::kNoTls, WireEnd::kHeldBack,
                  WireEnd::kNoLogin});
  if (row == "forbidden address") return ended({WireEnd::kForbidden});
  if (row == "no answer") return ended({WireEnd::kTimedOut, WireEnd::kReset});
  ADD_FAILURE() << "no such row: " << row;
  return {};
}

struct Shape {
  const char* name;
  bool alone;
  bool was_aside;
  bool nothing_since;
  On refused;
  bool struck = false;
};
constexpr Shape kShapes[] = {
    {"several", false, false, false, On::kStaleRoute},
    {"several while one is aside", false, false, true, On::kStaleRoute},
    {"alone, first time", true, false, false, On::kNoLink},
    {"alone, again after a delivery", true, true, false, On::kRejected},
    {"alone, nothing delivered since", true, true, true, On::kNoRoute},
    {"another one, nothing delivered since", true, false, true, On::kNoRoute},
    {"the same again, nothing delivered since", true, false, true, On::kNoLink, true},
};

// req: matrix.http.3, matrix.back.3, matrix.txn.14
TEST(MatrixAnswers, AreReadAsTheDocumentSays) {
  const SpecTable table = table_named("Answers");
  ASSERT_EQ(table.rows.size(), 12U);
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    for (const PolicyChoice choice : {PolicyChoice::kCompatible, PolicyChoice::kBetter}) {
      const std::string word = table.cell(row, name_of(choice));
      for (TryFacts facts : ends_of(table.rows[row][0])) {
        for (const Shape& shape : kShapes) {
          facts.alone = shape.alone;
          facts.was_aside = shape.was_aside;
          facts.nothing_since = shape.nothing_since;
          facts.struck = shape.struck;
          const std::optional<On> want = word == "refused" ? shape.refused : parse_signal(word);
          ASSERT_TRUE(want) << word;
          EXPECT_EQ(verdict_of(choice, facts), *want)
              << table.rows[row][0] << ", " << name_of(choice) << ", " << shape.name << ", "
              << facts.status;
        }
      }
    }
  }
}

// Numbers as the document writes them.
std::map<std::string, std::string> words_of(const PolicyNumbers& numbers) {
  const auto time = [](Duration duration) {
    return duration == Duration(0) ? std::string("-") : to_string(duration);
  };
  const auto flag = [](bool value) { return std::string(value ? "yes" : "no"); };
  std::string pauses;
  for (std::uint32_t tries = 1; tries < numbers.tries_max && tries <= numbers.pauses.size();
       ++tries)
    pauses += (tries > 1 ? ", " : "") + std::to_string(pause_after(numbers, tries) / 1s) + "s";
  return {{"tries", std::to_string(numbers.tries_max)},
          {"pauses", pauses},
          {"time of a try", time(numbers.try_time_out)},
          {"jitter, per mille",
           std::to_string(numbers.jitter_low) + "-" + std::to_string(numbers.jitter_high)},
          {"first interval", time(numbers.interval_first)},
          {"growth, percent", std::to_string(numbers.interval_percent)},
          {"longest interval", time(numbers.interval_max)},
          {"deep beyond", time(numbers.deep_after)},
          {"one try from", time(numbers.single_try_after)},
          {"kept age", time(numbers.keep_age)},
          {"kept events", std::to_string(numbers.keep_count)},
          {"catches up at a start", flag(numbers.catch_up_at_start)},
          {"catch-up has units", flag(numbers.catch_up_units)},
          {"catch-up room by room", flag(numbers.room_by_room)},
          {"splits", flag(numbers.splits)},
          {"retry-after", flag(numbers.honours_retry_after)},
          {"starts small", flag(numbers.starts_small)},
          {"body bytes", std::to_string(numbers.bytes_max)},
          {"PDUs", std::to_string(numbers.pdus_max)},
          {"EDUs", std::to_string(numbers.edus_max)},
          {"members", std::to_string(numbers.members_max)},
          {"linger", time(numbers.linger)},
          {"open requests", std::to_string(numbers.open_requests_max)}};
}

// req: matrix.http.2, matrix.back.2, matrix.txn.1, matrix.txn.10, matrix.txn.15
TEST(MatrixPolicies, HaveTheNumbersOfTheDocument) {
  const SpecTable table = table_named("Policies");
  for (const PolicyChoice choice : {PolicyChoice::kCompatible, PolicyChoice::kBetter}) {
    std::map<std::string, std::string> written;
    for (std::size_t row = 0; row < table.rows.size(); ++row)
      written[table.rows[row][0]] = table.cell(row, name_of(choice));
    EXPECT_EQ(written, words_of(numbers_of(choice))) << name_of(choice);
  }
}

// req: matrix.http.2
TEST(MatrixPolicies, PausesStayAtTheLastOne) {
  const PolicyNumbers& compatible = numbers_of(PolicyChoice::kCompatible);
  EXPECT_EQ(pause_after(compatible, 1), 4s);
  EXPECT_EQ(pause_after(compatible, 2), 16s);
  for (std::uint32_t tries = 3; tries <= 10; ++tries)
    EXPECT_EQ(pause_after(compatible, tries), 60s);
}

TEST(MatrixPolicies, HaveNames) {
  EXPECT_EQ(parse_policy("better"), PolicyChoice::kBetter);
  EXPECT_EQ(parse_policy("compatible"), PolicyChoice::kCompatible);
  EXPECT_EQ(parse_policy("best"), std::nullopt);
}

// req: matrix.edu.1, matrix.edu.10
TEST(MatrixLanes, AreThoseOfTheDocument) {
  const SpecTable table = table_named("Lanes");
  ASSERT_EQ(table.rows.size(), kMatrixLanes);
  const auto flag = [](bool value) { return std::string(value ? "yes" : "no"); };
  const auto latest = [](Latest rule) {
    constexpr std::array<const char*, 3> kWords = {"never", "always", "behind"};
    return std::string(kWords[static_cast<std::size_t>(rule)]);
  };
  for (std::size_t lane = 0; lane < kMatrixLanes; ++lane) {
    const LaneFacts& facts = kLaneFacts[lane];
    EXPECT_EQ(table.rows[lane],
              (std::vector<std::string>{std::string(facts.name), flag(facts.fifo),
                                        latest(facts.latest), flag(facts.rides),
                                        flag(facts.dropped_when_deep), flag(facts.catches_up)}));
  }
}

TEST(MatrixLanes, TakeEveryKindOfUnit) {
  EXPECT_EQ(lane_of(EduKind::kPresence), kPresenceLane);
  EXPECT_EQ(lane_of(EduKind::kReceipt), kReceiptLane);
  EXPECT_EQ(lane_of(EduKind::kToDevice), kToDeviceLane);
  EXPECT_EQ(lane_of(EduKind::kDeviceList), kDeviceLane);
  EXPECT_EQ(lane_of(EduKind::kSigningKeys), kDeviceLane);
  EXPECT_EQ(lane_of(EduKind::kTyping), kTypingLane);
  EXPECT_EQ(lane_of(EduKind::kOther), kOtherLane);
}

}  // namespace
}  // namespace postrider::matrix
