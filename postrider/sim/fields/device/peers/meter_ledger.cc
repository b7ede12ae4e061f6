#include "postrider/sim/fields/device/peers/meter_ledger.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "postrider/base/check.h"
#include "postrider/base/hash.h"

namespace postrider::sim {
namespace {

constexpr std::array<std::string_view, 8> kEnds = {"open",      "acked",   "nacked",   "expired",
                                                   "discarded", "flushed", "finished", "failed"};

}  // namespace

std::string_view name_of(CopyEnd end) { return kEnds[static_cast<std::size_t>(end)]; }

std::string without_zeros(std::string_view meter) {
  const std::size_t first = meter.find_first_not_of('0');
  return std::string(first == std::string_view::npos ? "0" : meter.substr(first));
}

std::string describe_act(const device::Request& request) {
  if (device::is_token(request.command)) return "TOKEN " + request.token;
  std::string text(device::name_of(request.command));
  // Phase A is what a meter reads when nobody names a phase.
  if (request.phase == device::MeterPhase::kB || request.phase == device::MeterPhase::kC)
    text.append(" ").append(device::name_of(request.phase));
  std::array<char, 64> data{};
  if (request.command == device::Command::kSetDate && request.date) {
    std::snprintf(data.data(), data.size(), " %04d-%02d-%02d", request.date->year,
                  request.date->month, request.date->day);
  } else if (request.command == device::Command::kSetTime && request.time) {
    std::snprintf(data.data(), data.size(), " %02d:%02d:%02d", request.time->hour,
                  request.time->minute, request.time->second);
  }
  return text.append(data.data());
}

std::uint64_t MeterLedger::key_of(std::string_view meter, std::string_view what,
                                  std::uint64_t tag) {
  return hash64(what, hash64(meter, tag));
}

MeterLedger::Number MeterLedger::take(Timestamp at, Copy copy) {
  copy.meter = without_zeros(copy.meter);
  copy.taken_at = at;
  const auto number = static_cast<Number>(copies_.size());
  Known& its = known(copy);
  ++its.count.copies;
  ++its.count.open;
  its.open.push_back(number);
  copies_.push_back(std::move(copy));
  return number;
}

void MeterLedger::radiate(Number number, Timestamp at) {
  Copy& copy = copies_[number];
  POSTRIDER_CHECK(copy.end == CopyEnd::kOpen);
  copy.radiated_at = at;
  ++copy.radiated;
  if (!copy.is_act) return;
  for (const Number other : known(copy).open) {
    if (other != number) doubled_.push_back({number, other, at});
  }
}

void MeterLedger::run(Number number, Timestamp at, bool executed) {
  Copy& copy = copies_[number];
  POSTRIDER_CHECK(copy.end == CopyEnd::kOpen);  // the model said that it cannot run any more
  by_meter_[copy.meter].push_back(static_cast<std::uint32_t>(runs_.size()));
  runs_.push_back({number, at, executed});
  Known& its = known(copy);
  ++copy.ran;
  ++its.count.ran;
  if (!executed) return;
  ++copy.executed;
  ++its.count.executed;
}

void MeterLedger::close(Number number, Timestamp at, CopyEnd end) {
  Copy& copy = copies_[number];
  if (copy.end != CopyEnd::kOpen) return;
  copy.end = end;
  copy.closed_at = at;
  Known& its = known(copy);
  --its.count.open;
  std::erase(its.open, number);
}

MeterLedger::Count MeterLedger::count(const device::Request& request, std::uint64_t tag) const {
  return count(request.meter, describe_act(request), tag);
}

MeterLedger::Count MeterLedger::count(std::string_view meter, std::string_view what,
                                      std::uint64_t tag) const {
  const auto found = known_.find(key_of(without_zeros(meter), what, tag));
  return found == known_.end() ? Count() : found->second.count;
}

const std::vector<std::uint32_t>& MeterLedger::order_of(std::string_view meter) const {
  static const std::vector<std::uint32_t> kNothing;
  const auto found = by_meter_.find(without_zeros(meter));
  return found == by_meter_.end() ? kNothing : found->second;
}

}  // namespace postrider::sim
