// The shape of what waits: messages by destination and age, put together from bounded pieces of the
// engine, one question after the other, so that everybody else's requests pass in between.
#include "postrider/api/shape.h"

#include <algorithm>

#include "postrider/api/render.h"
#include "postrider/api/texts.h"

namespace postrider {

using api::JsonWriter;
using api::ProblemType;

void HttpApi::Impl::get_shape(Call& call) {
  const auto limit = call.query.number("limit", Shape::kLimitDefault, 1, Shape::kLimitMax);
  if (!limit) return refuse(call.waiting, limit.error());
  auto shape = std::make_shared<Shape>();
  shape->query.what = Query::What::kShape;
  if (const std::string* name = call.query.find("destination")) shape->query.destination = *name;
  if (const std::string* text = call.query.find("cursor")) {
    auto cursor = api::decode_cursor(*text);
    if (!cursor) {
      return refuse(call.waiting, api::complaint(ProblemType::kInvalidParameter,
                                                 "this is no cursor of ours; take `next` of the "
                                                 "last answer, or begin without one",
                                                 "cursor"));
    }
    shape->query.cursor = std::move(*cursor);
  }
  shape->waiting = call.waiting;
  shape->tenant = call.tenant;
  shape->limit = *limit;
  go_on_shaping(shape);
}

void HttpApi::Impl::go_on_shaping(const std::shared_ptr<Shape>& shape) {
  shape->query.limit = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(Shape::kRecordsAtOnce, shape->limit - shape->looked_at));
  const Door door =
      host_.post(shape->tenant, shape->query, [weak = weak_from_this(), shape](Answer answer) {
        if (const auto self = weak.lock()) self->take_shape(shape, answer);
      });
  if (door != Door::kOpen) refuse(shape->waiting, api::problem_of(door));
}

void HttpApi::Impl::take_shape(const std::shared_ptr<Shape>& shape, Answer& answer) {
  if (const auto problem = api::problem_of(answer)) return refuse(shape->waiting, *problem);
  auto& page = std::get<ShapePage>(answer.view);
  shape->looked_at += page.messages;
  for (ShapeRow& row : page.rows) {
    const auto [place, is_new] = shape->rows.try_emplace(row.id.value(), row);
    if (is_new) continue;
    ShapeRow& sum = place->second;
    for (std::size_t i = 0; i < kAges; ++i) sum.ages[i] += row.ages[i];
    for (std::size_t i = 0; i < kPhases; ++i) sum.phases[i] += row.phases[i];
    for (const auto& [state, count] : row.states) sum.states[state] += count;
    for (const auto& [method, states] : row.methods) {
      for (const auto& [state, count] : states) sum.methods[method][state] += count;
    }
    sum.oldest = std::min(sum.oldest, row.oldest);
    if (row.next_at.is_set() && (!sum.next_at.is_set() || row.next_at < sum.next_at))
      sum.next_at = row.next_at;
  }
  shape->query.cursor = page.next;
  const bool enough =
      shape->looked_at >= shape->limit || shape->rows.size() >= Shape::kDestinationsMax;
  if (!page.next.empty() && !enough) return go_on_shaping(shape);
  HttpResponse response;
  JsonWriter json(response.body);
  json.open_object().name("ages_s").open_array();
  for (std::size_t i = 0; i + 1 < kAges; ++i)
    json.number(static_cast<std::uint64_t>(age_bound(i).count() / 1000));
  json.close_array().name("destinations").open_array();
  for (const auto& [id, row] : shape->rows) api::write_shape(json, row);
  json.close_array().count("looked_at", shape->looked_at);
  if (!page.next.empty()) json.field("next", api::encode_cursor(page.next));
  json.close_object();
  finish(shape->waiting, std::move(response));
}

}  // namespace postrider
