#include "postrider/transports/net/wire_options.h"

#include <algorithm>
#include <iterator>

namespace postrider {

Result<void> check_counts(std::initializer_list<std::pair<std::uint32_t, const char*>> counts) {
  for (const auto& [value, name] : counts) {
    if (value == 0) return fail(ErrorCode::kInvalid, std::string(name) + " must be at least 1");
  }
  return {};
}

Result<void> check_spans(std::initializer_list<std::pair<Duration, const char*>> spans) {
  for (const auto& [span, name] : spans) {
    if (span.count() < 1) return fail(ErrorCode::kInvalid, std::string(name) + " must not be 0");
  }
  return {};
}

Result<Reach> make_reach(const std::vector<std::string>& allow, const std::string& trust_file) {
  auto guard = AddressGuard::make(allow);
  if (!guard) return fail(guard.error().code, "allow: " + guard.error().detail);
  Reach out{.guard = std::move(*guard), .usual = {}};
  if (trust_file.empty()) return out;
  auto usual = tls_context_of_file(trust_file);
  if (!usual) return fail(usual.error().code, "trust_file: " + usual.error().detail);
  out.usual = std::move(*usual);
  return out;
}

Addresses permitted(const AddressGuard& guard, const Addresses& addresses, bool prefers_v4) {
  Addresses out;
  std::copy_if(addresses.begin(), addresses.end(), std::back_inserter(out),
               [&](const IpAddress& address) { return guard.permits(address); });
  if (prefers_v4) {
    std::stable_partition(out.begin(), out.end(),
                          [](const IpAddress& address) { return address.is_v4(); });
  }
  return out;
}

}  // namespace postrider
