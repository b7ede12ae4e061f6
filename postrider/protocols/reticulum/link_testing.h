// Two ends of a link without anything between them, for tests.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "postrider/protocols/reticulum/conversation.h"
#include "postrider/protocols/reticulum/link.h"
#include "postrider/protocols/reticulum/random_testing.h"

namespace postrider::reticulum {

inline constexpr InterfaceId kTestInterface{1};
inline constexpr Timestamp kTestStart{1'700'000'000'000};

// Gives the bytes it was given, then those of a seed.
class ScriptedRandom final : public Random {
 public:
  explicit ScriptedRandom(std::deque<std::string> script) : script_(std::move(script)) {}
  void fill(std::span<std::uint8_t> out) override {
    if (script_.empty()) return rest_.fill(out);
    std::copy_n(script_.front().begin(), out.size(), out.begin());
    script_.pop_front();
  }

 private:
  std::deque<std::string> script_;
  SeededRandom rest_{99};
};

// A raw packet and what was read of it.
struct Wired {
  explicit Wired(std::string bytes) : raw(std::move(bytes)), packet(decode_packet(raw).value()) {}
  Wired(const Wired&) = delete;
  Wired& operator=(const Wired&) = delete;
  Arrival arrival(InterfaceId interface = kTestInterface, std::uint8_t hops = 1) const {
    return {.packet = packet, .raw = raw, .interface = interface, .hops = hops};
  }
  std::string raw;
  Packet packet;
};

inline Link::Target link_target(const Identity& identity, std::string_view name) {
  return {.destination = single_destination(name_hash(name), identity.hash()),
          .keys = identity.public_keys(),
          .hops = 1,
          .interface = kTestInterface};
}

// The opener is Alice, the responder Bob.
struct LinkPair {
  explicit LinkPair(std::uint32_t mtu = kMtu, Duration rtt = 0ms, Duration idle_max = 600s)
      : settings{.mtu = mtu, .idle_max = idle_max},
        now(kTestStart),
        opener(Link::open(link_target(bob(), "vectors.link"), settings, now, random, sent)),
        responder(answered()) {
    const Wired proof(sent.back());
    sent.clear();
    now = now + rtt;
    opener.take(proof.arrival(), now, random, sent);
    const Wired round_trip(sent.back());
    sent.clear();
    responder.take(round_trip.arrival(), now, random, sent);
  }
  Link answered() {
    const Wired request(sent.back());
    sent.clear();
    return Link::answer(request.arrival(), bob(), settings, now, random, sent).value();
  }

  SeededRandom random{5};
  LinkSettings settings;
  Timestamp now;
  std::vector<std::string> sent;
  Link opener;
  Link responder;
};

}  // namespace postrider::reticulum
