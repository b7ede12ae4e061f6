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

// As a number and back: persist 1, idem 2, channels 4.
constexpr std::uint8_t bits_of(const MethodPolicy& policy) {
  return static_cast<std::uint8_t>((policy.persist ? 1 : 0) | (policy.idem ? 2 : 0) |
                                   (policy.channels ? 4 : 0));
}
constexpr MethodPolicy policy_of(std::uint8_t bits) {
  return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
}

// A channel does not outlive its connection, and a persist operation does.
constexpr bool is_allowed(const MethodPolicy& policy) {
  return !(policy.persist && policy.channels);
}

}  // namespace postrider::rpc
