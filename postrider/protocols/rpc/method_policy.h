// MethodPolicy: what a method of a service is declared to be, and what a caller takes it for.
// Values; any thread.
#pragma once

#include <cstdint>

namespace postrider::rpc {

struct MethodPolicy {
  bool persist = false;   // durable from its admission on; else it may be given up
  bool idem = false;      // may run again for the same operation
  bool channels = false;  // has streams beside its arguments, bound to one connection
  friend constexpr bool operator==(const MethodPolicy&, const MethodPolicy&) = default;
};

// A channel does not outlive its connection, and a persist operation does.
constexpr bool is_allowed(const MethodPolicy& policy) {
  return !(policy.persist && policy.channels);
}

}  // namespace postrider::rpc
