// postrider sink matrix: a Matrix server that transactions are sent to, and that counts how often
// each item was applied.
#include "postrider/sinks/matrix/commands.h"

#include <array>

#include "postrider/sinks/matrix/matrix_sink.h"

namespace postrider {
namespace {

constexpr auto kMatrixOptions = std::to_array<OptionRow>({
    {"--listen", "PORT", "where transactions come in, also ADDRESS:PORT (8473); 0 is any"},
    {"--control", "PORT", "where counts are read and faults are set (8474); 0 is any"},
    {"--certificate", "FILE", "PEM; without one it speaks clear text"},
    {"--key", "FILE", "PEM, of the certificate"},
    {"--server-name", "NAME", "refuse what is for another server; without it, nothing"},
    {"--verify", "ID=KEY", "ed25519:a_1=BASE64: the public key of the sender, else 401", true},
    {"--poison", "TEXT", "a unit with this text fails its transaction with 500"},
    {"--slow", "DURATION", "an answer takes so long"},
    {"--fail-percent", "P", "answer so many with --fail-status (0)"},
    {"--fail-status", "N", "(503)"},
    {"--lose-percent", "P", "apply so many and cut them off without an answer (0)"},
    {"--hang-percent", "P", "take so many and never answer: 100 is a black hole (0)"},
    {"--seed", "N", "of chance (1)"},
});

constexpr std::string_view kMatrixMore =
    "It remembers transactions for a day, works on one of a sender at a time (else 429), takes 50 "
    "PDUs\nand 100 EDUs, and fails a transaction as a whole. The chosen ports are printed as one "
    "line of JSON.\nAt the control port, GET /counts tells what came, GET /applied how often each "
    "event and message to\ndevices was applied, and POST /faults {\"slow_ms\": 100} changes what "
    "goes wrong: fail, fail_status,\nlose_answers, hang, slow_ms. SIGTERM or Ctrl-C ends it.\n";

Result<void> read_keys(const Parsed& parsed, sim::ReceiverOptions& receiver) {
  for (const std::string& text : parsed.all("--verify")) {
    const std::size_t equals = text.find('=');
    const std::string id = text.substr(0, equals);
    if (equals == std::string::npos || !matrix::is_key_id(id))
      return fail(ErrorCode::kInvalid,
                  "--verify: '" + text + "' is not of the form ed25519:ID=KEY");
    const auto key = matrix::parse_public_key(text.substr(equals + 1));
    if (!key) return fail(ErrorCode::kInvalid, "--verify: " + key.error().detail);
    receiver.keys.push_back({.id = id, .key = *key});
  }
  return {};
}

Result<MatrixSinkOptions> read_matrix(const Parsed& parsed) {
  MatrixSinkOptions options;
  options.listen = parsed.text("--listen", "8473");
  options.control = parsed.text("--control", "8474");
  options.tls = {.certificate_file = parsed.text("--certificate"),
                 .key_file = parsed.text("--key")};
  options.receiver.server_name = parsed.text("--server-name");
  options.receiver.poison = parsed.text("--poison");
  POSTRIDER_TRY(slow, parsed.duration("--slow", Duration(0)));
  POSTRIDER_TRY(failing, parsed.number("--fail-percent", 0, 0, 100));
  POSTRIDER_TRY(fail_status, parsed.number("--fail-status", 503, 200, 599));
  POSTRIDER_TRY(lost, parsed.number("--lose-percent", 0, 0, 100));
  POSTRIDER_TRY(hanging, parsed.number("--hang-percent", 0, 0, 100));
  POSTRIDER_TRY(seed, parsed.number("--seed", 1, 0, UINT64_MAX));
  options.faults = {.fail = static_cast<std::uint32_t>(failing),
                    .fail_status = static_cast<std::uint32_t>(fail_status),
                    .lose_answers = static_cast<std::uint32_t>(lost),
                    .hang = static_cast<std::uint32_t>(hanging),
                    .slow_ms = static_cast<std::uint32_t>(slow.count())};
  options.seed = seed;
  if (const Result<void> keys = read_keys(parsed, options.receiver); !keys)
    return tl::unexpected<Error>(keys.error());
  return options;
}

int sink_matrix(const Parsed& parsed) {
  const Result<MatrixSinkOptions> options = read_matrix(parsed);
  if (!options) return complain(parsed, options.error());
  return run_far_side(parsed, "listen", open_matrix_sink(*options));
}

Command matrix_command() {
  Command command{};
  command.name = "matrix";
  command.summary = "A Matrix server that takes transactions, well or badly.";
  command.options = kMatrixOptions;
  command.run = sink_matrix;
  command.more = kMatrixMore;
  return command;
}

constexpr auto kVerbs = std::to_array<SinkVerb>({matrix_command});

}  // namespace

SinkVerbs matrix_sinks() { return kVerbs; }

}  // namespace postrider
