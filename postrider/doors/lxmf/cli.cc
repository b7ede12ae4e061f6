// unity: alone, a name of the command line is also one of typed_profile.h
// postrider lxmf new | id: key files of identities; sync: what a node keeps is fetched.
#include "postrider/doors/lxmf/cli.h"

#include <fcntl.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "postrider/base/wipe.h"
#include "postrider/cli/output.h"
#include "postrider/cli/json.h"
#include "postrider/cli/session.h"
#include "postrider/json/json_writer.h"
#include "postrider/protocols/lxmf/message.h"
#include "postrider/protocols/lxmf/text_form.h"
#include "postrider/protocols/reticulum/identity.h"

namespace postrider::lxmf_door {
namespace {

constexpr std::size_t kKeyBytes = 64;
constexpr auto kIdOptions = std::to_array<OptionRow>({
    {"--json", "", "print JSON"},
});
constexpr std::string_view kNewMore =
    "The file has 64 raw bytes, as identity files of Reticulum have, and mode 0600. A file that is\n"
    "there already stays as it is.\n";

constexpr auto kSyncOptions = std::to_array<OptionRow>({
    {"--identity", "NAME", "a name of [secrets]; else that of the destination lxmf:NODE"},
});
constexpr std::string_view kSyncMore =
    "NODE is its address. What is printed names the sync for 'postrider msg show': it ends as\n"
    "delivered when the node has nothing new, and is tried again until then.\n";

int fail_with(const Parsed& parsed, const std::string& what) {
  complain(parsed.command, what);
  return kExitFailure;
}

int tell(const Parsed& parsed, const reticulum::Identity& identity) {
  const std::string hash = lxmf::hex_of(reticulum::view(identity.hash()));
  const std::string address = lxmf::hex_of(reticulum::view(reticulum::single_destination(
      reticulum::name_hash(lxmf::kDeliveryName), identity.hash())));
  const std::string node = lxmf::hex_of(reticulum::view(reticulum::single_destination(
      reticulum::name_hash(lxmf::kPropagationName), identity.hash())));
  if (parsed.has("--json")) {
    std::string line;
    json::JsonWriter(line)
        .open_object()
        .field("address", address)
        .field("identity", hash)
        .field("destination", "lxmf:" + address)
        .field("node", node)
        .close_object();
    print(line + "\n");
    return kExitOk;
  }
  FactList facts;
  facts.add("address", address);
  facts.add("identity", hash);
  facts.add("others send to", "lxmf:" + address);
  facts.add("as a node", node);
  print(facts.text());
  return kExitOk;
}

int make(const Parsed& parsed) {
  const std::string& path = parsed.operands[0];
  reticulum::Bytes<kKeyBytes> secret{};
  if (RAND_bytes(secret.data(), static_cast<int>(secret.size())) != 1)
    return fail_with(parsed, "the system gave no random bytes");
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the only way to say the mode
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return fail_with(parsed, path + ": " + std::strerror(errno));
  const bool written =
      ::write(file, secret.data(), secret.size()) == static_cast<ssize_t>(secret.size()) &&
      ::fsync(file) == 0;
  const bool closed = ::close(file) == 0;
  const reticulum::Identity identity(secret);
  reticulum::wipe(secret);
  if (!written || !closed) return fail_with(parsed, path + ": it could not be written");
  return tell(parsed, identity);
}

int show(const Parsed& parsed) {
  const std::string& path = parsed.operands[0];
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): as above
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return fail_with(parsed, path + ": " + std::strerror(errno));
  std::string bytes(kKeyBytes + 1, '\0');
  const ssize_t size = ::read(file, bytes.data(), bytes.size());
  ::close(file);
  bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  const auto identity = reticulum::Identity::from_file(bytes);
  wipe(bytes);
  if (!identity) return fail_with(parsed, path + ": an identity file has exactly 64 bytes");
  return tell(parsed, *identity);
}

// A sync is handed in like a message to its node, so it is retried and explained like one.
int sync(const Parsed& parsed) {
  const std::string& node = parsed.operands[0];
  if (!lxmf::address_of(node)) return fail_with(parsed, "a node's address has 32 digits");
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.method = "POST";
  request.path = "/v1/messages";
  json::JsonWriter json(request.body);
  json.open_object().field("destination", "lxmf:" + node).field("body", "");
  json.name("attributes").open_object().field("method", "sync");
  if (const std::string* from = parsed.find("--identity")) json.field("from", *from);
  json.close_object().close_object();
  const std::optional<Json> answer = session->ask(request);
  if (!answer) return kExitFailure;
  if (!session->json()) print(shown(answer->at("id")) + "\n");
  return kExitOk;
}

// clang-format off
constexpr auto kVerbTable = std::to_array<Command>({
    {"new", {"FILE", 1, 1}, "Makes an identity: a key file for [secrets] of the configuration.", kIdOptions, false, make, kNewMore},
    {"id", {"FILE", 1, 1}, "Shows the address of an identity.", kIdOptions, false, show},
    {"sync", {"NODE", 1, 1}, "Fetches what a propagation node keeps for an identity.", kSyncOptions, true, sync, kSyncMore},
});
// clang-format on

}  // namespace

int run_lxmf(Arguments arguments) { return run_verbs("lxmf", kVerbTable, arguments); }

}  // namespace postrider::lxmf_door
