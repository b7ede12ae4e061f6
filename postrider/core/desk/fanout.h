// Fan-out: one message for each member of a group that subscribes to its type, or for each
// destination of a list, all in one step and so in one commit, or none. Also the groups themselves.
//
// Invariants
//   - Nothing is changed before the last member has agreed. What a list makes like a template is
//     written with its message.
//   - The body is one record with as many references as members.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "postrider/core/books/names.h"
#include "postrider/core/books/receipts.h"
#include "postrider/core/books/sequences.h"
#include "postrider/core/books/shared_bodies.h"
#include "postrider/core/desk/acceptance.h"
#include "postrider/core/desk/operations.h"
#include "postrider/core/engine.h"
#include "postrider/core/step.h"
#include "postrider/core/window/destinations.h"
#include "postrider/core/window/residents.h"
#include "postrider/model/fanout.h"

namespace postrider::core {

class Fanouts {
 public:
  Fanouts(const EngineLimits& limits, Receipts& receipts, Sequences& sequences,
          SharedBodies& bodies, Names& names, Residents& residents, Destinations& destinations,
          Operations& operations, Acceptance& acceptance)
      : limits_(limits),
        receipts_(receipts),
        sequences_(sequences),
        bodies_(bodies),
        names_(names),
        residents_(residents),
        destinations_(destinations),
        operations_(operations),
        acceptance_(acceptance) {}
  Fanouts(const Fanouts&) = delete;
  Fanouts& operator=(const Fanouts&) = delete;

  std::optional<FanoutGroup> find_group(Step& step, const std::string& name);
  void on(Step& step, const FanOut& fanout);
  void on(Step& step, const ChangeGroup& change);

 private:
  struct Fanning {  // a fan-out on its way in
    struct Member {
      std::string name;
      Slot resident = kNoSlot;
      Admission admission = {};
      NameEntry older = {};
      ParsedMessage parsed = {};
    };
    std::vector<Member> members;
    std::vector<std::string> skipped;
  };
  std::optional<Answer> fan_out(Step& step, const FanOut& fanout);
  std::optional<Answer> choose_members(Step& step, const FanOut& fanout, const FanoutGroup& group,
                                       Fanning& fanning);
  std::optional<Answer> invalid(const FanOut& fanout) const;
  std::optional<Answer> invalid_list(const FanOut& fanout) const;
  static Acceptance::Draft draft_for(const FanOut& fanout, Slot resident);
  std::optional<Answer> ask_members(Step& step, const FanOut& fanout, Fanning& fanning);
  void share(Step& step, const SharedBody& shared, std::uint32_t members);
  FanoutView take_all(Step& step, const FanOut& fanout, Fanning& fanning);
  std::optional<Answer> invalid(const ChangeGroup& change) const;
  std::optional<Answer> change_group(Step& step, const ChangeGroup& change);

  const EngineLimits& limits_;
  Receipts& receipts_;
  Sequences& sequences_;
  SharedBodies& bodies_;
  Names& names_;
  Residents& residents_;
  Destinations& destinations_;
  Operations& operations_;
  Acceptance& acceptance_;
};

}  // namespace postrider::core
