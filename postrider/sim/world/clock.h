// SimClock: the two clocks of the simulated machine. The boot clock starts anew when the machine
// does; the wall clock is true time plus an error, which faults make larger.
#pragma once

#include <algorithm>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/model/seams/clock.h"
#include "postrider/sim/world/agenda.h"

namespace postrider::sim {

class SimClock final : public Clock {
 public:
  explicit SimClock(const Agenda& agenda)
      : agenda_(agenda), drift_from_(agenda.now()), booted_(agenda.now()) {}

  Instant read() const override {
    return {boot_of(agenda_.now()), agenda_.now() + error(), synchronised_};
  }
  bool synchronised() const override { return synchronised_; }
  void set_synchronised(bool synchronised) { synchronised_ = synchronised; }

  Timestamp boot_of(Timestamp truth) const { return Timestamp(kBootBase) + (truth - booted_); }
  Timestamp truth_of(Timestamp boot) const { return booted_ + (boot - Timestamp(kBootBase)); }

  void reboot() { booted_ = agenda_.now(); }
  void step_wall(Duration by) {
    note_error();
    offset_ += by;
    note_error();
  }
  void drift(std::int64_t parts_per_million) {
    note_error();
    offset_ = error();
    drift_from_ = agenda_.now();
    ppm_ = parts_per_million;
  }
  void correct_wall() {
    drift(0);
    offset_ = Duration(0);
  }
  Duration error() const {
    return offset_ + Duration((agenda_.now() - drift_from_).count() / 1000 * ppm_ / 1000);
  }
  // The largest error of the wall clock since then. Between two changes it lies between theirs.
  Duration worst_error_since(Timestamp truth) const {
    Duration worst = std::chrono::abs(error());
    for (auto at = errors_.rbegin(); at != errors_.rend(); ++at) {
      worst = std::max(worst, std::chrono::abs(at->error));
      if (at->truth < truth) break;
    }
    return worst;
  }

 private:
  static constexpr std::int64_t kBootBase = 1000;  // the process starts a little after the machine

  struct Error {
    Timestamp truth;
    Duration error{0};
  };
  void note_error() { errors_.push_back({agenda_.now(), error()}); }

  const Agenda& agenda_;
  std::vector<Error> errors_;  // at each change
  bool synchronised_ = true;   // the kernel says so
  Duration offset_{0};
  std::int64_t ppm_ = 0;
  Timestamp drift_from_;
  Timestamp booted_;
};

}  // namespace postrider::sim
