// The functions of the rpc profile: how a call is admitted, what its handler and its hook are sent,
// and what their answers mean. Pure; any thread.
#pragma once

#include <optional>
#include <string_view>

#include "postrider/profiles/rpc/types.h"

namespace postrider::rpc {

std::optional<Service> prepare(const NamedTexts& settings);
Result<std::optional<CallText>> read(std::string_view body, std::string_view attributes);
// kNotFound: the service has no such method.
Result<Admission> admit(const CallOffer& offer);
WireRequest encode(const CallFactsView& facts, AttemptKind kind);
Reading classify(const CallFactsView& facts, AttemptKind kind, const WireReply& reply);

}  // namespace postrider::rpc
