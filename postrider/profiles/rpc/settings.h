// What a service can be told: its handler, its methods and the numbers. The tables are in
// docs/spec/rpc.md; a test compares. Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/attributes.h"
#include "postrider/model/policy.h"
#include "postrider/model/profile.h"
#include "postrider/profiles/rpc/declarations.h"
#include "postrider/protocols/web/standard_webhooks.h"

namespace postrider::rpc {

inline constexpr std::size_t kSettingCount = 9;
extern const std::array<SettingRow, kSettingCount> kSettingRows;

inline constexpr std::string_view kInProcess = "in-process";

// A service as its settings describe it, beside the numbers that the engine obeys.
struct Service {
  std::string handler;              // an address, or empty: in the process
  std::string recover;              // the address of the hook; empty: there is none
  std::vector<WebhookSecret> keys;  // that sign; none: nothing is signed, unless …
  std::string secret_name;          // … by a key file
  Declarations methods;
  Duration grace{30'000};
  std::uint32_t outcome_bytes_max = 256 * 1024;
  Policy policy;
};

// Fails with kInvalid: unknown setting (with the nearest name), bad value (with what it may be), a
// setting given twice, no handler, no method, persist with channels.
Result<Service> parse_service(const NamedTexts& settings);
Result<Policy> configure(const NamedTexts& settings);

}  // namespace postrider::rpc
