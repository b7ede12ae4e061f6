// What the message of a call says beside its body.
#pragma once

#include <string_view>

namespace postrider::rpc {

// Attributes of a call. A door sets those with '@'; no client can, because the API takes no such
// name: what a handler is told of the caller is what the token said.
inline constexpr std::string_view kMethodAttribute = "@method";
inline constexpr std::string_view kOperationAttribute = "@operation";
inline constexpr std::string_view kPrincipalAttribute = "@principal";
// What a caller of a session takes the method to be declared (MethodPolicy as one digit), and how
// long the handler may take for it at most, in milliseconds.
inline constexpr std::string_view kExpectsAttribute = "@expects";
inline constexpr std::string_view kTimeAttribute = "@time-ms";
inline constexpr std::string_view kContentTypeAttribute = "content-type";

}  // namespace postrider::rpc
