#include "postrider/model/answer.h"

#include <array>

#include "postrider/base/check.h"
#include "postrider/base/codec.h"

namespace postrider {
namespace {

constexpr std::array<std::string_view, kAnswerCodes> kCodeNames = {
    "accepted",    "done",     "nothing", "pending",      "conflict",  "key-expired",
    "not-found",   "disabled", "ended",   "invalid",      "too-large", "not-empty",
    "unavailable", "full",     "busy",    "may-have-run", "changed",   "no-room"};

constexpr std::uint8_t kAcceptedReadmits = 0x80;  // a code of the record alone

}  // namespace

std::string_view name_of(AnswerCode code) {
  const auto index = static_cast<std::size_t>(code);
  POSTRIDER_CHECK(index < kCodeNames.size());
  return kCodeNames[index];
}

void count(CountedWords& words, std::string_view word) {
  for (Counted& one : words) {
    if (one.word != word) continue;
    ++one.times;
    return;
  }
  words.push_back({word, 1});
}

std::string encode_answer(const Answer& answer) {
  const bool readmits = answer.readmits && answer.code == AnswerCode::kAccepted;
  std::string out;
  Writer(out)
      .u8(readmits ? kAcceptedReadmits : static_cast<std::uint8_t>(answer.code))
      .u64(answer.id.high)
      .u64(answer.id.low)
      .text(answer.detail);
  const auto* const fanout = std::get_if<FanoutView>(&answer.view);
  if (fanout != nullptr || !answer.reply.empty())
    Writer(out).text(fanout != nullptr ? encode_fanout(*fanout) : std::string());
  if (!answer.reply.empty()) Writer(out).text(answer.reply);
  return out;
}

Result<Answer> decode_answer(std::string_view bytes) {
  Reader reader(bytes);
  Answer answer;
  std::uint8_t code = reader.u8();
  answer.readmits = code == kAcceptedReadmits;
  if (answer.readmits) code = static_cast<std::uint8_t>(AnswerCode::kAccepted);
  answer.id.high = reader.u64();
  answer.id.low = reader.u64();
  answer.detail = reader.text();
  if (reader.ok() && !reader.at_end()) {
    const std::string_view view = reader.text();
    auto fanout = view.empty() ? Result<FanoutView>(FanoutView()) : decode_fanout(view);
    if (!fanout) return fail(ErrorCode::kCorrupt, "stored answer");
    if (!view.empty()) answer.view = std::move(*fanout);
    const bool replied = !reader.at_end();
    if (replied) answer.reply = reader.text();
    // Nothing is written when there is nothing to say, so that a record has one form.
    if (answer.reply.empty() && (replied || view.empty())) reader.fail();
  }
  if (!reader.at_end() || code >= kAnswerCodes) return fail(ErrorCode::kCorrupt, "stored answer");
  answer.code = static_cast<AnswerCode>(code);
  return answer;
}

}  // namespace postrider
