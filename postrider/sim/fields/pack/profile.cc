#include "postrider/sim/fields/pack/profile.h"

#include <array>
#include <charconv>
#include <string>

#include "postrider/model/id_address.h"
#include "postrider/model/typed_profile.h"
#include "postrider/sim/fields/pack/table.h"

namespace postrider::sim {
namespace {

using namespace pack;  // NOLINT(google-build-using-namespace): its tables

using Typed = TypedProfile<Nothing, NamedTexts>;
using FactsView = Typed::FactsView;

struct Numbers {
  std::int64_t members = 8, linger = 0, small = 0, window = 64, fifo = 0, strikes = 2, wait = 5'000,
               wait_max = 900'000, deep = 0, attempts = 3, base = 2'000, attempt = 30'000,
               begins_behind = 0, drops = 0, spacing = 0, life = 0, latest = 0, behind = 0,
               keep = 0, keep_max = 0, riders = 0, rides = 10'000;
};
struct Setting {
  std::string_view name;
  std::int64_t Numbers::*field;
};
constexpr auto kSettings = std::to_array<Setting>({
    {"members", &Numbers::members},
    {"linger", &Numbers::linger},
    {"small", &Numbers::small},
    {"window", &Numbers::window},
    {"fifo", &Numbers::fifo},
    {"strikes", &Numbers::strikes},
    {"wait", &Numbers::wait},
    {"wait-max", &Numbers::wait_max},
    {"deep", &Numbers::deep},
    {"attempts", &Numbers::attempts},
    {"base", &Numbers::base},
    {"attempt", &Numbers::attempt},
    {"begins-behind", &Numbers::begins_behind},
    {"drops", &Numbers::drops},
    {"spacing", &Numbers::spacing},
    {"life", &Numbers::life},
    {"latest", &Numbers::latest},
    {"behind", &Numbers::behind},
    {"keep", &Numbers::keep},
    {"keep-max", &Numbers::keep_max},
    {"riders", &Numbers::riders},
    {"rides", &Numbers::rides},
});

Result<Numbers> parse_numbers(const NamedTexts& settings) {
  Numbers numbers;
  for (const auto& [name, value] : settings) {
    bool known = name == "peer" || name == "catch-up";
    for (const Setting& row : kSettings) {
      if (row.name != name) continue;
      known = true;
      const char* last = value.data() + value.size();
      const auto parsed = std::from_chars(value.data(), last, numbers.*row.field);
      if (parsed.ec != std::errc() || parsed.ptr != last || numbers.*row.field < 0)
        return fail(ErrorCode::kInvalid, "setting '" + name + "' must be a number");
    }
    if (!known) return fail(ErrorCode::kInvalid, "there is no setting '" + name + "'");
  }
  if (numbers.window == 0) return fail(ErrorCode::kInvalid, "setting 'window' must be at least 1");
  return numbers;
}

// Bit n of a setting: lane n.
void put_lanes(Policy& policy, const Numbers& numbers) {
  for (std::uint8_t lane = 0; lane < kLanes; ++lane) {
    const auto has_bit = [lane](std::int64_t lanes) { return (lanes >> lane & 1) != 0; };
    LaneRule& rule = policy.lanes[lane];
    rule.dropped_when_deep = has_bit(numbers.drops);
    if (has_bit(numbers.behind)) rule.latest = Latest::kWhenBehind;
    if (has_bit(numbers.latest)) rule.latest = Latest::kAlways;
    rule.keep = Duration(numbers.keep);
    rule.keep_max = static_cast<std::uint32_t>(numbers.keep_max);
    if (has_bit(numbers.riders)) rule.rides = Duration(numbers.rides);
  }
}

Result<Policy> configure(const NamedTexts& settings) {
  POSTRIDER_TRY(numbers, parse_numbers(settings));
  Policy policy;
  for (RetryRule& rule : policy.retry) {
    rule.curve = Curve::kExponential;
    rule.base = Duration(numbers.base);
    rule.cap = 10min;
    rule.attempts_max = static_cast<std::uint16_t>(numbers.attempts);
    rule.strikes = true;
  }
  const auto at = [&policy](FailureClass failure) -> RetryRule& {
    return policy.retry[static_cast<std::size_t>(failure)];
  };
  at(FailureClass::kThrottled).strikes = false;
  at(FailureClass::kThrottled).holds_route = true;
  at(FailureClass::kThrottled).retry_after_max = 1h;
  at(FailureClass::kHeldBack).strikes = false;
  at(FailureClass::kHeldBack).attempts_max = 0;
  policy.time_outs[static_cast<std::size_t>(TimeOut::kAttempt)] = Duration(numbers.attempt);
  policy.route = {.in_use_max = 1, .spacing = Duration(numbers.spacing)};
  policy.health.strikes_max = static_cast<std::uint16_t>(numbers.strikes);
  policy.health.wait_base = Duration(numbers.wait);
  policy.health.wait_max = Duration(numbers.wait_max);
  policy.health.deep_after = Duration(numbers.deep);
  policy.health.begins_behind = numbers.begins_behind != 0;
  policy.life_max = Duration(numbers.life);
  policy.fifo_lanes = static_cast<std::uint16_t>(numbers.fifo);
  policy.window_max = static_cast<std::uint32_t>(numbers.window);
  policy.members_max = static_cast<std::uint16_t>(numbers.members);
  policy.batch_wait = Duration(numbers.linger);
  policy.batches_begin_small = numbers.small != 0;
  put_lanes(policy, numbers);
  if (const std::string* order = find_text(settings, "catch-up")) {
    for (const char c : *order) policy.catch_up_lanes.add(static_cast<std::uint8_t>(c - '0'));
  }
  return policy;
}

Result<std::optional<NamedTexts>> read(std::string_view /*body*/, std::string_view attributes) {
  if (attributes.empty()) return std::optional<NamedTexts>();
  POSTRIDER_TRY(texts, decode_texts(attributes));
  return std::optional<NamedTexts>(std::move(texts));
}

bool has(const FactsView& facts, std::string_view name) {
  return facts.parsed != nullptr && find_text(*facts.parsed, name) != nullptr;
}

Result<Admission> admit(const Typed::OfferView& offer) {
  Admission admission;
  if (offer.parsed == nullptr) return admission;
  admission.method = find_text(*offer.parsed, "solo") != nullptr ? 1 : 0;
  if (const std::string* key = find_text(*offer.parsed, "key")) admission.key = *key;
  return admission;
}

// All that there is room for, but for those that want to go alone.
std::vector<std::size_t> compose(const FactsView& leader, std::span<const Facts> candidates,
                                 std::uint32_t members_max) {
  std::vector<std::size_t> out;
  if (has(leader, "alone")) return out;
  for (std::size_t i = 0; i < candidates.size() && out.size() + 1 < members_max; ++i) {
    if (!has(FactsView(candidates[i]), "alone")) out.push_back(i);
  }
  return out;
}

WireRequest encode(const FactsView& facts, AttemptKind /*kind*/) {
  WireRequest request;
  request.verb = "SEND";
  const std::string* peer = find_text(facts.destination.settings, "peer");
  request.target = "pack:" + (peer != nullptr ? *peer : std::string());
  request.time_out = facts.policy.time_out(TimeOut::kAttempt);
  bool bad = has(facts, "bad");
  request.headers = {{"pack-id", to_string(facts.message.id)}};
  if (facts.batch == nullptr) {
    request.headers.add("pack-now", std::to_string(facts.now.ms()));
    request.owner = facts.message.body_owner();
    request.body = facts.message.body;
  } else {
    std::string members;
    std::string body(facts.message.body);
    for (const Facts& follower : facts.batch->followers) {
      members.append(members.empty() ? "" : " ").append(to_string(follower.message.id));
      body.append("\n").append(follower.message.body);
      bad = bad || has(FactsView(follower), "bad");
    }
    request.headers.add("pack-batch",
                        to_string(facts.message.id) + "-" + std::to_string(facts.batch->claim));
    request.headers.add("pack-members", members);
    request.headers.add("pack-stamp", std::to_string(facts.wall.ms()));
    request.owner = Blob::copy_of(body);
    request.body = request.owner.view();
  }
  if (bad) request.headers.add("pack-bad", "1");
  return request;
}

Reading reading(On signal, Certainty certainty, FailureClass failure, std::string reason) {
  Reading out;
  out.signal = signal;
  out.outcome = {certainty, failure, std::move(reason)};
  return out;
}

Reading classify_end(WireEnd end) {
  switch (end) {
    case WireEnd::kRefused:
    case WireEnd::kNoName:
    case WireEnd::kNoTls:
    case WireEnd::kForbidden:
    case WireEnd::kNoLogin:
      return reading(On::kNoLink, Certainty::kNotSent, FailureClass::kConnect, "nobody listens");
    case WireEnd::kHeldBack:
      return reading(On::kNoLink, Certainty::kNotSent, FailureClass::kHeldBack, "held back");
    case WireEnd::kTimedOut:
    case WireEnd::kReset:
    case WireEnd::kAnswered: break;
  }
  return reading(On::kFailed, Certainty::kUnknown, FailureClass::kTimeout, "no answer");
}

std::optional<Duration> wish(const WireReply& reply) {
  const std::string* text = find_text(reply.headers, "retry-after");
  std::int64_t seconds = 0;
  if (text == nullptr ||
      std::from_chars(text->data(), text->data() + text->size(), seconds).ec != std::errc())
    return std::nullopt;
  return Duration(seconds * 1000);
}

Reading classify(const FactsView& facts, AttemptKind /*kind*/, const WireReply& reply) {
  if (reply.end != WireEnd::kAnswered) return classify_end(reply.end);
  const std::string status = "status " + std::to_string(reply.status);
  const std::size_t followers = facts.batch == nullptr ? 0 : facts.batch->followers.size();
  if (reply.status / 100 == 2) {
    Reading out = reading(On::kAnswered, Certainty::kAnswered, FailureClass::kNone, "");
    // A remark about the last member, which must be kept with its end.
    if (reply.status == 207) out.remarks.push_back({.member = followers, .text = "remarked"});
    return out;
  }
  if (reply.status == 413 || reply.status == 422) {
    Reading out = reading(followers == 0 ? On::kRejected : On::kStaleRoute, Certainty::kAnswered,
                          FailureClass::kRejected, status);
    out.splits = followers > 0;
    return out;
  }
  if (reply.status == 423)
    return reading(On::kProgressed, Certainty::kAnswered, FailureClass::kOther, status);
  const bool busy = reply.status == 429 || reply.status == 503;
  Reading out = reading(On::kFailed, Certainty::kAnswered,
                        busy ? FailureClass::kThrottled : FailureClass::kServer, status);
  if (busy) out.retry_after = wish(reply);
  return out;
}

constexpr Typed kTyped = {
    .name = "pack",
    .states = kStates,
    .methods = kMethods,
    .settings = {.configure = configure},
    .door = {.read = read, .admit = admit},
    .wire = {.compose = compose, .encode = encode, .classify = classify},
};

}  // namespace

const ProfileSpec& pack_profile() {
  static constexpr ProfileSpec kSpec = profile_of<kTyped>();
  return kSpec;
}

}  // namespace postrider::sim
