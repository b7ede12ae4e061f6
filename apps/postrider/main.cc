// postrider NOUN VERB …: finds the command and runs it.
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "apps/postrider/commands.h"
#include "postrider/cli/output.h"
#include "postrider/cli/wording.h"
#include "postrider/doors/all.h"
#include "postrider/sinks/all.h"

namespace postrider {
namespace {

constexpr auto kOwnNouns = std::to_array<Noun>({
    {"serve", run_serve, "the daemon"},
    {"send", run_send, "send a message"},
    {"msg", run_msg,
     "ls | get | explain | timeline | cancel | retry | resend: messages, and where they are"},
    {"explain", run_explain, "where a message is, why, and what comes next"},
    {"status", run_status, "how a daemon is: messages, destinations, the oldest, disk"},
    {"dest", run_dest,
     "put | ls | show | pause | resume | wake | limit | rotate | test | recover | rm: where they "
     "go"},
    {"group", run_group,
     "put | add | remove | ls | show | rm | send: one message for many destinations"},
    {"dlq", run_dlq, "ls | groups | show | redrive | drop | export | import: dead letters"},
    {"job", run_job, "run | ls | show | cancel: one action for many at once"},
    {"hold", run_hold, "put | ls | rm: pause everything that a rule fits"},
    {"audit", run_audit, "what operators did"},
    {"tail", run_tail, "what happens, as it happens"},
    {"top", run_top, "what each destination is doing, live"},
    {"shape", run_shape, "how old the messages are that wait, by destination"},
    {"profile", run_profile, "ls | show NAME: the tables that really run"},
    {"config", run_config, "init | check | reference: the file of settings"},
    {"check", run_check, "look for damage in a store that no daemon uses"},
    {"sink", run_sink, "a receiver that can be healthy, slow, flaky or dead"},
    {"demo", run_demo, "see it work: bad receivers, and a kill -9 in the middle", "device"},
    {"bench", run_bench, "how fast it is on this machine"},
    {"sim", run_sim, "simulate months of faults under virtual time"},
    {"completion", run_completion, "bash | zsh | fish: what to type next, for your shell"},
    {"man", run_man, "the manual pages"},
});

}  // namespace

// The program's own, then those of the profiles. Which far sides a sink can be, sinks/ knows.
Nouns nouns() {
  static const std::string kSinks = sink_names(" ");
  static const std::string kSinkSummary =
      "[" + sink_names(" | ") + "]: a receiver that can be healthy, slow, flaky or dead";
  static const std::vector<Noun> kAll = [] {
    std::vector<Noun> all(kOwnNouns.begin(), kOwnNouns.end());
    for (Noun& noun : all) {
      if (noun.run != run_sink) continue;
      noun.summary = kSinkSummary;
      noun.more = kSinks;
    }
    for (const doors::ProfileDoor* door : doors::all_doors())
      all.insert(all.end(), door->nouns.begin(), door->nouns.end());
    return all;
  }();
  return kAll;
}

namespace {

void print_help(std::FILE* out) {
  std::fputs(
      "Postrider delivers messages to destinations that are often not there.\n\nUsage: postrider "
      "COMMAND …\n\n",
      out);
  for (const Noun& command : nouns()) {
    std::fprintf(out, "  %-10s %s\n", std::string(command.name).c_str(),
                 std::string(command.summary).c_str());
  }
  std::fputs("\n'postrider COMMAND --help' says more. 'postrider --version' names the version.\n",
             out);
}

int unknown_command(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Noun& noun : nouns()) names.push_back(noun.name);
  return usage_error(
      "", "unknown command '" + std::string(name) + "'" + did_you_mean_verb(name, names));
}

int dispatch(Arguments arguments) {
  if (arguments.empty()) {
    print_help(stderr);
    return kExitUsage;
  }
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") {
    print_help(stdout);
    return kExitOk;
  }
  if (name == "--version") {
    std::puts("postrider " POSTRIDER_VERSION);
    return kExitOk;
  }
  for (const Noun& command : nouns()) {
    if (command.name == name) return command.run(arguments.subspan(1));
  }
  return unknown_command(name);
}

}  // namespace

}  // namespace postrider

int main(int count, char** values) {
  const std::vector<std::string> arguments(values + (count > 0 ? 1 : 0), values + count);
  const int code = postrider::dispatch(arguments);
  // What could not be written was not said: a full disk or a closed pipe is a failure.
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  return code == postrider::kExitOk && !written ? postrider::kExitFailure : code;
}
