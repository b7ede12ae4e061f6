#include "postrider/sim/fields/lxmf/eager_station.h"
#include "postrider/sim/fields/lxmf/inbox.h"
#include "postrider/sim/fields/lxmf/lxmf_inside.h"
#include "postrider/sim/fields/lxmf/mistakes.h"

namespace postrider::sim::lxmf_world {

std::string machine_name(std::uint32_t machine) {
  return std::string(1, static_cast<char>('a' + machine));
}

LxmfWorld::LxmfWorld(const LxmfOptions& options)
    : options_(options),
      rng_(options.seed * 0x9E3779B97F4A7C15ULL + 23),
      agenda_(Timestamp(kBeginning)),
      trace_(options.trace),
      profiles_{&spec_, &inbox_profile()},
      wires_({agenda_,
              [this](const std::string& machine, LineId /*line*/, std::string_view bytes) {
                leaves(machine, bytes);
              },
              [this](std::string what) { violation(std::move(what)); }},
             LineLimits{}, WireFaults{}, rng_.fork(1)),
      places_(options.machines) {
  if (options_.bug == LxmfBug::kForgetsSeen) spec_.news.receive = forget_seen;
  if (options_.bug == LxmfBug::kStampsAgain) spec_.wire.classify = forget_stamp;
  if (options_.bug == LxmfBug::kResealsUpload) spec_.wire.classify = reseal;
  Rng faults = rng_.fork(2);
  if (options_.faults) wires_.set_faults(draw_wire_faults(faults));
  for (std::uint32_t i = 0; i < options_.machines; ++i) {
    for (std::uint32_t j = 0; j < i; ++j) {
      if (rng_.chance(1, 3)) by_datagrams_.insert({j, i});
    }
  }
  for (std::uint32_t i = 0; i < options_.machines; ++i) make_place(i);
  if (options_.crash)
    places_[options_.crash->machine].site->crash_after(
        options_.crash->after, options_.crash->keep ? Site::Fate::kKeep : Site::Fate::kLose);
}

// Of each two machines the later one calls the earlier one, or they send each other datagrams.
lxmf::StationSetup LxmfWorld::setup_of(std::uint32_t machine) const {
  using Kind = lxmf::InterfaceSetup::Kind;
  lxmf::StationSetup setup;
  setup.interfaces.push_back(
      {"door", Kind::kListens, "tcp://" + machine_name(machine) + ":1", {}});
  for (std::uint32_t other = 0; other < options_.machines; ++other) {
    if (other == machine) continue;
    const std::string name = "to-" + machine_name(other);
    if (by_datagrams_.contains({std::min(other, machine), std::max(other, machine)})) {
      setup.interfaces.push_back(
          {name, Kind::kDatagrams,
           "udp://" + machine_name(machine) + ":" + std::to_string(10 + other),
           "udp://" + machine_name(other) + ":" + std::to_string(10 + machine)});
    } else if (other < machine) {
      setup.interfaces.push_back({name, Kind::kCalls, "tcp://" + machine_name(other) + ":1", {}});
    }
  }
  setup.identities.push_back(
      {std::string(kKeyFile), *places_[machine].identity, std::string(kBox), {}});
  // Every other one wants stamps, and is strict about it.
  if (machine % 2 == 1) {
    setup.identities.back().stamp_cost = kStampCost;
    setup.identities.back().enforces_stamps = true;
  }
  if (machine == 0 && has_node())
    setup.node = lxmf::NodeSetup{.name = "node", .identity = node_identity(), .display_name = {}};
  if (setup.node) setup.node->cost = kNodeCost;
  return setup;
}

std::unique_ptr<Station> LxmfWorld::make_station(std::uint32_t machine) const {
  auto station = std::make_unique<lxmf::LxmfStation>(setup_of(machine));
  const auto eager = [&](std::string_view kind) {
    return std::make_unique<EagerStation>(std::move(station), std::string(kind),
                                          std::string(lxmf::kReplyDone));
  };
  if (options_.bug == LxmfBug::kProvesBeforeCommit) return eager(lxmf::kArrivedMessage);
  if (options_.bug == LxmfBug::kAnnouncesBeforeCommit) return eager(lxmf::kArrivedOwn);
  if (options_.bug == LxmfBug::kNodeProvesBeforeCommit) return eager(lxmf::kArrivedUpload);
  return station;
}

void LxmfWorld::make_place(std::uint32_t machine) {
  const std::uint64_t seed = rng_.next();
  Rng draws(seed);
  Place& place = places_[machine];
  place.name = machine_name(machine);
  reticulum::Bytes<64> secret{};
  for (std::uint8_t& byte : secret) byte = static_cast<std::uint8_t>(draws.below(256));
  place.identity.emplace(secret);
  place.address = reticulum::single_destination(reticulum::name_hash(lxmf::kDeliveryName),
                                                place.identity->hash());
  place.secrets->put(std::string(kKeyFile), std::string(view(secret)));
  ShardOptions shard;
  shard.engine.profiles = profiles_;
  shard.engine.seed = seed;
  shard.engine.secrets = place.secrets;
  for (std::size_t i = 0; i < shard.engine.id_key.size(); ++i)
    shard.engine.id_key[i] = static_cast<std::uint8_t>((seed >> (i % 8 * 8)) + i + 1);
  StationLimits limits;
  if (options_.faults && draws.chance(1, 4))
    limits.posts_max = static_cast<std::uint32_t>(draws.between(4, 12));
  FaultSet faults;
  if (options_.faults)
    faults = *parse_faults(
        "slow-commit,failed-commit,ambiguous-commit,sync-failed,slow-read,reordered-read");
  place.site = std::make_unique<Site>(
      place.name,
      Site::Surroundings{
          agenda_, wires_, shard, limits, faults, options_.span,
          options_.bug == LxmfBug::kSealsAlike,
          {lxmf::kWorkKinds.begin(), lxmf::kWorkKinds.end()},
          [this, machine] {
            std::vector<std::unique_ptr<Station>> list;
            list.push_back(make_station(machine));
            return list;
          },
          [this, machine](const StartAttempt& start) { starts(machine, start); },
          [this, machine](Ticket ticket, const Answer& answer) { told(machine, ticket, answer); },
          [this, machine] { died(machine); },
          [this](std::string what) { violation(std::move(what)); }},
      seed);
  place.site->disk().observe(
      [this, machine](const Applied& applied) { durable(machine, applied); });
}

void LxmfWorld::violation(std::string what) {
  if (violations_.size() < kViolationsMax)
    violations_.push_back("at " + std::to_string((agenda_.now() - Timestamp(kBeginning)).count()) +
                          ": " + std::move(what));
  given_up_ = given_up_ || violations_.size() >= kViolationsMax;
}

void LxmfWorld::plan() {
  Rng rng = rng_.fork(3);
  const auto configure = [&](std::uint32_t machine, std::string name, std::string profile,
                             NamedTexts settings) {
    Configure event;
    event.config = {.name = std::move(name),
                    .profile = std::move(profile),
                    .settings = std::move(settings)};
    wish(machine, std::move(event), Duration(0));
  };
  for (std::uint32_t here = 0; here < options_.machines; ++here) {
    configure(here, std::string(kBox), std::string(kInboxProfile), {});
    for (std::uint32_t there = 0; there < options_.machines; ++there) {
      if (here == there) continue;
      NamedTexts settings = {{"identity", std::string(kKeyFile)}, {"wait_max", "1m"}};
      if (has_node())
        settings.emplace_back("propagation_node", lxmf::hex_of(view(node_address())));
      configure(here, lxmf::recipient_name(places_[there].address), "lxmf", settings);
    }
    if (has_node() && here == 0)
      configure(here, std::string(lxmf::kKeptPrefix) + "*", std::string(kInboxProfile), {});
    if (has_node() && here != 0) {
      configure(here, lxmf::recipient_name(node_address()), "lxmf",
                {{"identity", std::string(kKeyFile)}, {"wait_max", "1m"}});
      agenda_.after(kSyncEvery, [this, here] { sync(here); });
    }
    agenda_.after(Duration(1'000), [this, here] { read_inbox(here); });
    places_[here].site->start();
    if (options_.faults) draw_trouble(here);
  }
  for (std::uint32_t i = 0; i < options_.messages; ++i) {
    const auto here = static_cast<std::uint32_t>(rng.below(options_.machines));
    const auto step = static_cast<std::uint32_t>(1 + rng.below(options_.machines - 1));
    const std::uint32_t there = (here + step) % options_.machines;
    Submit event;
    event.destination = lxmf::recipient_name(places_[there].address);
    const std::string text = "message " + std::to_string(i) + " to " + places_[there].name + ".";
    const auto most = static_cast<std::size_t>(rng.chance(1, 8) ? 9'000 : 300);
    event.body = text + std::string(rng.below(most), 'x');
    NamedTexts texts = {{"title", "a title"},
                        {"method", rng.chance(1, 2) ? "direct" : "opportunistic"}};
    if (has_node() && here != 0 && there != 0 && rng.chance(2, 3)) texts[1].second = "propagated";
    if (rng.chance(1, 4)) texts.emplace_back("ticket", "yes");
    event.attributes = encode_texts(texts);
    texts_.insert(text);
    wish(here, std::move(event), Duration(rng.between(1'000, options_.span.count())));
  }
}

// Until all that was sent has arrived, and the node is empty.
void LxmfWorld::sync(std::uint32_t machine) {
  agenda_.after(kSyncEvery, [this, machine] { sync(machine); });
  Place& place = places_[machine];
  const auto stats = place.site->stats();
  const bool rests = stats && stats->counters.delivered == stats->counters.accepted;
  const auto there = places_[0].site->stats();
  const bool empty = there && there->counters.delivered == there->counters.accepted;
  if (handed_over_.size() == options_.messages && rests && empty) return;
  if (!all_configured()) return;
  Submit event;
  event.destination = lxmf::recipient_name(node_address());
  event.attributes = encode_texts({{"method", "sync"}});
  wish(machine, std::move(event), Duration(0));
}

void LxmfWorld::wish(std::uint32_t machine, Event event, Duration after) {
  const std::size_t number = wishes_.size();
  wishes_.push_back({machine, std::move(event), "wish-" + std::to_string(number), false, {}});
  agenda_.after(after, [this, number] { ask(number); });
}

bool LxmfWorld::all_configured() const {
  return std::all_of(wishes_.begin(), wishes_.end(), [](const Wish& wish) {
    return wish.done || !std::holds_alternative<Configure>(wish.event);
  });
}

// Asks until it is answered, with the same key each time.
void LxmfWorld::ask(std::size_t number) {
  Wish& wish = wishes_[number];
  if (wish.done) return;
  if (std::holds_alternative<Submit>(wish.event) && !all_configured())
    return agenda_.after(Duration(500), [this, number] { ask(number); });
  agenda_.after(kPatience, [this, number] { ask(number); });
  if (wish.ticket.is_set()) return;
  const Ticket ticket(++last_ticket_);
  Event event = wish.event;
  const OperationKey key{.kind = OperationKey::Kind::kOpaque,
                         .scope = "clients",
                         .key = wish.key,
                         .made = {},
                         .sequence = 0};
  if (auto* submit = std::get_if<Submit>(&event)) submit->caller = {.ticket = ticket, .key = key};
  if (auto* configure = std::get_if<Configure>(&event))
    configure->caller = {.ticket = ticket, .key = key};
  if (!places_[wish.machine].site->post(std::move(event))) return;
  wish.ticket = ticket;
  tickets_[ticket.value()] = number;
}

void LxmfWorld::told(std::uint32_t machine, Ticket ticket, const Answer& answer) {
  Place& place = places_[machine];
  if (ticket == place.asks) {
    place.asks = {};
    if (const auto* page = std::get_if<MailboxPage>(&answer.view)) read_page(machine, *page);
    if (std::holds_alternative<Confirmed>(answer.view))
      place.confirmed.insert(place.confirms.begin(), place.confirms.end());
    return;
  }
  const auto found = tickets_.extract(ticket.value());
  if (found.empty()) return;
  Wish& wish = wishes_[found.mapped()];
  wish.ticket = {};
  wish.done = answer.code == AnswerCode::kAccepted || answer.code == AnswerCode::kDone ||
              answer.code == AnswerCode::kNothing;
  if (answer.code == AnswerCode::kInvalid) violation(wish.key + " is refused: " + answer.detail);
  trace_.line(agenda_.now(), "told").word(wish.key).word(postrider::name_of(answer.code)).end();
}

void LxmfWorld::died(std::uint32_t machine) {
  trace_.line(agenda_.now(), "died").number(std::uint64_t{machine}).end();
  places_[machine].asks = {};
  places_[machine].searched.clear();
  for (Wish& wish : wishes_) {
    if (wish.machine != machine || !wish.ticket.is_set()) continue;
    tickets_.erase(wish.ticket.value());
    wish.ticket = {};
  }
}

// Reads from the beginning each time, and confirms what it has read; a crash may take either.
void LxmfWorld::read_inbox(std::uint32_t machine) {
  agenda_.after(Duration(5'000), [this, machine] { read_inbox(machine); });
  Place& place = places_[machine];
  if (place.asks.is_set() || !all_configured()) return;
  const Ticket ticket(++last_ticket_);
  Query query;
  query.ticket = ticket;
  query.what = Query::What::kReadMailbox;
  query.destination = kBox;
  query.limit = 10;
  if (place.site->post(std::move(query))) place.asks = ticket;
}

void LxmfWorld::read_page(std::uint32_t machine, const MailboxPage& page) {
  if (page.items.empty()) return;
  Place& place = places_[machine];
  Confirm confirm;
  confirm.destination = kBox;
  for (const MailboxPage::Item& item : page.items) {
    const std::size_t from = std::min(item.body.find("message "), item.body.size());
    const std::string text = item.body.substr(from, item.body.find('.', from) + 1 - from);
    trace_.line(agenda_.now(), "application").word(place.name).word(text).end();
    if (!texts_.contains(text)) violation("an application got what no client sent: " + item.body);
    if (item.body.find("\"signature\":\"invalid\"") != std::string::npos)
      violation("a message arrived with a signature that is not its sender's: " + text);
    auto& holders = handed_over_[text];
    holders.insert({machine, item.id});
    if (holders.size() > 1) violation("'" + text + "' was taken in twice");
    if (place.confirmed.contains(item.id))
      violation(place.name + " offers what was confirmed: " + to_string(item.id));
    confirm.ids.push_back(item.id);
  }
  const Ticket ticket(++last_ticket_);
  confirm.caller.ticket = ticket;
  place.confirms = confirm.ids;
  if (place.site->post(std::move(confirm))) place.asks = ticket;
}

void LxmfWorld::draw_trouble(std::uint32_t machine) {
  Rng rng = rng_.fork(100 + machine);
  Site& site = *places_[machine].site;
  site.clock().drift(rng.between(-200, 200));
  const std::int64_t span = options_.span.count();
  for (std::int64_t i = rng.between(0, 6); i > 0; --i) {
    agenda_.after(Duration(rng.between(1'000, span)),
                  [&site, keep = rng.chance(1, 2), off = Duration(rng.between(10, 60'000))] {
                    site.crash(keep ? Site::Fate::kKeep : Site::Fate::kLose, off);
                  });
  }
  for (std::int64_t i = rng.between(0, 6); i > 0; --i)
    agenda_.after(Duration(rng.between(1'000, span)), [&site] { site.restart_shard(); });
  for (std::int64_t i = rng.between(0, 2); i > 0; --i) {
    agenda_.after(
        Duration(rng.between(1'000, span)),
        [&site, by = Duration(rng.between(-90'000, 90'000))] { site.clock().step_wall(by); });
  }
}

void LxmfWorld::run_until(Timestamp end) {
  while (!agenda_.empty() && agenda_.next_at() <= end && !given_up_) {
    agenda_.run_next();
    for (const Place& place : places_) place.site->pump();
  }
}

bool LxmfWorld::all_done() {
  for (const Wish& wish : wishes_) {
    if (!wish.done) return false;
  }
  for (const Place& place : places_) {
    const auto stats = place.site->stats();
    if (!stats || stats->counters.delivered != stats->counters.accepted) return false;
  }
  return handed_over_.size() == options_.messages;
}

LxmfReport LxmfWorld::run() {
  plan();
  for (const Place& place : places_) place.site->pump();
  const Timestamp calm = Timestamp(kBeginning) + options_.span + Duration(60'000);
  run_until(calm);
  wires_.heal();
  for (const Place& place : places_) place.site->calm();
  Timestamp end = calm;
  while (!given_up_ && !all_done() && end < calm + kBound) run_until(end = end + Duration(10'000));
  judge();
  report_.took = agenda_.now() - Timestamp(kBeginning);
  report_.violations = violations_;
  report_.trace_hash = trace_.hash();
  report_.wires = wires_.counts();
  for (const Place& place : places_) {
    report_.points.push_back(place.site->points());
    report_.sites.push_back(place.site->counts());
  }
  return report_;
}

void LxmfWorld::judge() {
  if (given_up_) return;
  for (const Wish& wish : wishes_) {
    if (!wish.done) violation(wish.key + " was never answered");
  }
  for (const std::string& text : texts_) {
    if (!handed_over_.contains(text)) violation("'" + text + "' never arrived");
  }
  for (const Place& place : places_) {
    const auto stats = place.site->stats();
    if (!stats) {
      violation(place.name + " does not come to rest");
      continue;
    }
    report_.delivered += stats->counters.delivered;
    if (stats->counters.delivered != stats->counters.accepted)
      violation(place.name + " has messages that did not end as delivered");
    if (stats->open_attempts != 0) violation(place.name + " has attempts that never ended");
  }
}

}  // namespace postrider::sim::lxmf_world

namespace postrider::sim {

LxmfReport simulate_lxmf(const LxmfOptions& options) {
  return lxmf_world::LxmfWorld(options).run();
}

}  // namespace postrider::sim
