// Checker 24: admission. A gateway has no more commands at work than it may, a device one attempt
// of open fate, and a network no two starts within its spacing; acts of one device, phase, queue
// and priority start in the order of acceptance. Exact, by the records that let the attempts out.
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "postrider/sim/checkers/all.h"
#include "postrider/sim/fields/device/checkers/all.h"
#include "postrider/sim/fields/device/checkers/notes.h"

namespace postrider::sim {
namespace {

class PlacesChecker final : public Checker {
 public:
  PlacesChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  void damaged(const Moment& /*when*/, std::string_view key) override {
    const auto hot = keys::parse_hot(key);
    const auto cold = keys::parse_cold(key);
    const MessageNote* note =
        hot ? notebook_.find(hot->sequence) : (cold ? notebook_.find(cold->id) : nullptr);
    if (is_command(note)) forget(*note);
  }

  void batch(const Batch& batch) override {
    for (const MessageNote* note : batch.entered) {
      if (is_command(note) && command_of(*note)->is_act)
        unstarted_[line_of(*note)].insert(note->id.sequence().value());
    }
    for (const MessageNote* note : batch.left) {
      if (is_command(note)) forget(*note);
    }
    for (const auto& [note, state] : batch.steps) {
      if (!is_command(note) || note->damaged) continue;
      std::uint16_t& attempts = attempts_[note->id];
      if (!is_unresolved(state.state)) release(*note);
      if (state.attempts <= attempts) continue;
      attempts = state.attempts;
      start(*note, state);
    }
    for (const MessageNote* note : batch.left) {
      if (is_command(note)) forget(*note);
    }
  }

 private:
  using Line = std::tuple<std::uint64_t, std::uint64_t, std::string, device::MeterPhase>;
  static Line line_of(const MessageNote& note) {
    return {note.id.destination().value(), note.id.high & 0xFFFF, command_of(note)->device,
            command_of(note)->command.request.phase};
  }

  void forget(const MessageNote& note) {
    release(note);
    attempts_.erase(note.id);
    if (command_of(note)->is_act) unstarted_[line_of(note)].erase(note.id.sequence().value());
  }
  void release(const MessageNote& note) {
    in_use_[note.id.destination().value()].erase(note.id);
    busy_[command_of(note)->device].erase(note.id);
  }

  void start(const MessageNote& note, const State& state) {
    check_order(note);
    if (!note.live()) return;
    if (is_unresolved(state.state)) take(note, state);
    if (state.state == device::kSending) check_spacing(note, state);
  }

  void take(const MessageNote& note, const State& state) {
    auto& places = in_use_[note.id.destination().value()];
    auto& device = busy_[command_of(note)->device];
    places.insert(note.id);
    device.insert(note.id);
    const std::uint32_t most = note.destination->policy.route.in_use_max;
    const bool settled = note.destination->configured < state.since;
    if (settled && most != 0 && places.size() > most)
      verdicts_.violation(24, std::to_string(places.size()) + " commands at work in " +
                                  note.destination->config.name + ", at most " +
                                  std::to_string(most) + " may be: " + to_string(note.id));
    if (device.size() > 1)
      verdicts_.violation(24, "a device has two open attempts: " + to_string(*device.begin()) +
                                  " and " + to_string(*device.rbegin()));
  }

  void check_spacing(const MessageNote& note, const State& state) {
    const DestinationNote& queue = *note.destination;
    Timestamp& last = last_start_[queue.id.value()];
    const Timestamp start = state.since;
    const bool settled = queue.configured < last;
    if (settled && last.is_set() && start - last < queue.policy.route.spacing)
      verdicts_.violation(24, "two starts of a queue " + std::to_string((start - last).count()) +
                                  " ms apart: " + to_string(note.id));
    last = std::max(last, start);
  }

  void check_order(const MessageNote& note) {
    if (!command_of(note)->is_act) return;
    auto& line = unstarted_[line_of(note)];
    const std::uint64_t sequence = note.id.sequence().value();
    if (line.erase(sequence) == 0 || line.empty() || *line.begin() > sequence) return;
    verdicts_.violation(24, "an act started before an older one: " + to_string(note.id) + " and " +
                                to_string(MessageId{note.id.high, *line.begin()}));
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  std::map<std::uint64_t, std::set<MessageId>> in_use_;  // by queue
  std::map<std::string, std::set<MessageId>> busy_;      // by device
  std::map<std::uint64_t, Timestamp> last_start_;        // by queue
  std::unordered_map<MessageId, std::uint16_t> attempts_;
  std::map<Line, std::set<std::uint64_t>> unstarted_;
};

}  // namespace

std::unique_ptr<Checker> make_places_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<PlacesChecker>(context, notebook);
}

}  // namespace postrider::sim
