#include "postrider/model/jobs.h"

#include <array>

#include "postrider/base/check.h"
#include "postrider/base/codec.h"

namespace postrider {
namespace {

constexpr std::uint8_t kJobsVersion = 1;
constexpr std::uint8_t kNone = 0xFF;  // stands for an unset enumerator
constexpr std::size_t kJobIdDigits = 16;

template <class Enum>
Enum get_enum(Reader& reader, std::size_t count) {
  const std::uint8_t value = reader.u8();
  if (value >= count) reader.fail();
  return static_cast<Enum>(value < count ? value : 0);
}

template <class Enum>
std::optional<Enum> get_optional(Reader& reader, std::size_t count) {
  const std::uint8_t value = reader.u8();
  if (value == kNone) return std::nullopt;
  if (value >= count) reader.fail();
  return static_cast<Enum>(value < count ? value : 0);
}

template <class Enum>
std::uint8_t number_of(const std::optional<Enum>& value) {
  return value ? static_cast<std::uint8_t>(*value) : kNone;
}

void put_order(Writer& writer, const JobOrder& order) {
  const JobFilter& filter = order.filter;
  writer.u8(static_cast<std::uint8_t>(order.action))
      .text(filter.destination)
      .text(filter.destination_prefix)
      .u8(number_of(filter.phase))
      .u8(number_of(filter.cause))
      .i64(filter.since.ms())
      .i64(filter.until.ms())
      .text(filter.reason_prefix)
      .u32(order.rate)
      .text(order.reason)
      .varint(static_cast<std::uint64_t>(order.every.count()))
      .u8(order.even_if_it_ran ? 1 : 0);
}

JobOrder get_order(Reader& reader) {
  JobOrder order;
  order.action = get_enum<JobAction>(reader, kJobActions);
  order.filter.destination = reader.text();
  order.filter.destination_prefix = reader.text();
  order.filter.phase = get_optional<Phase>(reader, kPhases);
  order.filter.cause = get_optional<FailureClass>(reader, kFailureClasses);
  order.filter.since = Timestamp(reader.i64());
  order.filter.until = Timestamp(reader.i64());
  order.filter.reason_prefix = reader.text();
  order.rate = reader.u32();
  order.reason = reader.text();
  order.every = Duration(static_cast<std::int64_t>(reader.varint()));
  const std::uint8_t even_if_it_ran = reader.u8();
  if (even_if_it_ran > 1) reader.fail();
  order.even_if_it_ran = even_if_it_ran == 1;
  return order;
}

}  // namespace

std::string to_string(JobId id) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(kJobIdDigits, '0');
  std::uint64_t rest = id.value();
  for (std::size_t i = kJobIdDigits; i > 0; --i, rest >>= 4) out[i - 1] = kDigits[rest & 15];
  return out;
}

std::optional<JobId> parse_job_id(std::string_view text) {
  if (text.size() != kJobIdDigits) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && !(c >= 'a' && c <= 'f')) return std::nullopt;
    value = value << 4 | static_cast<std::uint64_t>(digit ? c - '0' : c - 'a' + 10);
  }
  return JobId(value);
}

std::string_view name_of(JobAction action) {
  constexpr std::array<std::string_view, kJobActions> kNames = {"redrive", "drop", "retry",
                                                                "cancel", "resend"};
  const auto index = static_cast<std::size_t>(action);
  POSTRIDER_CHECK(index < kNames.size());
  return kNames[index];
}

std::string_view name_of(JobState state) {
  constexpr std::array<std::string_view, kJobStates> kNames = {"running", "done", "cancelled",
                                                               "waiting"};
  const auto index = static_cast<std::size_t>(state);
  POSTRIDER_CHECK(index < kNames.size());
  return kNames[index];
}

std::string encode_order(const JobOrder& order) {
  std::string out;
  Writer writer(out);
  put_order(writer, order);
  return out;
}

std::string encode_job(const Job& job) {
  std::string out(1, static_cast<char>(kJobsVersion));
  Writer writer(out);
  writer.u64(job.id.value());
  put_order(writer, job.order);
  writer.u8(static_cast<std::uint8_t>(job.state))
      .text(job.actor)
      .i64(job.created.ms())
      .i64(job.finished.ms())
      .text(job.cursor)
      .varint(job.expected)
      .varint(job.looked)
      .varint(job.done)
      .varint(job.refused)
      .text(job.refusal)
      .i64(job.round_at.ms())
      .u64(job.horizon)
      .varint(job.rounds)
      .i64(job.next_at.ms());
  seal_record(out);
  return out;
}

Result<Job> decode_job(std::string_view record) {
  Reader reader = open_record(record, kJobsVersion);
  Job job;
  job.id = JobId(reader.u64());
  job.order = get_order(reader);
  job.state = get_enum<JobState>(reader, kJobStates);
  job.actor = reader.text();
  job.created = Timestamp(reader.i64());
  job.finished = Timestamp(reader.i64());
  job.cursor = reader.text();
  job.expected = reader.varint();
  job.looked = reader.varint();
  job.done = reader.varint();
  job.refused = reader.varint();
  job.refusal = reader.text();
  job.round_at = Timestamp(reader.i64());
  job.horizon = reader.u64();
  job.rounds = reader.varint();
  job.next_at = Timestamp(reader.i64());
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "job");
  return job;
}

}  // namespace postrider
