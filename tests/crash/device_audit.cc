#include "tests/crash/device_audit.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace postrider::crash {
namespace {

// Which ends an outcome may stand for.
bool fits(std::string_view outcome, std::string_view phase) {
  if (outcome == "executed") return phase == "delivered";
  if (outcome == "refused") return phase == "delivered" || phase == "dead";
  if (outcome == "failed") return phase == "dead";
  if (outcome == "expired" || outcome == "cancelled") return phase == outcome;
  return outcome == "unknown" &&
         (phase == "delivered" || phase == "dead" || phase == "indeterminate");
}

std::string name_of(const DeviceCommand& command) {
  return command.correlation + " (" + command.what + ", " + (command.is_push ? "push" : "pull") +
         ")";
}

// What the ledger has of one command.
struct Told {
  std::vector<std::size_t> copies;  // their places among all
  std::uint64_t open = 0;
  std::uint64_t ran = 0;
  std::uint64_t executed = 0;
};
using ToldKey = std::pair<std::string, std::string>;  // meter, what

std::map<ToldKey, Told> gather(const Ledger& ledger) {
  std::map<ToldKey, Told> out;
  for (std::size_t i = 0; i < ledger.copies.size(); ++i) {
    const LedgerCopy& copy = ledger.copies[i];
    Told& told = out[{copy.meter, copy.what}];
    told.copies.push_back(i);
    told.open += copy.end == "open" ? 1U : 0U;
    told.ran += copy.ran;
    told.executed += copy.executed;
  }
  return out;
}

std::string to_text(const Told& told) {
  return " (copies " + std::to_string(told.copies.size()) + ", open " + std::to_string(told.open) +
         ", ran " + std::to_string(told.ran) + ", did it " + std::to_string(told.executed) + ")";
}

// What the outcome promises, against what the meter did. Empty: both agree.
std::string contradiction(const DeviceCommand& command, const DeviceHistory& history,
                          std::string_view phase, const Told& told) {
  if (history.outcome == "executed" && told.executed == 0)
    return "is called executed, and the meter never did it";
  // A vendor says that a task failed when it did not reach the meter; a network server does not.
  if (command.is_push && phase == "delivered" && told.ran == 0)
    return "is called delivered, and the meter never got it";
  if (!command.is_act() || history.outcome == "executed" || history.may_have_run) return "";
  if (told.executed != 0) return "is called " + history.outcome + " and not run, and was done";
  if (told.open != 0) return "is called " + history.outcome + " and not run, and could still run";
  return "";
}

// Pull has no proof that a task cannot run any more, so its acts are never told twice either.
bool is_told_once(const DeviceCommand& command) {
  return command.repeat == RepeatClass::kNever || (!command.is_push && command.is_act());
}

// Copies of an act that was accepted later are behind all those of an earlier one. A vendor's task
// that nobody knows of is no hindrance: its command has ended as unknown.
void audit_order(const DeviceEvidence& evidence, const std::map<ToldKey, Told>& told,
                 Findings& out) {
  std::map<std::string, std::pair<std::size_t, const DeviceCommand*>> last;  // by meter
  for (std::size_t i = 0; i < evidence.commands.size(); ++i) {
    const DeviceCommand& command = evidence.commands[i];
    const auto found = told.find({command.meter, command.what});
    if (!command.is_act() || found == told.end()) continue;
    const auto earlier = last.find(command.meter);
    if (earlier != last.end() && found->second.copies.front() < earlier->second.first)
      out.push_back("order: " + name_of(command) + " was handed over before a copy of the older " +
                    name_of(*earlier->second.second));
    if (!command.is_push && evidence.histories[i].outcome == "unknown") continue;
    std::size_t& at = last.try_emplace(command.meter, 0, &command).first->second.first;
    if (found->second.copies.back() >= at)
      last[command.meter] = {found->second.copies.back(), &command};
  }
}

struct Story {
  std::set<std::string> starts;  // ids of events
  std::set<std::string> ends;
  std::string outcome;
  std::string may_have_run;
  bool end_was_first = false;
};

std::string complaint(const DeviceCommand& command, const DeviceHistory& history,
                      const Story& story, bool was_sent) {
  if (story.ends.empty()) return "its consumer never heard of its end";
  if (story.ends.size() > 1) return "its end was told by two events";
  if (story.starts.size() > 1) return "its first start was told by two events";
  if (was_sent && story.starts.empty()) return "its consumer never heard of its first start";
  if (story.end_was_first) return "its end was told before its start";
  if (story.outcome != history.outcome ||
      story.may_have_run != (history.may_have_run ? "true" : "false"))
    return "its consumer was told " + story.outcome + ", may have run " + story.may_have_run;
  if (command.cancel == DeviceCommand::Cancel::kDone && story.outcome != "cancelled")
    return "a client was told CANCELLED";
  return "";
}

}  // namespace

