#include "postrider/api/listing.h"

#include <algorithm>

#include "postrider/api/texts.h"

namespace postrider {

using api::Problem;
using api::ProblemType;

void HttpApi::Impl::begin_listing(Call& call, std::shared_ptr<Listing> listing) {
  const auto limit = call.query.number("limit", Listing::kLimitDefault, 1, Listing::kLimitMax);
  if (!limit) return refuse(call.waiting, limit.error());
  if (const std::string* text = call.query.find("cursor")) {
    auto cursor = api::decode_cursor(*text);
    if (!cursor) {
      return refuse(call.waiting,
                    api::complaint(ProblemType::kInvalidParameter,
                                   "this is no cursor of ours; take `next` of the last page, or "
                                   "begin without one",
                                   "cursor"));
    }
    listing->query.cursor = std::move(*cursor);
  }
  listing->answer.waiting = call.waiting;
  listing->answer.content_type = "application/json";
  listing->answer.text.append("{\"").append(listing->name).append("\":[");
  listing->tenant = call.tenant;
  listing->limit = *limit;
  // Not before the answers to earlier requests of this client are out: it holds nothing until then.
  call.waiting.exchange->when_room([weak = weak_from_this(), listing] {
    if (const auto self = weak.lock()) self->go_on(listing);
  });
}

void HttpApi::Impl::go_on(const std::shared_ptr<Listing>& listing) {
  const std::shared_ptr<LongAnswer> answer(listing, &listing->answer);
  listing->query.limit = std::min(Listing::kRowsAtOnce, listing->limit - listing->count);
  listing->asked += listing->query.limit;
  const Door door =
      host_.post(listing->tenant, listing->query, [weak = weak_from_this(), listing](Answer told) {
        if (const auto self = weak.lock()) self->take_page(listing, told);
      });
  if (door != Door::kOpen) fail_telling(answer, api::problem_of(door));
}

void HttpApi::Impl::take_page(const std::shared_ptr<Listing>& listing, Answer& told) {
  const std::shared_ptr<LongAnswer> answer(listing, &listing->answer);
  if (const auto problem = api::problem_of(told)) return fail_telling(answer, *problem);
  std::string items;
  api::JsonWriter json(items);
  std::string next;
  const std::uint32_t taken = listing->take(json, told, next);
  if (taken > 0) answer->text.append(listing->count == 0 ? "" : ",").append(items);
  listing->count += taken;
  listing->query.cursor = next;
  if (!next.empty() && listing->count < listing->limit &&
      listing->asked < listing->limit * Listing::kLookedAtFactor) {
    return tell(answer, [weak = weak_from_this(), listing] {
      if (const auto self = weak.lock()) self->go_on(listing);
    });
  }
  answer->text.append("]");
  if (!next.empty())
    answer->text.append(",\"next\":\"").append(api::encode_cursor(next)).append("\"");
  answer->text.append("}");
  end_telling(answer);
}

}  // namespace postrider
