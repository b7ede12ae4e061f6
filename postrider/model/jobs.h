// Jobs: one action for everything that a filter names, carried out page by page at a given rate.
// The record is written with each page in the commit of what the page did, so that a stop of any
// kind neither repeats nor skips anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/ids.h"
#include "postrider/model/lifecycle.h"
#include "postrider/model/outcome.h"

namespace postrider {

using JobId = Id<struct JobIdTag>;  // a sequence: what was accepted later is none of its business
std::string to_string(JobId id);    // 16 hexadecimal digits
std::optional<JobId> parse_job_id(std::string_view text);

enum class JobAction : std::uint8_t {
  kRedrive,  // dead letters become new messages, in the order in which they were accepted
  kDrop,     // dead letters are removed for good
  kRetry,    // parked messages go back in line
  kCancel,   // live messages end
  kResend,   // what was delivered and is kept as history becomes new messages; the history stays
};
inline constexpr std::size_t kJobActions = 5;
std::string_view name_of(JobAction action);

enum class JobState : std::uint8_t { kRunning, kDone, kCancelled, kWaiting };
inline constexpr std::size_t kJobStates = 4;
std::string_view name_of(JobState state);

// Everything that is set must fit. Unset fields fit everything.
struct JobFilter {
  std::string destination;         // this one
  std::string destination_prefix;  // or destinations whose names begin so
  std::optional<Phase> phase;
  std::optional<FailureClass> cause;  // of the end, or of the last attempt
  Timestamp since;                    // died, parked or (to cancel) accepted then or later …
  Timestamp until;                    // … and before
  std::string reason_prefix;
  friend bool operator==(const JobFilter&, const JobFilter&) = default;
};

struct JobOrder {
  JobAction action = JobAction::kRedrive;
  JobFilter filter;
  std::uint32_t rate = 0;  // per second; 0: the usual one
  // Send also what may have been done already, where the profile minds that.
  bool even_if_it_ran = false;
  std::string reason;  // the operator's words
  Duration every{0};   // begin anew so long after each beginning; 0: once
  friend bool operator==(const JobOrder&, const JobOrder&) = default;
};

struct Job {
  JobId id;
  JobOrder order;
  JobState state = JobState::kRunning;
  std::string actor;  // the operator that asked for it
  Timestamp created;
  Timestamp finished;          // unset: it runs
  std::string cursor;          // of the engine; empty: at the beginning
  std::uint64_t expected = 0;  // how many there were, when that was known without reading them
  std::uint64_t looked = 0;    // records that were read
  std::uint64_t done = 0;      // … on which the action was carried out
  std::uint64_t refused = 0;   // … which fit, and could not be acted upon
  std::string refusal;         // why the last of these was refused
  // A round is about what was there when it began.
  Timestamp round_at;
  std::uint64_t horizon = 0;  // what has this sequence or a later one came afterwards
  std::uint64_t rounds = 0;   // that are over
  Timestamp next_at;          // kWaiting: when the next one begins
  friend bool operator==(const Job&, const Job&) = default;
};
std::string encode_job(const Job& job);
Result<Job> decode_job(std::string_view record);
std::string encode_order(const JobOrder& order);  // a canonical form, for fingerprints

struct JobList {
  std::vector<Job> jobs;  // the newest first
};

// What a job would do.
struct DryRun {
  std::uint64_t matched = 0;
  std::uint64_t looked = 0;  // records that were read for it; 0: the groups knew it
  bool complete = true;      // false: there are more than the dry run looked at
  std::uint32_t rate = 0;
  Duration forecast{0};  // how long it would take, at least when it is not complete
};

}  // namespace postrider
