// A webhook on the wire: what is accepted, what is sent, and what an answer means. Pure functions.
#pragma once

#include "postrider/base/result.h"
#include "postrider/profiles/webhook/types.h"

namespace postrider::webhook {

inline constexpr std::size_t kReasonBytesMax = 200;

Result<std::optional<NamedTexts>> read(std::string_view body, std::string_view attributes);

// Attributes of a message: content-type, traceparent, tracestate, ce-NAME and header.NAME,
// event-id, and order-key: messages of one lane with the same one are sent one after the other.
// Others are refused with the nearest name, because an attribute that is silently not sent is found
// out too late.
Result<Admission> admit(const Offer& offer);

// Every shared gate is one of an order.
GateLimits gate_limits(GateName name, const Policy& policy);

std::optional<Prepared> prepare(const NamedTexts& settings);
WireRequest encode(const Facts& facts, AttemptKind kind);

Reading classify(const Facts& facts, AttemptKind kind, const WireReply& reply);

}  // namespace postrider::webhook
