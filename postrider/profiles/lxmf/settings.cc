#include "postrider/profiles/lxmf/settings.h"

#include "postrider/base/hash.h"
#include "postrider/model/secrets.h"
#include "postrider/model/setting_table.h"
#include "postrider/protocols/lxmf/text_form.h"

namespace postrider::lxmf {
namespace {

using settings::Bounds;
using settings::duration_of;
using settings::number_of;
using settings::wrong;

constexpr Duration kDeadline = 7 * 24h;
constexpr Duration kWaitBase = 7s;
constexpr Duration kWaitMax = 900s;
constexpr std::uint32_t kInFlight = 32;
// What an attempt takes at most: the station ends it long before, by what it knows of the path.
constexpr Duration kAttemptMax = 1h;
constexpr Duration kFindMax = 15min;

struct Draft {
  Prepared prepared;
  Policy policy;
};

Result<void> set_identity(Draft& draft, std::string_view value) {
  if (!is_secrets_name(value)) return wrong(value, "is not the name of a secret");
  draft.prepared.identity = value;
  return {};
}

Result<void> set_method(Draft& draft, std::string_view value) {
  if (value == "propagated") {
    draft.prepared.method = Carriage::kPropagated;
    return {};
  }
  if (value != "opportunistic" && value != "direct")
    return wrong(value, "must be opportunistic, direct or propagated");
  draft.prepared.method = value == "direct" ? Carriage::kDirect : Carriage::kOpportunistic;
  return {};
}

Result<void> set_node(Draft& draft, std::string_view value) {
  const auto node = address_of(value);
  if (!node) return wrong(value, "must be the 32 digits of the address of a node");
  draft.prepared.node = hex_of(reticulum::view(*node));
  return {};
}

Result<void> set_deadline(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(life, duration_of(value, Bounds{.low = 1min, .high = 30 * 24h}));
  draft.policy.life_max = life;
  return {};
}

Result<void> set_wait_base(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(wait, duration_of(value, Bounds{.low = 100ms, .high = 1h}));
  draft.policy.health.wait_base = wait;
  return {};
}

Result<void> set_wait_max(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(wait, duration_of(value, Bounds{.low = 1s, .high = 24h}));
  draft.policy.health.wait_max = wait;
  return {};
}

Result<void> set_in_flight(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(number, number_of(value, 1, 64));
  draft.policy.route.in_use_max = number;
  return {};
}

Result<void> set_history(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(on, settings::second_of(value, "off", "on"));
  draft.policy.keeps_history = on;
  return {};
}

// clang-format off
constexpr auto kSettings = std::to_array<settings::Setting<Draft>>({
    {{"identity", "", "alice", "the name of a secret", "key file of the sender: 64 raw bytes, as identity files of Reticulum are"}, set_identity},
    {{"method", "opportunistic", "", "opportunistic, direct or propagated", "how messages go that do not say it; what is too long for one packet goes direct"}, set_method},
    {{"propagation_node", "", "14417f78c3aa7117e1385b79e3127d53", "32 digits", "the address of the node that messages are uploaded to which go propagated"}, set_node},
    {{"deadline", "7d", "", "1m to 30d", "a message that is not delivered by then has failed"}, set_deadline},
    {{"wait_base", "7s", "", "100ms to 1h", "first wait of the recipient's route after a failure; doubled by each further one"}, set_wait_base},
    {{"wait_max", "15m", "", "1s to 24h", "longest wait of the route"}, set_wait_max},
    {{"in_flight", "32", "", "1 to 64", "messages to the recipient that may be under way at a time"}, set_in_flight},
    {{"history", "off", "", "on or off", "content of what was delivered is kept for engine.history_age"}, set_history},
});
// clang-format on
std::string_view row_name(std::string_view name) { return name; }

Result<Draft> read_settings(const NamedTexts& settings) {
  Draft draft;
  Policy& policy = draft.policy;
  // Nothing is retried by its own rule: what failed goes back in line, and the route waits.
  RetryRule rule;
  rule.strikes = true;
  policy.retry.fill(rule);
  // What strikes the gate of a node says nothing of the recipient.
  policy.retry[static_cast<std::size_t>(kNodeFailure)].strikes = false;
  policy.time_outs.fill(kAttemptMax);
  policy.time_outs[static_cast<std::size_t>(TimeOut::kProbe)] = kFindMax;
  policy.route.in_use_max = kInFlight;
  policy.life_max = kDeadline;
  policy.health.strikes_max = 1;
  policy.health.wait_base = kWaitBase;
  policy.health.wait_max = kWaitMax;
  policy.health.jitter_low = 800;
  policy.health.jitter_high = 1200;
  policy.health.contact_clears = true;
  if (const Result<void> good =
          settings::apply_all(draft, settings, kSettings, kSettingRows, row_name);
      !good)
    return tl::unexpected<Error>(good.error());
  if (draft.prepared.identity.empty())
    return fail(ErrorCode::kInvalid, "setting 'identity' is missing: the key file of the sender");
  return draft;
}

}  // namespace

constinit const std::array<SettingRow, kSettingCount> kSettingRows = settings::rows_of(kSettings);

Result<Policy> configure(const NamedTexts& settings) {
  POSTRIDER_TRY(draft, read_settings(settings));
  return draft.policy;
}

std::optional<Prepared> prepare(const NamedTexts& settings) {
  auto draft = read_settings(settings);
  if (!draft) return std::nullopt;
  return std::move(draft->prepared);
}

std::optional<Address> recipient_of(std::string_view destination) {
  const std::size_t colon = destination.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return address_of(destination.substr(colon + 1));
}

std::string recipient_name(const Address& recipient) {
  return std::string(kRecipientPrefix) + hex_of(reticulum::view(recipient));
}

GateName gate_of(std::string_view node) {
  return hash64(std::string("lxmf node ").append(node));
}

// One upload at a time, and one call that decides when the last one failed.
GateLimits gate_limits(GateName /*name*/, const Policy& policy) {
  GateLimits limits;
  limits.in_use_max = 1;
  limits.strikes_max = 1;
  limits.strikes_on =
      static_cast<std::uint16_t>(strike_on(kNodeFailure) | strike_on(FailureClass::kTimeout));
  limits.closed_base = policy.health.wait_base;
  limits.closed_max = policy.health.wait_max;
  limits.relents = true;
  return limits;
}

GateWords gate_words(GateName /*name*/) {
  return {.busy = "another upload to the node", .closed = "node: it was not reached"};
}

}  // namespace postrider::lxmf
