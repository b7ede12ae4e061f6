// unity: alone, its names are those of wire_test.cc
#include "postrider/profiles/webhook/rules.h"

#include <cctype>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "postrider/base/durations.h"
#include "postrider/model/spec_tables_testing.h"
#include "postrider/profiles/webhook/profile.h"
#include "postrider/profiles/webhook/settings.h"
#include "postrider/protocols/web/base64.h"

namespace postrider::webhook {
namespace {

constexpr const char* kUrl = "https://example.com/hook";
constexpr const char* kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

Result<Policy> with(NamedTexts settings) {
  settings.insert(settings.begin(), {"url", kUrl});
  return configure(settings);
}

std::string error_of(const Result<Policy>& result) {
  return result ? "accepted" : result.error().detail;
}

bool mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

SpecTable table(std::string_view heading) {
  const std::optional<SpecTable> found =
      find_table(read_spec_tables("docs/spec/webhook.md"), heading);
  EXPECT_TRUE(found) << heading;
  return found.value_or(SpecTable());
}

// Which number of the policy a setting is. What the signature and the request look like is not in
// the policy.
std::map<std::string, std::function<void(Policy&, const std::string&)>> setters() {
  const auto time = [](const std::string& text) { return *parse_duration(text); };
  return {
      {"time_out",
       [=](Policy& p, const std::string& v) {
         p.time_outs[static_cast<std::size_t>(TimeOut::kAttempt)] = time(v);
       }},
      {"in_flight_max",
       [](Policy& p, const std::string& v) {
         p.route.in_use_max = static_cast<std::uint32_t>(std::stoul(v));
       }},
      {"rate",
       [](Policy& p, const std::string& v) {
         p.route.tokens_per_second = static_cast<std::uint32_t>(std::stoul(v));
       }},
      {"burst",
       [](Policy& p, const std::string& v) {
         p.route.tokens_max = static_cast<std::uint32_t>(std::stoul(v));
       }},
      {"strikes_max",
       [](Policy& p, const std::string& v) {
         p.health.strikes_max = static_cast<std::uint16_t>(std::stoul(v));
       }},
      {"wait_base", [=](Policy& p, const std::string& v) { p.health.wait_base = time(v); }},
      {"wait_max",
       [=](Policy& p, const std::string& v) {
         p.health.wait_max = p.health.revive_every = time(v);
       }},
      {"adapt", [](Policy& p, const std::string& v) { p.adapts = v == "on"; }},
      {"attempts_max",
       [](Policy& p, const std::string& v) {
         for (RetryRule& rule : p.retry)
           rule.attempts_max = static_cast<std::uint16_t>(std::stoul(v));
       }},
      {"disable_after", [=](Policy& p, const std::string& v) { p.health.disable_after = time(v); }},
      {"order", [](Policy& p, const std::string& v) { p.fifo_lanes = v == "fifo" ? 0xFFFF : 0; }},
      {"when_disabled",
       [](Policy& p, const std::string& v) { p.refuse_when_disabled = v == "refuse"; }},
      {"batch_max",
       [](Policy& p, const std::string& v) {
         p.members_max = static_cast<std::uint16_t>(std::stoul(v));
       }},
      {"batch_wait", [=](Policy& p, const std::string& v) { p.batch_wait = time(v); }},
  };
}

// The whole default policy, as the document says it.
Policy expected_policy(const SpecTable& retry, const SpecTable& settings) {
  Policy policy;
  for (std::size_t row = 0; row < retry.rows.size(); ++row) {
    const auto failure = parse_failure(retry.cell(row, "class"));
    const auto rule = parse_rule(retry, row);
    EXPECT_TRUE(failure && rule) << row;
    if (failure && rule) policy.retry[static_cast<std::size_t>(*failure)] = *rule;
  }
  const auto known = setters();
  for (std::size_t row = 0; row < settings.rows.size(); ++row) {
    const auto setter = known.find(settings.cell(row, "setting"));
    if (setter != known.end()) setter->second(policy, settings.cell(row, "default"));
  }
  return policy;
}

// req: webhook.settings.3, webhook.route.1, webhook.route.2
// req: webhook.retry.1, webhook.retry.2, webhook.retry.3
TEST(WebhookPolicy, IsTheOneOfTheDocument) {
  const SpecTable retry = table("Retry rules");
  const SpecTable settings = table("Settings");
  const Result<Policy> policy = with({});
  ASSERT_TRUE(policy);
  EXPECT_EQ(compare_retry(retry, *policy), Differences());
  EXPECT_EQ(*policy, expected_policy(retry, settings));
  EXPECT_EQ(*policy, default_policy());
}

TEST(WebhookPolicy, AnyChangeOfTheDocumentIsFound) {
  const SpecTable retry = table("Retry rules");
  const SpecTable settings = table("Settings");
  for (std::size_t row = 0; row < retry.rows.size(); ++row) {
    for (std::size_t column = 0; column < retry.columns.size(); ++column) {
      SpecTable changed = retry;
      std::string& cell = changed.rows[row][column];
      cell = cell == "yes" ? "no" : cell == "no" ? "yes" : cell == "-" ? "1h" : cell.insert(0, "1");
      EXPECT_FALSE(compare_retry(changed, default_policy()).empty()) << row << "," << column;
    }
  }
  const auto known = setters();
  std::size_t changes = 0;
  for (std::size_t row = 0; row < settings.rows.size(); ++row) {
    SpecTable changed = settings;
    std::string& value = changed.rows[row][*settings.column("default")];
    if (!known.contains(settings.cell(row, "setting"))) continue;
    ++changes;
    value = value == "none" ? "fifo" : value == "refuse" ? "hold" : value.insert(0, "1");
    EXPECT_NE(expected_policy(retry, changed), default_policy()) << settings.cell(row, "setting");
  }
  EXPECT_EQ(changes, known.size());
}

TEST(WebhookPolicy, AnyChangeOfTheCodeIsFound) {
  const SpecTable retry = table("Retry rules");
  for (std::size_t i = 0; i < kFailureClasses; ++i) {
    const std::function<void(RetryRule&)> changes[] = {
        [](RetryRule& r) { r.steps[3] += 1ms; },
        [](RetryRule& r) { --r.steps_used; },
        [](RetryRule& r) { ++r.jitter_percent; },
        [](RetryRule& r) { r.budget -= 1ms; },
        [](RetryRule& r) { r.strikes ^= true; },
        [](RetryRule& r) { r.holds_route ^= true; },
        [](RetryRule& r) { r.retry_after_max += 1ms; },
        [](RetryRule& r) { r.attempts_max = 9; },
        [](RetryRule& r) { r.cap = 1h; },
        [](RetryRule& r) { r.jitter = Jitter::kFull; },
        [](RetryRule& r) { r.curve = Curve::kFixed; },
        [](RetryRule& r) { r.tick = 1s; },
        [](RetryRule& r) { r.parks = true; }};
    for (const auto& change : changes) {
      Policy policy = default_policy();
      change(policy.retry[i]);
      EXPECT_EQ(compare_retry(retry, policy).size(), 1U);
    }
  }
}

// req: webhook.settings.3
TEST(WebhookSettings, RowsAreThoseOfTheDocument) {
  const SpecTable settings = table("Settings");
  ASSERT_EQ(settings.rows.size(), kWebhook.settings.rows.size());
  for (std::size_t i = 0; i < kWebhook.settings.rows.size(); ++i) {
    const SettingRow& row = kWebhook.settings.rows[i];
    EXPECT_EQ(settings.cell(i, "setting"), row.name);
    EXPECT_EQ(settings.cell(i, "default"), row.fallback.empty() ? "-" : row.fallback);
    EXPECT_FALSE(row.may_be.empty());
    EXPECT_FALSE(row.meaning.empty());
  }
}

// The tests below choose their cases by the kind, so a kind that none of them knows would go
// untested. req: webhook.settings.3
TEST(WebhookSettings, EveryKindOfTheDocumentIsATestedOne) {
  const SpecTable settings = table("Settings");
  const std::map<std::string, bool> bounded = {{"text", true},
                                               {"number", true},
                                               {"duration", true},
                                               {"durations", true},
                                               {"secrets", false},
                                               {"standard, none, hmac-sha256-body", false},
                                               {"none, fifo", false},
                                               {"on, off", false},
                                               {"delivery, contact", false},
                                               {"dead, retry, strict", false},
                                               {"refuse, hold", false},
                                               {"plain, cloudevents", false},
                                               {"array, cloudevents", false},
                                               {"block, park, skip", false},
                                               {"dead, park", false}};
  for (std::size_t row = 0; row < settings.rows.size(); ++row) {
    const auto kind = bounded.find(settings.cell(row, "kind"));
    ASSERT_NE(kind, bounded.end()) << settings.cell(row, "kind");
    for (const char* column : {"at least", "at most"}) {
      const std::string bound = settings.cell(row, column);
      EXPECT_EQ(!bound.empty() && std::isdigit(static_cast<unsigned char>(bound[0])) != 0,
                kind->second)
          << row;
      EXPECT_TRUE(kind->second || bound == "-") << row;
    }
  }
}

// req: engine.lane.8, engine.lane.9
TEST(WebhookSettings, OfLanesSayWhoGoesFirstAndWhoMakesWay) {
  const Policy usual = default_policy();
  EXPECT_EQ(usual.lower_every, 16);
  EXPECT_EQ(usual.age_step, Duration(0));
  EXPECT_EQ(usual.on_poison, OnPoison::kBlock);
  EXPECT_EQ(usual.poison_after, 5);
  const Result<Policy> policy = with({{"lower_priority_every", "4"},
                                      {"priority_ageing", "10s"},
                                      {"on_poison", "park"},
                                      {"poison_after", "1000"}});
  ASSERT_TRUE(policy) << error_of(policy);
  EXPECT_EQ(policy->lower_every, 4);
  EXPECT_EQ(policy->age_step, Duration(10s));
  EXPECT_EQ(policy->on_poison, OnPoison::kPark);
  EXPECT_EQ(policy->poison_after, 1000);
  EXPECT_EQ(with({{"on_poison", "skip"}})->on_poison, OnPoison::kSkip);
  EXPECT_EQ(with({{"on_poison", "block"}})->on_poison, OnPoison::kBlock);
}

// What is shown as the default must be what holds when nothing is said.
// req: webhook.settings.3
TEST(WebhookSettings, GivingTheDefaultChangesNothing) {
  for (const SettingRow& row : kWebhook.settings.rows) {
    if (row.fallback.empty()) continue;
    NamedTexts settings = {{std::string(row.name), std::string(row.fallback)}};
    if (row.name == "signature") settings.push_back({"secret", kSecret});
    if (row.name == "signature_header") {
      settings.push_back({"secret", kSecret});
      settings.push_back({"signature", "hmac-sha256-body"});
    }
    const Result<Policy> policy = with(settings);
    ASSERT_TRUE(policy) << error_of(policy);
    EXPECT_EQ(*policy, default_policy()) << row.name;
  }
}

struct Edge {
  std::string value;
  bool good;
};

std::vector<Edge> number_edges(std::string low, std::string high) {
  std::vector<Edge> edges = {{low, true},
                             {high, true},
                             {std::to_string(std::stol(high) + 1), false},
                             {"-1", false},
                             {"x", false},
                             {"", false},
                             {"1.5", false},
                             {"99999999999999999999", false},
                             {"5 ", false}};
  if (low != "0") edges.push_back({std::to_string(std::stol(low) - 1), false});
  return edges;
}

std::vector<Edge> duration_edges(std::string low, std::string high) {
  const bool or_zero = low.ends_with(" or 0");
  if (or_zero) low.resize(low.size() - 5);
  const Duration below = *parse_duration(low) - 1ms;
  const Duration above = *parse_duration(high) + 1ms;
  return {{low, true},
          {high, true},
          {to_string(below), false},
          {to_string(above), false},
          {"0", or_zero},
          {"5", false},
          {"", false}};
}

// At each bound, and one step beyond it.
// req: webhook.settings.2, webhook.settings.3, webhook.retry.4, webhook.route.9
TEST(WebhookSettings, BoundsAreThoseOfTheDocument) {
  const SpecTable settings = table("Settings");
  for (std::size_t row = 0; row < settings.rows.size(); ++row) {
    const std::string name = settings.cell(row, "setting");
    const std::string kind = settings.cell(row, "kind");
    const std::string low = settings.cell(row, "at least");
    const std::string high = settings.cell(row, "at most");
    std::vector<Edge> edges;
    if (kind == "number") edges = number_edges(low, high);
    if (kind == "duration" || kind == "durations") edges = duration_edges(low, high);
    for (const Edge& edge : edges) {
      NamedTexts given = {{name, edge.value}};
      if (name == "burst") given.push_back({"rate", "1"});
      if (name == "batch_wait") given.push_back({"batch_max", "2"});
      if (name == "wait_base") given.push_back({"wait_max", "1d"});
      if (name == "wait_max") given.push_back({"wait_base", "100ms"});
      const Result<Policy> policy = with(given);
      EXPECT_EQ(policy.has_value(), edge.good)
          << name << " = " << edge.value << ": " << error_of(policy);
      if (policy) continue;
      EXPECT_TRUE(error_of(policy).starts_with(name + ": ")) << error_of(policy);
      EXPECT_TRUE(mentions(error_of(policy),
                           "it may be " + std::string(kWebhook.settings.rows[row].may_be)))
          << error_of(policy);
      EXPECT_TRUE(mentions(error_of(policy), high)) << error_of(policy);
    }
  }
}

// req: webhook.settings.2, webhook.settings.3
TEST(WebhookSettings, TextsAreBoundedToo) {
  const SpecTable settings = table("Settings");
  const auto text_of = [](const std::string& name, std::size_t size) {
    std::string_view start;
    if (name == "url") start = "http://a";
    if (name == "trust") start = "-----BEGIN CERTIFICATE-----";
    return std::string(start.substr(0, size))
        .append(size - std::min(size, start.size()), name == "url" ? '/' : 'x');
  };
  std::size_t texts = 0;
  for (std::size_t row = 0; row < settings.rows.size(); ++row) {
    if (settings.cell(row, "kind") != "text") continue;
    ++texts;
    std::string name = settings.cell(row, "setting");
    if (name.ends_with('*')) name.back() = 'x';
    const auto accepts = [&](std::size_t size) {
      NamedTexts given = {{name, text_of(name, size)}};
      if (name == "url") return configure(given).has_value();
      if (name == "signature_header") {
        given.push_back({"signature", "hmac-sha256-body"});
        given.push_back({"secret", "x"});
      }
      return with(given).has_value();
    };
    const std::size_t low = std::stoul(settings.cell(row, "at least"));
    const std::size_t high = std::stoul(settings.cell(row, "at most"));
    EXPECT_TRUE(accepts(low)) << name;
    EXPECT_TRUE(accepts(high)) << name;
    EXPECT_FALSE(accepts(high + 1)) << name;
    if (low > 0) {
      EXPECT_FALSE(accepts(low - 1)) << name;
    }
  }
  EXPECT_EQ(texts, 12U);
  EXPECT_FALSE(with({{"header_prefix", "a b"}}));
  EXPECT_FALSE(with({{"content_type", "text/plain\r\nx: y"}}));
  EXPECT_TRUE(with({{"headers." + std::string(kHeaderNameBytesMax, 'x'), "1"}}));
  EXPECT_FALSE(with({{"headers." + std::string(kHeaderNameBytesMax + 1, 'x'), "1"}}));
}

// req: webhook.settings.2, webhook.settings.3
TEST(WebhookSettings, ListsAreBoundedToo) {
  NamedTexts headers;
  for (std::size_t i = 0; i < kCustomHeadersMax; ++i)
    headers.push_back({"headers.x" + std::to_string(i), "1"});
  EXPECT_TRUE(with(headers));
  headers.push_back({"headers.y", "1"});
  EXPECT_FALSE(with(headers));
  EXPECT_TRUE(with({{"ladder", "1s,2s,3s,4s,5s,6s,7s,8s,9s,10s,11s,12s"}}));
  EXPECT_FALSE(with({{"ladder", "1s,2s,3s,4s,5s,6s,7s,8s,9s,10s,11s,12s,13s"}}));
  EXPECT_FALSE(with({{"ladder", "1s,2s,50ms"}}));
}

// req: webhook.settings.2, webhook.answer.4, webhook.gone.2, webhook.gone.3, webhook.order.1
TEST(WebhookSettings, WordsAreKnownOnes) {
  const SpecTable settings = table("Settings");
  for (std::size_t row = 0; row < settings.rows.size(); ++row) {
    const std::string name = settings.cell(row, "setting");
    const std::string kind = settings.cell(row, "kind");
    const std::size_t last = kind.rfind(", ");
    if (last == std::string::npos) continue;
    const std::string may_be = kind.substr(0, last) + " or " + kind.substr(last + 2);
    for (std::size_t from = 0; from < kind.size();) {
      const std::string word = kind.substr(from, kind.find(", ", from) - from);
      from += word.size() + 2;
      EXPECT_TRUE(with({{name, word}, {"secret", kSecret}})) << name << " = " << word;
      const std::string error = error_of(with({{name, word.substr(1)}, {"secret", kSecret}}));
      EXPECT_TRUE(mentions(error, "did you mean '" + word + "'?")) << error;
      EXPECT_TRUE(mentions(error, "it may be " + may_be)) << error;
    }
  }
  EXPECT_TRUE(with({{"when_disabled", "refuse"}})->refuse_when_disabled);
  EXPECT_FALSE(with({{"when_disabled", "hold"}})->refuse_when_disabled);
  for (std::uint8_t lane = 0; lane < 16; ++lane) {
    EXPECT_EQ(with({{"order", "none"}})->lane_kind(lane), LaneKind::kUnordered);
    EXPECT_EQ(with({{"order", "fifo"}})->lane_kind(lane), LaneKind::kFifo);
  }
}

// req: webhook.retry.4
TEST(WebhookSettings, RetrySettingsHoldForEveryClassButWhatWeHoldBack) {
  const Result<Policy> policy = with(
      {{"ladder", "1s, 2m"}, {"jitter_percent", "7"}, {"budget", "9h"}, {"attempts_max", "3"}});
  ASSERT_TRUE(policy);
  RetryRule held_back = default_policy().rule(FailureClass::kHeldBack);
  held_back.budget = 9h;
  EXPECT_EQ(policy->rule(FailureClass::kHeldBack), held_back);
  for (std::size_t i = 0; i < kFailureClasses; ++i) {
    if (static_cast<FailureClass>(i) == FailureClass::kHeldBack) continue;
    const RetryRule& rule = policy->retry.at(i);
    EXPECT_EQ(rule.attempts_max, 3);
    EXPECT_EQ(rule.steps, (std::array<Duration, RetryRule::kSteps>{1s, 2min}));
    EXPECT_EQ(rule.steps_used, 2);
    EXPECT_EQ(rule.jitter, Jitter::kAround);
    EXPECT_EQ(rule.jitter_percent, 7);
    EXPECT_EQ(rule.budget, 9h);
  }
}

// req: webhook.retry-after.3
TEST(WebhookSettings, RetryAfterMaxIsForThoseThatMayWish) {
  const Result<Policy> policy = with({{"retry_after_max", "10m"}});
  ASSERT_TRUE(policy);
  for (std::size_t i = 0; i < kFailureClasses; ++i) {
    const auto failure = static_cast<FailureClass>(i);
    const bool may_wish = failure == FailureClass::kServer || failure == FailureClass::kThrottled;
    EXPECT_EQ(policy->rule(failure).retry_after_max, may_wish ? Duration(10min) : Duration(0));
  }
}

// req: webhook.route.9
TEST(WebhookSettings, EachNumberLandsWhereItBelongs) {
  const Result<Policy> policy = with({{"time_out", "2s"},
                                      {"in_flight_max", "3"},
                                      {"rate", "50"},
                                      {"burst", "70"},
                                      {"strikes_max", "2"},
                                      {"wait_base", "7s"},
                                      {"wait_max", "8s"},
                                      {"disable_after", "0"}});
  ASSERT_TRUE(policy) << error_of(policy);
  EXPECT_EQ(policy->time_out(TimeOut::kAttempt), 2s);
  EXPECT_EQ(
      policy->route,
      (GateLimits{.in_use_max = 3, .spacing = 0s, .tokens_per_second = 50, .tokens_max = 70}));
  EXPECT_EQ(policy->health, (HealthRule{.strikes_max = 2,
                                        .wait_base = 7s,
                                        .wait_max = 8s,
                                        .disable_after = 0s,
                                        .revive_every = 8s}));
  EXPECT_EQ(with({{"rate", "50"}})->route.tokens_max, 50U)
      << "a burst is as large as the rate unless said otherwise";
}

// A batch is made of what is in memory.
TEST(WebhookSettings, ALargeBatchHasALargeWindow) {
  EXPECT_EQ(with({{"batch_max", "64"}})->window_max, default_policy().window_max);
  EXPECT_EQ(with({{"batch_max", "65"}})->window_max, 65U);
  EXPECT_EQ(with({{"batch_max", "512"}})->window_max, 512U);
}

// req: webhook.settings.1
TEST(WebhookSettings, AnUnknownOneIsRefusedWithTheNearest) {
  EXPECT_EQ(error_of(with({{"lader", "5s"}})), "unknown setting 'lader', did you mean 'ladder'?");
  EXPECT_EQ(error_of(with({{"in_flight", "5"}})),
            "unknown setting 'in_flight', did you mean 'in_flight_max'?");
  EXPECT_EQ(error_of(with({{"colour", "red"}})), "unknown setting 'colour'");
  EXPECT_EQ(error_of(with({{"", ""}})), "unknown setting ''");
}

// req: webhook.settings.4
TEST(WebhookSettings, TwiceIsRefused) {
  EXPECT_EQ(error_of(with({{"budget", "1h"}, {"budget", "2h"}})), "budget is given twice");
  EXPECT_EQ(error_of(with({{"headers.X-A", "1"}, {"headers.x-a", "2"}})),
            "headers.x-a is given twice");
  EXPECT_TRUE(with({{"headers.x-a", "1"}, {"headers.x-b", "1"}}));
}

// req: webhook.settings.5, webhook.address.1
TEST(WebhookSettings, TheAddressIsRequiredAndChecked) {
  EXPECT_TRUE(mentions(error_of(configure({})), "url is missing"));
  EXPECT_TRUE(mentions(error_of(configure({{"url", "ftp://example.com"}})),
                       "url: it must begin with http:// or https://"));
  EXPECT_TRUE(
      mentions(error_of(configure({{"url", "http://u:p@example.com"}})), "headers.authorization"));
}

// req: webhook.signature.4, webhook.signature.7
TEST(WebhookSettings, SecretsAreCheckedAndNeverRepeated) {
  EXPECT_TRUE(with({{"secret", kSecret}}));
  EXPECT_TRUE(with({{"secret", std::string(kSecret) + " " + kSecret}}));
  const std::string error = error_of(with({{"secret", "hunter2"}}));
  EXPECT_TRUE(error.starts_with("secret: ")) << error;
  EXPECT_FALSE(mentions(error, "hunter2")) << error;
  EXPECT_EQ(error_of(with({{"signature", "standard"}})), "signature: standard needs a secret");
  EXPECT_TRUE(with({{"signature", "none"}}));
  EXPECT_TRUE(with({{"signature", "none"}, {"secret", kSecret}}));
}

// req: webhook.signature.10
TEST(WebhookSettings, TheSecretOfABodySignatureIsAnyPrintableText) {
  const auto signing = [](const std::string& secret) {
    return with({{"secret", secret}, {"signature", "hmac-sha256-body"}});
  };
  EXPECT_TRUE(signing("x"));
  EXPECT_TRUE(signing(" hunter 2~"));
  EXPECT_TRUE(signing(kSecret));
  EXPECT_TRUE(signing(std::string(256, 'x')));
  for (const std::string& bad : {std::string(), std::string(257, 'x'), std::string("hunter2\n"),
                                 std::string("hunter2\x7f"), std::string("hunter2\xc3\xa4")}) {
    const std::string error = error_of(signing(bad));
    EXPECT_TRUE(error.starts_with("secret: ")) << error;
    EXPECT_TRUE(mentions(error, "1 to 256 printable bytes")) << error;
    EXPECT_FALSE(mentions(error, "hunter2")) << error;
  }
  EXPECT_EQ(error_of(with({{"signature", "hmac-sha256-body"}})),
            "signature: hmac-sha256-body needs a secret");
  EXPECT_FALSE(with({{"secret", "x"}, {"signature", "none"}}));
}

// req: webhook.signature.11
TEST(WebhookSettings, HeadersOfOursHaveNamesOfTheirOwn) {
  const NamedTexts body = {{"secret", "x"}, {"signature", "hmac-sha256-body"}};
  const auto and_body = [&](NamedTexts more) {
    more.insert(more.end(), body.begin(), body.end());
    return with(more);
  };
  EXPECT_TRUE(with({{"id_header", "X-Event"}}));
  EXPECT_TRUE(and_body({{"id_header", "webhook-id"}})) << "the standard's is not sent";
  EXPECT_TRUE(and_body({{"signature_header", "X-Sum"}, {"id_header", "X-Event"}}));
  EXPECT_EQ(error_of(with({{"signature_header", "X-Sum"}})),
            "signature_header: it needs signature = hmac-sha256-body");
  for (const char* name : {"webhook-id", "Webhook-Signature"})
    EXPECT_EQ(error_of(with({{"id_header", name}})),
              "id_header: this header has another meaning already");
  EXPECT_FALSE(and_body({{"id_header", "x-device-messaging-signature"}}));
  EXPECT_FALSE(and_body({{"id_header", "x-SUM"}, {"signature_header", "X-Sum"}}));
  for (const char* name : {"host", "Content-Type", "user-agent", "a b", ""}) {
    EXPECT_TRUE(error_of(with({{"id_header", name}})).starts_with("id_header: ")) << name;
    EXPECT_TRUE(error_of(and_body({{"signature_header", name}})).starts_with("signature_header: "))
        << name;
  }
  EXPECT_TRUE(mentions(error_of(with({{"id_header", "X-E"}, {"headers.x-e", "1"}})), "be set"));
  EXPECT_TRUE(mentions(error_of(and_body({{"headers.X-Device-Messaging-Signature", "1"}})),
                       "cannot be set"));
}

// req: webhook.park.1
TEST(WebhookSettings, OnlyWantOfReachParks) {
  const Result<Policy> parking = with({{"when_exhausted", "park"}});
  ASSERT_TRUE(parking);
  for (std::size_t i = 0; i < kFailureClasses; ++i) {
    const auto failure = static_cast<FailureClass>(i);
    const bool reach = failure == FailureClass::kConnect || failure == FailureClass::kTimeout ||
                       failure == FailureClass::kServer || failure == FailureClass::kThrottled ||
                       failure == FailureClass::kHeldBack;
    EXPECT_EQ(parking->rule(failure).parks, reach) << name_of(failure);
  }
}

// req: webhook.batch.17
TEST(WebhookSettings, ThoseThatOnlyFitTogetherAreCheckedTogether) {
  EXPECT_EQ(error_of(with({{"batch_wait", "10ms"}})), "batch_wait: it needs a batch_max");
  EXPECT_TRUE(with({{"batch_wait", "10ms"}, {"batch_max", "1"}}));
  EXPECT_EQ(*with({{"batch_bytes_max", "2048"}, {"batch_format", "cloudevents"}}),
            default_policy());
  EXPECT_EQ(error_of(with({{"burst", "5"}})), "burst: it needs a rate");
  EXPECT_EQ(error_of(with({{"wait_base", "10m"}, {"wait_max", "599s"}})),
            "wait_max: it must not be below wait_base");
  EXPECT_TRUE(with({{"wait_base", "10m"}, {"wait_max", "10m"}}));
}

// req: webhook.request.4
TEST(WebhookSettings, CustomHeadersCannotFrameOrSign) {
  for (const char* name :
       {"host", "Content-Length", "transfer-encoding", "connection", "te", "upgrade", "trailer",
        "expect", "keep-alive", "proxy-connection", "content-type", "webhook-id",
        "Webhook-Timestamp", "WEBHOOK-SIGNATURE"}) {
    EXPECT_TRUE(mentions(error_of(with({{std::string("headers.") + name, "x"}})), "cannot be set"))
        << name;
  }
  for (const char* name : {"", "a b", "a:b"}) {
    EXPECT_TRUE(mentions(error_of(with({{std::string("headers.") + name, "x"}})),
                         "not the name of a header"))
        << name;
  }
  EXPECT_TRUE(mentions(error_of(with({{"headers.x", "a\r\nhost: b"}})), "line breaks"));
  EXPECT_TRUE(with({{"headers.webhook-attempt", "x"}})) << "only the three names are taken";
  EXPECT_TRUE(with({{"headers.authorization", "Bearer x"}}));
  // The prefix counts wherever it stands in the list.
  EXPECT_FALSE(with({{"headers.acme-id", "x"}, {"header_prefix", "Acme-"}}));
  EXPECT_TRUE(with({{"headers.webhook-id", "x"}, {"header_prefix", "acme-"}}));
}

}  // namespace
}  // namespace postrider::webhook
