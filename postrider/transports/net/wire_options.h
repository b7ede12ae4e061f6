// What the options of all transports have in common: numbers that must not be zero, addresses that
// may be reached, certificates that are trusted, and the settings of the resolver. Each Error names
// the option.
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

// The checks that every transport with connections of its own makes; `Options` has the fields by
// these names.
template <class Options>
Result<void> check_connecting(const Options& options) {
  const auto counts = check_counts({{options.connections_max, "connections_max"},
                                    {options.addresses_max, "addresses_max"},
                                    {options.names_max, "names_max"},
                                    {options.names_asking_max, "names_asking_max"},
                                    {options.name_asks_max, "name_asks_max"},
                                    {options.reply_head_bytes_max, "reply_head_bytes_max"}});
  if (!counts) return counts;
  return check_spans({{options.connect_time_out, "connect_time_out"},
                      {options.tls_time_out, "tls_time_out"},
                      {options.name_time_out, "name_time_out"},
                      {options.name_patience, "name_patience"},
                      {options.held_back_after, "held_back_after"}});
}

template <class Options>
ResolverOptions resolver_options(const Options& options) {
  return {.servers = options.name_servers,
          .ask_time_out = options.name_time_out,
          .asks_max = options.name_asks_max,
          .names_max = options.names_max,
          .asking_max = options.names_asking_max,
          .addresses_max = options.addresses_max,
          .ttl_max = options.name_ttl_max,
          .negative_ttl = options.name_negative_ttl,
          .patience = options.name_patience,
          .stale_max = options.name_stale_max,
          .silence_min = options.name_silence_min,
          .silence_max = options.name_silence_max};
}

struct Reach {
  AddressGuard guard;
  TlsContext usual;  // of `trust_file`; null: the system's, read when first needed
};
Result<Reach> make_reach(const std::vector<std::string>& allow, const std::string& trust_file);

// The addresses of a name that the guard permits. A transport connects to no other address.
Addresses permitted(const AddressGuard& guard, const Addresses& addresses, bool prefers_v4);

}  // namespace postrider
