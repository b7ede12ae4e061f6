#include "postrider/sim/world/weather.h"

#include <algorithm>
#include <array>

#include "postrider/model/records/keys.h"

namespace postrider::sim {

Weather::Weather(Surroundings around, Rng rng)
    : around_(around), rng_(rng), boots_(Rng(rng).fork(6)) {}

void Weather::begin() {
  for (std::size_t i = 0; i < kFaults; ++i) enter(static_cast<Fault>(i));
}

void Weather::enter(Fault fault) {
  const auto wait = around_.faults.next_wait(fault, around_.agenda.now());
  if (!wait) return;
  around_.agenda.after(*wait, [this, fault] {
    if (cleared_) return;
    strike(fault);
    enter(fault);
  });
}

void Weather::clear() {
  cleared_ = true;
  around_.faults.stop();
  around_.network.heal();
  around_.store.disk_full = false;
  around_.machine.retire();
  around_.clock.drift(0);
}

// From seconds to days; most are short.
Duration Weather::lasting() {
  constexpr std::array<Duration, 7> kLengths = {20s, 3min, 20min, 2h, 12h, 40h, 150h};
  const std::uint64_t one = rng_.below(7) + 1;
  const std::uint64_t other = rng_.below(7);
  const Duration longest = kLengths[std::min(one, other)];
  return Duration(rng_.between(longest.count() / 3, longest.count()));
}

void Weather::strike(Fault fault) {
  around_.trace.line(around_.agenda.now(), "fault").word(name_of(fault)).end();
  if (fault >= Fault::kBootAhead) return strike_boot(fault);
  if (fault <= Fault::kLateReceipt) return strike_network(fault);
  if (fault >= Fault::kWallForward) return strike_clock(fault);
  if (fault >= Fault::kCrashKeeps) return strike_process(fault);
  if (fault == Fault::kBitRot || fault == Fault::kTornRecord)
    return damage(fault == Fault::kTornRecord);
  if (fault != Fault::kFullDisk) return;
  around_.faults.count(fault);
  around_.store.disk_full = true;
  around_.agenda.after(Duration(rng_.between(1'000, 600'000)),
                       [this] { around_.store.disk_full = false; });
}

void Weather::strike_network(Fault fault) {
  const Timestamp now = around_.agenda.now();
  around_.faults.count(fault);
  if (fault == Fault::kClog) {
    around_.network.clog_until(now + Duration(rng_.between(1'000, 120'000)));
    return;
  }
  if (fault != Fault::kPartition) return set_moods(fault);
  const auto direction = rng_.chance(1, 2) ? Network::Direction::kOut : Network::Direction::kBack;
  const Timestamp until = now + Duration(rng_.between(60'000, 6 * 3'600'000));
  const std::uint32_t count = 1 + around_.network.peers() / 10;
  for (std::uint32_t i = 0; i < count; ++i) {
    around_.network.cut(static_cast<std::uint32_t>(rng_.below(around_.network.peers())), direction,
                        until);
  }
}

void Weather::set_moods(Fault fault) {
  constexpr std::array<Mood, 4> kDown = {Mood::kRefuses, Mood::kNoName, Mood::kNoTls,
                                         Mood::kSwallows};
  const std::uint32_t count = 1 + around_.network.peers() / 20;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto number = static_cast<std::uint32_t>(rng_.below(around_.network.peers()));
    const Duration lasts = lasting();
    // What fails is often taken out of service, and put back before it works.
    if (rng_.chance(1, 3)) {
      const Duration when(rng_.between(1'000, std::max<std::int64_t>(2'000, lasts.count() / 2)));
      around_.agenda.after(when, [this, number] { around_.maintenance(number); });
    }
    if (fault == Fault::kPeerDown) set_mood(number, kDown[rng_.below(kDown.size())], lasts);
    if (fault == Fault::kPeerFlaky)
      set_mood(number, rng_.chance(1, 3) ? Mood::kSlow : Mood::kFlaky, lasts);
    if (fault == Fault::kPeerThrottles) set_mood(number, Mood::kThrottles, lasts);
    if (fault == Fault::kPeerGone) set_mood(number, Mood::kGone, std::min(lasts, Duration(12h)));
  }
}

void Weather::set_mood(std::uint32_t peer, Mood mood, Duration for_so_long) {
  around_.network.peer(peer).set_mood(mood);
  const std::uint64_t episode = ++last_episode_;
  episodes_[peer] = episode;
  around_.agenda.after(for_so_long, [this, peer, episode] {
    if (episodes_[peer] == episode) around_.network.peer(peer).set_mood(Mood::kHealthy);
  });
}

// Only records whose loss costs one message or those that share its body, one dead letter, one key
// or one route: the rest is what a backup is for.
void Weather::damage(bool torn) {
  constexpr std::array<char, 7> kSpaces = {keys::kHot,  keys::kCold,    keys::kRoute, keys::kLedger,
                                           keys::kDead, keys::kHistory, keys::kBody};
  const char first = kSpaces[rng_.below(kSpaces.size())];
  for (const char space : {first, keys::kCold, keys::kLedger, keys::kRoute, keys::kHot}) {
    const auto key = around_.store.disk.damage(space, torn, rng_);
    if (!key) continue;
    around_.faults.count(torn ? Fault::kTornRecord : Fault::kBitRot);
    around_.witness.damaged(around_.machine.moment(around_.machine.running()), *key);
    return;
  }
}

void Weather::strike_process(Fault fault) {
  if (around_.machine.running() == 0) return;
  around_.faults.count(fault);
  switch (rng_.below(2)) {
    case 0: break;
    default:  // in the middle of something
      if (fault == Fault::kCrashKeeps || fault == Fault::kCrashLoses) {
        const auto fate = fault == Fault::kCrashKeeps ? Machine::Fate::kKeep : Machine::Fate::kLose;
        around_.machine.crash_after(around_.machine.points() + 1 + rng_.below(12), fate);
        return;
      }
  }
  if (fault == Fault::kTwoOwners) {
    around_.machine.usurp();
    around_.agenda.after(Duration(rng_.between(0, 20'000)), [this] { around_.machine.retire(); });
    return;
  }
  around_.machine.crash(fault == Fault::kCrashKeeps ? Machine::Fate::kKeep : Machine::Fate::kLose);
  if (fault == Fault::kReboot) around_.clock.reboot();
}

void Weather::strike_boot(Fault fault) {
  if (around_.machine.running() == 0) return;
  around_.faults.count(fault);
  const bool ahead = fault == Fault::kBootAhead;
  const Duration off(ahead ? boots_.between(0, 5'000) : boots_.between(90'000'000, 150'000'000));
  around_.machine.crash(Machine::Fate::kLose, off);
  around_.clock.reboot();
  Duration until = off + Duration(boots_.between(1'500, ahead ? 540'000 : 1'200'000));
  if (ahead) {
    const Duration by(boots_.between(100'000'000, 315'000'000'000));
    around_.clock.set_synchronised(false);
    around_.clock.step_wall(by);
    around_.agenda.after(until, [this, by] { around_.clock.step_wall(-by); });
  } else if (boots_.chance(1, 2)) {
    around_.clock.set_synchronised(false);
  }
  // Whoever sets the clock tells the kernel a little later.
  until += Duration(boots_.between(0, 10'000));
  around_.agenda.after(until, [this] { around_.clock.set_synchronised(true); });
}

void Weather::strike_clock(Fault fault) {
  around_.faults.count(fault);
  const Duration by(rng_.between(500, rng_.chance(1, 2) ? 90'000 : 6 * 3'600'000));
  if (fault == Fault::kWallForward) around_.clock.step_wall(by);
  if (fault == Fault::kWallBack) around_.clock.step_wall(-by);
  if (fault == Fault::kWallDrift) around_.clock.drift(rng_.between(-400, 400));
  if (fault == Fault::kWallThereAndBack) {
    const Duration there = rng_.chance(1, 2) ? by : -by;
    around_.clock.step_wall(there);
    around_.agenda.after(Duration(rng_.between(1'000, 500'000)),
                         [this, there] { around_.clock.step_wall(-there); });
  }
}

}  // namespace postrider::sim
