#include "postrider/profiles/webhook/table.h"

#include <vector>

#include <gtest/gtest.h>

#include "postrider/model/spec_tables_testing.h"
#include "postrider/profiles/webhook/profile.h"

namespace postrider::webhook {
namespace {

class WebhookTable : public ::testing::Test {
 protected:
  void SetUp() override {
    const SpecTables tables = read_spec_tables("docs/spec/webhook.md");
    const std::optional<SpecTable> states = find_table(tables, "States");
    const std::optional<SpecTable> transitions = find_table(tables, "Transitions");
    const std::optional<SpecTable> batches =
        find_table(tables, "Transitions of the first message of a batch");
    ASSERT_TRUE(states && transitions && batches) << "docs/spec/webhook.md has no such tables";
    expected_states = *states;
    expected_transitions = *transitions;
    expected_of_batches = *batches;
  }
  SpecTable expected_states;
  SpecTable expected_transitions;
  SpecTable expected_of_batches;
};

// req: webhook.answer.9
TEST_F(WebhookTable, StatesAreThoseOfTheDocument) {
  EXPECT_EQ(compare_states(expected_states, kWebhook.states), Differences());
}

// req: webhook.answer.9
TEST_F(WebhookTable, EveryCellIsThatOfTheDocument) {
  ASSERT_EQ(kWebhook.methods.size(), 2U);
  EXPECT_EQ(
      compare_transitions(expected_transitions, kWebhook.states, kWebhook.methods[kPostMethod]),
      Differences());
  EXPECT_EQ(
      compare_transitions(expected_of_batches, kWebhook.states, kWebhook.methods[kBatchMethod]),
      Differences());
}

// The comparison is worth nothing unless each single change on either side is found.
TEST_F(WebhookTable, AnyChangeOfTheDocumentIsFound) {
  for (std::size_t row = 0; row < expected_states.rows.size(); ++row) {
    for (std::size_t column = 0; column < expected_states.columns.size(); ++column) {
      SpecTable changed = expected_states;
      changed.rows[row][column] += "x";
      EXPECT_FALSE(compare_states(changed, kWebhook.states).empty()) << row << "," << column;
    }
  }
  for (std::size_t row = 0; row < expected_transitions.rows.size(); ++row) {
    for (std::size_t column = 0; column < expected_transitions.columns.size(); ++column) {
      SpecTable changed = expected_transitions;
      std::string& cell = changed.rows[row][column];
      cell = cell == "·" ? "Dead/dead-letter" : "·";
      EXPECT_FALSE(compare_transitions(changed, kWebhook.states, kWebhook.methods[0]).empty())
          << row << "," << column;
    }
  }
}

TEST_F(WebhookTable, AMissingRowColumnOrSignalIsFound) {
  SpecTable fewer_rows = expected_transitions;
  fewer_rows.rows.pop_back();
  EXPECT_FALSE(compare_transitions(fewer_rows, kWebhook.states, kWebhook.methods[0]).empty());
  SpecTable fewer_states = expected_states;
  fewer_states.rows.pop_back();
  EXPECT_FALSE(compare_states(fewer_states, kWebhook.states).empty());
  SpecTable fewer_columns = expected_transitions;
  fewer_columns.columns.pop_back();
  EXPECT_FALSE(compare_transitions(fewer_columns, kWebhook.states, kWebhook.methods[0]).empty());
  SpecTable other_signal = expected_transitions;
  other_signal.columns.back() = "acked";
  EXPECT_FALSE(compare_transitions(other_signal, kWebhook.states, kWebhook.methods[0]).empty());
}

TEST_F(WebhookTable, AnyChangeOfTheCodeIsFound) {
  const auto finds = [&](std::span<const Transition> rows) {
    Method method = kWebhook.methods[0];
    method.rows = rows;
    return !compare_transitions(expected_transitions, kWebhook.states, method).empty();
  };
  for (std::size_t i = 0; i < kPostRows.size(); ++i) {
    std::vector<Transition> rows(kPostRows.begin(), kPostRows.end());
    rows[i].raise = rows[i].raise == Raise::kOk ? Raise::kNone : Raise::kOk;
    EXPECT_TRUE(finds(rows)) << "raise of row " << i;
    rows[i] = kPostRows[i];
    rows[i].verb = rows[i].verb == Do::kIgnore ? Do::kPark : Do::kIgnore;
    EXPECT_TRUE(finds(rows)) << "verb of row " << i;
    rows[i] = kPostRows[i];
    if (rows[i].verb != Do::kIgnore) {  // a row that ignores leads nowhere
      rows[i].to = rows[i].to == kDead ? kExpired : kDead;
      EXPECT_TRUE(finds(rows)) << "target of row " << i;
    }
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_TRUE(finds(rows)) << "row " << i << " left out";
  }
  for (std::size_t i = 0; i < kStates.size(); ++i) {
    std::vector<StateRow> states(kStates.begin(), kStates.end());
    states[i].phase = states[i].phase == Phase::kParked ? Phase::kQueued : Phase::kParked;
    EXPECT_FALSE(compare_states(expected_states, states).empty());
    states[i] = kStates[i];
    states[i].timer = states[i].timer == TimeOut::kStage ? TimeOut::kNone : TimeOut::kStage;
    EXPECT_FALSE(compare_states(expected_states, states).empty());
    states[i] = kStates[i];
    states[i].keeps_gates = true;
    EXPECT_FALSE(compare_states(expected_states, states).empty());
  }
}

const Transition& row_of(StateIndex state, On signal) {
  const Transition* row = find_row(kPostRows, state, signal);
  EXPECT_NE(row, nullptr);
  return *row;
}

// The sentences below are in the table too; here they are said by name, so that a deliberate change
// of both document and code still has to face the promise it breaks.

// req: webhook.gone.1
TEST(WebhookRows, AMessageThatMeets410IsHeldAndNotLost) {
  const Transition& row = row_of(kSending, On::kNoRoute);
  EXPECT_EQ(kStates[row.to].phase, Phase::kQueued);
  EXPECT_EQ(row.raise, Raise::kGone);
}

// req: webhook.receipt.1, webhook.receipt.2
TEST(WebhookRows, AReceiptDeliversFromEveryLiveState) {
  for (const StateIndex state : {kQueued, kSending, kWaiting, kParked}) {
    const Transition& row = row_of(state, On::kConfirmed);
    EXPECT_EQ(row.verb, Do::kComplete);
    EXPECT_EQ(row.raise, Raise::kSeen);
  }
}

// req: webhook.cancel.1, webhook.cancel.2, webhook.expiry.1, webhook.expiry.2
TEST(WebhookRows, AnOpenAttemptIsNotCutShort) {
  for (const StateIndex state : {kQueued, kWaiting, kParked}) {
    EXPECT_EQ(kStates[row_of(state, On::kCancelled).to].phase, Phase::kCancelled);
    EXPECT_EQ(kStates[row_of(state, On::kExpired).to].phase, Phase::kExpired);
    EXPECT_EQ(row_of(state, On::kExpired).verb, Do::kDeadLetter);
  }
  EXPECT_EQ(row_of(kSending, On::kCancelled).verb, Do::kIgnore);
  EXPECT_EQ(row_of(kSending, On::kExpired).verb, Do::kIgnore);
}

// req: webhook.route.6
TEST(WebhookRows, OnlyAnAnswerClearsTheRoute) {
  for (const Transition& row : kPostRows) {
    EXPECT_EQ(row.raise == Raise::kOk, row.on == On::kAnswered) << row.why;
  }
}

// req: webhook.park.1, webhook.park.2, webhook.park.4
TEST(WebhookRows, OutOfReachIsNotTheEnd) {
  EXPECT_EQ(row_of(kSending, On::kOutOfReach).to, kParked);
  EXPECT_TRUE(kStates[kParked].revives);
  EXPECT_EQ(row_of(kParked, On::kDue).to, kQueued);
}

// req: engine.lane.9
TEST(WebhookRows, WhoIsInTheWayIsParkedForAnOperatorOrEnds) {
  EXPECT_EQ(row_of(kSending, On::kPoison).to, kAside);
  EXPECT_EQ(kStates[kAside].phase, Phase::kParked);
  EXPECT_FALSE(kStates[kAside].revives) << "a success of others says nothing about it";
  EXPECT_EQ(row_of(kAside, On::kDue).to, kQueued);
  EXPECT_EQ(row_of(kSending, On::kSkipped).to, kDead);
}

// req: webhook.budget.4
TEST(WebhookRows, ExpiryIsNotAskedForItsBudget) {
  EXPECT_EQ(row_of(kWaiting, On::kExpired).to, kExpired);
  EXPECT_EQ(row_of(kWaiting, On::kExhausted).to, kDead);
}

}  // namespace
}  // namespace postrider::webhook
