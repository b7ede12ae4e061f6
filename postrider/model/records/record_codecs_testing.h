// All decoders of the model in one list, for the tests and the fuzzers. Each takes bytes from
// outside, uses every field of what it decoded, and encodes it again.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/check.h"
#include "postrider/base/codec.h"
#include "postrider/base/packing.h"
#include "postrider/model/answer.h"
#include "postrider/model/attempts.h"
#include "postrider/model/attributes.h"
#include "postrider/model/audit.h"
#include "postrider/model/dead_groups.h"
#include "postrider/model/destination.h"
#include "postrider/model/fanout.h"
#include "postrider/model/holds.h"
#include "postrider/model/jobs.h"
#include "postrider/model/message.h"
#include "postrider/model/records/records.h"
#include "postrider/model/trail.h"

namespace postrider {

struct RecordCodec {
  std::string_view name;
  bool has_checksum;
  // The same value encoded again; nothing when the bytes are no such record.
  std::optional<std::string> (*again)(std::string_view bytes);
};

// A name is looked up with a check, so an enumerator from outside its list would abort here.
template <class... Enums>
void use_names(Enums... values) {
  std::size_t letters = 0;
  ((letters += name_of(values).size()), ...);
  if (letters == 0) check_failed("an enumerator has a name", __FILE__, __LINE__);
}

// Words for the records of tests.
inline constexpr auto kTestWords = std::to_array<std::string_view>(
    {R"({"commandType":")", R"(","priority":)", R"(,"pluginId":")", R"(","correlationId":")",
     R"(","device":{"type":"ELECTRICITY_METER","externalReference":")", R"("}})", "READ_CREDIT"});
inline constexpr Dictionary kTestDictionary(1, kTestWords);
static_assert(kTestDictionary.sound());
inline constexpr std::array<const Dictionary*, 1> kTestDictionaries = {&kTestDictionary};

inline std::optional<std::string> message_again(std::string_view bytes) {
  const Result<Message> message = decode_message(Blob::copy_of(bytes), kTestDictionaries);
  if (!message || message->is_closed()) return std::nullopt;
  const Message again = encode_message(*message, message->attributes, message->body,
                                       message->dictionary == 0 ? nullptr : &kTestDictionary,
                                       message->key());
  return std::string(again.record.view());
}

inline std::optional<std::string> state_again(std::string_view bytes) {
  const Result<StoredState> stored = decode_state(bytes);
  if (!stored) return std::nullopt;
  use_names(stored->state.failure, stored->state.certainty);
  return encode_state(stored->state, stored->reason, stored->intent, stored->notes, stored->past);
}

inline std::optional<std::string> route_again(std::string_view bytes) {
  const Result<Route> route = decode_route(bytes);
  if (!route) return std::nullopt;
  use_names(route->health);
  return encode_route(*route);
}

inline std::optional<std::string> log_again(std::string_view bytes) {
  const Result<std::vector<LogEntry>> entries = decode_log(bytes, 1, Sequence(1));
  if (!entries) return std::nullopt;
  for (const LogEntry& entry : *entries) {
    use_names(entry.phase, entry.cause);
    if (entry.kind > LogEntry::Kind::kGap) check_failed("kind of log entry", __FILE__, __LINE__);
  }
  return encode_log(*entries);
}

inline std::optional<std::string> end_again(std::string_view bytes) {
  const Result<EndRecord> end = decode_end(bytes);
  if (!end) return std::nullopt;
  use_names(end->phase, end->cause);
  return encode_end(*end);
}

inline std::optional<std::string> dead_again(std::string_view bytes) {
  const Result<DeadRecord> dead = decode_dead(bytes);
  if (!dead) return std::nullopt;
  use_names(dead->letter.phase, dead->letter.cause);
  return encode_dead(dead->letter, dead->message);
}

inline std::optional<std::string> answer_again(std::string_view bytes) {
  const Result<Answer> answer = decode_answer(bytes);
  if (!answer) return std::nullopt;
  use_names(answer->code);
  return encode_answer(*answer);
}

template <auto kDecode, auto kEncode>
std::optional<std::string> plain_again(std::string_view bytes) {
  const auto value = kDecode(bytes);
  if (!value) return std::nullopt;
  return kEncode(*value);
}

inline std::optional<std::string> job_again(std::string_view bytes) {
  const Result<Job> job = decode_job(bytes);
  if (!job) return std::nullopt;
  use_names(job->order.action, job->state);
  if (job->order.filter.phase) use_names(*job->order.filter.phase);
  if (job->order.filter.cause) use_names(*job->order.filter.cause);
  return encode_job(*job);
}

