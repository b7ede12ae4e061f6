#include "postrider/model/lifecycle.h"

#include "postrider/base/check.h"

namespace postrider {
namespace {

constexpr std::array<std::string_view, kPhases> kPhaseNames = {
    "queued",    "in-flight", "awaiting", "backoff",   "parked",
    "delivered", "dead",      "expired",  "cancelled", "indeterminate"};
constexpr std::array<std::string_view, kSignals> kSignalNames = {
    "due",       "no-route", "no-link",   "stale-route", "sent",         "accepted", "progressed",
    "acked",     "answered", "confirmed", "still-held",  "failed",       "rejected", "timed-out",
    "exhausted", "expired",  "cancelled", "peer-seen",   "out-of-reach", "poison",   "skipped"};
constexpr std::array<std::string_view, kVerbs> kVerbNames = {
    "ignore", "start-attempt", "find-route",        "await", "probe",
    "retry",  "next-method",   "complete",          "park",  "dead-letter",
    "drop",   "release",       "mark-indeterminate"};
constexpr std::array<std::string_view, 5> kRaiseNames = {"-", "ok", "fail", "gone", "seen"};
constexpr std::array<std::string_view, kTimeOuts> kTimeOutNames = {
    "-", "attempt", "probe", "stage", "retry", "call", "late", "pair", "poll"};

template <class Names, class Enum>
std::string_view look_up(const Names& names, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  POSTRIDER_CHECK(index < names.size());
  return names[index];
}

}  // namespace

std::string_view name_of(Phase phase) { return look_up(kPhaseNames, phase); }
std::string_view name_of(On signal) { return look_up(kSignalNames, signal); }
std::string_view name_of(Do verb) { return look_up(kVerbNames, verb); }
std::string_view name_of(Raise raise) { return look_up(kRaiseNames, raise); }
std::string_view name_of(TimeOut time_out) { return look_up(kTimeOutNames, time_out); }

}  // namespace postrider
