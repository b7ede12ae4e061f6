// Tokens and destinations of a configuration: lists whose length the operator chooses.
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "postrider/api/texts.h"
#include "postrider/base/nearest.h"
#include "postrider/config/config_reader.h"
#include "postrider/profiles/all.h"

namespace postrider {
namespace {

constexpr std::string_view kTokenKeys[] = {"name",        "tenant",     "scopes",   "secret",
                                           "secret_file", "secret_env", "mailboxes"};
constexpr std::string_view kScopes[] = {"submit", "read", "operate", "receive"};
constexpr std::string_view kDestinationKeys[] = {"profile", "settings"};
constexpr std::size_t kTokenNameBytesMax = 64;

bool is_token_name(std::string_view text) {
  return !text.empty() && text.size() <= kTokenNameBytesMax &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
         });
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// What a client can send after "Bearer ".
bool is_bearer(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
}

}  // namespace

std::optional<std::string> text_of(const TomlEntry& entry) {
  switch (entry.kind) {
    case TomlKind::kText: return entry.text;
    case TomlKind::kNumber: return std::to_string(entry.number);
    case TomlKind::kFlag: return entry.flag ? "true" : "false";
    case TomlKind::kTexts: {
      std::string joined;
      for (const std::string& text : entry.texts)
        joined.append(joined.empty() ? "" : ",").append(text);
      return joined;
    }
    case TomlKind::kTable:
    case TomlKind::kTables:
    case TomlKind::kOther: return std::nullopt;
  }
  return std::nullopt;
}

bool is_secret_key(std::string_view key) {
  return std::find(std::begin(kSecretKeys), std::end(kSecretKeys), key) != std::end(kSecretKeys);
}

std::optional<std::string> ConfigReader::read_secret_file(const TomlEntry& entry) {
  const std::string& key = entry.path.back();
  const int fd = open(entry.text.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    problem(entry.line, key + ": " + std::generic_category().message(errno));
    return std::nullopt;
  }
  struct stat about {};
  const bool regular = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
  std::string bytes(kConfigSecretBytesMax + 1, '\0');
  const ssize_t got = regular ? read(fd, bytes.data(), bytes.size()) : -1;
  close(fd);
  if (got < 0) {
    problem(entry.line, key + ": it is not a file that can be read");
    return std::nullopt;
  }
  if ((about.st_mode & S_IROTH) != 0)
    config_.warnings.push_back(place(entry.line) + "everybody may read '" + entry.text + "'");
  return bytes.substr(0, static_cast<std::size_t>(got));
}

std::optional<std::string> ConfigReader::read_secret(const TomlEntry& entry) {
  const std::string& key = entry.path.back();
  if (entry.kind != TomlKind::kText) {
    problem(entry.line, key + " must be a text");
    return std::nullopt;
  }
  std::optional<std::string> bytes;
  const bool is_variable = key.ends_with("_env");
  if (!is_variable)
    bytes = key.ends_with("_file") ? read_secret_file(entry) : std::optional(entry.text);
  if (is_variable) {
    const auto variable = environment_.find(entry.text);
    if (variable == environment_.end()) {
      problem(entry.line, key + ": there is no environment variable of this name");
    } else {
      bytes = variable->second;
    }
  }
  if (!bytes) return std::nullopt;
  if (bytes->size() > kConfigSecretBytesMax) {
    problem(entry.line,
            key + ": a secret has at most " + std::to_string(kConfigSecretBytesMax) + " bytes");
    return std::nullopt;
  }
  std::string secret(trimmed(*bytes));
  if (secret.empty()) {
    problem(entry.line, key + ": the secret is empty");
    return std::nullopt;
  }
  return secret;
}

void ConfigReader::read_scopes(const TomlEntry& entry, TokenDraft& draft) {
  draft.has_scopes = true;
  if (entry.kind != TomlKind::kTexts || entry.texts.empty()) {
    problem(entry.line, "scopes must be a list of submit, read, operate, receive, in brackets");
    return;
  }
  for (const std::string& scope : entry.texts) {
    if (scope == "submit") {
      draft.token.may_submit = true;
    } else if (scope == "read") {
      draft.token.may_read = true;
    } else if (scope == "operate") {
      draft.token.may_operate = true;
    } else if (scope == "receive") {
      draft.token.may_receive = true;
    } else {
      problem(entry.line, "unknown scope '" + scope + "'" + did_you_mean(scope, kScopes) +
                              " (there are submit, read, operate, receive)");
    }
  }
}

