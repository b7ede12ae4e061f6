// What the options of all transports have in common: numbers that must not be zero, where one may
// go, and whom one trusts. Each Error names the option.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/transports/net/address_guard.h"
#include "postrider/transports/net/resolver.h"
#include "postrider/transports/net/tls.h"

namespace postrider {

Result<void> check_counts(std::initializer_list<std::pair<std::uint32_t, const char*>> counts);
Result<void> check_spans(std::initializer_list<std::pair<Duration, const char*>> spans);

struct Reach {
  AddressGuard guard;
  TlsContext usual;  // of `trust_file`; null: the system's, read when first needed
};
Result<Reach> make_reach(const std::vector<std::string>& allow, const std::string& trust_file);

// Those of a name that we may connect to, and no others ever are.
Addresses permitted(const AddressGuard& guard, const Addresses& addresses, bool prefers_v4);

}  // namespace postrider
