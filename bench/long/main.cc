// postrider-bench: the benchmarks that take long or are about one profile, beside those of
// `postrider bench`.
#include <cstdio>
#include <string>
#include <vector>

#include "apps/postrider/bench.h"
#include "bench/long/benches.h"
#include "postrider/cli/output.h"

namespace postrider {
namespace {

constexpr OptionRow kOptions[] = {
    kDepthOption,
    kSecondsOption,
    kDestinationsOption,
    kPayloadOption,
    {"--messages", "N", "messages of a backlog (1000000)"},
    kJsonOption,
};
constexpr OptionRow kRedriveOptions[] = {
    {"--messages", "N", "dead letters (1000000)"},
    kPayloadOption,
    {"--rate", "N", "sent again per second (10000)"},
    kJsonOption,
};
constexpr OptionRow kDeviceOptions[] = {
    {"--depth", "N", "commands under way (64)"},
    kSecondsOption,
    {"--destinations", "M", "different queues (10000)"},
    {"--events", "", "with an event to a consumer at the start and at the end"},
    {"--redis", "HOST:PORT", "replay the original's commands on this server, too"},
    kJsonOption,
};

constexpr Command kBenches[] = {
    benchmark<bench_backlog>(
        "backlog", "many waiting messages: accepting, a kill -9, the start, the drain", kOptions),
    benchmark<bench_redrive>(
        "redrive", "many dead letters, a kill -9, and a job that sends all of them again at a rate",
        kRedriveOptions),
    benchmark<bench_hang>(
        "hang", "ten destinations that answer, alone and among 990 that hang, by turns", kOptions),
    benchmark<bench_device>("device", "commands by push to devices, from enqueue to answer",
                            kDeviceOptions),
    benchmark<bench_queues>(
        "queues", "many commands that wait in many queues of devices: a kill -9, the start, timers",
        kOptions),
    benchmark<bench_timers>("timers", "arming and firing", kOptions),
};

}  // namespace
}  // namespace postrider

int main(int count, char** values) {
  const std::vector<std::string> arguments(values + (count > 0 ? 1 : 0), values + count);
  const int code = postrider::run_verbs("postrider-bench", postrider::kBenches, arguments);
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  return code == postrider::kExitOk && !written ? postrider::kExitFailure : code;
}
