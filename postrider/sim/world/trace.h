// Trace: one line for each thing that happened, and a running hash of all lines. The same seed must
// give the same hash in every build; where two traces part is where something undetermined crept
// in.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "postrider/base/time.h"
#include "postrider/model/ids.h"
#include "postrider/model/secrets.h"

namespace postrider::sim {

class Trace {
 public:
  // `file` may be null; it stays the caller's.
  explicit Trace(std::FILE* file) : file_(file) {}

  // Words of one line, ended by `end`.
  Trace& line(Timestamp at, std::string_view what);
  Trace& word(std::string_view text);
  Trace& number(std::uint64_t value);
  Trace& number(std::int64_t value);
  Trace& id(MessageId id);
  void end();

  // Details for the reader of a file; they do not count for the hash.
  bool wants_details() const { return file_ != nullptr; }
  void detail(std::string_view text);

  // Whether a line ever held one of these bytes.
  void watch_for(std::shared_ptr<const Secrets> secrets) { secrets_ = std::move(secrets); }
  bool leaked() const { return leaked_; }

  std::uint64_t hash() const { return hash_; }
  std::uint64_t lines() const { return lines_; }

 private:
  void look(std::string_view text);

  std::FILE* file_;
  std::shared_ptr<const Secrets> secrets_;
  bool leaked_ = false;
  std::string line_;
  std::uint64_t hash_ = 0;
  std::uint64_t lines_ = 0;
};

}  // namespace postrider::sim
