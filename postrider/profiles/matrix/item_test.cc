#include "postrider/profiles/matrix/item.h"

#include <gtest/gtest.h>

#include "postrider/profiles/matrix/case_testing.h"

namespace postrider::matrix {
namespace {

std::string complaint_of(std::string_view body, const NamedTexts& attributes) {
  const auto item = read(body, encode_texts(attributes));
  return item ? std::string() : item.error().detail;
}

struct Taken {
  bool accepted = false;
  std::string detail;
  Admission admission;
};
Taken admitted(std::uint8_t lane, std::string_view body, const NamedTexts& attributes = {},
               std::string_view destination = "matrix:them.example") {
  const NamedTexts settings = {{"server_name", "domain"}, {"key", "k"}};
  const Policy policy = *kMatrix.settings.configure(settings);
  const std::string texts = encode_texts(attributes);
  const auto parsed = kMatrix.door.read(body, texts);
  if (!parsed) return {.accepted = false, .detail = parsed.error().detail, .admission = {}};
  const postrider::Offer offer{{destination, settings}, policy, lane, texts, body,
                               {nullptr, parsed->get()}};
  auto admission = kMatrix.door.admit(offer);
  if (!admission) return {.accepted = false, .detail = admission.error().detail, .admission = {}};
  return {.accepted = true, .detail = {}, .admission = std::move(*admission)};
}

// req: matrix.q.1
TEST(MatrixItems, GoIntoTheLaneOfTheirKind) {
  EXPECT_TRUE(admitted(kEventLane, event_in("!r:domain", "a")).accepted);
  EXPECT_TRUE(admitted(kToDeviceLane, to_device_unit("a")).accepted);
  EXPECT_TRUE(admitted(kPresenceLane, presence_unit("@u:domain")).accepted);
  EXPECT_TRUE(admitted(kReceiptLane, receipt_unit("!r:domain", "@u:domain")).accepted);
  EXPECT_TRUE(admitted(kTypingLane, typing_unit("!r:domain", "@u:domain")).accepted);
  EXPECT_TRUE(admitted(kOtherLane, R"({"content":{},"edu_type":"org.new"})").accepted);
  const Taken wrong = admitted(kEventLane, to_device_unit("a"));
  EXPECT_EQ(wrong.detail, "such an item belongs into lane 2 (to-device)");
  EXPECT_FALSE(admitted(kPresenceLane, event_in("!r:domain", "a")).accepted);
  EXPECT_FALSE(admitted(7, event_in("!r:domain", "a")).accepted);
}

// req: matrix.cu.7
TEST(MatrixItems, HaveTheKeyOfTheirLane) {
  EXPECT_EQ(admitted(kEventLane, event_in("!r:domain", "a")).admission.key, "!r:domain");
  EXPECT_EQ(admitted(kEventLane, event_in("!r:domain", "a"), {{"key", "!k"}}).admission.key, "!k");
  EXPECT_EQ(
      admitted(kPresenceLane, presence_unit("@u:domain"), {{"key", "@u:domain"}}).admission.key,
      "@u:domain");
  EXPECT_EQ(admitted(kToDeviceLane, to_device_unit("a"), {{"key", "x"}}).admission.key, "");
}

TEST(MatrixItems, ThatAreWrongAreRefused) {
  EXPECT_NE(complaint_of("[]", {}), "");
  EXPECT_NE(complaint_of("{\"a\":1", {}), "");
  EXPECT_NE(complaint_of("{}", {}), "");
  EXPECT_NE(complaint_of(R"({"edu_type":"m.typing"})", {}), "");
  EXPECT_NE(complaint_of(event_in("!r:domain", "a"), {{"position", "0"}}), "");
  EXPECT_NE(complaint_of(event_in("!r:domain", "a"), {{"position", "-1"}}), "");
  EXPECT_NE(complaint_of(event_in("!r:domain", "a"), {{"kee", "x"}}).find("key"),
            std::string::npos);
  EXPECT_NE(complaint_of(event_in("!r:domain", "a"), {{"key", std::string(256, 'k')}}), "");
  EXPECT_FALSE(admitted(kEventLane, event_in("!r:domain", "a"), {}, "them.example").accepted);
  EXPECT_FALSE(admitted(kEventLane, event_in("!r:domain", "a"), {}, "matrix:a b").accepted);
  EXPECT_FALSE(admitted(kEventLane, event_in("!r:domain", std::string(66'000, 'x'))).accepted);
}

// req: matrix.egress.8
TEST(MatrixItems, WithAFaultAreTakenWhateverTheyAre) {
  EXPECT_TRUE(admitted(kEventLane, "[1", {{"fault", "it is no object"}}).accepted);
  EXPECT_EQ(admitted(kPresenceLane, "[1", {{"fault", "f"}, {"key", "k"}}).admission.key, "");
}

// req: matrix.egress.4
TEST(MatrixItems, KnowWhetherTheyAreCanonical) {
  const auto canonical_of = [](std::string_view body) {
    const auto item = read(body, {});
    EXPECT_TRUE(item);
    return item && (*item)->canonical;
  };
  EXPECT_TRUE(canonical_of(event_in("!r:domain", "a")));
  std::string blank = event_in("!r:domain", "a");
  blank.insert(1, " ");
  EXPECT_FALSE(canonical_of(blank));
}

}  // namespace
}  // namespace postrider::matrix
