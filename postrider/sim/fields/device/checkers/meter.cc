// Checker 21: the ledger of the meters. No act is radiated while an earlier copy of it could still
// run, unless its class allows it; none runs behind a newer one; none that may have run is sent
// again; and what was said in the end is true: executed ran, and what cannot have run did not, not
// even later.
#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "postrider/profiles/device/notes.h"
#include "postrider/sim/checkers/all.h"
#include "postrider/sim/fields/device/checkers/all.h"
#include "postrider/sim/fields/device/checkers/notes.h"

namespace postrider::sim {
namespace {

class MeterChecker final : public Checker {
 public:
  MeterChecker(const CheckerContext& context, Notebook& notebook, const MeterLedger& ledger)
      : verdicts_(context.verdicts), notebook_(notebook), clock_(context.clock), ledger_(ledger) {}

  void batch(const Batch& batch) override {
    read_ledger();
    for (const MessageNote* note : batch.entered) check_again(*note);
    for (const EndRecord& end : batch.ends) check_end(end);
  }
  void finished(const Finished& /*finished*/) override { read_ledger(); }

 private:
  using Number = MeterLedger::Number;
  struct Said {
    bool may_have_run = true;
    bool mistaken = false;  // perhaps, by a wrong clock
  };

  MessageNote* note_of(const Copy& copy) {
    MessageNote* note = notebook_.find(Sequence(copy.tag));
    return is_command(note) && !note->damaged ? note : nullptr;
  }

  void read_ledger() {
    for (; copies_ < ledger_.copies().size(); ++copies_) {
      const Copy& copy = ledger_.copy(copies_);
      of_message_[copy.tag].push_back(copies_);
      if (copy.is_act) of_meter_[copy.meter].push_back(copies_);
    }
    for (; doubled_ < ledger_.doubled().size(); ++doubled_)
      check_doubled(ledger_.doubled()[doubled_]);
    for (; runs_ < ledger_.runs().size(); ++runs_) check_run(ledger_.runs()[runs_]);
  }

  static constexpr Duration kNamelessMemory = 12h;

  bool trusts_clock(const Copy& copy) const {
    return clock_.worst_error_since(copy.taken_at) < kClockTrust;
  }

  void check_doubled(const MeterLedger::Doubled& doubled) {
    const Copy& copy = ledger_.copy(doubled.copy);
    const Copy& other = ledger_.copy(doubled.other);
    const MessageNote* note = note_of(copy);
    if (note == nullptr || !is_careful(*note) || !trusts_clock(other)) return;
    verdicts_.violation(21, "an act was radiated while an earlier copy could still run: " +
                                to_string(note->id) + " items " + copy.name + " and " + other.name);
  }

  void check_run(const MeterLedger::Run& run) {
    const Copy& copy = ledger_.copy(run.copy);
    const MessageNote* note = note_of(copy);
    if (note == nullptr || !copy.is_act) return;
    const auto said = said_.find(copy.tag);
    if (run.executed && said != said_.end() && !said->second.may_have_run && !said->second.mistaken)
      verdicts_.violation(21, "ran although it was said that it cannot: " + to_string(note->id));
    if (is_careful(*note) && trusts_clock(copy) && !ended_open(*note, run.copy))
      check_order(*note, run, copy);
  }

  // An end that does not wait for the attempt to be closed; late news of an earlier attempt is one.
  bool ended_open(const MessageNote& note, Number copy) {
    if (!note.end) return false;
    const bool last = of_message_[note.id.sequence().value()].back() == copy;
    // What may be repeated freely waits for no proof, neither before an attempt nor after the last.
    const bool free = !is_careful(note) && note.end->phase == Phase::kDead;
    return free || note.end->phase == Phase::kExpired || note.end->phase == Phase::kIndeterminate ||
           (note.end->phase == Phase::kDelivered && last && note.end->attempts > 1);
  }

  void check_order(const MessageNote& note, const MeterLedger::Run& run, const Copy& copy) {
    const std::vector<Number>& all = of_meter_[copy.meter];
    for (auto at = all.rbegin(); at != all.rend() && *at > run.copy; ++at) {
      const Copy& newer = ledger_.copy(*at);
      const MessageNote* other = newer.tag == copy.tag ? nullptr : note_of(newer);
      if (other == nullptr || newer.taken_at > run.at || ended_open(*other, *at)) continue;
      if (command_of(*other)->command.request.phase != command_of(note)->command.request.phase)
        continue;
      return verdicts_.violation(21, "an act ran when a newer one had been handed over: " +
                                         to_string(note.id) + " and " + to_string(other->id));
    }
  }

