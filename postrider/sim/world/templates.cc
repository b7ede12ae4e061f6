// Templates and lists: clients whose messages make destinations like a template, one by one and in
// lists, and operators who change the templates and what was made like them. A source of chance of
// its own, so that the other draws stay what they were.
#include <array>

#include "postrider/sim/world/clients.h"

namespace postrider::sim {
namespace {

// The second one is the longer one for half of the names.
constexpr std::array<std::string_view, 2> kTemplates = {"like:*", "like:b*"};
constexpr std::array<std::string_view, 6> kMadeNames = {"like:a1", "like:a2", "like:a3",
                                                        "like:b1", "like:b2", "like:[b]"};

}  // namespace

void Clients::plan_templates() {
  if (!around_.options.own.empty() ||
      !around_.field.draw_template(around_.options, list_rng_).has_value())
    return;
  has_templates_ = true;
  for (const std::string_view name : kTemplates) put_template(std::string(name), false);
  for (const std::string_view name : kMadeNames) {
    if (around_.field.customs().reads) plan_reader(std::string(name));
  }
  const std::uint32_t count = around_.options.messages / 8 + 4;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Duration at(list_rng_.between(1'000, around_.options.span.count()));
    around_.agenda.after(at, [this] {
      if (calm_) return;
      if (list_rng_.chance(1, 6)) return operate_template();
      if (list_rng_.chance(1, 6)) return operate_made();
      if (list_rng_.chance(1, 2)) return send_list();
      Submit submit = workload_->draw_submit(0);
      submit.destination = some_made();
      const bool keyed = submit.caller.key.kind != OperationKey::Kind::kNone;
      wish(std::move(submit), keyed);
    });
  }
}

std::string Clients::some_made() {
  return std::string(kMadeNames[list_rng_.below(kMadeNames.size())]);
}

void Clients::put_template(const std::string& name, bool keeps) {
  DestinationConfig& config = templates_[name];
  config.name = name;
  config.profile = around_.field.profile().name;
  if (!keeps) config.settings = *around_.field.draw_template(around_.options, list_rng_);
  Configure configure;
  configure.config = config;
  wish(std::move(configure), true);
}

void Clients::operate_template() {
  const std::string name(kTemplates[list_rng_.below(kTemplates.size())]);
  if (list_rng_.chance(1, 4)) {
    Query query;
    query.what = Query::What::kDestination;
    query.destination = name;
    wish(query, false);
    return;
  }
  if (!list_rng_.chance(1, 3)) return put_template(name, false);
  Configure configure;  // refused while it is in use
  configure.config.name = name;
  configure.config.removed = true;
  wish(std::move(configure), true);
  around_.agenda.after(Duration(list_rng_.between(0, 3'600'000)),
                       [this, name] { put_template(name, true); });
}

void Clients::operate_made() {
  const std::string name = some_made();
  Configure configure;
  configure.config.name = name;
  switch (list_rng_.below(5)) {
    case 0: {  // a setting of its own, or back to the template's
      configure.merge = true;
      configure.config.settings = {{"in-use", list_rng_.chance(1, 2) ? "1" : ""}};
      wish(std::move(configure), true);
      return;
    }
    case 1: {
      wish(Pause{{}, name, "maintenance"}, false);
      around_.agenda.after(Duration(list_rng_.between(0, 36'000'000)), [this, name] {
        wish(Resume{{}, name}, true);
      });
      return;
    }
    case 2: {
      Query query;
      query.what = Query::What::kDestination;
      query.destination = name;
      wish(query, false);
      return;
    }
    default:
      configure.config.removed = true;
      configure.config.draining = list_rng_.chance(1, 2);
      wish(std::move(configure), true);
      return;
  }
}

void Clients::send_list() {
  FanOut event;
  const bool keyed = list_rng_.chance(1, 2);
  if (keyed) {
    event.caller.key.kind = OperationKey::Kind::kOpaque;
    event.caller.key.scope = "lists";
    event.caller.key.key = "list-" + std::to_string(draws_.next_key());
  }
  for (const std::string_view name : kMadeNames) {
    if (list_rng_.chance(1, 2)) event.destinations.emplace_back(name);
  }
  for (const DestinationConfig& known : around_.destinations) {
    if (list_rng_.chance(1, 4)) event.destinations.push_back(known.name);
  }
  if (event.destinations.empty() || list_rng_.chance(1, 10))
    event.destinations.emplace_back("nobody");
  event.skip_closed = list_rng_.chance(1, 3);
  event.lane = static_cast<std::uint8_t>(list_rng_.chance(1, 3) ? list_rng_.below(3) : 0);
  event.attributes = workload_->fanout_attributes(list_rng_);
  event.body = "{\"fanout\":" + std::to_string(++last_fanout_) + ",\"padding\":\"";
  event.body.append(list_rng_.below(100), 'x');
  event.body += "\"}";
  if (keyed && list_rng_.chance(1, 10)) wish(event, true);  // the same at the same time
  wish(std::move(event), keyed);
}

// Everything is opened again, and the templates are back.
void Clients::calm_templates() {
  if (!has_templates_) return;
  for (const std::string_view name : kTemplates) put_template(std::string(name), true);
  for (const std::string_view name : kMadeNames) {
    wish(Resume{{}, std::string(name)}, true);
    wish(Wake{{}, std::string(name)}, true);
  }
}

}  // namespace postrider::sim
