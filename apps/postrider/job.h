// Jobs by options: what names a filter, a rate and a dry run, for `job run` and for `dlq`.
#pragma once

#include "postrider/cli/options.h"
#include "postrider/cli/session.h"

namespace postrider {

inline constexpr OptionRow kJobDestination = {"--destination", "NAME", "of this destination"};
inline constexpr OptionRow kJobPrefix = {"--prefix", "TEXT",
                                         "of destinations whose names begin so"};
inline constexpr OptionRow kJobPhase = {
    "--phase", "PHASE", "dead or expired; to cancel, a live one; to resend, another end"};
inline constexpr OptionRow kJobCause = {
    "--cause", "CAUSE", "connect, timeout, server, throttled, rejected, gone, other or expired"};
inline constexpr OptionRow kJobSince = {"--since", "TIME",
                                        "ended then or later: RFC 3339, or 2h for two hours ago"};
inline constexpr OptionRow kJobUntil = {"--until", "TIME", "ended before then"};
inline constexpr OptionRow kJobReasonPrefix = {"--reason-prefix", "TEXT",
                                               "whose last outcome begins so"};
inline constexpr OptionRow kJobRate = {"--rate", "N", "per second, 1 to 100000 (100)"};
inline constexpr OptionRow kJobAll = {"--all", "", "everything there is, instead of a filter"};
inline constexpr OptionRow kJobEvery = {
    "--every", "DURATION", "for redrive: begin anew so long after each beginning, like 24h"};
inline constexpr OptionRow kJobDryRun = {"--dry-run", "", "count, forecast, and change nothing"};
inline constexpr OptionRow kJobReason = {"--reason", "TEXT", "why, for the audit"};
inline constexpr OptionRow kEvenIfItRan = {
    "--even-if-it-ran", "",
    "device commands: send again also what may have run; look at the meter first"};

inline constexpr std::string_view kEvenIfItRanQuery = "?even_if_it_ran=true";

// What the options do not say: the action, and the destination unless --destination does.
struct JobWish {
  std::string_view action;
  std::string_view destination;
  std::string_view key_suffix;  // when one command starts several
};
// Starts it, or counts what it would do; the exit code. What names nothing is refused unless --all
// says that everything is meant.
int start_job(const Parsed& parsed, const JobWish& wish);

}  // namespace postrider
