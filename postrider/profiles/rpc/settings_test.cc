// The settings and retry rules of docs/spec/rpc.md against those of the code.
#include "postrider/profiles/rpc/settings.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/base/durations.h"
#include "postrider/model/spec_tables_testing.h"

namespace postrider::rpc {
namespace {

SpecTable settings_table(std::string_view heading) {
  const std::optional<SpecTable> table = find_table(read_spec_tables("docs/spec/rpc.md"), heading);
  EXPECT_TRUE(table.has_value()) << heading;
  return table.value_or(SpecTable{});
}

NamedTexts service_with(const NamedTexts& more) {
  NamedTexts settings = {{"handler", "https://bank.example/rpc"}, {"method.pay", "persist"}};
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

std::string refusal_of(const NamedTexts& settings) {
  const Result<Service> service = parse_service(settings);
  return service ? std::string("accepted") : service.error().detail;
}

TEST(RpcSettings, AreThoseOfTheDocument) {
  const SpecTable table = settings_table("Settings");
  ASSERT_EQ(table.rows.size(), kSettingRows.size());
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    EXPECT_EQ(table.cell(row, "setting"), kSettingRows[row].name);
    const std::string fallback = table.cell(row, "default");
    EXPECT_EQ(fallback == "-" ? "" : fallback, kSettingRows[row].fallback);
  }
}

TEST(RpcSettings, HaveTheBoundsOfTheDocument) {
  const SpecTable table = settings_table("Settings");
  std::size_t bounds = 0;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::string name = table.cell(row, "setting");
    const std::string kind = table.cell(row, "kind");
    if (kind != "number" && kind != "duration") continue;
    for (const char* side : {"at least", "at most"}) {
      std::string bound = table.cell(row, side);
      if (const std::size_t zero = bound.find(" or 0"); zero != std::string::npos) {
        bound.resize(zero);
        EXPECT_EQ(refusal_of(service_with({{name, "0"}})), "accepted") << name;
      }
      const bool low = std::string_view(side) == "at least";
      const std::string beyond =
          kind == "number" ? std::to_string(std::stoll(bound) + (low ? -1 : 1))
                           : to_string(*parse_duration(bound) + (low ? -Duration(1) : Duration(1)));
      EXPECT_EQ(refusal_of(service_with({{name, bound}})), "accepted") << name << " " << bound;
      EXPECT_TRUE(refusal_of(service_with({{name, beyond}})).starts_with(name))
          << name << " " << beyond;
      ++bounds;
    }
  }
  EXPECT_EQ(bounds, 8U);
}

TEST(RpcSettings, RetryRulesAreThoseOfTheDocument) {
  const Result<Policy> policy = configure(service_with({}));
  ASSERT_TRUE(policy);
  EXPECT_EQ(compare_retry(settings_table("Retry rules"), *policy), Differences());
}

TEST(RpcSettings, MakeAService) {
  const Result<Service> service = parse_service({{"handler", "in-process"},
                                                 {"method.watch", "volatile, idem, channels"},
                                                 {"method.pay", "persist"},
                                                 {"recover", "http://127.0.0.1:80/how"},
                                                 {"time_out", "5s"},
                                                 {"in_flight_max", "3"},
                                                 {"grace", "0"},
                                                 {"outcome_bytes_max", "2048"}});
  ASSERT_TRUE(service) << service.error().detail;
  EXPECT_TRUE(service->handler.empty());
  EXPECT_EQ(service->recover, "http://127.0.0.1:80/how");
  EXPECT_EQ(service->methods.size(), 2U);
  EXPECT_EQ(service->grace, Duration(0));
  EXPECT_EQ(service->outcome_bytes_max, 2048U);
  EXPECT_EQ(service->policy.time_out(TimeOut::kAttempt), 5s);
  EXPECT_EQ(service->policy.route.in_use_max, 3U);
}

// req: rpc.rule.52
TEST(RpcSettings, SayWhatIsWrong) {
  EXPECT_EQ(refusal_of({{"method.pay", "persist"}}), "handler is missing: a service needs one");
  EXPECT_EQ(refusal_of({{"handler", "in-process"}}), "a service declares a method at least");
  EXPECT_EQ(refusal_of(service_with({{"method.see", "volatile, channels"}})),
            "method.see: channels need a handler in the process");
  EXPECT_EQ(refusal_of({{"handler", "in-process"}, {"method.see", "persist, channels"}}),
            "method.see: a persist method has no channels: they do not outlive a connection");
  EXPECT_NE(refusal_of(service_with({{"graze", "1s"}})).find("grace"), std::string::npos);
  EXPECT_NE(refusal_of(service_with({{"grace", "1s"}, {"grace", "2s"}})), "accepted");
  EXPECT_NE(refusal_of(service_with({{"recover", "ftp://x"}})), "accepted");
  EXPECT_NE(refusal_of(service_with({{"recover", "http://x/" + std::string(2048, 'x')}})),
            "accepted");
}

}  // namespace
}  // namespace postrider::rpc
