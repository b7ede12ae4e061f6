#include "postrider/sim/fields/drill/link_world.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/model/records/keys.h"
#include "postrider/model/records/records.h"
#include "postrider/sim/fields/drill/link_profile.h"
#include "postrider/sim/fields/drill/link_station.h"
#include "postrider/sim/world/trace.h"

namespace postrider::sim {
namespace {

constexpr std::int64_t kLinkBeginning = 1'700'000'000'000;
constexpr Duration kLinkBound{4h};  // after the faults; a line that is dead costs half a minute
constexpr std::size_t kLinkViolationsMax = 20;
constexpr Duration kClientPatience{5'000};

// What the clients of one machine want, until it is answered.
struct LinkWish {
  std::uint32_t machine = 0;
  Event event;
  std::string key;
  bool done = false;
  Ticket ticket;  // unset: it has to be asked, or asked again
};

class LinkWorld {
 public:
  explicit LinkWorld(const LinkOptions& options);
  LinkReport run();

 private:
  static std::string name_of_machine(std::uint32_t machine) {
    return std::string(1, static_cast<char>('a' + machine));
  }
  std::unique_ptr<Site> make_site(std::uint32_t machine);
  void plan();
  void wish(std::uint32_t machine, Event event, Duration after);
  void ask(std::size_t number);
  bool all_configured() const;
  void told(std::uint32_t machine, Ticket ticket, const Answer& answer);
  void died(std::uint32_t machine);
  void leaves(const std::string& machine, LineId line, std::string_view bytes);
  void durable(std::uint32_t machine, const Applied& applied);
  void read_inbox(std::uint32_t machine);
  void read_page(std::uint32_t machine, const MailboxPage& page);
  void handed_over(std::uint32_t machine, const MailboxPage::Item& item);
  void judge_numbers();
  void judge_cards();
  void draw_trouble(std::uint32_t machine);
  void lie();
  void run_until(Timestamp end);
  bool all_done();
  void judge();
  void violation(std::string what);

  LinkOptions options_;
  Rng rng_;
  Agenda agenda_;
  Trace trace_;
  std::vector<const ProfileSpec*> profiles_;
  Wires wires_;
  std::vector<std::unique_ptr<Site>> sites_;
  std::unique_ptr<SimWire> liar_;
  std::uint64_t liar_lines_ = 0;
  std::vector<LinkWish> wishes_;
  std::map<std::uint64_t, std::size_t> tickets_;  // to wishes
  std::uint64_t last_ticket_ = 0;
  std::vector<std::set<std::string>> asked_;    // by machine: ids that came and are not durable
  std::vector<std::set<std::string>> durable_;  // by machine: ids that are
  std::set<std::string, std::less<>> nonces_;
  std::map<std::string, std::set<std::pair<std::uint32_t, MessageId>>> handed_over_;  // by text
  // Of each machine and sender: the numbers of what came, and which message has each.
  std::map<std::pair<std::uint32_t, std::string>, std::map<std::uint64_t, MessageId>> numbers_;
  struct Reader {                     // the application behind a machine
    Ticket asks;                      // unset: it has to ask, or ask again
    std::vector<MessageId> confirms;  // what the confirmation under way names
    std::set<MessageId> confirmed;    // as it was told
  };
  std::vector<Reader> readers_;
  std::set<std::string> sent_;  // texts that clients wanted to send
  std::vector<std::string> violations_;
  bool troubled_ = true;
  bool given_up_ = false;
  LinkReport report_;
};

LinkWorld::LinkWorld(const LinkOptions& options)
    : options_(options),
      rng_(options.seed * 0x9E3779B97F4A7C15ULL + 21),
      agenda_(Timestamp(kLinkBeginning)),
      trace_(options.trace),
      profiles_{&link_profile()},
      wires_({agenda_,
              [this](const std::string& machine, LineId line, std::string_view bytes) {
                leaves(machine, line, bytes);
              },
              [this](std::string what) { violation(std::move(what)); }},
             LineLimits{}, WireFaults{}, rng_.fork(1)),
      asked_(options.machines),
      durable_(options.machines),
      readers_(options.machines) {
  Rng faults = rng_.fork(2);
  if (options_.faults) wires_.set_faults(draw_wire_faults(faults));
  for (std::uint32_t i = 0; i < options_.machines; ++i) sites_.push_back(make_site(i));
  if (options_.crash)
    sites_[options_.crash->machine]->crash_after(
        options_.crash->after, options_.crash->keep ? Site::Fate::kKeep : Site::Fate::kLose);
}

std::unique_ptr<Site> LinkWorld::make_site(std::uint32_t machine) {
  const std::uint64_t seed = rng_.next();
  ShardOptions shard;
  shard.engine.profiles = profiles_;
  shard.engine.seed = seed;
  for (std::size_t i = 0; i < shard.engine.id_key.size(); ++i)
    shard.engine.id_key[i] = static_cast<std::uint8_t>((seed >> (i % 8 * 8)) + i + 1);
  Rng draws(seed);
  StationLimits limits;
  if (options_.faults && draws.chance(1, 3)) {
    limits.posts_max = static_cast<std::uint32_t>(draws.between(1, 4));
    shard.event_queue_max = static_cast<std::uint32_t>(draws.between(4, 16));
  }
  FaultSet faults;
  if (options_.faults)
    faults = *parse_faults(
        "slow-commit,failed-commit,ambiguous-commit,sync-failed,slow-read,reordered-read");
  auto site = std::make_unique<Site>(
      name_of_machine(machine),
      Site::Surroundings{
          agenda_, wires_, shard, limits, faults, options_.span,
          options_.bug == LinkBug::kEntropyRepeated,
          {},
          [machine, bug = options_.bug] {
            std::vector<std::unique_ptr<Station>> list;
            list.push_back(
                std::make_unique<LinkStation>(LinkSetup{.machine = name_of_machine(machine)}, bug));
            return list;
          },
          [](const StartAttempt&) {},
          [this, machine](Ticket ticket, const Answer& answer) { told(machine, ticket, answer); },
          [this, machine] { died(machine); },
          [this](std::string what) { violation(std::move(what)); }},
      seed);
  site->disk().observe([this, machine](const Applied& applied) { durable(machine, applied); });
  return site;
}

void LinkWorld::violation(std::string what) {
  if (violations_.size() < kLinkViolationsMax)
    violations_.push_back("at " +
                          std::to_string((agenda_.now() - Timestamp(kLinkBeginning)).count()) +
                          ": " + std::move(what));
  given_up_ = given_up_ || violations_.size() >= kLinkViolationsMax;
}

void LinkWorld::plan() {
  Rng rng = rng_.fork(3);
  const auto configure = [&](std::uint32_t machine, std::string name, std::string far,
                             std::string way, std::string until = "proof") {
    Configure event;
    event.config = {
        .name = std::move(name),
        .profile = std::string(kLinkProfile),
        .settings = {
            {"machine", std::move(far)}, {"way", std::move(way)}, {"until", std::move(until)}}};
    wish(machine, std::move(event), Duration(0));
  };
  for (std::uint32_t here = 0; here < options_.machines; ++here) {
    configure(here, std::string(kLinkInbox), std::string(kLinkApplication), "stream");
    for (std::uint32_t there = 0; there < options_.machines; ++there) {
      if (here == there) continue;
      configure(here, name_of_machine(there) + "-stream", name_of_machine(there), "stream");
      configure(here, name_of_machine(there) + "-datagrams", name_of_machine(there), "datagrams");
      configure(here, name_of_machine(there) + "-done", name_of_machine(there), "stream", "done");
    }
    agenda_.after(Duration(1'000), [this, here] { read_inbox(here); });
    sites_[here]->start();
    if (options_.faults) draw_trouble(here);
  }
  for (std::uint32_t i = 0; i < options_.messages; ++i) {
    const auto here = static_cast<std::uint32_t>(rng.below(options_.machines));
    const auto step = static_cast<std::uint32_t>(1 + rng.below(options_.machines - 1));
    const std::uint32_t there = (here + step) % options_.machines;
    Submit event;
    constexpr std::array<const char*, 3> kWays = {"-datagrams", "-stream", "-done"};
    event.destination = name_of_machine(there) + kWays[rng.below(kWays.size())];
    const std::string text = "message " + std::to_string(i) + " to " + name_of_machine(there) + ".";
    const auto most = static_cast<std::size_t>(rng.chance(1, 8) ? 40'000 : 200);
    event.body = text + std::string(rng.below(most), 'x');
    sent_.insert(text);
    wish(here, std::move(event), Duration(rng.between(1'000, options_.span.count())));
  }
}

void LinkWorld::wish(std::uint32_t machine, Event event, Duration after) {
  const std::size_t number = wishes_.size();
  wishes_.push_back({machine, std::move(event), "wish-" + std::to_string(number), false, {}});
  agenda_.after(after, [this, number] { ask(number); });
}

bool LinkWorld::all_configured() const {
  return std::all_of(wishes_.begin(), wishes_.end(), [](const LinkWish& wish) {
    return wish.done || !std::holds_alternative<Configure>(wish.event);
  });
}

// Asks until it is answered, with the same key each time.
void LinkWorld::ask(std::size_t number) {
  LinkWish& wish = wishes_[number];
  if (wish.done) return;
  // What arrives for an inbox that is not configured yet has no place to go.
  if (std::holds_alternative<Submit>(wish.event) && !all_configured())
    return agenda_.after(Duration(500), [this, number] { ask(number); });
  agenda_.after(kClientPatience * 4, [this, number] { ask(number); });
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
  if (!sites_[wish.machine]->post(std::move(event))) return;
  wish.ticket = ticket;
  tickets_[ticket.value()] = number;
}

void LinkWorld::told(std::uint32_t machine, Ticket ticket, const Answer& answer) {
  Reader& reader = readers_[machine];
  if (ticket == reader.asks) {
    reader.asks = {};
    if (const auto* page = std::get_if<MailboxPage>(&answer.view)) read_page(machine, *page);
    if (std::holds_alternative<Confirmed>(answer.view))
      reader.confirmed.insert(reader.confirms.begin(), reader.confirms.end());
    return;
  }
  const auto found = tickets_.extract(ticket.value());
  if (found.empty()) return;
  LinkWish& wish = wishes_[found.mapped()];
  wish.ticket = {};
  wish.done = answer.code == AnswerCode::kAccepted || answer.code == AnswerCode::kDone ||
              answer.code == AnswerCode::kNothing;
  trace_.line(agenda_.now(), "told").word(wish.key).word(postrider::name_of(answer.code)).end();
}

void LinkWorld::died(std::uint32_t machine) {
  trace_.line(agenda_.now(), "died").number(std::uint64_t{machine}).end();
  readers_[machine].asks = {};
  for (LinkWish& wish : wishes_) {
    if (wish.machine != machine || !wish.ticket.is_set()) continue;
    tickets_.erase(wish.ticket.value());
    wish.ticket = {};
  }
}

// Every write is one frame, so what it says can be read as it leaves.
void LinkWorld::leaves(const std::string& machine, LineId line, std::string_view bytes) {
  const LinkTaken taken = take_link_frame(bytes);
  if (machine == "liar") return;
  POSTRIDER_CHECK(taken.how == LinkTaken::How::kFrame);
  const std::uint32_t here = static_cast<std::uint32_t>(machine[0] - 'a');
  const std::string id(taken.frame.id);
  constexpr std::array<const char*, 3> kFrameWords = {"request", "proof", "done"};
  trace_.line(agenda_.now(), kFrameWords[static_cast<std::size_t>(taken.frame.kind) - 1])
      .word(machine)
      .number(line.value())
      .word(id)
      .end();
  if (!nonces_.insert(std::string(taken.frame.nonce)).second)
    violation(machine + " drew 32 bytes of entropy a second time");
  if (taken.frame.kind == LinkKind::kProof && !durable_[here].contains(id))
    violation(machine + " proves " + id + ", which is not durable there");
  if (taken.frame.kind == LinkKind::kRequest) {
    for (std::uint32_t there = 0; there < options_.machines; ++there) {
      if (there != here && !durable_[there].contains(id)) asked_[there].insert(id);
    }
  }
}

// What is durable is found in the records themselves, whatever the engine says.
void LinkWorld::durable(std::uint32_t machine, const Applied& applied) {
  for (auto id = asked_[machine].begin(); id != asked_[machine].end();) {
    const bool found = std::any_of(applied.batch.writes().begin(), applied.batch.writes().end(),
                                   [&id](const Write& write) {
                                     return write.value.view().find(*id) != std::string_view::npos;
                                   });
    if (!found) {
      ++id;
      continue;
    }
    durable_[machine].insert(*id);
    id = asked_[machine].erase(id);
  }
}

// Reads from the beginning each time, and confirms what it has read; a crash may take either.
void LinkWorld::read_inbox(std::uint32_t machine) {
  agenda_.after(Duration(2'000), [this, machine] { read_inbox(machine); });
  Reader& reader = readers_[machine];
  if (reader.asks.is_set() || !all_configured()) return;
  const Ticket ticket(++last_ticket_);
  Query query;
  query.ticket = ticket;
  query.what = Query::What::kReadMailbox;
  query.destination = kLinkInbox;
  query.limit = 10;
  if (sites_[machine]->post(std::move(query))) reader.asks = ticket;
}

void LinkWorld::read_page(std::uint32_t machine, const MailboxPage& page) {
  if (page.items.empty()) return;
  Reader& reader = readers_[machine];
  Confirm confirm;
  confirm.destination = kLinkInbox;
  for (const MailboxPage::Item& item : page.items) {
    handed_over(machine, item);
    confirm.ids.push_back(item.id);
    if (reader.confirmed.contains(item.id))
      violation(name_of_machine(machine) + " offers what was confirmed: " + to_string(item.id));
  }
  const Ticket ticket(++last_ticket_);
  confirm.caller.ticket = ticket;
  reader.confirms = confirm.ids;
  if (sites_[machine]->post(std::move(confirm))) reader.asks = ticket;
}

// "ID SENDER#NUMBER TEXT"
void LinkWorld::handed_over(std::uint32_t machine, const MailboxPage::Item& item) {
  const std::string_view body = item.body;
  const std::size_t sender = std::min(body.find(' '), body.size() - 1) + 1;
  const std::size_t mark = std::min(body.find('#', sender), body.size());
  const std::size_t from = std::min(body.find(' ', mark), body.size() - 1) + 1;
  const std::string text(body.substr(from, body.find('.', from) + 1 - from));
  trace_.line(agenda_.now(), "application").number(std::uint64_t{machine}).word(text).end();
  if (!sent_.contains(text)) return violation("an application got what no client sent: " + text);
  auto& holders = handed_over_[text];
  holders.insert({machine, item.id});
  if (holders.size() > 1) violation("'" + text + "' was taken in twice");
  std::uint64_t number = 0;
  std::from_chars(body.data() + mark + 1, body.data() + body.size(), number);
  const std::string from_whom(body.substr(sender, mark - sender));
  const auto [held, is_new] = numbers_[{machine, from_whom}].emplace(number, item.id);
  if (!is_new && held->second != item.id)
    violation("number " + std::to_string(number) + " of " + from_whom + " was given twice");
}

// The card of a sender counts exactly what is in the mailbox or was.
void LinkWorld::judge_numbers() {
  for (const auto& [whose, numbers] : numbers_) {
    if (numbers.rbegin()->first != numbers.size())
      violation("messages of " + whose.second + " do not have the numbers 1 to " +
                std::to_string(numbers.size()));
  }
}

void LinkWorld::judge_cards() {
  for (std::uint32_t machine = 0; machine < options_.machines; ++machine) {
    const auto& records = sites_[machine]->disk().contents();
    std::uint64_t cards = 0;
    std::uint64_t expire = 0;
    std::uint64_t due = 0;
    for (const auto& [key, value] : records) {
      if (key[0] == keys::kCard) {
        const auto card = decode_card(value);
        const auto parsed = keys::parse_card(key);
        ++cards;
        if (!card || !parsed) {
          violation("a card of " + name_of_machine(machine) + " cannot be read");
          continue;
        }
        if (parsed->drawer == kLinkSeen)
          violation("a card of " + name_of_machine(machine) + " outlived its time");
        expire += card->expires.is_set() ? 1U : 0U;
      }
      if (const auto entry = keys::parse_due(key);
          entry && entry->kind == keys::DueKind::kCardExpiry)
        ++due;
    }
    if (expire != due)
      violation("cards and due entries of " + name_of_machine(machine) + " do not agree");
    const auto stats = sites_[machine]->stats();
    std::uint64_t counted = 0;
    if (stats) {
      for (const auto& [profile, count] : stats->cards) counted += count;
    }
    if (counted != cards)
      violation(name_of_machine(machine) + " counts " + std::to_string(counted) +
                " cards, and there are " + std::to_string(cards));
  }
}

void LinkWorld::draw_trouble(std::uint32_t machine) {
  Rng rng = rng_.fork(100 + machine);
  Site& site = *sites_[machine];
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
        [&site, by = Duration(rng.between(-30'000, 30'000))] { site.clock().step_wall(by); });
  }
}

// A far side that obeys no protocol: nonsense, frames that end early, proofs of what it never got.
void LinkWorld::lie() {
  if (!troubled_) {
    liar_.reset();
    return;
  }
  agenda_.after(Duration(rng_.between(5'000, 120'000)), [this] { lie(); });
  const LineId line(++liar_lines_);
  const auto machine = static_cast<std::uint32_t>(rng_.below(options_.machines));
  const bool datagrams = rng_.chance(1, 2);
  liar_->open(line,
              {.address = (datagrams ? "udp://" : "tcp://") + name_of_machine(machine) + ":1"});
  std::string bytes;
  if (rng_.chance(1, 2)) {
    bytes = encode_link_frame({.kind = LinkKind::kProof,
                               .id = std::string(32, static_cast<char>('a' + rng_.below(6))),
                               .nonce = std::string(32, 'n'),
                               .body = {}});
    if (rng_.chance(1, 2)) bytes.resize(rng_.below(bytes.size()));
  } else {
    for (std::uint64_t i = rng_.below(200); i > 0; --i)
      bytes.push_back(static_cast<char>(rng_.below(256)));
  }
  liar_->write(line, std::move(bytes), {});
  if (rng_.chance(1, 2)) liar_->close(line);
}

void LinkWorld::run_until(Timestamp end) {
  while (!agenda_.empty() && agenda_.next_at() <= end && !given_up_) {
    agenda_.run_next();
    for (const auto& site : sites_) site->pump();
  }
}

bool LinkWorld::all_done() {
  for (const LinkWish& wish : wishes_) {
    if (!wish.done) return false;
  }
  for (const auto& site : sites_) {
    const auto stats = site->stats();
    if (!stats || stats->counters.delivered != stats->counters.accepted) return false;
  }
  return handed_over_.size() == options_.messages;
}

LinkReport LinkWorld::run() {
  plan();
  if (options_.faults) {
    liar_ = std::make_unique<SimWire>(
        wires_, "liar", [](const station::Happened&) {}, [] {});
    lie();
  }
  for (const auto& site : sites_) site->pump();
  const Timestamp calm = Timestamp(kLinkBeginning) + options_.span + Duration(60'000);
  run_until(calm);
  troubled_ = false;
  wires_.heal();
  for (const auto& site : sites_) site->calm();
  Timestamp end = calm;
  while (!given_up_ && !all_done() && end < calm + kLinkBound)
    run_until(end = end + Duration(1'000));
  // What has a time goes when that is over.
  if (!given_up_) run_until(end + kLinkSeenFor + Duration(600'000));
  judge();
  if (!given_up_) judge_numbers();
  if (!given_up_) judge_cards();
  report_.took = agenda_.now() - Timestamp(kLinkBeginning);
  report_.violations = violations_;
  report_.trace_hash = trace_.hash();
  report_.wires = wires_.counts();
  for (const auto& site : sites_) {
    report_.points.push_back(site->points());
    report_.sites.push_back(site->counts());
  }
  return report_;
}

void LinkWorld::judge() {
  if (given_up_) return;
  for (const LinkWish& wish : wishes_) {
    if (!wish.done) violation(wish.key + " was never answered");
  }
  for (const std::string& text : sent_) {
    if (!handed_over_.contains(text)) violation("'" + text + "' never arrived");
  }
  for (const auto& site : sites_) {
    const auto stats = site->stats();
    if (!stats) {
      violation(site->name() + " does not come to rest");
      continue;
    }
    report_.delivered += stats->counters.delivered;
    report_.repeated += stats->tallies.repeated_arrivals;
    if (stats->counters.delivered != stats->counters.accepted)
      violation(site->name() + " has messages that did not end as delivered");
    if (stats->open_attempts != 0) violation(site->name() + " has attempts that never ended");
  }
}

}  // namespace

LinkReport simulate_links(const LinkOptions& options) { return LinkWorld(options).run(); }

}  // namespace postrider::sim
