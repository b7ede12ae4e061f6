#include "tests/crash/journal.h"

#include <utility>

namespace postrider::crash {
namespace {

constexpr std::size_t kComplaintsMax = 100;

}  // namespace

std::uint64_t Journal::add(Submission submission) {
  const std::lock_guard lock(mutex_);
  submissions_.push_back(std::move(submission));
  return first_ + submissions_.size() - 1;
}

Submission Journal::get(std::uint64_t serial) const {
  const std::lock_guard lock(mutex_);
  return submissions_.at(serial - first_);
}

void Journal::set_repeated(std::uint64_t serial) {
  const std::lock_guard lock(mutex_);
  at(serial).repeated = true;
}

void Journal::set_cancel(std::uint64_t serial, Submission::Cancel cancel) {
  const std::lock_guard lock(mutex_);
  Submission& submission = at(serial);
  if (submission.cancel < cancel) submission.cancel = cancel;
}

void Journal::set_accepted(std::uint64_t serial, PublicId id) {
  const std::lock_guard lock(mutex_);
  Submission& submission = at(serial);
  if (submission.fate == Submission::Fate::kAccepted) {
    if (submission.id != id && complaints_.size() < kComplaintsMax) {
      complaints_.push_back("key: submission " + std::to_string(serial) + " was accepted as " +
                            to_string(submission.id) + " and, repeated, as " + to_string(id));
    }
    return;
  }
  if (submission.fate == Submission::Fate::kRefused) --refused_;
  submission.fate = Submission::Fate::kAccepted;
  submission.id = id;
  ++accepted_;
}

// A repeat that met a closed door says nothing about what was sent before.
void Journal::set_refused(std::uint64_t serial, bool knows) {
  const std::lock_guard lock(mutex_);
  Submission& submission = at(serial);
  if (submission.fate != Submission::Fate::kUnknown || (submission.repeated && !knows)) return;
  submission.fate = Submission::Fate::kRefused;
  ++refused_;
}

void Journal::complain(std::string what) {
  const std::lock_guard lock(mutex_);
  if (complaints_.size() < kComplaintsMax) complaints_.push_back(std::move(what));
}

std::vector<Submission> Journal::all() const {
  const std::lock_guard lock(mutex_);
  return submissions_;
}

std::vector<std::string> Journal::complaints() const {
  const std::lock_guard lock(mutex_);
  return complaints_;
}

std::uint64_t Journal::accepted() const {
  const std::lock_guard lock(mutex_);
  return accepted_;
}

std::uint64_t Journal::unknown() const {
  const std::lock_guard lock(mutex_);
  return submissions_.size() - accepted_ - refused_;
}

}  // namespace postrider::crash
