#include "postrider/model/records/records.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "postrider/model/records/any_record_testing.h"
#include "postrider/model/records/record_codecs_testing.h"

namespace postrider {
namespace {

// req: engine.record.10
RC_GTEST_PROP(RecordRoundTrip, Message, ()) {
  const Message want = any_message();
  const Result<Message> got = decode_message(want.record, kTestDictionaries);
  RC_ASSERT(got.has_value());
  RC_ASSERT(got->id == want.id);
  RC_ASSERT(got->accepted == want.accepted);
  RC_ASSERT(got->not_before == want.not_before);
  RC_ASSERT(got->expires == want.expires);
  RC_ASSERT(got->origin == want.origin);
  RC_ASSERT(got->method == want.method);
  RC_ASSERT(got->gates == want.gates);
  RC_ASSERT(got->lasting == want.lasting);
  RC_ASSERT(got->ordered == want.ordered);
  RC_ASSERT(got->attributes == want.attributes);
  RC_ASSERT(got->body == want.body);
  RC_ASSERT(got->dictionary == want.dictionary);
  const Result<Message> head = decode_message(want.record);
  RC_ASSERT(head->id == want.id);
  RC_ASSERT(head->is_closed() == (want.dictionary != 0));
  RC_ASSERT(got->record.view().data() == want.record.view().data());
}

// req: engine.record.10
RC_GTEST_PROP(RecordRoundTrip, State, ()) {
  const State want = any_state();
  const std::string reason = any_text();
  const Intent intent = any_intent();
  const std::string notes = any_text();
  const std::string trail = any_text();
  const Result<StoredState> got = decode_state(encode_state(want, reason, intent, notes, trail));
  RC_ASSERT(got.has_value());
  RC_ASSERT(got->state == want);
  RC_ASSERT(got->intent == intent);
  RC_ASSERT(got->notes == notes);
  RC_ASSERT(got->past == trail);
  RC_ASSERT(got->reason == reason);
}

// req: engine.record.10
RC_GTEST_PROP(RecordRoundTrip, Config, ()) {
  const DestinationConfig want = any_config();
  const Result<DestinationConfig> got = decode_config(encode_config(want));
  RC_ASSERT(got.has_value());
  RC_ASSERT(got->name == want.name);
  RC_ASSERT(got->profile == want.profile);
  RC_ASSERT(got->settings == want.settings);
  RC_ASSERT(got->removed == want.removed);
}

// req: engine.record.10
RC_GTEST_PROP(RecordRoundTrip, ValuesWithEquality, ()) {
  const Route route = any_route();
  const Owed owed = any_owed();
  const Meta meta = any_meta();
  const BucketList buckets = any_buckets();
  const EndRecord end = any_end();
  RC_ASSERT(decode_route(encode_route(route)).value() == route);
  RC_ASSERT(decode_owed(encode_owed(owed)).value() == owed);
  RC_ASSERT(decode_meta(encode_meta(meta)).value() == meta);
  RC_ASSERT(decode_buckets(encode_buckets(buckets)).value() == buckets);
  RC_ASSERT(decode_end(encode_end(end)).value() == end);
  const NameEntry name = any_name();
  const PendingNews half = any_half();
  const ArrivalRecord arrival = any_arrival();
  const NestedRecord nested = any_nested();
  const CardRecord card = any_card();
  RC_ASSERT(decode_card(encode_card(card)).value() == card);
  const CensusRecord census = any_census();
  RC_ASSERT(decode_census(encode_census(census)).value() == census);
  const auto page = any_census_page();
  RC_ASSERT(decode_census_page(encode_census_page(page)).value() == page);
  RC_ASSERT(decode_name(encode_name(name)).value() == name);
  RC_ASSERT(decode_pending_news(encode_pending_news(half)).value() == half);
  RC_ASSERT(decode_arrival(encode_arrival(arrival)).value() == arrival);
  RC_ASSERT(decode_arrival(encode_arrival(arrival, &kTestDictionary), kTestDictionaries).value() ==
            arrival);
  RC_ASSERT(decode_nested(encode_nested(nested)).value() == nested);
  const NestedRecord packed =
      decode_nested(encode_nested(nested, &kTestDictionary), kTestDictionaries).value();
  RC_ASSERT(packed.body == nested.body);
  RC_ASSERT(packed.dictionary == 0 || packed.dictionary == kTestDictionary.number());
}

// req: engine.record.10
RC_GTEST_PROP(RecordRoundTrip, GroupsJobsHoldsAndAudit, ()) {
  const GroupRecord group = any_group();
  const Job job = any_job();
  const Hold hold = any_hold();
  const AuditRecord audit = any_audit();
  RC_ASSERT(decode_group(encode_group(group)).value() == group);
  RC_ASSERT(decode_job(encode_job(job)).value() == job);
  RC_ASSERT(decode_hold(encode_hold(hold)).value() == hold);
  RC_ASSERT(decode_audit(encode_audit(audit)).value() == audit);
  RC_ASSERT(parse_job_id(to_string(job.id)) == job.id);
  const GroupName name{any<std::uint32_t>(), DestinationId(any<std::uint64_t>()),
                       any_enum<Phase>(kPhases), any_enum<FailureClass>(kFailureClasses)};
  RC_ASSERT(parse_group_key(group_key(name)) == name);
}

// req: engine.record.10
RC_GTEST_PROP(RecordRoundTrip, LedgerAndSession, ()) {
  const LedgerEntry entry = any_ledger();
  const Result<LedgerEntry> got = decode_ledger(encode_ledger(entry));
  RC_ASSERT(got.has_value());
  RC_ASSERT(got->fingerprint == entry.fingerprint);
  RC_ASSERT(got->at == entry.at);
  RC_ASSERT(got->answer == entry.answer);

  const SessionEntry session{any<std::uint64_t>(), any_time()};
  const Result<SessionEntry> back = decode_session(encode_session(session));
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->highest == session.highest);
  RC_ASSERT(back->at == session.at);
}

// req: engine.record.10
RC_GTEST_PROP(RecordRoundTrip, Log, ()) {
  const std::vector<LogEntry> want = any_log();
  const Result<std::vector<LogEntry>> got = decode_log(encode_log(want), 7, Sequence(9));
  RC_ASSERT(got.has_value());
  RC_ASSERT(got->size() == want.size());
  for (std::uint32_t i = 0; i < want.size(); ++i) {
    RC_ASSERT((*got)[i].position == (LogPosition{7, 9, i}));
    RC_ASSERT((*got)[i].kind == want[i].kind);
    RC_ASSERT((*got)[i].at == want[i].at);
    RC_ASSERT((*got)[i].id == want[i].id);
    RC_ASSERT((*got)[i].phase == want[i].phase);
    RC_ASSERT((*got)[i].cause == want[i].cause);
    RC_ASSERT((*got)[i].attempts == want[i].attempts);
    RC_ASSERT((*got)[i].accepted == want[i].accepted);
    RC_ASSERT((*got)[i].reason == want[i].reason);
  }
}

// req: engine.record.10
RC_GTEST_PROP(RecordRoundTrip, Dead, (const std::string& message)) {
  const DeadLetter want = any_letter();
  const std::string record = encode_dead(want, message);
  const Result<DeadRecord> got = decode_dead(record);
  RC_ASSERT(got.has_value());
  RC_ASSERT(got->letter.id == want.id);
  RC_ASSERT(got->letter.phase == want.phase);
  RC_ASSERT(got->letter.at == want.at);
  RC_ASSERT(got->letter.cause == want.cause);
  RC_ASSERT(got->letter.attempts == want.attempts);
  RC_ASSERT(got->letter.reason == want.reason);
  RC_ASSERT(got->message == message);
}

// req: engine.record.10
RC_GTEST_PROP(RecordRoundTrip, AnswerAndTexts, ()) {
  const Answer want = any_answer();
  const Result<Answer> got = decode_answer(encode_answer(want));
  RC_ASSERT(got.has_value());
  RC_ASSERT(got->code == want.code);
  RC_ASSERT(got->id == want.id);
  RC_ASSERT(got->detail == want.detail);
  RC_ASSERT(got->reply == want.reply);
  const NamedTexts texts = any_texts();
  RC_ASSERT(decode_texts(encode_texts(texts)).value() == texts);
}

struct Sample {
  std::string_view name;
  std::string (*make)();
};

class RecordTest : public ::testing::TestWithParam<Sample> {
 protected:
  const RecordCodec& codec() const { return record_codec(GetParam().name); }
};

// req: engine.record.8, engine.quarantine.2
TEST_P(RecordTest, IsRefusedWhenABitIsFlippedOrItIsCutOrContinued) {
  rc::detail::checkGTest([this] {
    const std::string record = GetParam().make();
    RC_ASSERT(codec().again(record) == record);
    if (!codec().has_checksum) return;
    for (std::size_t bit = 0; bit < record.size() * 8; ++bit) {
      std::string bad = record;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
      RC_ASSERT(!codec().again(bad).has_value());
    }
    for (std::size_t size = 0; size < record.size(); ++size) {
      RC_ASSERT(!codec().again(std::string_view(record).substr(0, size)).has_value());
    }
    RC_ASSERT(!codec().again(record + '\0').has_value());
  });
}

// What a newer program wrote is not guessed at. req: engine.store.14
TEST_P(RecordTest, OfANewerVersionIsRefused) {
  if (!codec().has_checksum) return;  // it is a part of another record
  rc::detail::checkGTest([this] {
    std::string record = GetParam().make();
    RC_ASSERT(record[0] == '\1');
    record.resize(record.size() - 4);
    record[0] = '\2';
    seal_record(record);
    RC_ASSERT(!codec().again(record).has_value());
  });
}

// A checksum guards against the disk, not against a faulty writer: whatever decodes must be a
// proper value. req: engine.quarantine.2
TEST_P(RecordTest, WithAnyBytesBehindAGoodChecksumIsRefusedOrAValue) {
  rc::detail::checkGTest([this] {
    std::string record = GetParam().make();
    const std::size_t tail = codec().has_checksum ? 4 : 0;
    record.resize(record.size() - tail);
    const auto changes = *rc::gen::inRange(1, 4);
    for (int i = 0; i < changes && !record.empty(); ++i) {
      const auto at = *rc::gen::inRange<std::size_t>(0, record.size());
      record[at] = *rc::gen::element<char>('\0', '\x01', '\x08', '\x7F', '\x80', '\xFF');
    }
    if (*rc::gen::inRange(0, 3) == 0)
      record.resize(*rc::gen::inRange<std::size_t>(0, record.size() + 1));
    if (codec().has_checksum) seal_record(record);
    const std::optional<std::string> once = codec().again(record);
    if (once) RC_ASSERT(codec().again(*once) == once);
  });
}

INSTANTIATE_TEST_SUITE_P(
    All, RecordTest,
    ::testing::Values(
        Sample{"Message", [] { return std::string(any_message().record.view()); }},
        Sample{"State",
               [] { return encode_state(any_state(), any_text(), any_intent(), any_text()); }},
        Sample{"Name", [] { return encode_name(any_name()); }},
        Sample{"Half", [] { return encode_pending_news(any_half()); }},
        Sample{"Arrival", [] { return encode_arrival(any_arrival(), &kTestDictionary); }},
        Sample{"Nested", [] { return encode_nested(any_nested(), &kTestDictionary); }},
        Sample{"Card", [] { return encode_card(any_card()); }},
        Sample{"Census", [] { return encode_census(any_census()); }},
        Sample{"CensusPage", [] { return encode_census_page(any_census_page()); }},
        Sample{"Group", [] { return encode_group(any_group()); }},
        Sample{"Job", [] { return encode_job(any_job()); }},
        Sample{"Hold", [] { return encode_hold(any_hold()); }},
        Sample{
            "FanoutGroup",
            [] {
              return encode_fanout_group(
                  {any_text(), any<bool>(), {{any_text(), {any_text(), any_text()}}}, any_time()});
            }},
        Sample{"BodyCount",
               [] {
                 return encode_body_count({7, 8});
               }},
        Sample{"Audit", [] { return encode_audit(any_audit()); }},
        Sample{"Config", [] { return encode_config(any_config()); }},
        Sample{"Route", [] { return encode_route(any_route()); }},
        Sample{"Owed", [] { return encode_owed(any_owed()); }},
        Sample{"Meta", [] { return encode_meta(any_meta()); }},
        Sample{"Buckets", [] { return encode_buckets(any_buckets()); }},
        Sample{"Ledger", [] { return encode_ledger(any_ledger()); }},
        Sample{"Session",
               [] {
                 return encode_session({any<std::uint64_t>(), any_time()});
               }},
        Sample{"Log", [] { return encode_log(any_log()); }},
        Sample{"End", [] { return encode_end(any_end()); }},
        Sample{"Dead", [] { return encode_dead(any_letter(), any_text()); }},
        Sample{"Answer", [] { return encode_answer(any_answer()); }},
        Sample{"Body", [] { return std::string(encode_body(any_body()).view()); }},
        Sample{"Fanout",
               [] {
                 return encode_fanout({FanoutId(any<std::uint64_t>()),
                                       {{any_text(), any_record_id()}},
                                       {any_text()}});
               }},
        Sample{"Trail", [] { return encode_trail(any_trail()); }},
        Sample{"Texts", [] { return encode_texts(any_texts()); }}),
    [](const auto& one) { return std::string(one.param.name); });

// One byte of a record that names one of a list. The places are those of docs/store-format.md.
struct ListedByte {
  std::string_view name;
  std::string record;
  std::size_t place;
  std::size_t count;
};

// req: engine.quarantine.2
TEST(Record, AnEnumeratorOutsideItsListIsRefused) {
  Owed owed;
  owed.heads[0] = {1, 2};
  const ListedByte bytes[] = {
      {"Route", encode_route({}), 1, kHealths},
      {"Owed", encode_owed(owed), 1, kLanes},
      {"Log", encode_log({LogEntry{}}), 2, LogEntry::kKinds},
      {"Log", encode_log({LogEntry{}}), 20, kPhases},
      {"Log", encode_log({LogEntry{}}), 21, kFailureClasses},
      {"End", encode_end({}), 18, kPhases},
      {"End", encode_end({}), 19, kFailureClasses},
      {"Dead", encode_dead({}, ""), 17, kPhases},
      {"Dead", encode_dead({}, ""), 26, kFailureClasses},
      {"Answer", encode_answer({}), 0, kAnswerCodes},
  };
  for (const ListedByte& byte : bytes) {
    const RecordCodec& codec = record_codec(byte.name);
    for (std::size_t value = 0; value < 256; ++value) {
      std::string record = byte.record;
      if (codec.has_checksum) record.resize(record.size() - 4);
      record[byte.place] = static_cast<char>(value);
      if (codec.has_checksum) seal_record(record);
      const std::optional<std::string> again = codec.again(record);
      // One answer says more than its code does.
      const bool readmits = byte.name == std::string_view("Answer") && value == 0x80;
      EXPECT_EQ(again.has_value(), value < byte.count || readmits)
          << byte.name << " " << byte.place << " " << value;
      if (again) {
        EXPECT_EQ(*again, record) << byte.name << " " << byte.place;
      }
    }
  }
}

// req: engine.quarantine.2
TEST(Record, AFailureOrCertaintyOutsideItsListIsRefused) {
  for (unsigned value = 0; value < 256; ++value) {
    std::string record = encode_state({}, "");
    record.resize(record.size() - 4);
    record[7] = static_cast<char>(value);
    seal_record(record);
    const auto state = decode_state(record);
    const bool known = (value & 31U) < kFailureClasses && value >> 6U <= 2;
    ASSERT_EQ(state.has_value(), known) << value;
    if (state) {
      EXPECT_EQ(encode_state(state->state, ""), record) << value;
    }
  }
}

TEST(Record, EachKindWithARetentionHasASpaceOfItsOwn) {
  std::set<char> spaces;
  for (std::size_t i = 0; i < kKept; ++i) spaces.insert(space_of(static_cast<Kept>(i)));
  EXPECT_EQ(spaces,
            (std::set<char>{keys::kLedger, keys::kLog, keys::kEnd, keys::kDead, keys::kName,
                            keys::kPendingNews, keys::kArrival, keys::kAudit, keys::kHistory}));
}

// The write budget counts bytes, so the usual records must stay as small as they are.
TEST(Record, TheUsualOnesAreSmall) {
  Message fields;
  fields.id = {1, 2};
  fields.accepted = Timestamp(1'700'000'000'000);
  EXPECT_EQ(encode_message(fields, "", std::string(512, 'x')).record.size(), 512U + 30U);
  EXPECT_LE(encode_state({}, "HTTP 503").size(), 32U);
  EXPECT_LE(encode_meta({}).size(), 120U);
  EXPECT_LE(encode_log({LogEntry{}}).size(), 32U);
}

TEST(Texts, AreFoundByName) {
  const NamedTexts texts = {{"a", "1"}, {"b", "2"}, {"a", "3"}};
  EXPECT_EQ(*find_text(texts, "a"), "1") << "the first";
  EXPECT_EQ(*find_text(texts, "b"), "2");
  EXPECT_EQ(find_text(texts, "c"), nullptr);
}

}  // namespace
}  // namespace postrider
