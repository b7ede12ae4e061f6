// WallBooks: what is known of the wall clock beside engine time. Part of the meta record.
//
// While the wall is in doubt engine time runs on from the stored floor, and so do all stamps. When
// the wall is believed engine time leaps; the stamps made meanwhile stay as they were written, and
// `meant` says what they mean by the time that is right now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "postrider/base/time.h"

namespace postrider {

struct Leap {  // stamps after `from` up to `until` mean a time that is later by `by`
  Timestamp from;
  Timestamp until;
  Duration by{0};
  friend bool operator==(const Leap&, const Leap&) = default;
};

struct WallBooks {
  static constexpr std::size_t kLeapsMax = 8;  // older ones are forgotten

  Duration bias{0};  // engine time minus wall time, kept when the wall clock was set back
  std::vector<Leap> leaps = {};  // that were believed, oldest first
  // A leap that is not believed: since `from`, and at least by `by`. `from` unset: there is none.
  Leap doubt = {};

  bool in_doubt() const { return doubt.from.is_set(); }
  // Whether all stamps mean what they say, and nothing is in doubt.
  bool plain() const { return leaps.empty() && !in_doubt(); }
  bool made_in_doubt(Timestamp stamp) const { return in_doubt() && stamp > doubt.from; }
  Timestamp meant(Timestamp stamp) const;
  void believe(const Leap& leap);

  friend bool operator==(const WallBooks&, const WallBooks&) = default;
};

// What became of a leap at a start.
struct DoubtNews {
  enum class Kind : std::uint8_t { kDoubted, kBelieved, kTakenBack };
  Kind kind = Kind::kDoubted;
  Duration by{0};
};

struct Answer;
// Makes the stamps in an answer wall time, for callers: `now` is engine time, and the wall is ahead
// of it by `doubt`, which is not believed.
void show_by_wall(const WallBooks& books, Timestamp now, Duration doubt, Answer& answer);

}  // namespace postrider
