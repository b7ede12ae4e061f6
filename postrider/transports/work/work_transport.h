// WorkTransport: computations on a pool of threads, as exchanges. A thread works at one of them for
// a slice of some milliseconds and then takes the one that has waited longest, so a long one does
// not hold up a short one, and an abort counts after the slice that is under way. Called on the
// loop's thread, where ends are told too; the threads touch nothing but the work.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/seams/transport.h"
#include "postrider/model/seams/work.h"

namespace boost::asio {
class io_context;
}

namespace postrider {

struct WorkTransportOptions {
  std::uint32_t threads = 2;
  std::uint32_t waiting_max = 1024;  // begun and not ended; more are held back
  std::uint32_t result_bytes_max = 8U << 20;
  std::function<Timestamp()> now;  // for tests; none: the steady clock
};

// How many units the next slice has. Slices get longer until they take `kShort`, and shorter as
// soon as one takes more than `kLong`; far below the 50 ms in which an abort must count.
struct WorkPace {
  static constexpr std::uint64_t kShortUs = 2'000;
  static constexpr std::uint64_t kLongUs = 8'000;
  std::uint64_t units = 64;
  void took(std::uint64_t us);
};

class WorkTransport final : public Transport {
 public:
  // Never called from inside start(). It may start and abort, but not destroy the transport.
  using Ended = std::function<void(AttemptId, WireReply)>;

  // An Error names the option that is wrong. A target that is none of `kinds`, or whose input makes
  // no sense, is answered with status 400; what is done with 200 and the result as body.
  static Result<std::unique_ptr<WorkTransport>> make(boost::asio::io_context& loop,
                                                     WorkTransportOptions options,
                                                     std::span<const WorkKind> kinds, Ended ended);
  ~WorkTransport() override;  // waits for the slices that are under way
  WorkTransport(const WorkTransport&) = delete;
  WorkTransport& operator=(const WorkTransport&) = delete;

  void start(AttemptId attempt, WireRequest request) override;
  void abort(AttemptId attempt) override;
  std::size_t open() const;  // begun and not ended
  void sweep();              // what its own timer does; for tests that move the clock

 private:
  class Impl;
  explicit WorkTransport(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
