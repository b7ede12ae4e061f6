#include "postrider/doors/matrix/doctor.h"

#include <optional>

#include "postrider/base/durations.h"

namespace postrider::matrix_door {
namespace {

constexpr Duration kRetryIntervalMax{60'000};  // above it the gap after a failed request is felt

// The text without comments, line by line.
std::vector<std::string> lines_of(std::string_view yaml) {
  std::vector<std::string> lines;
  while (!yaml.empty()) {
    const std::size_t end = yaml.find('\n');
    std::string_view line = yaml.substr(0, end);
    yaml.remove_prefix(end == std::string_view::npos ? yaml.size() : end + 1);
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '"' || line[i] == '\'') quoted = !quoted;
      if (line[i] == '#' && !quoted && (i == 0 || line[i - 1] == ' ')) line = line.substr(0, i);
    }
    lines.emplace_back(line);
  }
  return lines;
}

// What stands under a name at the beginning of a line, as one text; nothing: there is no such name.
std::optional<std::string> section_of(const std::vector<std::string>& lines,
                                      std::string_view name) {
  std::optional<std::string> found;
  for (const std::string& line : lines) {
    const bool indented = line.empty() || line[0] == ' ' || line[0] == '-' || line[0] == '\t';
    if (!indented) {
      if (found) return found;
      const std::size_t colon = line.find(':');
      if (line.substr(0, colon) == name) found = line.substr(colon + 1) + "\n";
    } else if (found) {
      found->append(line).append("\n");
    }
  }
  return found;
}

// The word behind "name:" in a section.
std::string value_in(const std::string& section, std::string_view name) {
  const std::size_t at = section.find(std::string(name) + ":");
  if (at == std::string::npos) return {};
  const std::size_t begin = section.find_first_not_of(" \"'", at + name.size() + 1);
  const std::size_t end = section.find_first_of(" ,}\"'\n", begin);
  return begin == std::string::npos ? std::string() : section.substr(begin, end - begin);
}

Finding about_interval(const std::string& section, const std::string& name,
                       std::string_view fallback) {
  const std::string said = value_in(section, name);
  const std::string path = "federation." + name;
  if (said.empty())
    return {true, path + " is missing: it is " + std::string(fallback) +
                      ", and one failed request keeps a server's events from us for so long"};
  // A bare number counts milliseconds there.
  const bool bare = said.find_first_not_of("0123456789") == std::string::npos;
  const auto interval = parse_duration(bare ? said + "ms" : said);
  if (!interval) return {true, path + ": '" + said + "' is no duration"};
  if (*interval > kRetryIntervalMax)
    return {true, path + " is " + said + ": one failed request keeps a server's events from us " +
                      "for so long; make it 30s at most"};
  return {false, path + " is " + said};
}

}  // namespace

std::vector<Finding> examine_homeserver(std::string_view yaml) {
  const std::vector<std::string> lines = lines_of(yaml);
  std::vector<Finding> findings;
  const auto name = section_of(lines, "server_name");
  if (!name) findings.push_back({true, "server_name is missing: is this a homeserver's file?"});
  const auto sent = section_of(lines, "outbound_federation_restricted_to");
  findings.push_back(sent ? Finding{false, "outbound_federation_restricted_to is there"}
                          : Finding{true,
                                    "outbound_federation_restricted_to is missing: nothing is "
                                    "handed over"});
  const auto map = section_of(lines, "instance_map");
  if (!map) {
    findings.push_back({true, "instance_map is missing: it says where Postrider's egress is"});
  } else {
    findings.push_back(
        map->find("main") != std::string::npos
            ? Finding{false, "instance_map names main"}
            : Finding{true, "instance_map has no main: the homeserver will not start"});
  }
  const auto secret = section_of(lines, "worker_replication_secret");
  const auto secret_path = section_of(lines, "worker_replication_secret_path");
  findings.push_back(secret || secret_path
                         ? Finding{false, "worker_replication_secret is there"}
                         : Finding{true,
                                   "worker_replication_secret is missing: the egress takes nothing "
                                   "without it"});
  const std::string federation = section_of(lines, "federation").value_or("");
  findings.push_back(about_interval(federation, "destination_min_retry_interval", "10m"));
  findings.push_back(about_interval(federation, "destination_max_retry_interval", "7d"));
  return findings;
}

}  // namespace postrider::matrix_door
