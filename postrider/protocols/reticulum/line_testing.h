// Line: two conversations, and between them what loses, doubles and reorders, for tests.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/protocols/reticulum/conversation.h"
#include "postrider/protocols/reticulum/link_testing.h"
#include "postrider/protocols/reticulum/seen.h"

namespace postrider::reticulum {

inline std::string noise(std::size_t size, std::uint64_t seed) {
  std::string out(size, '\0');
  SeededRandom(seed).fill({reinterpret_cast<std::uint8_t*>(out.data()), out.size()});
  return out;
}

// Two conversations and a line between them that loses, doubles and reorders, by a seed.
class Line {
 public:
  struct Faults {
    std::uint32_t lost_percent = 0;
    std::uint32_t doubled_percent = 0;
    std::int64_t delay_ms_min = 0;
    std::int64_t delay_ms_max = 0;
  };
  struct End {
    std::unique_ptr<Conversation> talk;
    Seen<32> seen{10'000};
    std::vector<std::string> arrived;  // packets and bodies
    std::vector<LinkEvent> events;
    std::map<SendId, int> ends;
    std::map<SendId, SendEnd> how;
    std::map<SendId, std::string> responses;
    bool up = false;
    bool down = false;
    bool proves = true;
    std::map<Context, int> sent;
  };

  Line(std::uint64_t seed, const Faults& faults, const ConversationSettings& settings)
      : faults_(faults), settings_(settings), random_(seed), rng_(seed * 7 + 1) {
    LinkOutput out;
    opener.talk = Conversation::open(link_target(bob(), "x"), settings, budget, now, random_, out);
    leave(opener, out);
  }

  // Until nothing is under way and no timer is due before `until`.
  void run(Timestamp until) {
    while (true) {
      std::optional<Timestamp> next;
      if (!wire_.empty()) next = wire_.begin()->first.first;
      for (End* end : {&opener, &responder}) {
        if (!end->talk) continue;
        const auto deadline = end->talk->next_deadline();
        if (deadline && (!next || *deadline < *next)) next = deadline;
      }
      if (!next || *next > until) break;
      ASSERT_LT(++steps_, 2'000'000);
      now = std::max(now, *next);
      if (!wire_.empty() && wire_.begin()->first.first <= now)
        arrive();
      else
        time();
    }
    now = std::max(now, until);
  }
  template <class Act>
  auto act(End& end, Act&& what) {
    LinkOutput out;
    auto result = what(*end.talk, out);
    leave(end, out);
    return result;
  }
  bool packet(End& end, std::uint64_t id, std::string_view plain) {
    return act(end, [&](Conversation& talk, LinkOutput& out) {
      return talk.send_packet(SendId(id), plain, now, random_, out);
    });
  }
  bool resource(End& end, std::uint64_t id, ResourceBody body) {
    return act(end, [&](Conversation& talk, LinkOutput& out) {
      return talk.send_resource(SendId(id), std::move(body), now, random_, out);
    });
  }
  bool request(End& end, std::uint64_t id, std::string_view data) {
    return act(end, [&](Conversation& talk, LinkOutput& out) {
      const Request request{.time = 1.0, .path = request_path("/get"), .data = data};
      return talk.send_request(SendId(id), request, now, random_, out);
    });
  }
  void close(End& end) {
    act(end, [&](Conversation& talk, LinkOutput& out) {
      talk.close(LinkEnd::kByUs, random_, out);
      return true;
    });
  }
  // Hands a raw packet to an end, past the line.
  void inject(End& end, const std::string& raw) {
    const Wired wired(raw);
    act(end, [&](Conversation& talk, LinkOutput& out) {
      talk.take(wired.arrival(), now, random_, out);
      return true;
    });
  }
  Random& random() { return random_; }

  ResourceBudget budget;
  End opener;
  End responder;
  Timestamp now = kTestStart;

 private:
  void leave(End& from, LinkOutput& out) {
    for (std::string& raw : out.packets) {
      ++from.sent[decode_packet(raw)->context];
      const bool lost = rng_.chance(faults_.lost_percent, 100);
      const int copies = lost ? 0 : rng_.chance(faults_.doubled_percent, 100) ? 2 : 1;
      for (int i = 0; i < copies; ++i) {
        const Duration delay(rng_.between(faults_.delay_ms_min, faults_.delay_ms_max));
        wire_.emplace(std::pair{now + delay, ++order_}, std::pair{&from == &opener, raw});
      }
    }
    out.packets.clear();
    std::vector<LinkEvent> events = std::move(out.events);
    out.events.clear();
    for (LinkEvent& event : events) happen(from, std::move(event));
  }

  void happen(End& end, LinkEvent event) {
    LinkOutput out;
    Conversation& talk = *end.talk;
    if (std::holds_alternative<LinkUp>(event)) end.up = true;
    if (std::holds_alternative<LinkDown>(event)) {
      EXPECT_FALSE(end.down);
      end.down = true;
    }
    if (auto* packet = std::get_if<PacketArrived>(&event)) {
      end.arrived.push_back(packet->plain);
      if (end.proves) talk.prove_packet(packet->packet, now, out);
    }
    if (auto* resource = std::get_if<ResourceArrived>(&event)) {
      end.arrived.push_back(resource->body);
      if (end.proves) talk.prove_resource(resource->resource, now, out);
    }
    if (auto* request = std::get_if<RequestArrived>(&event)) {
      EXPECT_EQ(request->path, request_path("/get"));
      talk.respond({.request = request->request, .value = request->data}, now, random_, out);
    }
    if (auto* response = std::get_if<ResponseArrived>(&event)) {
      ++end.ends[response->id];
      end.responses[response->id] = response->value;
    }
    if (auto* ended = std::get_if<SendEnded>(&event)) {
      ++end.ends[ended->id];
      end.how[ended->id] = ended->end;
    }
    end.events.push_back(std::move(event));
    leave(end, out);
  }

  void arrive() {
    const auto [from_opener, raw] = wire_.begin()->second;
    wire_.erase(wire_.begin());
    const Wired wired(raw);
    End& end = from_opener ? responder : opener;
    if (!may_repeat(wired.packet) && !end.seen.add(packet_hash(raw))) return;
    LinkOutput out;
    if (!end.talk) {
      if (wired.packet.kind != PacketKind::kLinkRequest) return;
      auto made =
          Conversation::answer(wired.arrival(), bob(), settings_, budget, now, random_, out);
      ASSERT_TRUE(made);
      end.talk = std::move(*made);
    } else {
      end.talk->take(wired.arrival(), now, random_, out);
    }
    leave(end, out);
  }

  void time() {
    for (End* end : {&opener, &responder}) {
      if (!end->talk) continue;
      const auto deadline = end->talk->next_deadline();
      if (!deadline || *deadline > now) continue;
      LinkOutput out;
      end->talk->on_time(now, random_, out);
      leave(*end, out);
    }
  }

  Faults faults_;
  ConversationSettings settings_;
  SeededRandom random_;
  Rng rng_;
  std::map<std::pair<Timestamp, std::uint64_t>, std::pair<bool, std::string>> wire_;
  std::uint64_t order_ = 0;
  int steps_ = 0;
};

}  // namespace postrider::reticulum
