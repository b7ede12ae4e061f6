#include "tests/support/scenario/text.h"

#include <array>
#include <cstdio>
#include <string_view>

namespace postrider::scenario {
namespace {

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

std::string count(std::uint64_t number, std::string_view what) {
  return std::to_string(number) + " " + std::string(what) + (number == 1 ? "" : "s");
}

std::string_view place_name(Explanation::Place place) {
  switch (place) {
    case Explanation::Place::kWindow: return "in the window";
    case Explanation::Place::kDisk: return "on disk";
    case Explanation::Place::kOnTheWire: return "on the wire";
    case Explanation::Place::kAtPeer: return "at the peer";
    case Explanation::Place::kSleeping: return "sleeping";
    case Explanation::Place::kParked: return "parked";
    case Explanation::Place::kEnded: return "ended";
    case Explanation::Place::kQuarantine: return "quarantine";
  }
  return "?";
}

std::string_view next_name(Explanation::Next next) {
  switch (next) {
    case Explanation::Next::kAttempt: return "an attempt";
    case Explanation::Next::kOutcome: return "an outcome";
    case Explanation::Next::kNews: return "news from the peer";
    case Explanation::Next::kOperator: return "an operator";
    case Explanation::Next::kNothing: return "nothing";
  }
  return "?";
}

std::string_view notice_name(LogEntry::Kind kind) {
  switch (kind) {
    case LogEntry::Kind::kEnd: return "end";
    case LogEntry::Kind::kDestinationClosed: return "destination closed";
    case LogEntry::Kind::kDestinationDisabled: return "destination disabled";
    case LogEntry::Kind::kDestinationOpen: return "destination open";
    case LogEntry::Kind::kParked: return "parked";
    case LogEntry::Kind::kRemoved: return "removed";
    case LogEntry::Kind::kQuarantined: return "quarantined";
    case LogEntry::Kind::kLate: return "late";
    case LogEntry::Kind::kAltered: return "altered";
    case LogEntry::Kind::kUnsent: return "unsent";
    case LogEntry::Kind::kAlarm: return "alarm";
    case LogEntry::Kind::kGap: return "gap";
  }
  return "?";
}

bool is_about_destination(LogEntry::Kind kind) {
  return kind == LogEntry::Kind::kDestinationClosed ||
         kind == LogEntry::Kind::kDestinationDisabled || kind == LogEntry::Kind::kDestinationOpen;
}

}  // namespace

std::string show_time(Duration since_start) {
  const bool before = since_start < Duration(0);
  const std::int64_t ms = before ? -since_start.count() : since_start.count();
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%s%lld:%02lld:%02lld.%03lld", before ? "-" : "",
                static_cast<long long>(ms / 3'600'000), static_cast<long long>(ms / 60'000 % 60),
                static_cast<long long>(ms / 1000 % 60), static_cast<long long>(ms % 1000));
  return text.data();
}

std::string show_time(const Names& names, Timestamp at) {
  if (!at.is_set()) return "-";
  if (at == Timestamp::never()) return "never";
  return show_time(at - names.start);
}

std::string show(const Names& names, const Explanation& e) {
  std::string out = names.message(e.id) + " is " + std::string(name_of(e.phase)) + " (" + e.state +
                    "), " + std::string(place_name(e.place)) + " since " +
                    show_time(names, e.since) + ", " + count(e.attempts, "attempt");
  if (e.failure != FailureClass::kNone) out += ", last " + std::string(name_of(e.failure));
  if (!e.reason.empty()) out += " " + in_quotes(e.reason);
  if (e.expires.is_set()) out += ", expires " + show_time(names, e.expires);
  if (e.cancel_wanted) out += ", cancel wanted";
  if (e.origin.is_set()) out += ", from " + names.message(e.origin);
  if (e.gap.is_set()) out += ", behind the gap of " + names.message(e.gap);
  out += "; " + e.destination + " is " + std::string(name_of(e.health));
  if (!e.why.empty()) out += "; why: " + e.why;
  out += "; next: " + std::string(next_name(e.next));
  if (e.next_at.is_set()) out += " at " + show_time(names, e.next_at);
  return out;
}

std::string show(const Names& names, const LogEntry& entry) {
  const std::string reason = entry.reason.empty() ? std::string() : " " + in_quotes(entry.reason);
  if (entry.kind == LogEntry::Kind::kEnd) {
    std::string out = names.message(entry.id) + " ends " + std::string(name_of(entry.phase)) +
                      " after " + count(entry.attempts, "attempt");
    if (entry.cause != FailureClass::kNone) out += ", cause " + std::string(name_of(entry.cause));
    return out + reason;
  }
  std::string out = "notice: ";
  if (is_about_destination(entry.kind)) {
    out += names.destination(entry.id.destination()) + " ";
  } else if (entry.id.is_set()) {
    out += names.message(entry.id) + " ";
  }
  return out + std::string(notice_name(entry.kind)) + reason;
}

std::string show(const Names& names, const DeadLetter& letter) {
  std::string out = names.message(letter.id) + " " + std::string(name_of(letter.phase)) + " at " +
                    show_time(names, letter.at) + " after " + count(letter.attempts, "attempt") +
                    ", cause " + std::string(name_of(letter.cause));
  if (!letter.reason.empty()) out += " " + in_quotes(letter.reason);
  return out;
}

std::string show(const Names& names, const DestinationView& view) {
  const Route& route = view.route;
  std::string out = view.config.name + " is " + std::string(name_of(route.health));
  if (!route.reason.empty()) out += " " + in_quotes(route.reason);
  out += ", " + count(route.strikes, "strike") + ", " + count(route.waits, "wait");
  if (route.closed_until.is_set()) out += ", closed until " + show_time(names, route.closed_until);
  out += ", " + std::to_string(view.in_window) + " in memory, " +
         count(view.open_attempts, "open attempt") + (view.owed ? ", more on disk" : "");
  return out;
}

std::string show(const Stats& stats) {
  const Counters& c = stats.counters;
  std::string out;
  const auto add = [&out](std::string_view name, std::uint64_t number, bool always) {
    if (number == 0 && !always) return;
    out += (out.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(number);
  };
  add("accepted", c.accepted, true);
  add("delivered", c.delivered, true);
  add("dead", c.dead, true);
  add("expired", c.expired, true);
  add("cancelled", c.cancelled, true);
  add("indeterminate", c.indeterminate, true);
  add("live", c.live(), true);
  add("redriven", c.redriven, false);
  add("dropped", c.dropped, false);
  add("quarantined", c.quarantined, false);
  add("removed ends", c.removed_ends, false);
  add("removed dead", c.removed_dead, false);
  add("removed ledger", c.removed_ledger, false);
  add("late outcomes", stats.tallies.late_outcomes, false);
  add("late receipts", stats.tallies.late_receipts, false);
  return out;
}

std::string show_code(const Answer& answer) {
  std::string out(name_of(answer.code));
  if (answer.replayed) out += " (replayed)";
  if (!answer.detail.empty()) out += ": " + answer.detail;
  return out;
}

}  // namespace postrider::scenario
