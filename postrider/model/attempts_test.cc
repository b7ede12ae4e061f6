#include "postrider/model/attempts.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "postrider/model/records/record_codecs_testing.h"

namespace postrider {
namespace {

constexpr Timestamp kNow{1'767'225'600'000};

AttemptNote failed(Timestamp at, Duration took, std::string reason = "HTTP 503") {
  return {at, took, AttemptEnd::kFailed, FailureClass::kServer, std::move(reason)};
}

// Attempts a minute apart that took a second and a half each, up to now.
AttemptList some(std::size_t count) {
  AttemptList list;
  for (std::size_t i = 0; i < count; ++i) {
    const Timestamp at =
        kNow - Duration(60'000) * static_cast<std::int64_t>(count - 1 - i) - 1500ms;
    list.notes.push_back(failed(at, 1500ms));
  }
  return list;
}

AttemptHistory read(const std::string& bytes, const PastBeside& beside) {
  const Result<AttemptHistory> past = decode_attempt_history(bytes, beside);
  EXPECT_TRUE(past.has_value());
  return past.value_or(AttemptHistory());
}

// req: engine.attempts.2
TEST(AttemptList, KeepsTheNewestAndCountsTheOthers) {
  AttemptList list;
  for (int i = 1; i <= 5; ++i) {
    list.begin(Timestamp(i * 1000), 3);
    EXPECT_TRUE(list.is_open());
    list.close({.at = {}, .took = 10ms, .end = AttemptEnd::kFailed});
    EXPECT_EQ(list.notes.size(), static_cast<std::size_t>(std::min(i, 3)));
    EXPECT_EQ(list.earlier, static_cast<std::uint32_t>(std::max(i - 3, 0)));
    EXPECT_EQ(list.total(), static_cast<std::uint64_t>(i));
  }
  EXPECT_EQ(list.notes.front().at, Timestamp(3000));
  EXPECT_EQ(list.notes.back().at, Timestamp(5000));
}

// req: engine.attempts.2
TEST(AttemptList, CutsLongReasons) {
  for (const std::size_t size :
       {kAttemptReasonBytesMax - 1, kAttemptReasonBytesMax, kAttemptReasonBytesMax + 1}) {
    AttemptList list;
    list.begin(kNow, 1);
    list.close(failed(kNow, 1ms, std::string(size, 'x')));
    EXPECT_EQ(list.notes[0].reason.size(), std::min(size, kAttemptReasonBytesMax));
    // The reason beside it is longer and is cut to the same.
    const std::string whole(size, 'x');
    EXPECT_LT(encode_attempt_history({{}, list}, {kNow, whole}).size(), 10U);
    EXPECT_EQ(read(encode_attempt_history({{}, list}, {kNow, whole}), {kNow, whole}).attempts,
              list);
  }
}

TEST(AttemptList, OneThatACrashForgotHasNoDuration) {
  AttemptList list;
  list.begin(kNow, 4);
  list.begin(kNow + 5s, 4);
  ASSERT_EQ(list.notes.size(), 2U);
  EXPECT_EQ(list.notes[0].end, AttemptEnd::kGivenUp);
  EXPECT_FALSE(list.notes[0].took.has_value());
  EXPECT_TRUE(list.is_open());
  EXPECT_EQ(read(encode_attempt_history({{}, list}, {kNow, ""}), {kNow, ""}).attempts, list);
}

// req: engine.attempts.3
TEST(AttemptHistory, CostsAFewBytesForEachAttempt) {
  const PastBeside beside{kNow, "HTTP 503"};
  EXPECT_EQ(encode_attempt_history({}, beside), "");
  const std::size_t one = encode_attempt_history({{}, some(1)}, beside).size();
  EXPECT_LE(one, 8U);
  const std::size_t many = encode_attempt_history({{}, some(16)}, beside).size();
  EXPECT_LE(many, one + 15 * 7);
  // Reasons that take turns are written once each.
  AttemptList turns = some(16);
  for (std::size_t i = 1; i < turns.notes.size(); i += 2)
    turns.notes[i].reason = "no answer in time";
  EXPECT_LE(encode_attempt_history({{}, turns}, beside).size(), many + 18);
}

// req: engine.store.14
TEST(AttemptHistory, IsWrittenAsEver) {
  AttemptList list = some(2);
  list.earlier = 3;
  list.notes[0].reason = "why";
  const std::string bytes = encode_attempt_history({{}, list}, {kNow, "HTTP 503"});
  EXPECT_EQ(bytes, std::string("\x02\x02\x03"
                               "\x00\xDD\x0B\x43\x01"
                               "\x87\x92\x07\xDD\x0B\x43\x00\x03why",
                               19));
}

TEST(AttemptHistory, WithoutAttemptsIsATrail) {
  Trail trail;
  add_step(trail, {.at = kNow, .state = 3, .on = On::kFailed, .reason = "HTTP 503"});
  EXPECT_EQ(encode_attempt_history({trail, {}}, {kNow, ""}), encode_trail(trail));
  EXPECT_EQ(read(encode_trail(trail), {kNow, ""}), (AttemptHistory{trail, {}}));
  EXPECT_TRUE(read("", {kNow, ""}).trail.empty());
}

AttemptHistory any_past() {
  AttemptHistory past;
  const auto reason = [] {
    return std::string(*rc::gen::inRange<std::size_t>(0, kAttemptReasonBytesMax + 1),
                       *rc::gen::element('a', 'b'));
  };
  Timestamp at = kNow - Duration(*rc::gen::inRange(0, 1'000'000'000));
  const auto count = *rc::gen::inRange<std::size_t>(0, kAttemptNotesMax + 1);
  if (count > 0) past.attempts.earlier = *rc::gen::inRange<std::uint32_t>(0, 1000);
  for (std::size_t i = 0; i < count; ++i) {
    AttemptNote note;
    note.at = at = at + Duration(*rc::gen::inRange(0, 100'000'000));
    note.end = static_cast<AttemptEnd>(*rc::gen::inRange(i + 1 == count ? 0 : 1, 4));
    if (note.end != AttemptEnd::kOpen && *rc::gen::inRange(0, 9) > 0)
      note.took = Duration(*rc::gen::inRange(0, 1'000'000));
    note.failure = static_cast<FailureClass>(*rc::gen::inRange<std::size_t>(0, kFailureClasses));
    if (note.end == AttemptEnd::kFailed) note.reason = reason();
    past.attempts.notes.push_back(std::move(note));
  }
  const int steps = *rc::gen::inRange(0, 4);
  for (int i = 0; i < steps; ++i)
    add_step(past.trail, {.at = kNow + Duration(i), .state = static_cast<StateIndex>(i)});
  return past;
}

// req: engine.record.10
RC_GTEST_PROP(AttemptHistory, IsReadAsItWasWritten, ()) {
  const AttemptHistory want = any_past();
  const std::string said(*rc::gen::inRange<std::size_t>(0, 100), 'a');
  const PastBeside beside{kNow, said};
  const Result<AttemptHistory> got =
      decode_attempt_history(encode_attempt_history(want, beside), beside);
  RC_ASSERT(got.has_value());
  RC_ASSERT(*got == want);
}

// req: engine.quarantine.2
RC_GTEST_PROP(AttemptHistory, OfAnyBytesIsRefusedOrAValue, ()) {
  const RecordCodec& codec = record_codec("Past");
  std::string bytes = encode_attempt_history(any_past(), {kNow, "a"});
  const int changes = *rc::gen::inRange(1, 5);
  for (int i = 0; i < changes && !bytes.empty(); ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
    bytes[at] = *rc::gen::element<char>('\0', '\x01', '\x02', '\x7F', '\x80', '\xFF');
  }
  bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size() + 1));
  const std::optional<std::string> once = codec.again(bytes);
  if (once) RC_ASSERT(codec.again(*once) == once);
}

// req: engine.attempts.2
TEST(AttemptHistory, WithMoreAttemptsThanThereMayBeIsRefused) {
  for (const std::size_t count : {kAttemptNotesMax, kAttemptNotesMax + 1}) {
    const std::string bytes = encode_attempt_history({{}, some(count)}, {kNow, "HTTP 503"});
    EXPECT_EQ(decode_attempt_history(bytes, {kNow, "HTTP 503"}).has_value(),
              count <= kAttemptNotesMax);
  }
}

}  // namespace
}  // namespace postrider
