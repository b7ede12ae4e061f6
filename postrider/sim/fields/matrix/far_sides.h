// MatrixFarSides: a receiver for each peer of a Matrix world, under virtual time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "postrider/base/rng.h"
#include "postrider/sim/fields/matrix/receiver.h"
#include "postrider/sim/world/field.h"

namespace postrider::sim {

class MatrixFarSides final : public FarSides {
 public:
  MatrixFarSides(Surroundings around, const SimOptions& options, Rng rng);
  MatrixFarSides(const MatrixFarSides&) = delete;
  MatrixFarSides& operator=(const MatrixFarSides&) = delete;

  void request(std::uint64_t ticket, std::uint64_t tag, std::uint32_t peer,
               const WireRequest& request) override;
  void set_mood(std::uint32_t peer, Mood mood) override;
  void heal() override;
  void add_checkers(const CheckerContext& context, Notebook& notebook,
                    CheckerList& list) const override;

  const Receiver& receiver(std::uint32_t peer) const { return *sides_[peer]->receiver; }
  std::size_t size() const { return sides_.size(); }

 private:
  struct Side {
    std::unique_ptr<Receiver> receiver;
    ReceiverFaults faults;  // of its good days
    Timestamp wake_at = Timestamp::never();
  };
  ReceiverFaults draw_faults(Rng& rng) const;
  void apply_mood(Side& side, Mood mood) const;
  void pump(std::uint32_t number);
  bool has(Fault fault) const { return !healed_ && faults_[static_cast<std::size_t>(fault)]; }

  Surroundings around_;
  FaultSet faults_;
  std::vector<std::unique_ptr<Side>> sides_;
  bool healed_ = false;
};

}  // namespace postrider::sim
