// DeviceJournal: the log of the clients that command meters. What was sent, and what was answered.
// Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/model/ids.h"

namespace postrider::crash {

enum class RepeatClass : std::uint8_t { kFree, kClosed, kNever };

// No two commands for one meter tell it the same, so that a line of its ledger is of one command.
struct DeviceCommand {
  enum class Cancel : std::uint8_t { kNone, kAsked, kDone };

  bool is_push = false;
  RepeatClass repeat = RepeatClass::kFree;
  std::string meter;
  std::string what;         // as the ledger calls it
  std::string correlation;  // its correlation id
  std::string body;         // of the request
  Cancel cancel = Cancel::kNone;
  PublicId id;  // when accepted

  bool is_act() const { return repeat != RepeatClass::kFree; }
};

// The id that the contract shows: 26 digits of base 32. Unset when it is none.
PublicId parse_contract_id(std::string_view text);

class DeviceJournal {
 public:
  std::size_t add(DeviceCommand command);  // returns its number
  DeviceCommand get(std::size_t number) const;
  // A second answer must be the same. True: it is the first.
  bool set_accepted(std::size_t number, PublicId id);
  void set_cancel(std::size_t number, DeviceCommand::Cancel cancel);
  void complain(std::string what);  // of what a client saw and must not see

  std::vector<DeviceCommand> all() const;  // by number; those of one meter as they were accepted
  std::vector<std::string> complaints() const;
  std::uint64_t accepted() const;

 private:
  mutable std::mutex mutex_;
  std::vector<DeviceCommand> commands_;
  std::vector<std::string> complaints_;
  std::uint64_t accepted_ = 0;
};

}  // namespace postrider::crash
