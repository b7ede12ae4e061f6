// Machines for tests of the station: each has a station and, in place of an engine, a map of cards
// and an inbox, changed when the test commits; lines between them carry bytes in order.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/base/entropy.h"
#include "postrider/profiles/lxmf/cards.h"
#include "postrider/profiles/lxmf/letter.h"
#include "postrider/profiles/lxmf/station.h"
#include "postrider/profiles/lxmf/table.h"
#include "postrider/profiles/lxmf/wire.h"
#include "postrider/profiles/lxmf/work.h"
#include "postrider/protocols/lxmf/text_form.h"
#include "postrider/protocols/reticulum/frames.h"
#include "postrider/protocols/reticulum/random_testing.h"

namespace postrider::lxmf {

class MapCabinet final : public Cabinet {
 public:
  using Cards = std::map<std::pair<std::string, std::string>, std::string>;
  explicit MapCabinet(const Cards& cards) : cards_(cards) {}
  const std::string* card(std::string_view drawer, std::string_view key) override {
    const auto found = cards_.find({std::string(drawer), std::string(key)});
    return found == cards_.end() ? nullptr : &found->second;
  }
  std::optional<CardPage> cards(std::string_view drawer, std::string_view /*from*/,
                                std::uint32_t /*limit*/) override {
    CardPage page;
    for (const auto& [key, bytes] : cards_) {
      if (key.first == drawer)
        page.cards.push_back({.drawer = key.first, .key = key.second, .bytes = bytes});
    }
    return page;
  }
  bool lacks() const override { return false; }
  void random(std::span<std::uint8_t> /*out*/) override {}
  std::string_view secret(std::string_view /*name*/) const override { return {}; }

