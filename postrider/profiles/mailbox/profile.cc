#include "postrider/profiles/mailbox/profile.h"

#include "postrider/base/check.h"
#include "postrider/base/hash.h"
#include "postrider/model/setting_table.h"
#include "postrider/model/typed_profile.h"

namespace postrider {
namespace mailbox {
namespace {

using Typed = TypedProfile<Nothing, Nothing>;

constexpr std::uint32_t kKeptMax = 1'000'000;
constexpr std::uint32_t kKeptBytesMax = 1U << 30;

Result<void> set_kept_max(Policy& policy, std::string_view value) {
  POSTRIDER_TRY(number, settings::number_of(value, 0, 100'000'000));
  policy.kept_max = number;
  return {};
}

Result<void> set_kept_bytes_max(Policy& policy, std::string_view value) {
  POSTRIDER_TRY(number, settings::number_of(value, 0, UINT32_MAX));
  policy.kept_bytes_max = number;
  return {};
}

Result<void> set_history(Policy& policy, std::string_view value) {
  POSTRIDER_TRY(on, settings::second_of(value, "off", "on"));
  policy.keeps_history = on;
  return {};
}

Result<void> set_idle_life(Policy& policy, std::string_view value) {
  POSTRIDER_TRY(life, settings::idle_life_of(value));
  policy.idle_life = life;
  return {};
}

// clang-format off
constexpr auto kSettings = std::to_array<settings::Setting<Policy>>({
    {{"kept_max", "1000000", "", "0 to 100000000, 0 for no limit", "messages that wait for their reader; at so many, new ones are refused"}, set_kept_max},
    {{"kept_bytes_max", "1073741824", "", "0 to 4294967295, 0 for no limit", "bytes of those messages; new ones that would exceed them are refused"}, set_kept_bytes_max},
    {{"history", "off", "", "on or off", "content of what was confirmed is kept for engine.history_age, so that it can be put in again"}, set_history},
    {settings::kIdleLife, set_idle_life},
});
// clang-format on
constexpr auto kSettingRows = settings::rows_of(kSettings);

std::string_view row_name(std::string_view name) { return name; }

Result<Policy> configure(const NamedTexts& settings) {
  Policy policy;
  policy.pulled = true;
  policy.kept_max = kKeptMax;
  policy.kept_bytes_max = kKeptBytesMax;
  policy.fifo_lanes = 0xFFFF;
  if (const Result<void> good =
          settings::apply_all(policy, settings, kSettings, kSettingRows, row_name);
      !good)
    return tl::unexpected<Error>(good.error());
  return policy;
}

Result<Admission> admit(const Typed::OfferView& offer) {
  if (offer.lane != 0) return fail(ErrorCode::kInvalid, "a mailbox has one lane, which is 0");
  return Admission{};
}

WireRequest encode(const Typed::FactsView& /*facts*/, AttemptKind /*kind*/) {
  POSTRIDER_CHECK(false);  // a pulled destination starts nothing
  return {};
}

Reading classify(const Typed::FactsView& /*facts*/, AttemptKind /*kind*/,
                 const WireReply& /*reply*/) {
  POSTRIDER_CHECK(false);
  return {};
}

constexpr Typed kTyped = {
    .name = "mailbox",
    .states = kStates,
    .methods = kMethods,
    .settings = {.rows = kSettingRows, .configure = configure},
    .door = {.admit = admit},
    .wire = {.encode = encode, .classify = classify},
};

}  // namespace
}  // namespace mailbox

constinit const ProfileSpec kMailbox = profile_of<mailbox::kTyped>();

}  // namespace postrider