inline std::optional<std::string> body_again(std::string_view bytes) {
  const Result<std::string_view> body = decode_body(bytes);
  if (!body) return std::nullopt;
  if (body_in(Blob::copy_of(bytes)) != *body) check_failed("the same body", __FILE__, __LINE__);
  return std::string(encode_body(*body).view());
}

inline std::optional<std::string> trail_again(std::string_view bytes) {
  const Result<Trail> trail = decode_trail(bytes);
  if (!trail) return std::nullopt;
  for (const TrailStep& step : *trail) use_names(step.on);
  return encode_trail(*trail);
}

inline std::optional<std::string> packed_again(std::string_view bytes) {
  constexpr std::size_t kUnpackedMax = 1000;
  const std::optional<std::string> text = unpack(bytes, kTestDictionary, kUnpackedMax);
  if (!text) return std::nullopt;
  if (text->size() > kUnpackedMax) check_failed("within its limit", __FILE__, __LINE__);
  return pack(*text, kTestDictionary);
}

inline std::optional<std::string> arrival_again(std::string_view bytes) {
  const Result<ArrivalRecord> arrival = decode_arrival(bytes, kTestDictionaries);
  if (!arrival) return std::nullopt;
  return encode_arrival(*arrival, &kTestDictionary);
}

inline std::optional<std::string> nested_again(std::string_view bytes) {
  const Result<NestedRecord> nested = decode_nested(bytes, kTestDictionaries);
  if (!nested) return std::nullopt;
  return encode_nested(*nested, &kTestDictionary);
}

inline std::optional<std::string> past_again(std::string_view bytes) {
  const PastBeside beside{Timestamp(1'767'225'600'000), "HTTP 503"};
  const Result<AttemptHistory> past = decode_attempt_history(bytes, beside);
  if (!past) return std::nullopt;
  for (const AttemptNote& note : past->attempts.notes) use_names(note.end, note.failure);
  for (const TrailStep& step : past->trail) use_names(step.on);
  return encode_attempt_history(*past, beside);
}

inline constexpr std::array<RecordCodec, 32> kRecordCodecs = {{
    {"Message", true, &message_again},
    {"State", true, &state_again},
    {"Config", true, &plain_again<&decode_config, &encode_config>},
    {"Route", true, &route_again},
    {"Owed", true, &plain_again<&decode_owed, &encode_owed>},
    {"Meta", true, &plain_again<&decode_meta, &encode_meta>},
    {"Buckets", true, &plain_again<&decode_buckets, &encode_buckets>},
    {"Ledger", true, &plain_again<&decode_ledger, &encode_ledger>},
    {"Session", true, &plain_again<&decode_session, &encode_session>},
    {"Log", true, &log_again},
    {"End", true, &end_again},
    {"Dead", true, &dead_again},
    {"Name", true, &plain_again<&decode_name, &encode_name>},
    {"Half", true, &plain_again<&decode_pending_news, &encode_pending_news>},
    {"Arrival", true, &arrival_again},
    {"Nested", true, &nested_again},
    {"Card", true, &plain_again<&decode_card, &encode_card>},
    {"Census", true, &plain_again<&decode_census, &encode_census>},
    {"CensusPage", true, &plain_again<&decode_census_page, &encode_census_page>},
    {"Group", true, &plain_again<&decode_group, &encode_group>},
    {"Job", true, &job_again},
    {"Hold", true, &plain_again<&decode_hold, &encode_hold>},
    {"FanoutGroup", true, &plain_again<&decode_fanout_group, &encode_fanout_group>},
    {"BodyCount", true, &plain_again<&decode_body_count, &encode_body_count>},
    {"Audit", true, &plain_again<&decode_audit, &encode_audit>},
    {"Body", true, &body_again},
    {"Answer", false, &answer_again},
    {"Texts", false, &plain_again<&decode_texts, &encode_texts>},
    {"Fanout", false, &plain_again<&decode_fanout, &encode_fanout>},
    {"Trail", false, &trail_again},
    {"Packed", false, &packed_again},
    {"Past", false, &past_again},
}};

inline const RecordCodec& record_codec(std::string_view name) {
  for (const RecordCodec& codec : kRecordCodecs) {
    if (codec.name == name) return codec;
  }
  check_failed("a decoder of this name", __FILE__, __LINE__);
}

}  // namespace postrider
