#include "postrider/sim/world/staged.h"

#include <algorithm>
#include <array>

namespace postrider::sim {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"drawn", "hang", "flood", "storm"};

// 990 of 1,000 hang. Each of them has three messages and places for eight, so that they would take
// all places ten times over.
constexpr std::uint32_t kHangDestinations = 1000;
constexpr std::uint32_t kHangEach = 3;
constexpr std::uint32_t kHangPlaces = 256;
constexpr Duration kHangSpan{5min};
constexpr Duration kHealthyEvery{4s};

// Few places, so that everybody waits for turns; and none of them is kept for those that answer.
constexpr std::uint32_t kFloodPlaces = 7;
constexpr std::uint32_t kFloodDestinations = 40;
constexpr std::uint32_t kFloodMessages = 100'000;
constexpr std::uint32_t kFloodBatch = 500;  // each second
constexpr std::uint32_t kQuiet = 4;         // destinations that one tenant each has
constexpr Duration kFloodEach{21ms};        // what one delivery takes, places being that few

constexpr std::uint32_t kStormMessages = 10'000;

}  // namespace

std::optional<WorldKind> parse_world(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<WorldKind>(found - kNames.begin());
}
std::string_view name_of(WorldKind world) { return kNames[static_cast<std::size_t>(world)]; }

SimOptions staged(SimOptions options) {
  options.profile.clear();  // the first field can stage
  options.faults.reset();
  options.twins = false;  // it is never quiet
  switch (options.world) {
    case WorldKind::kDrawn: break;
    case WorldKind::kHang:
      options.destinations = kHangDestinations;
      options.messages = (kHangDestinations - kHealthyInHang) * kHangEach;
      options.span = kHangSpan;
      break;
    case WorldKind::kFlood:
      options.destinations = kFloodDestinations;
      if (options.messages == 0) options.messages = kFloodMessages;
      options.span = Duration(10s) + kFloodEach * static_cast<std::int64_t>(options.messages);
      break;
    case WorldKind::kStorm:
      options.destinations = 1;
      options.messages = kStormMessages;
      options.span = kStormSpan;
      break;
  }
  return options;
}

StagedDestination staged_destination(const SimOptions& options, std::uint32_t number) {
  StagedDestination wanted;
  wanted.name = "destination-" + std::to_string(number);
  wanted.peer = number;
  if (options.world == WorldKind::kHang) {
    wanted.name = (number < kHealthyInHang ? "well-" : "hangs-") + std::to_string(number);
    // Long back-offs and closed routes would only make it easier for the others.
    wanted.wait = wanted.wait_max = 1s;
  } else if (options.world == WorldKind::kFlood) {
    const bool quiet = number < kQuiet;
    wanted.name = (quiet ? "quiet-" : "loud-") + std::to_string(number);
    wanted.tenant = quiet ? wanted.name : "loud";
    wanted.tenant_weight = quiet ? 1 : kFloodWeight;
  } else if (options.world == WorldKind::kStorm) {
    wanted.name = "weak";
    wanted.in_flight_max = 64;
    wanted.wait = 1s;
    wanted.wait_max = 1min;
  }
  return wanted;
}

void stage_limits(const SimOptions& options, ShardOptions& shard) {
  if (options.world == WorldKind::kHang) shard.engine.limits.open_attempts_max = kHangPlaces;
  if (options.world == WorldKind::kFlood) shard.engine.limits.open_attempts_max = kFloodPlaces;
}

bool is_watched(WorldKind world, const std::string& destination) {
  return (world == WorldKind::kHang && destination.starts_with("well-")) ||
         (world == WorldKind::kFlood && destination.starts_with("quiet-"));
}

void Stage::begin() {
  switch (around_.options.world) {
    case WorldKind::kDrawn: break;
    case WorldKind::kHang: begin_hang(); break;
    case WorldKind::kFlood: begin_flood(); break;
    case WorldKind::kStorm: begin_storm(); break;
  }
}

void Stage::send_at(Duration when, std::uint32_t destination, std::uint32_t count) {
  around_.agenda.after(when, [this, destination, count] { around_.send(destination, count); });
}

void Stage::every(Duration from, Duration step, std::uint32_t destination) {
  for (Duration at = from; at < around_.options.span; at += step) send_at(at, destination, 1);
}

// Those that are well answer once, and are known for it, before the others begin to hang.
void Stage::begin_hang() {
  for (std::uint32_t i = 0; i < around_.options.destinations; ++i) {
    if (i < kHealthyInHang) {
      send_at(1s, i, 1);
      every(Duration(10s) + Duration(137) * i, kHealthyEvery, i);
    } else {
      around_.network.peer(i).set_mood(Mood::kSwallows);
      send_at(5s, i, kHangEach);
    }
  }
}

void Stage::begin_flood() {
  const std::uint32_t loud = around_.options.destinations - kQuiet;
  std::uint32_t sent = 0;
  for (Duration at = 1s; sent < around_.options.messages; at += 1s) {
    const std::uint32_t batch = std::min(kFloodBatch, around_.options.messages - sent);
    around_.agenda.after(at, [this, loud, sent, batch] {
      for (std::uint32_t i = sent; i < sent + batch; ++i) around_.send(kQuiet + i % loud, 1);
    });
    sent += batch;
  }
  const Duration step = std::max(Duration(3s), around_.options.span / 100);
  for (std::uint32_t i = 0; i < kQuiet; ++i) every(Duration(5s) + Duration(313) * i, step, i);
}

void Stage::begin_storm() {
  Network& network = around_.network;
  network.peer(0).set_mood(Mood::kRefuses);
  for (std::uint32_t second = 1; second <= 10; ++second)
    send_at(Duration(1s) * second, 0, around_.options.messages / 10);
  around_.agenda.after(kStormReturns, [&network] { network.peer(0).set_mood(Mood::kLimited); });
}

}  // namespace postrider::sim
