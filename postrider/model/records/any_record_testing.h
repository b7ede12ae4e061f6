// Any values of what records hold, for properties.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <rapidcheck.h>

#include "postrider/model/records/record_codecs_testing.h"
#include "postrider/model/records/records.h"

namespace postrider {

template <class T>
T any() {
  return *rc::gen::arbitrary<T>();
}
template <class Enum>
inline Enum any_enum(std::size_t count) {
  return static_cast<Enum>(*rc::gen::inRange<std::size_t>(0, count));
}
inline Timestamp any_time() { return Timestamp(any<std::int64_t>()); }
inline Duration any_duration() { return Duration(any<std::int64_t>()); }
inline MessageId any_record_id() { return {any<std::uint64_t>(), any<std::uint64_t>()}; }
inline std::string any_text() { return any<std::string>(); }
inline NamedTexts any_texts() {
  NamedTexts texts(*rc::gen::inRange<std::size_t>(0, 4));
  for (NamedText& text : texts) text = {any_text(), any_text()};
  return texts;
}
// Unset half of the time, because unset fields are encoded in another way.
inline Timestamp maybe_time() { return any<bool>() ? any_time() : Timestamp(); }
inline MessageId maybe_id() { return any<bool>() ? any_record_id() : MessageId(); }

// Some are worth packing.
inline std::string any_body() {
  if (any<bool>()) return any_text();
  return R"({"commandType":"READ_CREDIT","priority":0,"pluginId":"lora","correlationId":")" +
         any_text() + R"(","device":{"type":"ELECTRICITY_METER","externalReference":"470"}})";
}

inline Message any_message() {
  Message fields;
  fields.id = any_record_id();
  fields.accepted = any_time();
  fields.not_before = maybe_time();
  fields.expires = maybe_time();
  fields.origin = maybe_id();
  fields.method = any<std::uint8_t>();
  for (GateName& gate : fields.gates) gate = any<bool>() ? any<std::uint64_t>() : 0;
  fields.lasting = any<bool>() ? any<std::uint8_t>() & 7 : std::uint8_t{0};
  fields.ordered = fields.lasting != 0 && any<bool>();
  const std::string key = any<bool>() ? any_text().substr(0, kLaneKeyMax) : std::string();
  return encode_message(fields, any_text(), any_body(), any<bool>() ? &kTestDictionary : nullptr,
                        key);
}

inline State any_state() {
  State state;
  state.state = any<std::uint8_t>();
  state.method = any<std::uint8_t>();
  state.attempts = any<std::uint16_t>();
  state.since = any_time();
  state.due = any_time();
  state.first_attempt = any_time();
  state.held_before = any_duration();
  state.failure = any_enum<FailureClass>(kFailureClasses);
  state.held_back = any<std::uint16_t>();
  state.certainty = any_enum<Certainty>(3);
  state.cancel_wanted = any<bool>();
  state.lost = any<bool>();
  state.probes_failed = any<bool>() ? any<std::uint16_t>() : std::uint16_t{0};
  return state;
}

inline Intent any_intent() {
  if (any<bool>()) return {};
  return {any_time(), any_time(), any<std::uint64_t>(), any<bool>()};
}

inline NameEntry any_name() {
  NameEntry entry{any_time(), {}};
  entry.holders.resize(*rc::gen::inRange<std::size_t>(0, 4));
  for (NameEntry::Holder& holder : entry.holders) holder = {any_record_id(), any<std::uint16_t>()};
  return entry;
}

inline PendingNews any_half() {
  PendingNews entry;
  entry.news.resize(*rc::gen::inRange<std::size_t>(0, 4));
  for (PendingNews::News& news : entry.news) news = {any_time(), any_duration(), any_text()};
  return entry;
}

inline ArrivalRecord any_arrival() {
  return {any_time(), any_text(), {any_text(), any_text(), any_text()}, any_body()};
}

inline NestedRecord any_nested() {
  return {any_record_id(),      any_text(), any<std::uint8_t>(),
          any<std::uint16_t>(), any_text(), any_body()};
}

inline CardRecord any_card() { return {any_time(), maybe_time(), any_text()}; }

inline CensusRecord any_census() {
  CensusRecord census{any_text(), {}};
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
    census.states.emplace_back(*rc::gen::inRange<StateIndex>(0, kStatesMax), any<std::uint64_t>());
  return census;
}

inline std::vector<CensusOf> any_census_page() {
  std::vector<CensusOf> page(*rc::gen::inRange<std::size_t>(0, 4));
  for (CensusOf& one : page) one = {DestinationId(any<std::uint64_t>()), any_census()};
  return page;
}

inline GroupRecord any_group() {
  return {any<std::uint32_t>(), any_time(), any_time(), any_record_id(), any_text()};
}

inline AuditRecord any_audit() {
  return {any_time(), any_text(), any_text(), any_text(), any_text(), any_text()};
}

inline Hold any_hold() {
  return {{any_text(), any_text(), any_text(), any_text(), any_text()}, any_text(), any_time()};
}

inline Job any_job() {
  Job job;
  job.id = JobId(any<std::uint64_t>());
  job.order.action = any_enum<JobAction>(kJobActions);
  job.order.filter.destination = any_text();
  job.order.filter.destination_prefix = any_text();
  if (any<bool>()) job.order.filter.phase = any_enum<Phase>(kPhases);
  if (any<bool>()) job.order.filter.cause = any_enum<FailureClass>(kFailureClasses);
  job.order.filter.since = any_time();
  job.order.filter.until = any_time();
  job.order.filter.reason_prefix = any_text();
  job.order.rate = any<std::uint32_t>();
  job.order.even_if_it_ran = any<bool>();
  job.order.reason = any_text();
  job.order.every = Duration(any<std::uint32_t>());
  job.state = any_enum<JobState>(kJobStates);
  job.actor = any_text();
  for (Timestamp* time : {&job.created, &job.finished, &job.round_at, &job.next_at})
    *time = any_time();
  for (std::uint64_t* count :
       {&job.expected, &job.looked, &job.done, &job.refused, &job.horizon, &job.rounds})
    *count = any<std::uint32_t>();
  job.cursor = any_text();
  job.refusal = any_text();
  return job;
}

