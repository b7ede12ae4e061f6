// The tables of docs/spec/rpc.md against those of the code, cell by cell.
#include <array>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/model/spec_tables_testing.h"
#include "postrider/profiles/rpc/declarations.h"
#include "postrider/profiles/rpc/repeats.h"
#include "postrider/profiles/rpc/table.h"
#include "postrider/profiles/rpc/verdict.h"

namespace postrider::rpc::operation {
namespace {

SpecTable table_named(std::string_view heading) {
  const std::optional<SpecTable> table = find_table(read_spec_tables("docs/spec/rpc.md"), heading);
  EXPECT_TRUE(table.has_value()) << heading;
  return table.value_or(SpecTable{});
}

constexpr std::array<MethodPolicy, 4> kPolicies = {{
    {.persist = false, .idem = false},
    {.persist = false, .idem = true},
    {.persist = true, .idem = false},
    {.persist = true, .idem = true},
}};

TEST(RpcTables, StatesAreThoseOfTheDocument) {
  EXPECT_EQ(compare_states(table_named("States"), kStates), Differences());
}

// req: rpc.rule.7, rpc.rule.17, rpc.rule.18, rpc.rule.27, rpc.rule.31, rpc.own.13
TEST(RpcTables, EveryCellIsThatOfTheDocument) {
  std::size_t cells = 0;
  for (const Method& method : kMethods) {
    const SpecTable table = table_named("Rows of " + std::string(method.name));
    cells += table.rows.size() * (table.columns.size() - 1);
    EXPECT_EQ(compare_transitions(table, kStates, method), Differences()) << method.name;
  }
  EXPECT_EQ(cells, 2U * 3 * 8 + 2U * 5 * 11);
}

TEST(RpcTables, AnyChangeOfTheDocumentIsFound) {
  for (const Method& method : kMethods) {
    const SpecTable table = table_named("Rows of " + std::string(method.name));
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      for (std::size_t column = 0; column < table.columns.size(); ++column) {
        SpecTable changed = table;
        std::string& cell = changed.rows[row][column];
        cell = cell == "·" ? "Released/drop" : "·";
        EXPECT_FALSE(compare_transitions(changed, kStates, method).empty())
            << method.name << " " << row << "," << column;
      }
    }
  }
}

// The rules about policies, as laws over all rows.
// req: rpc.rule.9, rpc.rule.13, rpc.rule.18, rpc.rule.29, rpc.rule.32
TEST(RpcTables, KeepTheLawsOfThePolicies) {
  for (const MethodPolicy& policy : kPolicies) {
    const Method& method = kMethods[method_of(policy)];
    EXPECT_TRUE(method.durable_intent);
    EXPECT_TRUE(method.renews);
    EXPECT_EQ(method.readmits, policy.idem);
    for (const Transition& row : method.rows) {
      if (row.verb == Do::kIgnore) continue;
      EXPECT_FALSE(policy.persist && row.to == kReleased) << row.why;
      EXPECT_FALSE(policy.persist && (row.on == On::kCancelled || row.on == On::kExpired))
          << row.why;
      // What may have run goes back to a start only if it may run again, or never happened.
      const bool again = row.to == kQueued || row.to == kWaiting;
      const bool may_have_run = (row.from & (in(kRunning) | in(kRecovering))) != 0;
      if (again && may_have_run && !policy.idem) {
        EXPECT_TRUE(row.on == On::kFailed || row.on == On::kStaleRoute) << row.why;
      }
      for (const StateIndex end : {kSealed, kFailed, kReleased, kIndeterminate})
        EXPECT_EQ(row.from & in(end), 0U) << "an end is left";
    }
  }
}

// req: rpc.rule.12, rpc.rule.52
TEST(RpcDeclarations, AreThoseOfTheDocument) {
  const SpecTable table = table_named("Declarations");
  ASSERT_EQ(table.rows.size(), 8U);
  const auto flag = [](bool value) { return std::string(value ? "yes" : "no"); };
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::string text = table.cell(row, "declaration");
    const Result<MethodPolicy> policy = parse_declaration(text);
    if (table.cell(row, "method") == "refused") {
      ASSERT_FALSE(policy) << text;
      EXPECT_NE(policy.error().detail.find("channels"), std::string::npos);
      continue;
    }
    ASSERT_TRUE(policy) << text;
    EXPECT_EQ(table.cell(row, "method"), kMethods[method_of(*policy)].name);
    EXPECT_EQ(table.cell(row, "persist"), flag(policy->persist));
    EXPECT_EQ(table.cell(row, "idem"), flag(policy->idem));
    EXPECT_EQ(table.cell(row, "channels"), flag(policy->channels));
    EXPECT_EQ(to_text(*policy), text);
  }
}

