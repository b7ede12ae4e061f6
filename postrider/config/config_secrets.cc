// The key files of a configuration: [secrets] NAME = "path". Each is read whole, and refused by
// name when anybody but its owner may look at it, and when there is nothing in it or too much.
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "postrider/base/wipe.h"
#include "postrider/config/config_reader.h"

namespace postrider {
namespace {

constexpr ::mode_t kOthers = S_IRWXG | S_IRWXO;

// A text ends in a line break that its editor put there; a key of raw bytes ends as it does.
void drop_line_break(std::string& bytes) {
  const bool text = std::all_of(bytes.begin(), bytes.end(), [](char c) {
    return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t';
  });
  while (text && (bytes.ends_with('\n') || bytes.ends_with('\r'))) bytes.pop_back();
}

// As much as there is, and one byte more than there may be; nothing when it cannot be read.
std::optional<std::string> read_whole(int fd) {
  std::string bytes(kSecretBytesMax + 1, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = read(fd, bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  std::string out = bytes.substr(0, size);
  wipe(bytes);
  return out;
}

}  // namespace

std::optional<std::string> ConfigReader::read_key_file(const TomlEntry& entry) {
  const std::string who = "secret '" + entry.path[1] + "': ";
  const auto refuse = [&](std::string_view why) {
    problem(entry.line, who + std::string(why));
    return std::nullopt;
  };
  const int fd = open(entry.text.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return refuse(std::generic_category().message(errno));
  struct stat about {};
  const bool regular = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
  std::optional<std::string> bytes = regular ? read_whole(fd) : std::nullopt;
  close(fd);
  if (!bytes) return refuse("it is not a file that can be read");
  if ((about.st_mode & kOthers) != 0) {
    wipe(*bytes);
    return refuse("others than its owner may look at the file; it needs mode 0600");
  }
  if (bytes->size() > kSecretBytesMax) {
    wipe(*bytes);
    return refuse("the file has more than " + std::to_string(kSecretBytesMax) + " bytes");
  }
  drop_line_break(*bytes);
  if (bytes->empty()) return refuse("the file is empty");
  return bytes;
}

void ConfigReader::read_secrets_entry(const TomlEntry& entry) {
  if (secrets_ == nullptr) secrets_ = std::make_shared<Secrets>();
  if (entry.path.size() == 1) {
    if (entry.kind != TomlKind::kTable)
      problem(entry.line, "secrets is a section: write [secrets]");
    return;
  }
  const std::string& name = entry.path[1];
  const std::size_t before = problems_.size();
  if (entry.path.size() > 2 || entry.kind != TomlKind::kText) {
    problem(entry.line, "secret '" + name + "' must be a text: the path of its file");
  } else if (!is_secrets_name(name)) {
    problem(entry.line, "'" + name + "': the name of a secret has 1 to " +
                            std::to_string(kSecretNameBytesMax) + " letters, digits and . _ -");
  } else if (secrets_->size() == kSecretsMax) {
    problem(entry.line, "has more than " + std::to_string(kSecretsMax) + " secrets");
  } else if (auto bytes = read_key_file(entry)) {
    secrets_->put(name, std::move(*bytes));
  }
  secrets_spoiled_ = secrets_spoiled_ || problems_.size() > before;
}

// What the file says can be compared; destinations of the store may name others.
void ConfigReader::check_named_secret(const DestinationDraft& draft) {
  const std::string* name = find_text(draft.config.settings, "secret_name");
  if (name == nullptr || secrets_spoiled_) return;
  if (secrets_ != nullptr && !secrets_->find(*name).empty()) return;
  const auto line = draft.lines.find("secret_name");
  problem(
      line == draft.lines.end() ? draft.line : line->second,
      "destination '" + draft.config.name + "': there is no secret '" + *name + "' in [secrets]");
}

}  // namespace postrider
