#include "postrider/sim/fields/lxmf/lxmf_world.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/model/id_address.h"
#include "postrider/model/records/keys.h"
#include "postrider/model/records/records.h"
#include "postrider/profiles/lxmf/cards.h"
#include "postrider/profiles/lxmf/profile.h"
#include "postrider/profiles/lxmf/settings.h"
#include "postrider/profiles/lxmf/station.h"
#include "postrider/profiles/lxmf/work.h"
#include "postrider/protocols/lxmf/text_form.h"
#include "postrider/protocols/reticulum/frames.h"
#include "postrider/sim/fields/lxmf/eager_station.h"
#include "postrider/sim/fields/lxmf/inbox.h"
#include "postrider/sim/world/trace.h"

namespace postrider::sim {
namespace {

using reticulum::Address;
using reticulum::Identity;
using reticulum::view;

constexpr std::int64_t kBeginning = 1'700'000'000'000;
constexpr Duration kBound{6h};  // after the faults
constexpr std::size_t kViolationsMax = 20;
constexpr Duration kPatience{20'000};
constexpr std::string_view kKeyFile = "key";
constexpr std::string_view kBox = "inbox";

// What the clients of one machine want, until it is answered.
struct Wish {
  std::uint32_t machine = 0;
  Event event;
  std::string key;
  bool done = false;
  Ticket ticket;  // unset: it has to be asked, or asked again
};

Received forget_seen(const Inbound& inbound) {
  Received out = lxmf::receive_arrival(inbound);
  std::erase_if(out.cards, [](const Card& card) { return card.drawer == lxmf::kSeen; });
  return out;
}

class LxmfWorld {
 public:
  explicit LxmfWorld(const LxmfOptions& options);
  LxmfReport run();

 private:
  struct Place {  // one machine, as the world knows it
    std::string name;
    std::shared_ptr<Secrets> secrets = std::make_shared<Secrets>();
    std::optional<Identity> identity;
    Address address{};
    std::unique_ptr<Site> site;
    Ticket asks;                       // of its reader; unset: it has to ask
    std::vector<MessageId> confirms;   // what the confirmation under way names
    std::set<MessageId> confirmed;     // as it was told
    std::set<std::string> seen;        // message ids that are durable here
    std::uint64_t announced = 0;       // seconds
    std::set<std::string> ratchets;    // public, durable
    std::map<MessageId, std::string> sent;  // ids of messages of ours, as they were accepted
  };

  void make_place(std::uint32_t machine);
  lxmf::StationSetup setup_of(std::uint32_t machine) const;
  std::unique_ptr<Station> make_station(std::uint32_t machine) const;
  void plan();
  void wish(std::uint32_t machine, Event event, Duration after);
  void ask(std::size_t number);
  bool all_configured() const;
  void told(std::uint32_t machine, Ticket ticket, const Answer& answer);
  void died(std::uint32_t machine);
  void leaves(const std::string& machine, std::string_view bytes);
  void packet_leaves(std::uint32_t machine, std::string_view raw);
  void announce_leaves(std::uint32_t machine, const reticulum::Packet& packet);
  void durable(std::uint32_t machine, const Applied& applied);
  void durable_message(Place& place, const Blob& record);
  void durable_card(Place& place, std::string_view key, std::string_view value);
  void durable_end(Place& place, const EndRecord& end);
  void read_inbox(std::uint32_t machine);
  void read_page(std::uint32_t machine, const MailboxPage& page);
  void draw_trouble(std::uint32_t machine);
  void run_until(Timestamp end);
  bool all_done();
  void judge();
  void violation(std::string what);

  LxmfOptions options_;
  Rng rng_;
  Agenda agenda_;
  Trace trace_;
  ProfileSpec spec_ = kLxmf;
  std::vector<const ProfileSpec*> profiles_;
  Wires wires_;
  std::vector<Place> places_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> by_datagrams_;  // between these two
  std::vector<Wish> wishes_;
  std::map<std::uint64_t, std::size_t> tickets_;  // to wishes
  std::uint64_t last_ticket_ = 0;
  std::set<std::string, std::less<>> ephemeral_;  // keys of packets
  std::map<std::string, std::set<std::pair<std::uint32_t, MessageId>>> handed_over_;  // by text
  std::set<std::string> texts_;  // that clients wanted to send
  std::vector<std::string> violations_;
  bool given_up_ = false;
  LxmfReport report_;
};

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
          [](const StartAttempt&) {},
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
      configure(here, lxmf::recipient_name(places_[there].address), "lxmf",
                {{"identity", std::string(kKeyFile)}, {"wait_max", "1m"}});
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
    event.attributes = encode_texts(
        {{"title", "a title"}, {"method", rng.chance(1, 2) ? "direct" : "opportunistic"}});
    texts_.insert(text);
    wish(here, std::move(event), Duration(rng.between(1'000, options_.span.count())));
  }
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
  for (Wish& wish : wishes_) {
    if (wish.machine != machine || !wish.ticket.is_set()) continue;
    tickets_.erase(wish.ticket.value());
    wish.ticket = {};
  }
}

// Each write is one frame, or one datagram without a frame.
void LxmfWorld::leaves(const std::string& machine, std::string_view bytes) {
  const auto here = static_cast<std::uint32_t>(machine[0] - 'a');
  if (bytes.starts_with('\x7e')) {
    reticulum::FrameReader reader;
    reader.feed(bytes, [&](std::string_view raw) { packet_leaves(here, raw); });
  } else {
    packet_leaves(here, bytes);
  }
}

void LxmfWorld::packet_leaves(std::uint32_t machine, std::string_view raw) {
  const auto packet = reticulum::decode_packet(raw);
  if (!packet) return violation(places_[machine].name + " writes what is no packet");
  constexpr std::array<const char*, 4> kKinds = {"data", "announce", "link-request", "proof"};
  trace_.line(agenda_.now(), kKinds[static_cast<std::size_t>(packet->kind)])
      .word(places_[machine].name)
      .word(lxmf::hex_of(view(packet->destination)))
      .number(std::uint64_t{raw.size()})
      .end();
  switch (packet->kind) {
    case reticulum::PacketKind::kAnnounce: return announce_leaves(machine, *packet);
    case reticulum::PacketKind::kLinkRequest: ++report_.link_requests; break;
    case reticulum::PacketKind::kProof: return;
    case reticulum::PacketKind::kData:
      if (packet->destination_kind != reticulum::DestinationKind::kSingle) return;
      ++report_.opportunistic;
      break;
  }
  // Both begin with a key that was drawn for them alone; one packet may leave by several lines.
  const std::string key(packet->data.substr(0, 32));
  const std::string whole = lxmf::hex_of(view(reticulum::packet_hash(raw)));
  if (ephemeral_.contains(key + whole)) return;
  if (!ephemeral_.insert(key).second)
    violation(places_[machine].name + " drew a key of a packet a second time");
  ephemeral_.insert(key + whole);
}

void LxmfWorld::announce_leaves(std::uint32_t machine, const reticulum::Packet& packet) {
  Place& place = places_[machine];
  ++report_.announces;
  const auto announce = reticulum::read_announce(packet);
  if (!announce || !announce->ratchet)
    return violation(place.name + " announces without a ratchet");
  if (!place.ratchets.contains(std::string(view(*announce->ratchet))))
    violation(place.name + " announces a ratchet that is not durable");
  const std::uint64_t seconds = reticulum::announce_seconds(announce->random);
  if (seconds < place.announced) violation(place.name + " announces with an earlier time");
  place.announced = std::max(place.announced, seconds);
}

// What is durable is found in the records themselves, whatever the engine says.
void LxmfWorld::durable(std::uint32_t machine, const Applied& applied) {
  Place& place = places_[machine];
  for (const Write& write : applied.batch.writes()) {
    if (write.key.empty() || write.value.size() == 0) continue;
    const std::string_view value = write.value.view();
    if (write.key[0] == keys::kCard) {
      durable_card(place, write.key, value);
    } else if (write.key[0] == keys::kEnd) {
      if (const auto end = decode_end(value)) durable_end(place, *end);
    } else if (const auto hot = keys::parse_hot(write.key)) {
      if (hot->part == keys::Part::kMessage) durable_message(place, write.value);
    } else if (const auto cold = keys::parse_cold(write.key)) {
      if (cold->part == keys::Part::kMessage) durable_message(place, write.value);
    }
  }
}

// The id that a message of ours has on the network stays what it was when it was accepted.
void LxmfWorld::durable_message(Place& place, const Blob& record) {
  const auto message = decode_message(record);
  const auto texts = message ? decode_texts(message->attributes) : NamedTexts{};
  for (const auto& [name, text] : texts ? *texts : NamedTexts{}) {
    if (name != "id") continue;
    const auto received = lxmf::unpack(message->body);
    if (!received || lxmf::hex_of(view(received->id)) != text)
      violation(place.name + " stores a message that is not the one of its id");
    place.sent[message->id] = text;
  }
}

void LxmfWorld::durable_card(Place& place, std::string_view key, std::string_view value) {
  const auto parsed = keys::parse_card(key);
  const auto card = decode_card(value);
  if (!parsed || !card) return;
  if (parsed->drawer == lxmf::kSeen) place.seen.insert(lxmf::hex_of(parsed->key));
  if (parsed->drawer != lxmf::kOwn) return;
  const auto own = lxmf::decode_own(card->bytes);
  const auto ratchet = own ? own->ratchets.newest_public() : std::nullopt;
  if (ratchet) place.ratchets.insert(std::string(view(*ratchet)));
}

// The law of the protocol: what the sender holds for delivered, the recipient has.
void LxmfWorld::durable_end(Place& place, const EndRecord& end) {
  const auto sent = place.sent.find(end.id);
  if (sent == place.sent.end() || end.phase != Phase::kDelivered) return;
  trace_.line(agenda_.now(), "delivered").word(place.name).word(sent->second).end();
  const bool arrived = std::any_of(places_.begin(), places_.end(), [&](const Place& other) {
    return &other != &place && other.seen.contains(sent->second);
  });
  if (!arrived && options_.bug != LxmfBug::kForgetsSeen)
    violation(place.name + " holds " + sent->second +
              " for delivered, which is not durable at its recipient");
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

}  // namespace

LxmfReport simulate_lxmf(const LxmfOptions& options) { return LxmfWorld(options).run(); }

}  // namespace postrider::sim