TEST(RpcDeclarations, HaveOneSpelling) {
  EXPECT_EQ(*parse_declaration("persist,idem"), (MethodPolicy{.persist = true, .idem = true}));
  EXPECT_EQ(*parse_declaration(" volatile , idem , channels "),
            (MethodPolicy{.idem = true, .channels = true}));
  for (const char* text :
       {"", "idem", "Persist", "persist idem", "persist,", "persist,,idem", "persist, idem, idem",
        "volatile, channels, idem", "volatile, channels, channels", "volatile, persist", ","})
    EXPECT_FALSE(parse_declaration(text)) << text;
}

// req: rpc.rule.52
TEST(RpcDeclarations, AreReadFromTheSettingsOfAService) {
  const NamedTexts settings = {{"handler", "http://127.0.0.1:1/"},
                               {"method.transfer", "persist"},
                               {"method.balance", "volatile, idem"}};
  const Result<Declarations> methods = parse_declarations(settings);
  ASSERT_TRUE(methods);
  EXPECT_EQ(methods->size(), 2U);
  EXPECT_EQ(methods->at("transfer"), (MethodPolicy{.persist = true}));
  EXPECT_EQ(methods->at("balance"), (MethodPolicy{.idem = true}));

  const auto refused = [](const NamedTexts& texts) {
    const Result<Declarations> result = parse_declarations(texts);
    return result ? std::string("accepted") : result.error().detail;
  };
  EXPECT_EQ(refused({{"handler", "x"}}), "a service declares a method at least");
  EXPECT_EQ(refused({{"method.a", "persist"}, {"method.a", "volatile"}}),
            "method.a is declared twice");
  EXPECT_EQ(refused({{"method.a b", "persist"}}), "'a b' is not the name of a method");
  EXPECT_EQ(refused({{"method.a", "persist, channels"}}),
            "method.a: a persist method has no channels: they do not outlive a connection");
  for (const char* name : {"", ".", "..", "a/b", "é"}) EXPECT_FALSE(is_method_name(name)) << name;
  EXPECT_TRUE(is_method_name(std::string(64, 'm')));
  EXPECT_FALSE(is_method_name(std::string(65, 'm')));

  NamedTexts many;
  for (std::size_t i = 0; i < kMethodsMax; ++i)
    many.emplace_back("method.m" + std::to_string(i), "volatile");
  EXPECT_TRUE(parse_declarations(many));
  many.emplace_back("method.n", "volatile");
  EXPECT_EQ(refused(many), "a service has 256 methods at most");
}

// All calls that a row of the document stands for, without those of earlier rows.
std::vector<CallFacts> calls_of(const std::string& row, const MethodPolicy& policy) {
  std::vector<CallFacts> all;
  for (const RecordState record : {RecordState::kAbsent, RecordState::kLive, RecordState::kSealed,
                                   RecordState::kReleased, RecordState::kIndeterminate}) {
    for (int bits = 0; bits < 8; ++bits)
      all.push_back({.expired = (bits & 1) != 0,
                     .record = record,
                     .policy = policy,
                     .same_content = (bits & 2) != 0,
                     .same_epoch = (bits & 4) != 0});
  }
  const auto keep = [&](auto&& fits) {
    std::erase_if(all, [&](const CallFacts& facts) { return !fits(facts); });
  };
  if (row == "an expired id") {
    keep([](const CallFacts& facts) { return facts.expired; });
    return all;
  }
  keep([](const CallFacts& facts) { return !facts.expired; });
  const auto other = [](const CallFacts& facts) {
    return facts.record != RecordState::kAbsent && !facts.same_content;
  };
  if (row == "other content") {
    keep(other);
    return all;
  }
  keep([&](const CallFacts& facts) { return !other(facts); });
  const auto is = [&](RecordState record) {
    keep([record](const CallFacts& facts) { return facts.record == record; });
  };
  if (row == "live") return is(RecordState::kLive), all;
  if (row == "sealed") return is(RecordState::kSealed), all;
  if (row == "released") return is(RecordState::kReleased), all;
  if (row == "indeterminate") return is(RecordState::kIndeterminate), all;
  is(RecordState::kAbsent);
  const bool here = row == "nothing, sent first in this epoch";
  EXPECT_TRUE(here || row == "nothing, sent first in another epoch") << row;
  keep([here](const CallFacts& facts) { return facts.same_epoch == here; });
  return all;
}

