// Two machines and a line between them, for tests of the station: Alice calls, Bob listens.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "postrider/profiles/lxmf/machine_testing.h"

namespace postrider::lxmf {

using reticulum::alice;
using reticulum::bob;

inline Address delivery(const reticulum::Identity& identity) {
  return reticulum::single_destination(reticulum::name_hash(kDeliveryName), identity.hash());
}

class TwoStations : public ::testing::Test {
 protected:
  static StationSetup with(const reticulum::Identity& identity, InterfaceSetup interface) {
    StationSetup out;
    out.interfaces.push_back(std::move(interface));
    out.identities.push_back({"key", identity, "inbox", "a name"});
    return out;
  }
  TwoStations()
      : a(net, "a", with(alice(), {"uplink", InterfaceSetup::Kind::kCalls, "tcp://b:1", {}}), 1),
        b(net, "b", with(bob(), {"door", InterfaceSetup::Kind::kListens, "tcp://b:1", {}}), 2) {}

  void start_both() {
    b.start();
    a.start();
    net.run(1s);
  }
  static PackedMessage letter(const std::string& content, bool back = false) {
    LxmfMessage message;
    message.destination = delivery(back ? alice() : bob());
    message.source = delivery(back ? bob() : alice());
    message.time = 1'767'225'600.0;
    message.title = "hello";
    message.content = content;
    return pack(message, (back ? bob() : alice()).signing()).value();
  }
  Word look(Machine& machine, const PackedMessage& message, std::uint8_t method,
            Duration within = 1s, const NamedTexts& more = {}) {
    machine.look(message, delivery(&machine == &a ? bob() : alice()), method, more);
    net.run(within);
    return machine.ends.empty() || machine.ends.back().first != machine.last_attempt
               ? Word{0}
               : machine.ends.back().second;
  }
  Word find(Machine& machine, std::uint8_t method, Duration within = 1s) {
    machine.find(delivery(&machine == &a ? bob() : alice()), method);
    net.run(within);
    return machine.ends.empty() || machine.ends.back().first != machine.last_attempt
               ? Word{0}
               : machine.ends.back().second;
  }
  // A link is opened, and a first message is delivered over it.
  void talk() {
    ASSERT_EQ(look(a, letter("first"), kDirect), Word::kNoLink);
    ASSERT_EQ(find(a, kDirect), Word::kFound);
    ASSERT_EQ(look(a, letter("first"), kDirect), Word::kProven);
  }
  static std::size_t packets(const Machine& machine, reticulum::PacketKind kind) {
    return static_cast<std::size_t>(
        std::count_if(machine.left.begin(), machine.left.end(), [&](const std::string& raw) {
          const auto packet = reticulum::decode_packet(raw);
          return packet && packet->kind == kind;
        }));
  }

  Net net;
  Machine a;
  Machine b;
};

}  // namespace postrider::lxmf
