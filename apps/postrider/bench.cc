// postrider bench: how fast it is here, on a temporary store. What takes longer or is about one
// profile is in bench/long, the program postrider-bench.
#include "apps/postrider/bench.h"

#include "apps/postrider/commands.h"
#include "postrider/cli/output.h"

namespace postrider {
namespace {

constexpr OptionRow kOptions[] = {kDepthOption, kSecondsOption, kDestinationsOption, kPayloadOption,
                                  kJsonOption};

constexpr Command kBenches[] = {
    benchmark<bench_lifecycle>(
        "lifecycle", "the library: submit, send into the void, end; all of it synced", kOptions),
    benchmark<bench_http>(
        "http", "accepting over HTTP for paused destinations, one by one and as lines", kOptions),
    benchmark<bench_webhook>("webhook", "in by HTTP, out by HTTP to a sink", kOptions),
};

}  // namespace

int run_bench(Arguments arguments) { return run_verbs("bench", kBenches, arguments); }

}  // namespace postrider
