// Checkers: laws of all worlds and of the world's field, each written once and independently of the
// engine. They see what clients and peers saw, and what became durable; a law that is broken is
// a violation, and a violation fails the simulation.
#pragma once

#include <memory>
#include <vector>

#include "postrider/shard/shard.h"
#include "postrider/sim/world/clock.h"
#include "postrider/sim/world/field.h"
#include "postrider/sim/world/history.h"
#include "postrider/sim/world/notebook.h"
#include "postrider/sim/world/options.h"
#include "postrider/sim/world/verdicts.h"

namespace postrider::sim {

// What a checker may know of the world beforehand.
struct CheckerContext {
  Verdicts& verdicts;
  const ShardOptions& shard;
  const std::vector<DestinationConfig>& destinations;
  const SimClock& clock;
  WorldKind world = WorldKind::kDrawn;
  std::vector<Figure>* figures = nullptr;  // where those of a staged world go
};

class Checker : public Witness {
 public:
  // After the notebook has read it.
  virtual void batch(const Batch& /*batch*/) {}
};

// Makes the checkers of all worlds.
using CheckerLister = CheckerList(const CheckerContext& context, Notebook& notebook);

class Checkers final : public Witness {
 public:
  struct Parts {
    CheckerLister* general;  // those of all worlds
    const Fields& fields;
    const Field& field;
    const FarSides* far_sides = nullptr;
  };
  Checkers(const CheckerContext& context, const Parts& parts);
  ~Checkers() override;

  void began(const Moment& when, Epoch epoch) override;
  void died(const Moment& when) override;
  void asked(const Asked& asked) override;
  void told(const Told& told) override;
  void left(const Left& left) override;
  void aborted(const Aborted& aborted) override;
  void reached(const Reached& reached) override;
  void outcome(const Outcomed& outcome) override;
  void receipt(const Receipted& receipt) override;
  void durable(const Durable& durable) override;
  void damaged(const Moment& when, std::string_view key) override;
  void finished(const Finished& finished) override;

  void report_stuck();
  Notebook& notebook() { return notebook_; }
  const Notebook& notebook() const { return notebook_; }

 private:
  Verdicts& verdicts_;
  Notebook notebook_;
  CheckerList checkers_;
};

}  // namespace postrider::sim
