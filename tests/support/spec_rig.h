// SpecRig: a shard with a copy of the drill profile that a test may change, and the words for one
// destination, the mill.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "tests/support/task_rig.h"

namespace postrider {

// What the profile makes of the next answer, when something is set.
inline std::optional<Reading>& answers() {
  static std::optional<Reading> reading;
  return reading;
}

class SpecRig : public TaskRig {
 protected:
  SpecRig() : spec_(sim::drill_profile()) {
    answers().reset();
    spec_.wire.classify = [](const Facts& facts, AttemptKind kind, const WireReply& reply) {
      return answers() ? *answers() : sim::drill_profile().wire.classify(facts, kind, reply);
    };
    options.engine.profiles = profiles_;
  }

  std::uint64_t next() { return ++questions; }
  MessageId sent(NamedTexts attributes) {
    post(message(next(), std::move(attributes)));
    EXPECT_EQ(code_of(questions), AnswerCode::kAccepted) << told(questions).detail;
    return id_of(questions);
  }
  void open_mill(NamedTexts settings = {}) {
    open();
    post(place(next(), "mill", std::move(settings)));
    ASSERT_EQ(code_of(questions), AnswerCode::kDone) << told(questions).detail;
  }
  DestinationView mill() {
    Query event = ask(next(), Query::What::kDestination);
    event.destination = "mill";
    post(event);
    return view_of<DestinationView>(questions);
  }
  void receipt(MessageId which, On signal) {
    post(ReceiptArrived{.id = which, .signal = signal, .detail = {}});
  }
  template <class Command>
  Answer command(MessageId which) {
    Command event;
    event.caller.ticket = Ticket(next());
    event.id = which;
    post(std::move(event));
    turn();
    return told(questions);
  }

  ProfileSpec spec_;
  std::array<const ProfileSpec*, 1> profiles_ = {&spec_};
};

}  // namespace postrider