  // No operator here says that he has looked at the meter, so nothing that may have run comes
  // again.
  void check_again(const MessageNote& note) {
    if (note.nested || !note.origin.is_set() || !is_command(&note) || !command_of(note)->is_act)
      return;
    const auto said = said_.find(note.origin.sequence().value());
    if (said == said_.end() || !said->second.may_have_run) return;
    verdicts_.violation(21, "an act that may have run was sent again: " + to_string(note.origin));
  }

  void check_end(const EndRecord& end) {
    const MessageNote* note = notebook_.find(end.id);
    if (!is_command(note) || note->damaged) return;
    const device::Notes notes = device::decode_notes(end.notes);
    constexpr std::array<std::string_view, 6> kOutcomes = {"executed", "refused",   "failed",
                                                           "expired",  "cancelled", "unknown"};
    if (std::find(kOutcomes.begin(), kOutcomes.end(), notes.outcome) == kOutcomes.end())
      verdicts_.violation(21, "an end without an outcome: " + to_string(end.id));
    std::uint32_t executed = 0;
    for (const Number copy : of_message_[end.id.sequence().value()])
      executed += ledger_.copy(copy).executed;
    // How long an item without a name may still be somebody else's is told by the clock.
    const bool trusted = clock_.worst_error_since(clock_.truth_of(clock_.read().boot) -
                                                  kNamelessMemory) < kClockTrust;
    if (notes.outcome == "executed" && executed == 0 && trusted && !was_read(*note))
      verdicts_.violation(21, "said to be executed, and never ran: " + to_string(end.id));
    if (!command_of(*note)->is_act) return;
    const bool mistaken = !notes.response.empty() && other_outlived_expiry(*note);
    said_[end.id.sequence().value()] = {notes.may_have_run, mistaken};
    if (executed > 0 && !notes.may_have_run && !mistaken)
      verdicts_.violation(21, "ran, and was said not to: " + to_string(end.id));
  }

  // Whether the meter ran a command of another message, while this one was there, whose expiry was
  // told by a wrong clock: then the answer to it may have been taken for the answer to this one.
  bool other_outlived_expiry(const MessageNote& note) {
    const std::uint64_t tag = note.id.sequence().value();
    const std::vector<Number>& own = of_message_[tag];
    const Timestamp since = own.empty() ? Timestamp() : ledger_.copy(own.front()).taken_at;
    const auto& order = ledger_.order_of(command_of(note)->command.request.meter);
    return std::any_of(order.begin(), order.end(), [&](std::uint32_t number) {
      const MeterLedger::Run& run = ledger_.runs()[number];
      const Copy& copy = ledger_.copy(run.copy);
      return copy.tag != tag && run.at >= since && !trusts_clock(copy);
    });
  }

  // Where a server forgets expiries, equal reads of two queues are told apart by nothing, and the
  // answer to one is as good for the other.
  bool was_read(const MessageNote& note) const {
    const device::Request& request = command_of(note)->command.request;
    const std::string meter = without_zeros(request.meter);
    const std::string what = describe_act(request);
    return !command_of(note)->is_act &&
           std::any_of(ledger_.copies().begin(), ledger_.copies().end(), [&](const Copy& copy) {
             return copy.meter == meter && copy.what == what && copy.executed > 0;
           });
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  const SimClock& clock_;
  const MeterLedger& ledger_;
  Number copies_ = 0;  // read so far, and so on
  std::size_t doubled_ = 0;
  std::size_t runs_ = 0;
  std::unordered_map<std::uint64_t, std::vector<Number>> of_message_;  // by tag
  std::unordered_map<std::string, std::vector<Number>> of_meter_;      // acts
  std::unordered_map<std::uint64_t, Said> said_;
};

}  // namespace

std::unique_ptr<Checker> make_meter_checker(const CheckerContext& context, Notebook& notebook,
                                            const MeterLedger& ledger) {
  return std::make_unique<MeterChecker>(context, notebook, ledger);
}

}  // namespace postrider::sim