void ConfigReader::read_token_key(const TomlEntry& entry, TokenDraft& draft) {
  const std::string& key = entry.path[2];
  if (key == "scopes") {
    read_scopes(entry, draft);
  } else if (key == "mailboxes") {
    if (entry.kind != TomlKind::kTexts || entry.texts.empty())
      return problem(entry.line, "mailboxes must be a list of names, in brackets");
    draft.token.mailboxes = entry.texts;
  } else if (is_secret_key(key)) {
    ++draft.secrets;
    draft.token.secret = read_secret(entry).value_or("");
  } else if (key == "name" || key == "tenant") {
    if (entry.kind != TomlKind::kText || !is_token_name(entry.text)) {
      problem(entry.line, "the " + key + " of a token has 1 to " +
                              std::to_string(kTokenNameBytesMax) +
                              " letters, digits, and any of - _ .");
      return;
    }
    (key == "name" ? draft.token.name : draft.token.tenant) = entry.text;
  } else {
    problem(entry.line, "unknown key '" + key + "' of a token" + did_you_mean(key, kTokenKeys));
  }
}

void ConfigReader::read_token_entry(const TomlEntry& entry) {
  if (entry.path.size() == 1) {
    const bool empty_list = entry.kind == TomlKind::kTexts && entry.texts.empty();
    if (entry.kind != TomlKind::kTables && !empty_list)
      problem(entry.line, "tokens is a list: write [[tokens]] before each");
    return;
  }
  TokenDraft& draft = tokens_[entry.path[1]];
  if (entry.path.size() == 2) draft.line = entry.line;
  if (entry.path.size() != 3) return;
  const std::size_t before = problems_.size();
  read_token_key(entry, draft);
  draft.spoiled = draft.spoiled || problems_.size() > before;
}

void ConfigReader::finish_token(TokenDraft& draft) {
  AccessToken& token = draft.token;
  const bool missing = !draft.spoiled;
  if (missing && token.name.empty()) problem(draft.line, "a token needs a name");
  if (missing && !draft.has_scopes)
    problem(draft.line,
            "token '" + token.name + "' needs scopes: any of submit, read, operate, receive");
  if (missing && draft.secrets != 1)
    problem(draft.line,
            "token '" + token.name + "' needs one of secret, secret_file and secret_env");
  if (!token.secret.empty() && token.secret.size() < kTokenSecretBytesMin)
    problem(draft.line, "the secret of token '" + token.name + "' is shorter than " +
                            std::to_string(kTokenSecretBytesMin) + " bytes");
  if (token.secret.size() > kTokenSecretBytesMax)
    problem(draft.line, "the secret of token '" + token.name + "' is longer than " +
                            std::to_string(kTokenSecretBytesMax) + " bytes");
  if (!is_bearer(token.secret))
    problem(draft.line, "the secret of token '" + token.name +
                            "' has characters that cannot be sent: use printable ASCII, no spaces");
  if (token.tenant.empty()) token.tenant = "default";
  for (const AccessToken& other : config_.api.tokens) {
    if (!token.name.empty() && other.name == token.name)
      problem(draft.line, "there are two tokens '" + token.name + "'");
    if (!token.secret.empty() && other.secret == token.secret)
      problem(draft.line, "tokens '" + other.name + "' and '" + token.name + "' have one secret");
  }
  config_.api.tokens.push_back(std::move(token));
}

void ConfigReader::finish_tokens() {
  if (tokens_.size() > kConfigTokensMax) {
    problem(0, "has more than " + std::to_string(kConfigTokensMax) + " tokens");
    return;
  }
  std::vector<TokenDraft*> drafts;
  drafts.reserve(tokens_.size());
  for (auto& [number, draft] : tokens_) drafts.push_back(&draft);
  std::stable_sort(drafts.begin(), drafts.end(),
                   [](const TokenDraft* a, const TokenDraft* b) { return a->line < b->line; });
  for (TokenDraft* draft : drafts) finish_token(*draft);
}

void ConfigReader::read_destination_setting(const TomlEntry& entry, DestinationDraft& draft) {
  std::string name = entry.path[3];
  for (std::size_t i = 4; i < entry.path.size(); ++i) name += "." + entry.path[i];
  draft.lines[name] = entry.line;
  if (entry.kind == TomlKind::kTable) return;  // headers = { … }: what is in it follows
  std::optional<std::string> value;
  if (is_secret_key(name)) {
    value = read_secret(entry);
    name = "secret";
    draft.lines[name] = entry.line;
    if (!value) return;
  } else {
    value = text_of(entry);
  }
  if (!value || value->size() > kConfigTextBytesMax) {
    problem(entry.line, name + " must be a text of at most " + std::to_string(kConfigTextBytesMax) +
                            " bytes, or a whole number");
    return;
  }
  draft.config.settings.emplace_back(name, std::move(*value));
}

void ConfigReader::read_destination_key(const TomlEntry& entry, DestinationDraft& draft) {
  const std::string& key = entry.path[2];
  if (entry.path.size() > 3) {
    if (key == "settings") read_destination_setting(entry, draft);
  } else if (key == "profile" && entry.kind == TomlKind::kText) {
    draft.config.profile = entry.text;
    draft.lines["profile"] = entry.line;
  } else if (key == "settings" && entry.kind == TomlKind::kTable) {
    draft.line = entry.line;
  } else if (key == "profile" || key == "settings") {
    problem(entry.line,
            key == "profile" ? "profile must be a text" : "settings must be a section of its own");
  } else {
    problem(entry.line, "unknown key '" + key + "' of a destination" +
                            did_you_mean(key, kDestinationKeys) +
                            "; what its profile is told stands under [destinations." +
                            entry.path[1] + ".settings]");
  }
}

