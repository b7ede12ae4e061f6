// The numbers of the webhook profile, and which headers it may send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/model/policy.h"

namespace postrider::webhook {

inline constexpr std::string_view kHeaderPrefix = "webhook-";
inline constexpr std::string_view kContentType = "application/json";
inline constexpr std::size_t kHeaderNameBytesMax = 64;
inline constexpr std::size_t kHeaderValueBytesMax = 1024;
inline constexpr std::size_t kCustomHeadersMax = 32;
inline constexpr std::size_t kKeyBytesMax = 128;  // of the attributes event-id and order-key
inline constexpr std::size_t kBodySecretBytesMax = 256;
inline constexpr std::uint32_t kBatchBytes = std::uint32_t{1} << 20;  // of one that says nothing
inline constexpr std::uint32_t kBatchBytesLeast = 1024;
inline constexpr std::uint32_t kBatchBytesMost = std::uint32_t{8} << 20;
// So often a batch is tried with all its members, when it fails by what it may hold.
inline constexpr std::uint16_t kTriesTogether = 3;
// Attributes of a message.
inline constexpr std::string_view kContentTypeAttribute = "content-type";
inline constexpr std::string_view kHeaderAttribute = "header.";
inline constexpr std::string_view kEventAttribute = "ce-";
inline constexpr std::string_view kEventId = "event-id";
inline constexpr std::string_view kOrderKey = "order-key";
// The style of signature that consumers of device events know.
inline constexpr std::string_view kBodySignature = "hmac-sha256-body";

// A destination that is told nothing but its address.
Policy default_policy();

// A header that frames the request, or has a setting of its own. `name` in lower case.
bool is_framing_header(std::string_view name);

// A header that custom headers must not set: it frames the request, has a setting of its own, or is
// one of the signature headers. `name` in lower case.
bool is_reserved_header(std::string_view name, std::string_view prefix);

// What is wrong with a custom header.
Result<void> check_header(std::string_view name, std::string_view value, std::string_view prefix);

}  // namespace postrider::webhook