void audit_outcomes(const DeviceEvidence& evidence, Findings& out) {
  constexpr std::array<std::string_view, 6> kOutcomes = {"executed", "refused",   "failed",
                                                         "expired",  "cancelled", "unknown"};
  std::set<PublicId> commands;
  for (std::size_t i = 0; i < evidence.commands.size(); ++i) {
    const DeviceCommand& command = evidence.commands[i];
    const DeviceHistory& history = evidence.histories[i];
    const auto end = evidence.ends.find(command.id);
    commands.insert(command.id);
    if (!command.id.is_set()) {
      out.push_back("answer: " + name_of(command) + " was never accepted");
    } else if (history.status != 200 || end == evidence.ends.end()) {
      out.push_back("lost: " + name_of(command) + " was accepted as " + to_string(command.id) +
                    (end == evidence.ends.end() ? " and has no end" : " and has no history"));
    } else if (history.id != command.id) {
      out.push_back("key: " + name_of(command) + " was accepted as " + to_string(command.id) +
                    ", and is now " + to_string(history.id));
    } else if (std::find(kOutcomes.begin(), kOutcomes.end(), history.outcome) == kOutcomes.end()) {
      out.push_back("unreported: " + name_of(command) + " has ended without an outcome");
    } else if (!fits(history.outcome, end->second.phase)) {
      out.push_back("end: " + name_of(command) + " is " + end->second.phase + " and called " +
                    history.outcome);
    }
  }
  for (const auto& [id, end] : evidence.ends) {
    if (!commands.contains(id) && end.phase != "delivered")
      out.push_back("unreported: the event " + to_string(id) + " is " + end.phase);
  }
}

void audit_meters(const DeviceEvidence& evidence, Findings& out) {
  const std::map<ToldKey, Told> told = gather(evidence.ledger);
  std::map<ToldKey, const DeviceCommand*> known;
  for (std::size_t i = 0; i < evidence.commands.size(); ++i) {
    const DeviceCommand& command = evidence.commands[i];
    const ToldKey key{command.meter, command.what};
    known[key] = &command;
    const auto found = told.find(key);
    const Told its = found == told.end() ? Told() : found->second;
    if (is_told_once(command) && its.copies.size() > 1)
      out.push_back("doubled: " + name_of(command) + " may not be sent again, and was" +
                    to_text(its));
    const auto end = evidence.ends.find(command.id);
    if (end == evidence.ends.end()) continue;
    const std::string why = contradiction(command, evidence.histories[i], end->second.phase, its);
    if (!why.empty()) out.push_back("ledger: " + name_of(command) + " " + why + to_text(its));
  }
  for (const LedgerDouble& doubled : evidence.ledger.doubled) {
    const auto command = known.find({doubled.meter, doubled.what});
    if (command == known.end() || !command->second->is_act()) continue;
    out.push_back("doubled: " + name_of(*command->second) + " was radiated as " + doubled.name +
                  " while its copy " + doubled.other + " could still run");
  }
  for (const auto& [key, its] : told) {
    if (!known.contains(key))
      out.push_back("phantom: meter " + key.first + " was told " + key.second +
                    ", which nobody sent");
  }
  audit_order(evidence, told, out);
}

void audit_events(const DeviceEvidence& evidence, Findings& out) {
  const std::map<ToldKey, Told> told = gather(evidence.ledger);
  std::unordered_map<std::string, Story> stories;        // by correlation id
  std::unordered_map<std::string, std::string> bodies;   // by event id
  std::unordered_map<std::string, std::uint32_t> taken;  // by event id: in which life
  for (const Arrival& arrival : evidence.events) {
    const std::string shown = "event " + arrival.event;
    if (arrival.event.empty() || member(arrival.body, "eventId") != arrival.event)
      out.push_back("event: one without its id: " + arrival.body);
    if (bodies.emplace(arrival.event, arrival.body).first->second != arrival.body)
      out.push_back("changed: " + shown + " came with another body before");
    if (arrival.status / 100 != 2) continue;
    const auto [before, is_first] = taken.emplace(arrival.event, arrival.life);
    if (!is_first && before->second == arrival.life)
      out.push_back("duplicate: " + shown + " came again in the life in which it was taken");
    before->second = arrival.life;
    if (member(arrival.body, "unsolicited") == "true") continue;
    Story& story = stories[member(arrival.body, "correlationId")];
    const std::string outcome = member(arrival.body, "outcome");
    if (outcome.empty()) {
      story.end_was_first = story.end_was_first || (is_first && !story.ends.empty());
      story.starts.insert(arrival.event);
      continue;
    }
    story.ends.insert(arrival.event);
    story.outcome = outcome;
    story.may_have_run = member(arrival.body, "mayHaveRun");
  }
  for (std::size_t i = 0; i < evidence.commands.size(); ++i) {
    const DeviceCommand& command = evidence.commands[i];
    const bool was_sent = told.contains({command.meter, command.what});
    const std::string why =
        complaint(command, evidence.histories[i], stories[command.correlation], was_sent);
    if (!why.empty())
      out.push_back("unreported: " + name_of(command) + ", " + evidence.histories[i].outcome +
                    ": " + why);
    stories.erase(command.correlation);
  }
  for (const auto& [correlation, story] : stories)
    out.push_back("phantom: an event tells of " + correlation + ", which nobody sent");
}

}  // namespace postrider::crash