void ConfigReader::read_destination_entry(const TomlEntry& entry) {
  if (entry.path.size() == 1) {
    if (entry.kind != TomlKind::kTable)
      problem(entry.line, "destinations is a section: write [destinations.NAME]");
    return;
  }
  if (entry.path.size() == 2 && entry.kind != TomlKind::kTable) {
    problem(entry.line, "'" + entry.path[1] + "' must be a section: write [destinations." +
                            entry.path[1] + "]");
    return;
  }
  DestinationDraft& draft = destinations_[entry.path[1]];
  if (entry.path.size() == 2) {
    draft.line = entry.line;
    return;
  }
  const std::size_t before = problems_.size();
  read_destination_key(entry, draft);
  draft.spoiled = draft.spoiled || problems_.size() > before;
}

void ConfigReader::finish_destination(DestinationDraft& draft) {
  DestinationConfig& config = draft.config;
  if (config.profile.empty()) config.profile = all_profiles().front()->name;
  const ProfileSpec* profile = find_profile(config.profile);
  if (profile == nullptr) {
    std::vector<std::string_view> names;
    for (const ProfileSpec* known : all_profiles()) names.push_back(known->name);
    problem(draft.lines["profile"],
            "unknown profile '" + config.profile + "'" + did_you_mean(config.profile, names));
    return;
  }
  if (draft.spoiled) return;
  check_named_secret(draft);
  check_settings(*profile,
                 {"destination '" + config.name + "'", config.settings, draft.lines, draft.line});
}

// A profile stops at the first mistake. Those behind it are found by leaving out what was wrong,
// and only mistakes that a setting makes all by itself are believed then: others may come of what
// was left out. What a secret may be depends on other settings.
void ConfigReader::check_settings(const ProfileSpec& profile, Settings settings) {
  for (bool first = true;; first = false) {
    const Result<Policy> policy = profile.settings.configure(settings.given);
    if (policy) return;
    const std::string& detail = policy.error().detail;
    const auto named = [&detail](const std::string& name) {
      return detail.starts_with(name + ":") || detail.find("'" + name + "'") != std::string::npos;
    };
    const auto wrong = std::find_if(settings.given.begin(), settings.given.end(),
                                    [&](const NamedText& text) { return named(text.first); });
    const bool found = wrong != settings.given.end();
    if (!first) {
      if (!found || wrong->first == "secret") return;
      const Result<Policy> alone = profile.settings.configure({*wrong});
      if (alone || alone.error().detail != detail) return;
    }
    std::uint32_t line = settings.line;
    for (const auto& [name, where] : settings.lines) {
      if (named(name)) line = where;
    }
    problem(line, settings.who + ": " + detail);
    if (!found) return;
    settings.given.erase(wrong);
  }
}

// [stations.PROFILE]: its station is seated, and told what stands there. What it makes of that is
// its own, and is seen at the start.
void ConfigReader::read_station_entry(const TomlEntry& entry) {
  const std::string& name = entry.path[1];
  const ProfileSpec* profile = find_profile(name);
  if (profile == nullptr || profile->make_station == nullptr) {
    if (entry.path.size() == 2)
      problem(entry.line, "there is no profile '" + name + "' with a station");
    return;
  }
  NamedTexts& settings = config_.stations[name];
  if (entry.path.size() == 2 || entry.kind == TomlKind::kTable) return;
  std::string key = entry.path[2];
  for (std::size_t i = 3; i < entry.path.size(); ++i) key += "." + entry.path[i];
  const auto value = text_of(entry);
  if (!value || value->size() > kConfigTextBytesMax)
    return problem(entry.line, key + " must be a text of at most " +
                                   std::to_string(kConfigTextBytesMax) +
                                   " bytes, or a whole number");
  settings.emplace_back(std::move(key), *value);
}

void ConfigReader::finish_destinations() {
  if (destinations_.size() > kConfigDestinationsMax) {
    problem(0, "has more than " + std::to_string(kConfigDestinationsMax) + " destinations");
    return;
  }
  for (auto& [name, draft] : destinations_) {
    draft.config.name = name;
    const std::size_t bytes_max = config_.host.shard.engine.limits.name_bytes_max;
    const bool good = is_destination_name(name) || is_template_name(name);
    if (!good || name.size() > bytes_max) {
      problem(draft.line, "'" + name + "': " + std::string(api::kDestinationNameRule));
      continue;
    }
    finish_destination(draft);
    config_.destinations.push_back(std::move(draft.config));
  }
}

}  // namespace postrider