inline Trail any_trail() {
  Trail trail(*rc::gen::inRange<std::size_t>(0, 4));
  for (TrailStep& step : trail) {
    step.at = any_time();
    step.state = any<StateIndex>();
    step.on = any_enum<On>(kSignals);
    step.times = any<std::uint16_t>();
    step.reason = any_text();
  }
  return trail;
}

inline DestinationConfig any_config() {
  return {
      .name = any_text(), .profile = any_text(), .settings = any_texts(), .removed = any<bool>()};
}

inline Route any_route() {
  Route route;
  route.health = any_enum<Health>(kHealths);
  route.strikes = any<std::uint16_t>();
  route.waits = any<std::uint16_t>();
  for (Timestamp* time :
       {&route.closed_until, &route.failing_since, &route.health_since, &route.seen_at,
        &route.held_since, &route.revive_at, &route.delivered_at, &route.sweep_until,
        &route.latest_until}) {
    *time = any_time();
  }
  route.held = any_duration();
  route.reason = any_text();
  route.interval = std::max(any_duration(), Duration(0));
  route.position = any<std::uint64_t>();
  route.claims = any<std::uint32_t>();
  route.members_max = any<std::uint16_t>();
  for (int i = any<std::uint8_t>() % 4; i > 0; --i) route.refused.push_back(any_record_id());
  if (any<bool>()) route.batch.leader = any_record_id();
  for (int i = any<std::uint8_t>() % 4; i > 0 && route.batch.is_open(); --i)
    route.batch.followers.push_back(any_record_id());
  return route;
}

inline Owed any_owed() {
  Owed owed;
  for (MessageId& head : owed.heads) head = maybe_id();
  return owed;
}

inline BucketInfo any_bucket() {
  return {any<std::uint32_t>(), any_time(), any<std::uint64_t>(), any<std::uint64_t>()};
}

inline Meta any_meta() {
  Meta meta;
  Counters& c = meta.counters;
  for (std::uint64_t* counter :
       {&c.accepted, &c.delivered, &c.dead, &c.expired, &c.cancelled, &c.indeterminate, &c.redriven,
        &c.dropped, &c.quarantined, &c.removed_ends, &c.removed_dead, &c.removed_ledger,
        &c.removed_names, &c.removed_pending_news, &c.removed_arrivals}) {
    *counter = any<std::uint64_t>();
  }
  meta.clock_floor = any_time();
  meta.wall.bias = any_duration();
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i)
    meta.wall.leaps.push_back({any_time(), any_time(), any_duration()});
  if (any<bool>()) meta.wall.doubt = {Timestamp(7), {}, any_duration()};
  for (BucketInfo& bucket : meta.running) bucket = any_bucket();
  meta.counted = any<bool>();
  for (std::uint8_t& byte : meta.id_key) byte = any<std::uint8_t>();
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i)
    meta.cards[any_text()] = *rc::gen::inRange<std::uint64_t>(1, UINT64_MAX);
  return meta;
}

inline BucketList any_buckets() {
  BucketList buckets(*rc::gen::inRange<std::size_t>(0, 5));
  for (BucketInfo& bucket : buckets) bucket = any_bucket();
  return buckets;
}

inline LedgerEntry any_ledger() {
  LedgerEntry entry;
  for (std::uint8_t& byte : entry.fingerprint) byte = any<std::uint8_t>();
  entry.at = any_time();
  entry.answer = any_text();
  return entry;
}

inline LogEntry any_log_entry() {
  LogEntry entry;
  entry.kind = any_enum<LogEntry::Kind>(LogEntry::kKinds);
  entry.at = any_time();
  entry.id = any_record_id();
  entry.phase = any_enum<Phase>(kPhases);
  entry.cause = any_enum<FailureClass>(kFailureClasses);
  entry.attempts = any<std::uint16_t>();
  entry.accepted = any_time();
  entry.reason = any_text();
  return entry;
}

inline std::vector<LogEntry> any_log() {
  std::vector<LogEntry> entries(*rc::gen::inRange<std::size_t>(0, 4));
  for (LogEntry& entry : entries) entry = any_log_entry();
  return entries;
}

inline EndRecord any_end() {
  EndRecord end;
  end.id = any_record_id();
  end.phase = any_enum<Phase>(kPhases);
  end.cause = any_enum<FailureClass>(kFailureClasses);
  end.attempts = any<std::uint16_t>();
  end.accepted = any_time();
  end.at = any_time();
  end.content_bucket = any<std::uint32_t>();
  end.origin = maybe_id();
  end.reason = any_text();
  if (any<bool>()) end.notes = any_text();
  if (any<bool>()) end.past = any_text();
  return end;
}

inline DeadLetter any_letter() {
  DeadLetter letter;
  letter.id = any_record_id();
  letter.phase = any_enum<Phase>(kPhases);
  letter.at = any_time();
  letter.cause = any_enum<FailureClass>(kFailureClasses);
  letter.attempts = any<std::uint16_t>();
  letter.reason = any_text();
  return letter;
}

inline Answer any_answer() {
  Answer answer;
  answer.code = any_enum<AnswerCode>(kAnswerCodes);
  answer.id = any_record_id();
  answer.detail = any_text();
  if (any<bool>()) answer.reply = any_text();
  return answer;
}

}  // namespace postrider
