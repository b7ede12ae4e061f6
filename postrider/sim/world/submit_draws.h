// SubmitDraws: what the messages of all fields have in common: keys, times, lanes, priorities and a
// body with a number of its own. It draws from the generator of the clients, so what a field draws
// between two of its draws shifts everything behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "postrider/base/rng.h"
#include "postrider/model/event.h"
#include "postrider/sim/world/options.h"

namespace postrider::sim {

class SubmitDraws final {
 public:
  struct Surroundings {
    const SimOptions& options;
    const std::vector<DestinationConfig>& destinations;  // as they are now
    std::function<Timestamp()> engine_now;
    Timestamp began;
  };
  SubmitDraws(Surroundings around, Rng& rng);
  SubmitDraws(const SubmitDraws&) = delete;
  SubmitDraws& operator=(const SubmitDraws&) = delete;

  // A message with everything that any profile takes. The attributes are drawn before the body.
  Submit draw(std::uint32_t destination, const std::function<std::string()>& attributes);

  OperationKey draw_key();
  void draw_times(Submit& submit);
  std::string draw_body();
  std::string draw_name(std::uint32_t destination);  // of it, or rarely of none

  std::uint64_t next_operation() { return ++last_operation_; }
  std::uint64_t last_operation() const { return last_operation_; }
  std::uint64_t next_key() { return ++last_key_; }

  const SimOptions& options() const { return around_.options; }
  Timestamp engine_now() const { return around_.engine_now(); }
  const std::vector<DestinationConfig>& destinations() const { return around_.destinations; }
  Rng& rng() { return rng_; }

 private:
  struct Session {
    std::string name;
    Timestamp began;
    std::uint64_t sequence = 0;
  };
  Duration up_to(Duration most) { return Duration(rng_.between(0, most.count())); }

  Surroundings around_;
  Rng& rng_;
  std::vector<Session> sessions_;
  std::uint64_t last_operation_ = 0;
  std::uint64_t last_key_ = 0;
};

}  // namespace postrider::sim
