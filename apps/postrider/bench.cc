// postrider bench: how fast it is here, on a temporary store. What takes longer or is about one
// profile is in bench/long, the program postrider-bench.
#include "apps/postrider/bench.h"

#include "apps/postrider/commands.h"
#include "postrider/cli/output.h"

namespace postrider {
namespace {

constexpr OptionRow kOptions[] = {
    {"--depth", "N", "messages under way, or connections (64)"},
    {"--seconds", "S", "how long to measure (5)"},
    {"--destinations", "M", "different destinations (10000)"},
    {"--payload", "B", "bytes of a message's body (512)"},
    {"--json", "", "one JSON object"},
};

constexpr Command kBenches[] = {
    {.name = "lifecycle",
     .operands = {},
     .summary = "the library: submit, send into the void, end; all of it synced",
     .options = kOptions,
     .asks_daemon = false,
     .run = run_one<bench_lifecycle>},
    {.name = "http",
     .operands = {},
     .summary = "accepting over HTTP for paused destinations, one by one and as lines",
     .options = kOptions,
     .asks_daemon = false,
     .run = run_one<bench_http>},
    {.name = "webhook",
     .operands = {},
     .summary = "in by HTTP, out by HTTP to a sink",
     .options = kOptions,
     .asks_daemon = false,
     .run = run_one<bench_webhook>},
};

}  // namespace

int run_bench(Arguments arguments) { return run_verbs("bench", kBenches, arguments); }

}  // namespace postrider
