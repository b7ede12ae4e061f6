#include "postrider/protocols/matrix/discovery.h"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/protocols/matrix/json_fields.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::matrix {
namespace {

constexpr std::string_view kSrvName = "_matrix-fed._tcp.";
constexpr std::string_view kOldSrvName = "_matrix._tcp.";
constexpr JsonLimits kWellKnownLimits{.depth_max = kDepthMax, .values_max = 50 * 1024};
constexpr std::string_view kHttps = "https://";
constexpr std::size_t kUrlBytesMax = 2 * 1024;

// Moves one record of [begin, end), drawn by its weight, to `begin`. Those of weight 0 stand first,
// so that they have a small chance (RFC 2782).
void draw_first(std::vector<SrvRecord>& records, std::size_t begin, std::size_t end, Rng& rng) {
  std::uint64_t sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += records[i].weight;
  const std::uint64_t drawn = rng.below(sum + 1);
  std::uint64_t running = 0;
  for (std::size_t i = begin; i < end; ++i) {
    running += records[i].weight;
    if (running < drawn) continue;
    const auto first = records.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto chosen = records.begin() + static_cast<std::ptrdiff_t>(i);
    std::rotate(first, chosen, chosen + 1);
    return;
  }
}

bool is_host_of_srv(std::string_view target) {
  const Result<ServerName> name = parse_server_name(target);
  return name && !name->port && !name->is_address();
}

Duration jittered(Duration time, std::uint32_t percent, Rng& rng) {
  const std::int64_t most = time.count() * percent / 100;
  return time + Duration(rng.between(-most, most));
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

// Of "max-age=600, public"; 0 for what must not be kept.
std::optional<Duration> age_of(std::string_view cache_control) {
  std::optional<Duration> age;
  while (!cache_control.empty()) {
    const std::string_view whole = cache_control.substr(0, cache_control.find(','));
    cache_control.remove_prefix(std::min(whole.size() + 1, cache_control.size()));
    const std::string word = to_lower(trimmed(whole));
    if (word == "no-store" || word == "no-cache") return Duration(0);
    constexpr std::string_view kMaxAge = "max-age=";
    if (!word.starts_with(kMaxAge)) continue;
    std::string_view digits = std::string_view(word).substr(kMaxAge.size());
    if (digits.size() > 1 && digits.starts_with('"') && digits.ends_with('"'))
      digits = digits.substr(1, digits.size() - 2);
    std::uint64_t seconds = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
    const bool whole_number = !digits.empty() && read.ptr == digits.data() + digits.size();
    if (!whole_number) continue;
    const std::uint64_t most = 10 * 365 * 24 * 3'600ULL;
    age = std::chrono::seconds(read.ec == std::errc() ? std::min(seconds, most) : most);
  }
  return age;
}

}  // namespace

std::vector<SrvRecord> order_srv(std::vector<SrvRecord> records, Rng& rng) {
  std::erase_if(records, [](const SrvRecord& record) {
    return record.port == 0 || !is_host_of_srv(record.target);
  });
  std::sort(records.begin(), records.end(), [](const SrvRecord& a, const SrvRecord& b) {
    return std::tie(a.priority, a.weight, a.target, a.port) <
           std::tie(b.priority, b.weight, b.target, b.port);
  });
  for (std::size_t begin = 0; begin < records.size(); ++begin) {
    std::size_t end = begin;
    while (end < records.size() && records[end].priority == records[begin].priority) ++end;
    draw_first(records, begin, end, rng);
  }
  if (records.size() > kSrvTargetsMax) records.resize(kSrvTargetsMax);
  return records;
}

Discovery::Discovery(ServerName server) : name_(std::move(server)) {
  if (name_.is_address() || name_.port) {
    look_at(name_);
  } else {
    asks_ = Asks::kWellKnown;
    question_ = name_.host;
  }
}

void Discovery::well_known(const std::optional<ServerName>& delegated) {
  POSTRIDER_CHECK(asks_ == Asks::kWellKnown);
  if (delegated) name_ = *delegated;
  look_at(name_);
}

// Steps 1 and 2, and the first question of DNS when they do not hold.
void Discovery::look_at(const ServerName& name) {
  if (name.is_address() || name.port)
    return arrive({{.host = name.host, .port = name.port.value_or(kFederationPort)}});
  ask_srv(false);
}

void Discovery::ask_srv(bool deprecated) {
  asks_ = Asks::kSrv;
  deprecated_ = deprecated;
  question_ = std::string(deprecated ? kOldSrvName : kSrvName).append(name_.host);
}

void Discovery::srv(std::vector<SrvRecord> records, Rng& rng) {
  POSTRIDER_CHECK(asks_ == Asks::kSrv);
  if (records.empty()) {
    if (!deprecated_) return ask_srv(true);
    return arrive({{.host = name_.host, .port = kFederationPort}});
  }
  // A target "." says that there is no such service (RFC 2782); so do records that lead nowhere.
  std::vector<Endpoint> endpoints;
  for (SrvRecord& record : order_srv(std::move(records), rng))
    endpoints.push_back({.host = to_lower(record.target), .port = record.port});
  if (endpoints.empty()) return give_up("its SRV records name no target");
  arrive(std::move(endpoints));
}

void Discovery::srv_failed() {
  POSTRIDER_CHECK(asks_ == Asks::kSrv);
  give_up("its SRV records could not be asked for");
}

void Discovery::arrive(std::vector<Endpoint> endpoints) {
  asks_ = Asks::kNothing;
  question_.clear();
  std::string authority = name_.host;
  if (name_.port) authority.append(":").append(std::to_string(*name_.port));
  route_ = ServerRoute{
      .authority = std::move(authority), .host = name_.host, .endpoints = std::move(endpoints)};
}

void Discovery::give_up(std::string_view problem) {
  asks_ = Asks::kNothing;
  question_.clear();
  problem_ = problem;
}

Result<ServerName> read_well_known(std::string_view body) {
  if (body.size() > kWellKnownBytesMax)
    return fail(ErrorCode::kLimit, "the well-known object is too large");
  JsonDocument document;
  if (const Result<void> read = document.parse(body, kWellKnownLimits); !read)
    return tl::unexpected(read.error());
  const std::optional<std::string> server = text_of(document.root(), "m.server");
  if (!server) return fail(ErrorCode::kInvalid, "the well-known object has no m.server");
  return parse_server_name(*server);
}

Result<std::string> redirect_of(std::string_view asked_url, std::string_view location) {
  location = trimmed(location);
  location = location.substr(0, location.find('#'));
  std::string url;
  const std::size_t authority_end = asked_url.find_first_of("/?", kHttps.size());
  if (location.empty()) return fail(ErrorCode::kInvalid, "the redirect has no location");
  if (location.starts_with("//")) {
    url = std::string("https:").append(location);
  } else if (location.starts_with('/')) {
    url = std::string(asked_url.substr(0, authority_end)).append(location);
  } else if (const std::string scheme = to_lower(location.substr(0, kHttps.size()));
             scheme == kHttps) {
    url = std::string(kHttps).append(location.substr(kHttps.size()));
  } else if (location.find("://") != std::string_view::npos &&
             location.find("://") < location.find_first_of("/?")) {
    return fail(ErrorCode::kInvalid, "the redirect does not lead to https");
  } else {
    const std::string_view path = asked_url.substr(0, asked_url.find('?'));
    const std::size_t slash = path.rfind('/');
    const bool has_path = slash != std::string_view::npos && slash >= kHttps.size();
    url = std::string(has_path ? path.substr(0, slash) : path).append("/").append(location);
  }
  if (url.size() > kUrlBytesMax) return fail(ErrorCode::kLimit, "the redirect is too long");
  if (const Result<void> checked = check_http_url(url); !checked)
    return tl::unexpected(checked.error());
  return url;
}

Duration life_of(const CacheWords& words, const WellKnownTimes& times, Timestamp wall, Rng& rng) {
  std::optional<Duration> life = age_of(words.cache_control);
  if (!life) {
    // A date that cannot be read, such as "0", means that the time is over (RFC 9111 §5.3).
    const std::optional<Timestamp> date = parse_http_date(trimmed(words.expires));
    if (date) life = *date - wall;
    if (!date && !trimmed(words.expires).empty()) life = Duration(0);
  }
  return std::clamp(life.value_or(jittered(times.life, times.jitter_percent, rng)), times.life_min,
                    times.life_max);
}

Duration failure_life(Timestamp good_until, const WellKnownTimes& times, Timestamp wall, Rng& rng) {
  const bool recent = good_until.is_set() && wall - good_until <= times.success_remembered;
  return jittered(recent ? times.failure_after_success : times.failure, times.jitter_percent, rng);
}

}  // namespace postrider::matrix
