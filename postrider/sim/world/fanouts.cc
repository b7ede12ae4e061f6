// Fan-outs: clients who keep groups of destinations, change them, and send one message to all who
// subscribe. A source of chance of its own, so that the other draws stay what they were.
#include <algorithm>
#include <array>

#include "postrider/sim/world/clients.h"

namespace postrider::sim {
namespace {

constexpr std::uint32_t kGroups = 3;
constexpr std::array<std::string_view, 5> kTypes = {"order.new", "order.paid.late", "orders.new",
                                                    "invoice", "invoice.paid"};
constexpr std::array<std::string_view, 5> kSubscriptions = {"order.new", "order.*", "invoice.*",
                                                            "*", "invoice"};

}  // namespace

void Clients::plan_fanouts() {
  if (!around_.field.customs().fans_out) return;
  for (std::uint32_t i = 0; i < kGroups; ++i) change_group(i, true);
  const std::uint32_t count = around_.options.messages / 12 + 2;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Duration at(fan_rng_.between(1'000, around_.options.span.count()));
    around_.agenda.after(at, [this] {
      if (calm_) return;
      if (fan_rng_.chance(1, 8))
        change_group(static_cast<std::uint32_t>(fan_rng_.below(kGroups)), false);
      fan_out();
    });
  }
}

void Clients::change_group(std::uint32_t number, bool first) {
  ChangeGroup change;
  change.caller.actor = "operator";
  change.group.name = "group-" + std::to_string(number);
  change.group.skip_closed = number % 2 == 1;
  const bool whole = first || fan_rng_.chance(1, 3);
  for (const DestinationConfig& destination : around_.destinations) {
    if (!fan_rng_.chance(2, 3)) continue;
    FanoutMember member{destination.name, {}};
    for (std::uint64_t types = fan_rng_.below(3); types > 0; --types)
      member.types.emplace_back(kSubscriptions[fan_rng_.below(kSubscriptions.size())]);
    change.group.members.push_back(std::move(member));
    if (!whole) break;
  }
  change.what = whole                    ? ChangeGroup::What::kPut
                : fan_rng_.chance(1, 2)  ? ChangeGroup::What::kAdd
                : fan_rng_.chance(1, 10) ? ChangeGroup::What::kDrop
                                         : ChangeGroup::What::kRemove;
  wish(std::move(change), first);
}

void Clients::fan_out() {
  FanOut event;
  const bool keyed = fan_rng_.chance(1, 2);
  if (keyed) {
    event.caller.key.kind = OperationKey::Kind::kOpaque;
    event.caller.key.scope = "fans";
    event.caller.key.key = "fan-" + std::to_string(draws_.next_key());
  }
  event.group = "group-" + std::to_string(fan_rng_.below(kGroups));
  if (!fan_rng_.chance(1, 8)) event.type = kTypes[fan_rng_.below(kTypes.size())];
  event.lane = static_cast<std::uint8_t>(fan_rng_.chance(1, 3) ? fan_rng_.below(3) : 0);
  if (fan_rng_.chance(1, 4)) event.priority = static_cast<std::uint16_t>(fan_rng_.below(4));
  const Timestamp now = around_.engine_now();
  constexpr std::array<Duration, 4> kAhead = {2s, 1min, 20min, 5h};
  if (fan_rng_.chance(1, 8))
    event.not_before =
        now + Duration(fan_rng_.between(0, kAhead[fan_rng_.below(kAhead.size())].count()));
  if (fan_rng_.chance(1, 4))
    event.expires = std::max(now, event.not_before) +
                    Duration(fan_rng_.between(0, kAhead[fan_rng_.below(kAhead.size())].count()));
  event.attributes = workload_->fanout_attributes(fan_rng_);
  event.body = "{\"fanout\":" + std::to_string(++last_fanout_) + ",\"padding\":\"";
  event.body.append(fan_rng_.chance(1, 10) ? fan_rng_.below(4000) : fan_rng_.below(100), 'x');
  event.body += "\"}";
  if (keyed && fan_rng_.chance(1, 10)) wish(event, true);  // the same at the same time
  wish(std::move(event), keyed);
}

void Clients::fanout_told(const FanOut& /*event*/, const Answer& answer) {
  const auto* view = std::get_if<FanoutView>(&answer.view);
  if (view == nullptr || answer.replayed) return;
  accepted_ += view->members.size();
  for (const FanoutView::Member& member : view->members) {
    if (calm_ || !fan_rng_.chance(1, 4)) continue;
    constexpr std::array<Duration, 4> kWaits = {0ms, 5s, 10min, 3h};
    const bool operates = fan_rng_.chance(1, 3);
    around_.agenda.after(kWaits[fan_rng_.below(kWaits.size())],
                         [this, id = member.message, operates] {
                           if (calm_) return;
                           if (operates) return operate_message(id);
                           Query query;
                           query.what = Query::What::kMessage;
                           query.id = id;
                           wish(query, false);
                         });
  }
}

}  // namespace postrider::sim
