// The bytes of gRPC above HTTP/2: the frame around a message, the words of its trailers. Pure
// functions; the streams are the transport's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"

namespace postrider::grpc {

inline constexpr std::size_t kFrameHeadBytes = 5;  // compressed or not, and four bytes of length
inline constexpr std::size_t kMessageBytesMax = std::size_t{1} << 20;

enum class Status : std::uint8_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};
std::string_view name_of(Status status);  // "INVALID_ARGUMENT"
// Of the trailer grpc-status. A number that nobody knows is kUnknown; what is no number is nothing.
std::optional<Status> parse_status(std::string_view text);

std::string encode_frame(std::string_view message);
// The message of exactly one frame, as the answer to a unary call is. kCorrupt when it is cut off,
// compressed, or followed by more; kLimit when it says that it is too large.
Result<std::string_view> decode_frame(std::string_view bytes);

// The trailer grpc-message is percent-encoded. What is no escape stays as it is.
std::string decode_message(std::string_view text);
std::string encode_message(std::string_view text);

}  // namespace postrider::grpc