 private:
  const Cards& cards_;
};

// Work as the transport does it, at once.
inline WireReply worked(const WireRequest& request) {
  WireReply reply;
  for (const WorkKind& kind : kWorkKinds) {
    if (kind.name != request.target) continue;
    const std::unique_ptr<Work> work = kind.make(request.body);
    reply.status = work == nullptr ? 400 : 200;
    if (work == nullptr) return reply;
    while (!work->go_on(1'000)) {
    }
    reply.body = work->result();
  }
  return reply;
}

class Net;

class Machine {
 public:
  Machine(Net& net, std::string name, StationSetup setup, std::uint8_t seed);

  void start();                      // a process, from what is durable
  void happen(station::Happened happened);
  void commit();                     // all that was posted so far
  void look(const PackedMessage& message, const Address& recipient, std::uint8_t method,
            const NamedTexts& more = {});
  void find(const Address& recipient, std::uint8_t method, const NamedTexts& more = {},
            std::string_view kind = "find", std::string_view body = {});
  std::uint64_t figure(std::string_view figure_name) const;

  Net& net;
  std::string name;
  StationSetup setup;
  std::unique_ptr<LxmfStation> station;
  Entropy entropy;
  MapCabinet::Cards cards;  // durable
  std::vector<std::string> inbox;
  std::map<std::string, std::vector<std::pair<MessageId, std::string>>> kept;  // of its node
  std::uint64_t last_kept = 0;
  std::deque<station::Post> posted;
  std::vector<std::pair<std::uint64_t, Word>> ends;  // of attempts
  std::vector<On> news;
  std::vector<ReceiptArrived> receipts;
  std::vector<std::string> seen;   // PeerSeen, and destinations that an announce showed alive
  std::vector<std::string> left;   // packets that left, without frames
  std::uint64_t last_attempt = 0;
  bool holds = false;  // nothing is committed by itself
  bool holds_back = false;  // there is no room for work
  std::string reply;        // of the last attempt that ended
  AnswerCode refuses = AnswerCode::kDone;  // another: what arrivals are answered

 private:
  friend class Net;
  void carry_out(station::Wanted& want);
  void decide(station::Post& post);
  CardPage page_of(const Query& query) const {
    CardPage page = *MapCabinet(cards).cards(query.drawer, {}, 1000);
    if (query.what == Query::What::kCard)
      std::erase_if(page.cards, [&](const Card& card) { return card.key != query.card; });
    return page;
  }
  // Two at a time, so that there are pages.
  MailboxPage kept_page(const Query& query) const {
    MailboxPage page;
    const auto box = kept.find(query.destination);
    if (box == kept.end()) return page;
    for (const auto& [id, body] : box->second) {
      if (id <= query.id) continue;
      if (page.items.size() == 2) {
        page.more = true;
        break;
      }
      page.items.push_back({.id = id, .body = body});
    }
    return page;
  }
  std::map<std::string, LineId> listeners_;  // by address
  std::map<std::uint64_t, std::pair<Machine*, LineId>> far_;
};

class Net {
 public:
  Instant instant() const { return {Timestamp(1'000) + elapsed, wall + elapsed}; }
  // Until nothing moves before that time.
  void run(Duration by) {
    const Duration until = elapsed + by;
    while (step(until)) {
    }
    elapsed = until;
  }
  void later(Duration after, std::function<void()> thing) {
    agenda_.emplace(std::pair{elapsed + after, ++order_}, std::move(thing));
  }
  void cut(Machine& machine);  // all its lines

  Timestamp wall{1'767'225'600'000};
  Duration elapsed{0};
  Duration travel{1};
  std::vector<Machine*> machines;
  std::function<bool(const Machine& from, std::string_view packet)> loses;

 private:
  friend class Machine;
  bool step(Duration until) {
    std::optional<Duration> next;
    if (!agenda_.empty()) next = agenda_.begin()->first.first;
    Machine* due = nullptr;
    for (Machine* machine : machines) {
      if (machine->station == nullptr) continue;
      if (!machine->holds && !machine->posted.empty()) {
        machine->commit();
        return true;
      }
      const auto deadline = machine->station->next_deadline();
      if (!deadline) continue;
      const Duration at = std::max(*deadline - Timestamp(1'000), elapsed);
      if (!next || at < *next) {
        next = at;
        due = machine;
      }
    }
    if (!next || *next > until) return false;
    elapsed = *next;
    if (due != nullptr) {
      due->happen(station::DeadlineReached{});
      return true;
    }
    auto thing = std::move(agenda_.begin()->second);
    agenda_.erase(agenda_.begin());
    thing();
    return true;
  }
  std::map<std::pair<Duration, std::uint64_t>, std::function<void()>> agenda_;
  std::uint64_t order_ = 0;
  std::uint64_t last_accepted_ = kAcceptedLine;
};

inline Machine::Machine(Net& its_net, std::string its_name, StationSetup its_setup,
                        std::uint8_t seed)
    : net(its_net), name(std::move(its_name)), setup(std::move(its_setup)), entropy([seed] {
        EntropySeed out{};
        out[0] = seed;
        return out;
      }()) {
  net.machines.push_back(this);
}

inline void Machine::start() {
  net.cut(*this);
  posted.clear();
  listeners_.clear();
  station = std::make_unique<LxmfStation>(setup);
  happen(station::NewEpoch{});
}

inline void Machine::happen(station::Happened happened) {
  Wants wanted;
  station->on({net.instant(), entropy}, happened, wanted);
  for (station::Wanted& want : wanted) carry_out(want);
}

inline void Machine::carry_out(station::Wanted& want) {
  if (auto* post = std::get_if<station::Post>(&want)) {
    posted.push_back(std::move(*post));
  } else if (auto* open = std::get_if<station::OpenLine>(&want)) {
    const LineId line = open->line;
    const std::string address = open->order.address;
    if (open->order.listens) {
      listeners_[address] = line;
      return;
    }
    net.later(net.travel, [this, line, address] {
      for (Machine* other : net.machines) {
        const auto listener = other->listeners_.find(address);
        if (other->station == nullptr || listener == other->listeners_.end()) continue;
        const LineId accepted(++net.last_accepted_);
        far_[line.value()] = {other, accepted};
        other->far_[accepted.value()] = {this, line};
        other->happen(station::LineOpened{accepted, listener->second, name});
        return happen(station::LineOpened{line, {}, other->name});
      }
      happen(station::LineClosed{line, LineEnd::kRefused, {}});
    });
  } else if (auto* write = std::get_if<station::WriteLine>(&want)) {
    reticulum::FrameReader reader;
    std::string packet;
    reader.feed(write->bytes, [&](std::string_view raw) { packet = raw; });
    left.push_back(packet);
    const auto far = far_.find(write->line.value());
    if (far == far_.end() || (net.loses && net.loses(*this, packet))) return;
    const auto [other, line] = far->second;
    net.later(net.travel, [other = other, line = line, bytes = write->bytes] {
      if (other->station != nullptr && other->far_.contains(line.value()))
        other->happen(station::LineTook{line, bytes, {}});
    });
  } else if (auto* exchange = std::get_if<station::Exchange>(&want)) {
    WireReply made;
    if (holds_back) {
      made.end = WireEnd::kHeldBack;
    } else {
      made = worked(exchange->request);
    }
    net.later(Duration(3), [this, token = exchange->token, made = std::move(made)] {
      if (station != nullptr) happen(station::Exchanged{token, made});
    });
  } else if (auto* close = std::get_if<station::CloseLine>(&want)) {
    far_.erase(close->line.value());
  }
}

inline void Net::cut(Machine& machine) {
  for (const auto& [line, far] : std::exchange(machine.far_, {})) {
    far.first->far_.erase(far.second.value());
    if (far.first->station != nullptr)
      far.first->happen(station::LineClosed{far.second, LineEnd::kLost, {}});
    if (machine.station != nullptr)
      machine.happen(station::LineClosed{LineId(line), LineEnd::kLost, {}});
  }
}

inline void Machine::commit() {
  for (std::size_t left_over = posted.size(); left_over > 0; --left_over) {
    station::Post post = std::move(posted.front());
    posted.pop_front();
    decide(post);
  }
}

inline void Machine::decide(station::Post& post) {
  Answer answer;
  answer.code = AnswerCode::kDone;
  if (auto* ended = std::get_if<AttemptEnded>(&post.event)) {
    ends.emplace_back(ended->attempt.value(), static_cast<Word>(ended->reply.status));
    reply = ended->reply.body;
  } else if (auto* attempt = std::get_if<AttemptNews>(&post.event)) {
    news.push_back(attempt->signal);
  } else if (auto* receipt = std::get_if<ReceiptArrived>(&post.event)) {
    receipts.push_back(*receipt);
  } else if (auto* peer = std::get_if<PeerSeen>(&post.event)) {
    seen.push_back(peer->destination);
  } else if (auto* query = std::get_if<Query>(&post.event)) {
    answer.view = page_of(*query);
    if (query->what == Query::What::kReadMailbox) answer.view = kept_page(*query);
  } else if (auto* confirm = std::get_if<Confirm>(&post.event)) {
    std::erase_if(kept[confirm->destination], [&](const auto& one) {
      return std::find(confirm->ids.begin(), confirm->ids.end(), one.first) != confirm->ids.end();
    });
    answer.view = Confirmed{};
  } else if (auto* arrived = std::get_if<Arrived>(&post.event)) {
    MapCabinet cabinet(cards);
    const Received received = receive_arrival({arrived->source, arrived->settings, arrived->bytes,
                                               net.instant().wall, net.instant().wall, &cabinet});
    answer.code = refuses;
    if (refuses == AnswerCode::kDone) {
      for (const Card& card : received.cards) cards[{card.drawer, card.key}] = card.bytes;
      for (const NestedSubmit& submit : received.submits) {
        if (submit.destination.starts_with(kKeptPrefix)) {
          kept[submit.destination].emplace_back(MessageId{1, ++last_kept}, submit.body);
        } else {
          inbox.push_back(submit.body);
        }
      }
      seen.insert(seen.end(), received.alive_destinations.begin(),
                  received.alive_destinations.end());
      answer.reply = received.reply;
    }
  }
  if (post.token.is_set()) happen(station::Told{post.token, std::move(answer)});
}

inline void Machine::look(const PackedMessage& message, const Address& recipient,
                          std::uint8_t method, const NamedTexts& more) {
  WireRequest request;
  request.target = hex_of(reticulum::view(recipient));
  request.headers.add(kHeaderMethod, std::to_string(method));
  request.headers.add(kHeaderKind, "look");
  for (const auto& [header, text] : more) request.headers.add(header, text);
  request.body = message.bytes;
  MessageId id;
  std::memcpy(&id.low, message.id.data(), sizeof(id.low));
  id.high = 1;
  happen(station::Started{AttemptId(++last_attempt), id, std::move(request)});
}

inline void Machine::find(const Address& recipient, std::uint8_t method, const NamedTexts& more,
                          std::string_view kind, std::string_view body) {
  WireRequest request;
  request.target = hex_of(reticulum::view(recipient));
  request.headers.add(kHeaderMethod, std::to_string(method));
  request.headers.add(kHeaderKind, kind);
  for (const auto& [header, text] : more) request.headers.add(header, text);
  request.body = body;
  happen(station::Started{AttemptId(++last_attempt), MessageId{1, 1}, std::move(request)});
}

inline std::uint64_t Machine::figure(std::string_view figure_name) const {
  StationFigures figures;
  station->tell(figures);
  for (const StationFigure& one : figures) {
    if (one.name == figure_name) return one.value;
  }
  ADD_FAILURE() << "there is no figure " << figure_name;
  return 0;
}

}  // namespace postrider::lxmf
