// What the methods of a service are declared to be, in its settings `method.NAME`. Pure; any
// thread.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/model/attributes.h"
#include "postrider/protocols/rpc/method_policy.h"

namespace postrider::rpc {

inline constexpr std::string_view kMethodSetting = "method.";
inline constexpr std::size_t kMethodsMax = 256;  // of a service

// "volatile" or "persist", then ", idem", then ", channels". The error says what it may be.
Result<MethodPolicy> parse_declaration(std::string_view text);
std::string to_text(const MethodPolicy& policy);

// Letters, digits, '_', '-' and '.', 64 at most, so that a path can have it.
bool is_method_name(std::string_view name);

using Declarations = std::map<std::string, MethodPolicy, std::less<>>;
// All of a service; other settings are passed over. A service has one method at least.
Result<Declarations> parse_declarations(const NamedTexts& settings);

}  // namespace postrider::rpc
