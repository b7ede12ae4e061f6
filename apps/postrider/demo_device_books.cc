#include "apps/postrider/demo_device_books.h"

#include <cstdlib>

namespace postrider {
namespace {

std::uint64_t number_of(const Json& object, std::string_view name) {
  return std::strtoull(object.at(name).c_str(), nullptr, 10);
}

// What the outcome promises, against what the meter did. Empty: both agree.
std::string contradiction(const DeviceDemoCommand& command, const DeviceDemoMeter& meter) {
  if (command.outcome == "executed" && meter.executed == 0)
    return "is called executed, and the meter never did it";
  // Refused, failed and the like speak of the last attempt; whether an earlier one did it is said
  // by mayHaveRun. A read may run as often as it likes.
  const bool over = !command.outcome.empty() && command.outcome != "executed";
  if (command.is_act && over && !command.may_have_run && meter.executed != 0)
    return "is called " + command.outcome + " and not run, and the meter did it";
  if (command.is_act && over && !command.may_have_run && meter.open != 0)
    return "is called " + command.outcome + " and not run, and a copy of it could still run";
  if (command.is_act && meter.doubled != 0)
    return "was radiated while another copy of it could still run";
  return "";
}

}  // namespace

Result<void> read_device_ledger(const Json& ledger, DeviceDemoMeters& meters) {
  if (ledger.find("copies") == nullptr) return fail(ErrorCode::kInvalid, "there is no ledger");
  for (const Json& copy : ledger.list("copies")) {
    DeviceDemoMeter& meter = meters[copy.at("meter")];
    ++meter.copies;
    meter.open += copy.at("end") == "open" ? 1U : 0U;
    meter.ran += number_of(copy, "ran");
    meter.executed += number_of(copy, "executed");
  }
  for (const Json& doubled : ledger.list("doubled")) ++meters[doubled.at("meter")].doubled;
  return {};
}

DeviceDemoVerdict judge_device_demo(const std::vector<DeviceDemoCommand>& commands,
                                    const DeviceDemoMeters& meters) {
  DeviceDemoVerdict verdict;
  for (const DeviceDemoCommand& command : commands) {
    const auto found = meters.find(command.meter);
    const DeviceDemoMeter meter = found == meters.end() ? DeviceDemoMeter() : found->second;
    const std::string outcome = command.outcome.empty() ? "live" : command.outcome;
    DeviceDemoRow& row = verdict.rows[(command.is_act ? "act " : "read ") + outcome];
    verdict.live += command.outcome.empty() ? 1U : 0U;
    verdict.accepted += command.id.empty() ? 0U : 1U;
    verdict.doubled += command.is_act ? meter.doubled : 0U;
    ++row.commands;
    ++(meter.ran == 0 ? row.never : (meter.ran == 1 ? row.once : row.again));
    const std::string why = contradiction(command, meter);
    if (!why.empty())
      verdict.wrong.push_back(command.type + " " + command.correlation + " " + why + " (" +
                              std::to_string(meter.copies) + " copies, ran " +
                              std::to_string(meter.ran) + " times, did it " +
                              std::to_string(meter.executed) + " times).");
  }
  return verdict;
}

}  // namespace postrider
