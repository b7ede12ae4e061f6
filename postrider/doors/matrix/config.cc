#include "postrider/doors/matrix/config.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "postrider/protocols/matrix/server_name.h"

namespace postrider::matrix_door {
namespace {

auto& part_of(Config& config) { return config.parts.of<MatrixConfig>(); }
auto& server_name_of(Config& config) { return part_of(config).server_name; }
auto& egress_of(Config& config) { return part_of(config).egress; }
auto& secret_file_of(Config& config) { return part_of(config).secret_file; }
auto& allow_of(Config& config) { return part_of(config).allow_servers; }
auto& trust_of(Config& config) { return part_of(config).trust_file; }
auto& relays_of(Config& config) { return part_of(config).relays_max; }
auto& relays_per_server_of(Config& config) { return part_of(config).relays_per_server_max; }
auto& time_out_of(Config& config) { return part_of(config).relay_time_out; }
auto& closed_delay_of(Config& config) { return part_of(config).closed_delay; }

constexpr auto kSections = std::to_array<ConfigSection>(
    {{"matrix", "the outbound federation that a Matrix homeserver hands over"}});

// clang-format off
constexpr auto kRows = std::to_array<ConfigRow>({
    {"matrix", "server_name", ConfigKind::kText, &server_name_of, {0, matrix::kServerNameBytesMax},
     "the name of our Matrix server, as its users have it"},
    {"matrix", "egress", ConfigKind::kText, &egress_of, {0, kConfigTextBytesMax},
     "where the homeserver hands over its requests: 127.0.0.1:8009, or unix:/path; empty: nowhere"},
    {"matrix", "secret_file", ConfigKind::kText, &secret_file_of, {0, kConfigTextBytesMax},
     "a file of mode 0600 with the homeserver's worker_replication_secret; the egress needs it"},
    {"matrix", "allow_servers", ConfigKind::kTexts, &allow_of, {0, kConfigListMax},
     "the only servers that are spoken to; none: all"},
    {"matrix", "trust_file", ConfigKind::kText, &trust_of, {0, kConfigTextBytesMax},
     "PEM: certificates that are trusted for Matrix servers; empty: those of transport.trust_file"},
    {"matrix", "relays_max", ConfigKind::kNumber, &relays_of, {1, 100'000},
     "requests that are relayed at the same time; further ones are answered 502"},
    {"matrix", "relays_per_server_max", ConfigKind::kNumber, &relays_per_server_of, {1, 100'000},
     "of them to one server"},
    {"matrix", "relay_time_out", ConfigKind::kDuration, &time_out_of, {1'000, 600'000},
     "until the head of the answer to a relayed request; then it is answered 502"},
    {"matrix", "closed_delay", ConfigKind::kDuration, &closed_delay_of, {0, 1'000},
     "so long the answer to a transaction for a server that backs off waits, so that the homeserver packs more"},
});
// clang-format on

void check_names(const MatrixConfig& said, ConfigReading& reading) {
  if (!said.server_name.empty()) {
    if (const auto name = matrix::parse_server_name(said.server_name); !name)
      reading.problem(0, "matrix.server_name: " + name.error().detail);
  }
  for (const std::string& server : said.allow_servers) {
    if (const auto name = matrix::parse_server_name(server); !name)
      reading.problem(0, "matrix.allow_servers: '" + server + "': " + name.error().detail);
  }
}

void check(ConfigReading& reading) {
  const MatrixConfig& said = part_of(reading.config());
  check_names(said, reading);
  if (said.egress.empty()) return;
  if (said.server_name.empty())
    reading.problem(0, "matrix.egress needs matrix.server_name: the name of our server");
  if (said.secret_file.empty())
    reading.problem(0, "matrix.egress needs matrix.secret_file: without a secret it does not open");
  if (!is_loopback_listen(said.egress))
    reading.config().warnings.push_back(
        "matrix.egress is " + said.egress +
        ", which others can reach: its secret and all requests pass there in clear text");
}

}  // namespace

const ConfigPart kConfigPart{.sections = kSections, .rows = kRows, .check = check};

Result<std::string> read_private_file(const std::string& path, std::size_t bytes_max) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return fail(ErrorCode::kInvalid, "'" + path + "': " + std::generic_category().message(errno));
  struct stat about {};
  const bool regular = ::fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
  const bool private_to_us = (about.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  std::string bytes(bytes_max + 1, '\0');
  const ssize_t got = regular && private_to_us ? ::read(fd, bytes.data(), bytes.size()) : -1;
  ::close(fd);
  if (regular && !private_to_us)
    return fail(ErrorCode::kInvalid,
                "'" + path + "': others may use it; make it yours alone (chmod 600)");
  if (got < 0)
    return fail(ErrorCode::kInvalid, "'" + path + "': it is not a file that can be read");
  if (static_cast<std::size_t>(got) > bytes_max)
    return fail(ErrorCode::kInvalid,
                "'" + path + "': it has more than " + std::to_string(bytes_max) + " bytes");
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

}  // namespace postrider::matrix_door
