// Journal: the clients' own log. What was sent, what was answered, and what nobody knows because
// the answer never came. Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "postrider/model/ids.h"

namespace postrider::crash {

struct Submission {
  enum class Fate : std::uint8_t { kUnknown, kAccepted, kRefused };
  enum class Cancel : std::uint8_t { kNone, kAsked, kDone };

  std::uint32_t site = 0;
  std::uint32_t client = 0;
  std::uint8_t lane = 0;
  bool keyed = false;
  bool unwanted = false;
  bool expires = false;
  bool repeated = false;  // sent more than once, so its place in a lane is not that of its number
  std::string more;       // further members of its JSON
  Fate fate = Fate::kUnknown;
  Cancel cancel = Cancel::kNone;
  PublicId id;  // when accepted
};

class Journal {
 public:
  explicit Journal(std::uint64_t first_serial) : first_(first_serial) {}

  std::uint64_t add(Submission submission);  // returns its number
  Submission get(std::uint64_t serial) const;
  void set_repeated(std::uint64_t serial);
  void set_cancel(std::uint64_t serial, Submission::Cancel cancel);
  // A second answer must be the same.
  void set_accepted(std::uint64_t serial, PublicId id);
  // `knows`: the daemon looked at its key and at its content, so it was not accepted before either.
  void set_refused(std::uint64_t serial, bool knows);
  // What a client saw and must not see.
  void complain(std::string what);

  std::uint64_t first() const { return first_; }
  std::vector<Submission> all() const;  // by number, from first()
  std::vector<std::string> complaints() const;
  std::uint64_t accepted() const;
  std::uint64_t unknown() const;

 private:
  Submission& at(std::uint64_t serial) { return submissions_.at(serial - first_); }

  const std::uint64_t first_;
  mutable std::mutex mutex_;
  std::vector<Submission> submissions_;
  std::vector<std::string> complaints_;
  std::uint64_t accepted_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace postrider::crash
