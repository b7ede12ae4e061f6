#include "postrider/model/trail.h"

#include <algorithm>
#include <utility>

#include "postrider/base/codec.h"

namespace postrider {

void add_step(Trail& trail, TrailStep step) {
  step.reason.resize(std::min(step.reason.size(), kStepReasonBytesMax));
  const std::size_t size = trail.size();
  const bool again = size >= 2 && trail[size - 2].state == step.state &&
                     trail[size - 2].on == step.on && trail[size - 2].reason == step.reason;
  if (again) {
    TrailStep& same = trail[size - 2];
    if (same.times < UINT16_MAX) ++same.times;
    std::swap(trail[size - 2], trail[size - 1]);
    return;
  }
  if (size >= kTrailStepsMax) trail.erase(trail.begin());
  trail.push_back(std::move(step));
}

namespace {

// What a trail begins with. Older ones began with the time as an i64, whose first byte is 0 for
// some two million years.
constexpr std::uint8_t kTrail = 1;

// Times count from the earliest; the sum wraps around, so that any two are told apart and damaged
// bytes are some other time.
std::uint64_t after(Timestamp from, Timestamp at) {
  return static_cast<std::uint64_t>(at.ms()) - static_cast<std::uint64_t>(from.ms());
}
Timestamp read_time(Reader& reader, Timestamp from) {
  const std::uint64_t sum = static_cast<std::uint64_t>(from.ms()) + reader.varint();
  return Timestamp(static_cast<std::int64_t>(sum));
}

}  // namespace

std::string encode_trail(const Trail& trail) {
  std::string out;
  Writer writer(out);
  // Steps that were counted stand out of order, so times are told from the first one, not by steps.
  Timestamp from = trail.empty() ? Timestamp() : trail.front().at;
  for (const TrailStep& step : trail) from = std::min(from, step.at);
  writer.u8(kTrail).varint(static_cast<std::uint64_t>(from.ms()));
  for (const TrailStep& step : trail) {
    const bool more = step.times != 1 || !step.reason.empty();
    writer.varint(after(from, step.at))
        .u8(step.state)
        .u8(static_cast<std::uint8_t>(static_cast<unsigned>(step.on) << 1U | (more ? 1U : 0U)));
    if (more) writer.varint(step.times).text(step.reason);
  }
  return out;
}

Result<Trail> decode_trail(std::string_view bytes) {
  Reader reader(bytes);
  Trail trail;
  if (reader.u8() != kTrail) reader.fail();
  const Timestamp from(static_cast<std::int64_t>(reader.varint()));
  while (reader.ok() && !reader.at_end()) {
    TrailStep step;
    step.at = read_time(reader, from);
    step.state = reader.u8();
    const std::uint8_t on = reader.u8();
    if (on / 2 >= kSignals || trail.size() > kTrailStepsMax) reader.fail();
    step.on = static_cast<On>(on / 2 % kSignals);
    if (on % 2 != 0) {
      step.times = reader.varint16();
      step.reason = reader.text();
    }
    trail.push_back(std::move(step));
  }
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "trail");
  return trail;
}

}  // namespace postrider
