// The small texts of gRPC over HTTP/2 (the public protocol description "PROTOCOL-HTTP2"): status,
// message, time-out, and the five bytes in front of a message. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/time.h"

namespace postrider {

constexpr std::size_t kGrpcPrefixBytes = 5;  // compressed or not, then the length, big endian
using GrpcPrefix = std::array<char, kGrpcPrefixBytes>;
GrpcPrefix grpc_prefix(std::uint32_t message_bytes);  // of a message that is not compressed

// "5" → 5. Nothing when it is no number of at most three digits. Numbers above 16 have no name yet
// and are taken as they are.
std::optional<int> parse_grpc_status(std::string_view text);

// The value of grpc-message: percent-decoded, then made fit for a log line within `bytes_max`.
// Percent signs that are no code stay as they are, as the description wants it.
std::string decode_grpc_message(std::string_view text, std::size_t bytes_max);

// "1500m": at most eight digits and a unit; never more than what is left, and at least 1 ms.
std::string grpc_timeout(Duration left);

// What a status of HTTP other than 200 says, when there is no status of gRPC: 401 → 16.
int grpc_status_of_http(int status);

}  // namespace postrider