// req: rpc.rule.5, rpc.rule.6, rpc.rule.10, rpc.rule.19, rpc.rule.20, rpc.rule.21, rpc.rule.22
// req: rpc.rule.23, rpc.rule.24, rpc.rule.25, rpc.rule.26, rpc.rule.28, rpc.rule.50
// req: rpc.own.1, rpc.own.5
TEST(RpcRepeats, MeetWhatTheDocumentSays) {
  const SpecTable table = table_named("What a call meets");
  ASSERT_EQ(table.rows.size(), 8U);
  std::size_t calls = 0;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    for (const MethodPolicy& policy : kPolicies) {
      const std::string want = table.cell(row, kMethods[method_of(policy)].name);
      for (const CallFacts& facts : calls_of(table.rows[row][0], policy)) {
        ++calls;
        EXPECT_EQ(name_of(judge_call(facts)), want)
            << table.rows[row][0] << ", " << to_text(policy);
      }
    }
  }
  EXPECT_EQ(calls, 4U * 5 * 8) << "every call has a row, and one only";
}

// The exchanges that a row of the document stands for.
std::vector<HandlerFacts> exchanges_of(const std::string& row) {
  const auto answered = [](int low, int high, std::size_t bytes) {
    std::vector<HandlerFacts> all;
    for (int status = low; status <= high; ++status)
      all.push_back({WireEnd::kAnswered, status, bytes, 10});
    return all;
  };
  if (row == "200-299, too large") return answered(200, 299, 11);
  if (row == "200-299") return answered(200, 299, 10);
  if (row == "400-499") {
    std::vector<HandlerFacts> all = answered(400, 499, 11);
    std::erase_if(all, [](const HandlerFacts& facts) {
      return facts.status == 408 || facts.status == 425 || facts.status == 429;
    });
    return all;
  }
  if (row == "500-599") {
    std::vector<HandlerFacts> all = answered(500, 599, 11);
    std::erase_if(all, [](const HandlerFacts& facts) { return facts.status == 503; });
    return all;
  }
  if (row == "other status") {
    std::vector<HandlerFacts> all = answered(0, 199, 0);
    for (const HandlerFacts& facts : answered(300, 399, 0)) all.push_back(facts);
    for (const HandlerFacts& facts : answered(600, 1000, 0)) all.push_back(facts);
    return all;
  }
  const std::map<std::string, WireEnd> ends = {
      {"refused", WireEnd::kRefused},    {"no-name", WireEnd::kNoName},
      {"no-tls", WireEnd::kNoTls},       {"forbidden", WireEnd::kForbidden},
      {"no-login", WireEnd::kNoLogin},   {"held-back", WireEnd::kHeldBack},
      {"timed-out", WireEnd::kTimedOut}, {"reset", WireEnd::kReset}};
  if (const auto end = ends.find(row); end != ends.end())
    return {HandlerFacts{.end = end->second, .status = 200}};
  const int status = std::stoi(row);
  return answered(status, status, 11);
}

// req: rpc.own.13, rpc.rule.27
TEST(RpcHandlers, AnswersMeanWhatTheDocumentSays) {
  const SpecTable table = table_named("Answers of a handler");
  ASSERT_EQ(table.rows.size(), 17U);
  std::size_t exchanges = 0;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    for (const HandlerFacts& facts : exchanges_of(table.rows[row][0])) {
      ++exchanges;
      const HandlerReading reading = read_handler(facts);
      EXPECT_EQ(name_of(reading.verdict), table.cell(row, "verdict")) << facts.status;
      EXPECT_EQ(reading.signal, parse_signal(table.cell(row, "signal"))) << facts.status;
      EXPECT_EQ(reading.failure, parse_failure(table.cell(row, "class"))) << facts.status;
    }
  }
  EXPECT_EQ(exchanges, 1001U + 100 + 8) << "every status, large answers of 2xx, every other end";
}

// req: rpc.rule.26
TEST(RpcHooks, AnswersMeanWhatTheDocumentSays) {
  const SpecTable table = table_named("Answers of a hook");
  std::map<std::string, On> written;
  for (std::size_t row = 0; row < table.rows.size(); ++row)
    written[table.rows[row][0]] = parse_signal(table.cell(row, "signal")).value_or(On::kDue);
  ASSERT_EQ(written.size(), 4U);
  for (int status = 0; status < 1000; ++status) {
    const auto found = written.find(std::to_string(status));
    EXPECT_EQ(read_hook(status), found == written.end() ? written["anything else"] : found->second);
  }
}

}  // namespace
}  // namespace postrider::rpc::operation
