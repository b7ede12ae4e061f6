#include "postrider/api/http_api_listing.h"

#include "postrider/api/http_api_texts.h"

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
    listing->ask.cursor = std::move(*cursor);
  }
  listing->waiting = call.waiting;
  listing->tenant = call.tenant;
  listing->limit = *limit;
  go_on(listing);
}

void HttpApi::Impl::go_on(const std::shared_ptr<Listing>& listing) {
  ++listing->questions;
  listing->ask.limit = listing->limit - listing->count;
  const Door door =
      host_.post(listing->tenant, listing->ask, [weak = weak_from_this(), listing](Answer answer) {
        if (const auto self = weak.lock()) self->take_page(listing, answer);
      });
  if (door != Door::kOpen) refuse(listing->waiting, api::problem_of(door));
}

void HttpApi::Impl::take_page(const std::shared_ptr<Listing>& listing, Answer& answer) {
  if (const auto problem = api::problem_of(answer)) return refuse(listing->waiting, *problem);
  std::string items;
  api::JsonWriter json(items);
  std::string next;
  const std::uint32_t taken = listing->take(json, answer, next);
  if (taken > 0) listing->items.append(listing->items.empty() ? "" : ",").append(items);
  listing->count += taken;
  listing->ask.cursor = next;
  if (!next.empty() && listing->count < listing->limit &&
      listing->questions < Listing::kQuestionsMax) {
    return go_on(listing);
  }
  HttpResponse response;
  std::string& body = response.body;
  body.append("{\"").append(listing->name).append("\":[").append(listing->items).append("]");
  if (!next.empty()) body.append(",\"next\":\"").append(api::encode_cursor(next)).append("\"");
  body.append("}");
  finish(listing->waiting, std::move(response));
}

}  // namespace postrider
