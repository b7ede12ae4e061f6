#include "postrider/runtime/system_clock.h"

#include <ctime>
#include <sys/timex.h>

namespace postrider {
namespace {

Timestamp now_of(clockid_t which) {
  timespec now{};
  ::clock_gettime(which, &now);
  return Timestamp(static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000);
}

}  // namespace

Instant SystemClock::read() const { return {now_of(CLOCK_BOOTTIME), now_of(CLOCK_REALTIME)}; }

bool SystemClock::synchronised() const {
  timex question{};  // no mode: nothing is changed
  const int state = ::adjtimex(&question);
  return state >= 0 && state != TIME_ERROR && (question.status & STA_UNSYNC) == 0;
}

}  // namespace postrider
