#include "postrider/sim/fields/matrix/checkers.h"

#include <map>
#include <set>
#include <string>

#include "postrider/sim/fields/matrix/items.h"
#include "postrider/sim/world/peer.h"

namespace postrider::sim {
namespace {

constexpr int kMatrixChecker = 60;

class MatrixChecker final : public Checker {
 public:
  MatrixChecker(const CheckerContext& context, Notebook& notebook, const MatrixFarSides& sides)
      : verdicts_(context.verdicts), notebook_(notebook), sides_(sides) {}

  void damaged(const Moment& /*when*/, std::string_view /*key*/) override { damaged_ = true; }

  void batch(const Batch& batch) override {
    for (const MessageNote* note : batch.entered) {
      if (const auto* own = own_of(*note)) known_[own->id].push_back(note->id);
    }
    for (const EndRecord& end : batch.ends) {
      if (end.phase == Phase::kDelivered) check_applied(end.id);
    }
  }

  void finished(const Finished& /*finished*/) override {
    for (std::uint32_t peer = 0; peer < sides_.size(); ++peer) {
      const Receiver& receiver = sides_.receiver(peer);
      const ReceiverCounts& counts = receiver.counts();
      if (counts.changed != 0) say(peer, "an id was used again for other bytes");
      if (counts.unauthorized != 0) say(peer, "a signature was not right");
      if (counts.malformed != 0) say(peer, "a transaction was malformed, or too large");
      check_order(peer, receiver);
    }
  }

 private:
  static const MatrixNote* own_of(const MessageNote& note) {
    return dynamic_cast<const MatrixNote*>(note.own.get());
  }
  void say(std::uint32_t peer, const std::string& what) {
    verdicts_.violation(kMatrixChecker, "peer " + std::to_string(peer) + ": " + what);
  }

  // The answer came behind the effect, so the effect is there when the end is durable.
  void check_applied(MessageId id) {
    const MessageNote* note = notebook_.find(id);
    if (note == nullptr || note->damaged || note->destination == nullptr) return;
    const auto* own = own_of(*note);
    const std::uint32_t peer = peer_of(note->destination->config.name);
    if (own == nullptr || peer >= sides_.size()) return;
    std::set<std::string>& applied = applied_[peer];
    const auto& list = sides_.receiver(peer).applied();
    for (std::size_t& read = read_[peer]; read < list.size(); ++read) applied.insert(list[read].id);
    if (!applied.contains(own->id)) say(peer, "delivered, but never applied: " + to_string(id));
  }

  // Of events that one message each brought and that were never out of line.
  void check_order(std::uint32_t peer, const Receiver& receiver) {
    if (damaged_) return;
    std::map<std::string, MessageId> last;
    for (const Receiver::Applied& applied : receiver.applied()) {
      const auto found = known_.find(applied.id);
      if (applied.room.empty() || found == known_.end() || found->second.size() != 1) continue;
      const MessageNote* note = notebook_.find(found->second.front());
      if (note == nullptr || note->was_parked || note->damaged) continue;
      MessageId& before = last[applied.room];
      if (before.is_set() && note->id < before)
        say(peer, "out of order in " + applied.room + ": " + to_string(note->id) + " behind " +
                      to_string(before));
      before = note->id;
    }
  }

  Verdicts& verdicts_;
  Notebook& notebook_;
  const MatrixFarSides& sides_;
  bool damaged_ = false;
  std::map<std::string, std::vector<MessageId>> known_;     // by the item's id
  std::map<std::uint32_t, std::set<std::string>> applied_;  // by peer
  std::map<std::uint32_t, std::size_t> read_;               // of the receiver's list
};

}  // namespace

std::unique_ptr<Checker> make_matrix_checker(const CheckerContext& context, Notebook& notebook,
                                             const MatrixFarSides& sides) {
  return std::make_unique<MatrixChecker>(context, notebook, sides);
}

}  // namespace postrider::sim
