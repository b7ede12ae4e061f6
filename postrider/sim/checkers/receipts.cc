// Checker 1, for late news: a message that a receipt says has arrived is not sent again, also when
// the receipt came after our own time-out, in the middle of a back-off.
#include <unordered_map>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class ReceiptsChecker final : public Checker {
 public:
  ReceiptsChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), notebook_(notebook) {}

  // What a process that died had heard is lost with it.
  void began(const Moment& when, Epoch /*epoch*/) override {
    newest_ = when.incarnation;
    arrived_.clear();
  }
  void died(const Moment& /*when*/) override { arrived_.clear(); }

  void receipt(const Receipted& receipt) override {
    const bool arrived = receipt.signal == On::kConfirmed || receipt.signal == On::kAnswered;
    const MessageNote* note = notebook_.find(receipt.id);
    if (!arrived || note == nullptr || !note->live() || note->damaged ||
        receipt.when.incarnation != newest_ || is_claimed(*note))
      return;
    arrived_.try_emplace(receipt.id, receipt.when.truth);
  }

  void left(const Left& left) override {
    const auto at = arrived_.find(left.start.message);
    if (at == arrived_.end() || left.when.incarnation != newest_ || !is_send(left.call)) return;
    if (left.when.truth - at->second > kPatience) {
      verdicts_.violation(1, "sent again although a receipt said that it had arrived: " +
                                 to_string(left.start.message));
    }
  }

  void batch(const Batch& batch) override {
    for (const EndRecord& end : batch.ends) arrived_.erase(end.id);
  }

 private:
  // What is said of one message of a batch is not heard while the batch is open.
  static bool is_claimed(const MessageNote& note) {
    const DestinationNote* destination = note.destination;
    return destination != nullptr && destination->route && destination->route->batch.is_open();
  }
  static constexpr Duration kPatience = 5min;  // a full event queue, slow reads and slow commits

  Verdicts& verdicts_;
  Notebook& notebook_;
  Incarnation newest_ = 0;
  std::unordered_map<MessageId, Timestamp> arrived_;
};

}  // namespace

std::unique_ptr<Checker> make_receipts_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<ReceiptsChecker>(context, notebook);
}

}  // namespace postrider::sim
