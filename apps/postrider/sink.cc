// postrider sink: a receiver that can be healthy, slow, flaky, dead, or back after a while.
#include "postrider/sinks/webhook/sink.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>

#include "apps/postrider/commands.h"
#include "postrider/cli/options.h"
#include "postrider/cli/output.h"
#include "postrider/sinks/all.h"

namespace postrider {
namespace {

constexpr auto kOptions = std::to_array<OptionRow>({
    {"--listen", "ADDRESS", "an IPv4 address and a port (127.0.0.1:8470); port 0 is any"},
    {"--status", "N", "what good requests are answered with (200)"},
    {"--slow", "DURATION", "answer so late"},
    {"--fail-percent", "P", "answer so many with --fail-status (0)"},
    {"--fail-status", "N", "(500)"},
    {"--duplicate-percent", "P",
     "take so many and cut them off without an answer, so that they come again (0)"},
    {"--dead", "", "refuse connections"},
    {"--back-after", "DURATION", "refuse connections at first, and be back after so long"},
    {"--hang", "", "take requests and never answer"},
    {"--members-max", "N", "answer JSON arrays of more than N with 413 (0: take any)"},
    {"--refuse", "TEXT", "answer bodies that have TEXT in them with 422"},
    {"--log", "FILE", "append a line per request to FILE instead of printing it"},
    {"--quiet", "", "neither print nor log requests"},
    {"--verify", "SECRET", "whsec_…: answer requests with a wrong signature with 401"},
    {"--seed", "N", "who fails (1)"},
});
constexpr std::string_view kMore =
    "A line has time, webhook-id, SHA-256 of the body, status, signature (good, bad or -) and "
    "path.\n"
    "It is written before the answer leaves. SIGTERM or Ctrl-C ends it with a summary.\n\n"
    "Other far sides, each with options of its own:\n";

const std::string& more_text() {
  static const std::string kText = [] {
    std::string text(kMore);
    for (const Command& command : sink_commands()) {
      text.append("  postrider sink ").append(command.name);
      text.append(12 - std::min<std::size_t>(command.name.size(), 11), ' ');
      text.append(command.summary).append("\n");
    }
    return text;
  }();
  return kText;
}

Sink* running = nullptr;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): a signal's

extern "C" void stop_sink(int /*signal*/) {
  if (running != nullptr) running->stop();
}

Result<SinkOptions> read_options(const Parsed& parsed) {
  SinkOptions options;
  options.listen = parsed.text("--listen", "127.0.0.1:8470");
  POSTRIDER_TRY(status, parsed.number("--status", 200, 200, 599));
  POSTRIDER_TRY(fail_status, parsed.number("--fail-status", 500, 200, 599));
  POSTRIDER_TRY(fail_percent, parsed.number("--fail-percent", 0, 0, 100));
  POSTRIDER_TRY(duplicate_percent, parsed.number("--duplicate-percent", 0, 0, 100));
  POSTRIDER_TRY(members_max, parsed.number("--members-max", 0, 0, 1'000'000));
  POSTRIDER_TRY(seed, parsed.number("--seed", 1, 0, UINT64_MAX));
  POSTRIDER_TRY(slow, parsed.duration("--slow", Duration(0)));
  POSTRIDER_TRY(back_after, parsed.duration("--back-after", Duration(0)));
  options.status = static_cast<int>(status);
  options.fail_status = static_cast<int>(fail_status);
  options.fail_percent = static_cast<std::uint32_t>(fail_percent);
  options.duplicate_percent = static_cast<std::uint32_t>(duplicate_percent);
  options.seed = seed;
  options.slow = slow;
  options.back_after = back_after;
  options.dead = parsed.has("--dead");
  options.hang = parsed.has("--hang");
  options.members_max = static_cast<std::uint32_t>(members_max);
  options.refuse = parsed.text("--refuse");
  options.verify = parsed.text("--verify");
  options.log_file = parsed.has("--quiet") ? "" : parsed.text("--log", "-");
  return options;
}

int sink(const Parsed& parsed) {
  const Result<SinkOptions> options = read_options(parsed);
  if (!options) return complain(parsed, options.error());
  const Result<std::unique_ptr<Sink>> opened = Sink::open(*options);
  if (!opened && opened.error().code == ErrorCode::kInvalid)
    return complain(parsed, opened.error());
  if (!opened) {
    complain("sink", opened.error().detail);
    return kExitFailure;
  }
  Sink& it = **opened;
  running = &it;
  std::signal(SIGINT, stop_sink);
  std::signal(SIGTERM, stop_sink);
  std::fprintf(stderr, "sink at http://%s/\n", it.address().c_str());
  const Result<void> ran = it.run();
  running = nullptr;
  const SinkCounts counts = it.counts();
  std::fprintf(
      stderr, "%llu requests: %llu good, %llu failed, %llu cut off, %llu forged\n",
      static_cast<unsigned long long>(counts.requests),
      static_cast<unsigned long long>(counts.good), static_cast<unsigned long long>(counts.failed),
      static_cast<unsigned long long>(counts.cut), static_cast<unsigned long long>(counts.forged));
  if (ran) return kExitOk;
  complain("sink", ran.error().detail);
  return kExitFailure;
}

}  // namespace

int run_sink(Arguments arguments) {
  for (const Command& command : sink_commands()) {
    if (!arguments.empty() && arguments.front() == command.name)
      return run_command("sink", command, arguments.subspan(1));
  }
  const Command command = {"sink", {},         "Receives webhooks, well or badly.", kOptions, false,
                           sink,   more_text()};
  return run_command("", command, arguments);
}

}  // namespace postrider
