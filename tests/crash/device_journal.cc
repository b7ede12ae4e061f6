#include "tests/crash/device_journal.h"

#include <utility>

namespace postrider::crash {
namespace {

constexpr std::size_t kComplaintsMax = 100;
constexpr std::string_view kDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr std::size_t kDigitsOfId = 26;

}  // namespace

PublicId parse_contract_id(std::string_view text) {
  if (text.size() != kDigitsOfId) return {};
  PublicId id;
  for (const char digit : text) {
    const std::size_t value = kDigits.find(digit);
    if (value == std::string_view::npos) return {};
    id.high = id.high << 5 | id.low >> 59;
    id.low = id.low << 5 | value;
  }
  return id;
}

std::size_t DeviceJournal::add(DeviceCommand command) {
  const std::lock_guard lock(mutex_);
  commands_.push_back(std::move(command));
  return commands_.size() - 1;
}

DeviceCommand DeviceJournal::get(std::size_t number) const {
  const std::lock_guard lock(mutex_);
  return commands_.at(number);
}

bool DeviceJournal::set_accepted(std::size_t number, PublicId id) {
  const std::lock_guard lock(mutex_);
  DeviceCommand& command = commands_.at(number);
  if (!command.id.is_set()) {
    command.id = id;
    ++accepted_;
    return true;
  }
  if (command.id != id && complaints_.size() < kComplaintsMax)
    complaints_.push_back("key: " + command.correlation + " was accepted as " +
                          to_string(command.id) + " and, repeated, as " + to_string(id));
  return false;
}

void DeviceJournal::set_cancel(std::size_t number, DeviceCommand::Cancel cancel) {
  const std::lock_guard lock(mutex_);
  DeviceCommand& command = commands_.at(number);
  if (command.cancel < cancel) command.cancel = cancel;
}

void DeviceJournal::complain(std::string what) {
  const std::lock_guard lock(mutex_);
  if (complaints_.size() < kComplaintsMax) complaints_.push_back(std::move(what));
}

std::vector<DeviceCommand> DeviceJournal::all() const {
  const std::lock_guard lock(mutex_);
  return commands_;
}

std::vector<std::string> DeviceJournal::complaints() const {
  const std::lock_guard lock(mutex_);
  return complaints_;
}

std::uint64_t DeviceJournal::accepted() const {
  const std::lock_guard lock(mutex_);
  return accepted_;
}

}  // namespace postrider::crash
