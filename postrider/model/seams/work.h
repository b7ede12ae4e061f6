// Work: a computation that takes longer than a call may (a millisecond), as an exchange with the
// transport WORK. A profile lists its kinds of work; its station or a request names one as the
// target, with the input as the body. In the daemon it runs on a pool of threads, in slices, so
// that a long one does not hold up a short one; in the simulator it takes virtual time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace postrider {

inline constexpr std::string_view kWorkVerb = "WORK";

// One computation. Made and ended on one thread, worked at on another, never on two at a time.
// What comes of it follows from its input alone.
class Work {
 public:
  virtual ~Work() = default;
  // Goes on for so many units, of a microsecond or so each: as many as one likes, in any portions,
  // lead to the same result. True: it is done.
  virtual bool go_on(std::uint64_t units) = 0;
  virtual std::string result() = 0;  // when it is done, once
};

struct WorkKind {
  std::string_view name;  // "lxmf.stamp"
  // Null: the input makes no sense.
  std::unique_ptr<Work> (*make)(std::string_view input) = nullptr;
};

}  // namespace postrider
