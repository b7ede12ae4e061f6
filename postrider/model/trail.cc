#include "postrider/model/trail.h"

#include <algorithm>
#include <utility>

#include "postrider/base/codec.h"

namespace postrider {

void add_step(Trail& trail, Step step) {
  step.reason.resize(std::min(step.reason.size(), kStepReasonBytesMax));
  const std::size_t size = trail.size();
  const bool again = size >= 2 && trail[size - 2].state == step.state &&
                     trail[size - 2].on == step.on && trail[size - 2].reason == step.reason;
  if (again) {
    Step& same = trail[size - 2];
    if (same.times < UINT16_MAX) ++same.times;
    std::swap(trail[size - 2], trail[size - 1]);
    return;
  }
  if (size >= kTrailStepsMax) trail.erase(trail.begin());
  trail.push_back(std::move(step));
}

std::string encode_trail(const Trail& trail) {
  std::string out;
  Writer writer(out);
  // Steps that were counted stand out of order, so times are told from the first one, not by steps.
  Timestamp from = trail.empty() ? Timestamp() : trail.front().at;
  for (const Step& step : trail) from = std::min(from, step.at);
  writer.i64(from.ms());
  for (const Step& step : trail) {
    writer.varint(static_cast<std::uint64_t>((step.at - from).count()))
        .u8(step.state)
        .u8(static_cast<std::uint8_t>(step.on))
        .varint(step.times)
        .text(step.reason);
  }
  return out;
}

Result<Trail> decode_trail(std::string_view bytes) {
  Reader reader(bytes);
  Trail trail;
  const Timestamp from(reader.i64());
  while (reader.ok() && !reader.at_end()) {
    Step step;
    step.at = from + Duration(static_cast<std::int64_t>(reader.varint()));
    step.state = reader.u8();
    const std::uint8_t on = reader.u8();
    const std::uint64_t times = reader.varint();
    if (on >= kSignals || times > UINT16_MAX || trail.size() > kTrailStepsMax) reader.fail();
    step.on = static_cast<On>(on % kSignals);
    step.times = static_cast<std::uint16_t>(times);
    step.reason = reader.text();
    trail.push_back(std::move(step));
  }
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "trail");
  return trail;
}

}  // namespace postrider
