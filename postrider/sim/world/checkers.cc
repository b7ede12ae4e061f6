#include "postrider/sim/world/checkers.h"

namespace postrider::sim {

Checkers::Checkers(const CheckerContext& context, const Parts& parts)
    : verdicts_(context.verdicts),
      notebook_(parts.fields, parts.field),
      checkers_(parts.general(context, notebook_)) {
  parts.field.add_checkers(context, notebook_, checkers_);
  if (parts.far_sides != nullptr) parts.far_sides->add_checkers(context, notebook_, checkers_);
}
Checkers::~Checkers() = default;

void Checkers::began(const Moment& when, Epoch epoch) {
  for (const auto& checker : checkers_) checker->began(when, epoch);
}
void Checkers::died(const Moment& when) {
  for (const auto& checker : checkers_) checker->died(when);
}
void Checkers::asked(const Asked& asked) {
  for (const auto& checker : checkers_) checker->asked(asked);
}
void Checkers::told(const Told& told) {
  for (const auto& checker : checkers_) checker->told(told);
}
void Checkers::left(const Left& left) {
  notebook_.left(left);
  for (const auto& checker : checkers_) checker->left(left);
}
void Checkers::aborted(const Aborted& aborted) {
  for (const auto& checker : checkers_) checker->aborted(aborted);
}
void Checkers::reached(const Reached& reached) {
  for (const auto& checker : checkers_) checker->reached(reached);
}
void Checkers::outcome(const Outcomed& outcome) {
  for (const auto& checker : checkers_) checker->outcome(outcome);
}
void Checkers::receipt(const Receipted& receipt) {
  for (const auto& checker : checkers_) checker->receipt(receipt);
}
void Checkers::durable(const Durable& durable) {
  std::vector<std::string> faults;
  const Batch batch = notebook_.read(durable, faults);
  for (std::string& fault : faults) verdicts_.violation(1, std::move(fault));
  for (const auto& checker : checkers_) checker->batch(batch);
}
void Checkers::damaged(const Moment& when, std::string_view key) {
  notebook_.damaged(key);
  for (const auto& checker : checkers_) checker->damaged(when, key);
}
void Checkers::finished(const Finished& finished) {
  for (const auto& checker : checkers_) checker->finished(finished);
}

void Checkers::report_stuck() {
  verdicts_.violation(
      1, std::to_string(notebook_.live()) + " messages did not end in a world without faults");
}

}  // namespace postrider::sim
