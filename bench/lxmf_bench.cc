// What LXMF costs one core: stamps with and without their workblock, the packets of a link with
// their proofs, a megabyte as a resource between two machines in memory.
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <benchmark/benchmark.h>

#include "postrider/base/check.h"
#include "postrider/base/rng.h"
#include "postrider/protocols/lxmf/message.h"
#include "postrider/protocols/lxmf/stamp.h"
#include "postrider/protocols/reticulum/conversation.h"
#include "postrider/protocols/reticulum/sha256.h"

namespace postrider::lxmf {
namespace {

class BenchRandom final : public reticulum::Random {
 public:
  explicit BenchRandom(std::uint64_t seed) : rng_(seed) {}
  void fill(std::span<std::uint8_t> out) override {
    for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(rng_.next() >> 56);
  }

 private:
  Rng rng_;
};

// A stamp from the message to the last trial; the mean over many is what counts.
void mine(benchmark::State& state) {
  BenchRandom random(1);
  std::uint64_t trials = 0;
  for (auto _ : state) {
    auto search = StampSearch::make({.material = std::string(reticulum::view(random.bytes<32>())),
                                     .rounds = static_cast<std::uint32_t>(state.range(0)),
                                     .cost = static_cast<std::uint32_t>(state.range(1)),
                                     .start = random.bytes<32>()});
    while (!search->run(4096)) {
    }
    trials += search->trials();
  }
  state.counters["trials/s"] =
      benchmark::Counter(static_cast<double>(trials), benchmark::Counter::kIsRate);
}
BENCHMARK(mine)
    ->ArgNames({"rounds", "cost"})
    ->Args({kPropagationRounds, 13})
    ->Args({kPropagationRounds, 16})
    ->Args({kMessageRounds, 8})
    ->Args({kMessageRounds, 16})
    ->Unit(benchmark::kMillisecond)
    ->MinTime(3);

void workblock(benchmark::State& state) {
  BenchRandom random(1);
  for (auto _ : state) {
    Workblock block(std::string(reticulum::view(random.bytes<32>())),
                    static_cast<std::uint32_t>(state.range(0)));
    benchmark::DoNotOptimize(block.build(UINT32_MAX));
  }
}
BENCHMARK(workblock)->Arg(kMessageRounds)->Arg(kPropagationRounds)->Unit(benchmark::kMillisecond);

// Two conversations, each packet handed over at once.
class Pair {
 public:
  explicit Pair(std::uint32_t mtu) {
    settings_.link.mtu = mtu;
    settings_.answer_floor = 0ms;
    settings_.resource_bytes_max = 8'000'000;
    reticulum::LinkOutput out;
    const reticulum::Link::Target target{.destination = reticulum::Address{1},
                                         .keys = owner_.public_keys(),
                                         .interface = reticulum::InterfaceId(1)};
    opener_ = reticulum::Conversation::open(target, settings_, budget_, now_, random_, out);
    hand_over(true, out);
    POSTRIDER_CHECK(opener_->link().is_usable() && responder_->link().is_usable());
  }
  void packet(std::string_view plain) {
    reticulum::LinkOutput out;
    POSTRIDER_CHECK(opener_->send_packet(reticulum::SendId(1), plain, now_, random_, out));
    hand_over(true, out);
    POSTRIDER_CHECK(opener_->packets_in_flight() == 0);
  }
  void resource(const std::string& body) {
    reticulum::LinkOutput out;
    POSTRIDER_CHECK(
        opener_->send_resource(reticulum::SendId(1), {.bytes = body}, now_, random_, out));
    hand_over(true, out);
    POSTRIDER_CHECK(opener_->resources_waiting() == 0);
  }

 private:
  void hand_over(bool from_opener, reticulum::LinkOutput& out) {
    struct Waiting {
      bool from_opener;
      std::string raw;
    };
    std::deque<Waiting> wire;
    const auto leave = [&](bool opener, reticulum::LinkOutput& some) {
      for (std::string& raw : some.packets) wire.push_back({opener, std::move(raw)});
      some.packets.clear();
    };
    leave(from_opener, out);
    while (!wire.empty()) {
      const Waiting waiting = std::move(wire.front());
      wire.pop_front();
      const reticulum::Packet packet = reticulum::decode_packet(waiting.raw).value();
      const reticulum::Arrival arrival{
          .packet = packet, .raw = waiting.raw, .interface = reticulum::InterfaceId(1)};
      reticulum::LinkOutput answer;
      if (waiting.from_opener && !responder_) {
        responder_ = reticulum::Conversation::answer(arrival, owner_, settings_, budget_, now_,
                                                     random_, answer)
                         .value();
      } else {
        auto& talk = waiting.from_opener ? responder_ : opener_;
        talk->take(arrival, now_, random_, answer);
        prove(*talk, answer);
      }
      leave(!waiting.from_opener, answer);
    }
  }
  void prove(reticulum::Conversation& talk, reticulum::LinkOutput& out) {
    for (const reticulum::LinkEvent& event : std::exchange(out.events, {})) {
      if (const auto* packet = std::get_if<reticulum::PacketArrived>(&event))
        talk.prove_packet(packet->packet, now_, out);
      if (const auto* resource = std::get_if<reticulum::ResourceArrived>(&event))
        talk.prove_resource(resource->resource, now_, out);
    }
  }

  BenchRandom random_{2};
  Timestamp now_{1'700'000'000'000};
  reticulum::Identity owner_{random_.bytes<64>()};
  reticulum::ConversationSettings settings_;
  reticulum::ResourceBudget budget_;
  std::unique_ptr<reticulum::Conversation> opener_;
  std::unique_ptr<reticulum::Conversation> responder_;
};

void link_packet(benchmark::State& state) {
  Pair pair(reticulum::kMtu);
  const std::string plain(200, 'p');
  for (auto _ : state) pair.packet(plain);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(link_packet);

void link_resource(benchmark::State& state) {
  Pair pair(static_cast<std::uint32_t>(state.range(0)));
  BenchRandom random(3);
  std::string body(1'000'000, '\0');
  random.fill({reinterpret_cast<std::uint8_t*>(body.data()), body.size()});
  for (auto _ : state) pair.resource(body);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(body.size()));
}
BENCHMARK(link_resource)->ArgName("mtu")->Arg(500)->Arg(8192)->Unit(benchmark::kMillisecond);

void pack_and_judge(benchmark::State& state) {
  BenchRandom random(4);
  const reticulum::Identity source(random.bytes<64>());
  const Key key = source.signing().public_key();
  for (auto _ : state) {
    const auto packed = pack({.content = std::string(100, 'c')}, source.signing());
    auto received = unpack(packed->bytes);
    POSTRIDER_CHECK(judge_signature(*received, &key) == SignatureVerdict::kVerified);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(pack_and_judge);

}  // namespace
}  // namespace postrider::lxmf
