// The frames of rpc sessions, byte by byte as docs/rpc-wire.md says. Values and pure functions; any
// thread. Decoding takes any bytes and says what is wrong with them as the frame that their sender
// is to be told; encoding takes frames that keep the limits below.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tl/expected.hpp>

#include "postrider/protocols/rpc/method_policy.h"

namespace postrider::rpc {

inline constexpr std::uint16_t kWireVersion = 1;
inline constexpr std::size_t kLengthBytes = 4;
inline constexpr std::size_t kFrameBytesMax = std::size_t{16} << 20;  // type and body
inline constexpr std::size_t kGreetingBytesMax = 4096;                // before WELCOME
inline constexpr std::size_t kTokenBytesMax = 1024;
inline constexpr std::size_t kClientBytesMax = 64;
inline constexpr std::size_t kServiceBytesMax = 255;
inline constexpr std::size_t kMethodBytesMax = 64;
inline constexpr std::size_t kContentTypeBytesMax = 128;
inline constexpr std::size_t kDetailBytesMax = 1024;
inline constexpr std::size_t kItemBytesMax = std::size_t{256} << 10;
inline constexpr std::size_t kChannelsMax = 16;           // of a call
inline constexpr std::uint32_t kCreditMax = 65'535;       // of a channel
inline constexpr std::uint64_t kNumbersAhead = 1U << 20;  // above the highest of a session

using SessionId = std::array<std::uint8_t, 16>;
using ResumeKey = std::array<std::uint8_t, 32>;

enum class FrameType : std::uint8_t {
  kHello = 1,
  kWelcome,
  kCall,
  kAdmitted,
  kOutcome,
  kCancel,
  kQuery,
  kItem,
  kCredit,
  kClose,
  kPing,
  kPong,
  kBye,
  kError,
};
inline constexpr std::size_t kFrameTypes = 14;

// What a client shows to resume a session.
struct ResumeClaim {
  SessionId session{};
  std::uint32_t generation = 1;
  ResumeKey key{};
  friend bool operator==(const ResumeClaim&, const ResumeClaim&) = default;
};

struct HelloFrame {
  std::string token;
  std::string client;
  std::optional<ResumeClaim> resume;  // nothing: a new session
  friend bool operator==(const HelloFrame&, const HelloFrame&) = default;
};

// One connection of a session, as the server grants it.
struct Attachment {
  bool resumed = false;
  SessionId session{};
  std::uint32_t generation = 1;
  ResumeKey key{};
  std::uint64_t epoch = 1;
  std::uint32_t frame_bytes_max = kFrameBytesMax;
  std::uint32_t arguments_bytes_max = 0;
  std::uint32_t calls_max = 1;
  std::uint32_t ping_ms = 0;
  friend bool operator==(const Attachment&, const Attachment&) = default;
};

enum class Refusal : std::uint8_t { kToken = 1, kKey, kBusy, kUnavailable };

struct WelcomeFrame {
  std::optional<Attachment> attachment;  // nothing: refused, as the next two say
  Refusal refusal = Refusal::kUnavailable;
  std::string detail;
  friend bool operator==(const WelcomeFrame&, const WelcomeFrame&) = default;
};

enum class Direction : std::uint8_t { kToHandler = 1, kFromHandler };

struct CallChannel {
  std::uint32_t channel = 1;
  Direction direction = Direction::kToHandler;
  std::uint32_t credit = 0;
  friend bool operator==(const CallChannel&, const CallChannel&) = default;
};

struct CallFrame {
  std::uint64_t number = 1;
  std::string service;
  std::string method;
  MethodPolicy policy;
  std::uint64_t first_epoch = 1;
  std::uint32_t time_ms = 0;
  std::string content_type;
  std::vector<CallChannel> channels;
  std::string arguments;
  friend bool operator==(const CallFrame&, const CallFrame&) = default;
};

enum class LiveState : std::uint8_t { kQueued = 1, kRunning };
enum class Origin : std::uint8_t { kFirst = 1, kAttached, kReplayed };

struct AdmittedFrame {
  std::uint64_t number = 1;
  LiveState state = LiveState::kQueued;
  Origin origin = Origin::kFirst;  // never replayed
  friend bool operator==(const AdmittedFrame&, const AdmittedFrame&) = default;
};

enum class OutcomeKind : std::uint8_t {
  kValue = 1,
  kFailure,
  kCancelled,
  kIndeterminate,
  kConflict,
  kExpired,
  kBusy,
  kUnknownMethod,
  kBadArguments,
  kAbsent,
};
constexpr bool is_sealed(OutcomeKind kind) { return kind <= OutcomeKind::kFailure; }

struct OutcomeFrame {
  std::uint64_t number = 1;
  OutcomeKind kind = OutcomeKind::kValue;
  Origin origin = Origin::kFirst;
  std::uint16_t status = 0;    // of sealed kinds
  std::uint32_t retry_ms = 0;  // of kBusy
  std::string content_type;    // of sealed kinds
  std::string body;            // of other kinds: a sentence for people
  friend bool operator==(const OutcomeFrame&, const OutcomeFrame&) = default;
};

enum class CancelMode : std::uint8_t { kDetach = 1, kCancel };

struct CancelFrame {
  std::uint64_t number = 1;
  CancelMode mode = CancelMode::kDetach;
  friend bool operator==(const CancelFrame&, const CancelFrame&) = default;
};

struct QueryFrame {
  std::uint64_t number = 1;
  bool watch = false;
  friend bool operator==(const QueryFrame&, const QueryFrame&) = default;
};

struct ItemFrame {
  std::uint32_t channel = 1;
  std::string item;
  friend bool operator==(const ItemFrame&, const ItemFrame&) = default;
};

struct CreditFrame {
  std::uint32_t channel = 1;
  std::uint32_t items = 1;
  friend bool operator==(const CreditFrame&, const CreditFrame&) = default;
};

enum class CloseHow : std::uint8_t { kEnd = 1, kUnwanted, kFailed };

struct CloseFrame {
  std::uint32_t channel = 1;
  CloseHow how = CloseHow::kEnd;
  std::string detail;
  friend bool operator==(const CloseFrame&, const CloseFrame&) = default;
};

struct PingFrame {
  std::uint64_t nonce = 0;
  friend bool operator==(const PingFrame&, const PingFrame&) = default;
};

struct PongFrame {
  std::uint64_t nonce = 0;
  friend bool operator==(const PongFrame&, const PongFrame&) = default;
};

enum class ByeReason : std::uint8_t { kDone = 1, kLeaving, kFenced, kIdle };

struct ByeFrame {
  ByeReason reason = ByeReason::kDone;
  std::string detail;
  friend bool operator==(const ByeFrame&, const ByeFrame&) = default;
};

enum class FaultCode : std::uint8_t {
  kMalformed = 1,
  kTooLong,
  kUnknownType,
  kVersion,
  kUnexpected,
  kNumber,
  kCredit,
  kInternal,
};

struct ErrorFrame {
  FaultCode code = FaultCode::kInternal;
  std::string detail;
  friend bool operator==(const ErrorFrame&, const ErrorFrame&) = default;
};

// In the order of their types.
using Frame = std::variant<HelloFrame, WelcomeFrame, CallFrame, AdmittedFrame, OutcomeFrame,
                           CancelFrame, QueryFrame, ItemFrame, CreditFrame, CloseFrame, PingFrame,
                           PongFrame, ByeFrame, ErrorFrame>;
static_assert(std::variant_size_v<Frame> == kFrameTypes);

constexpr FrameType type_of(const Frame& frame) {
  return static_cast<FrameType>(frame.index() + 1);
}
// Which side may send it; the other one answers it with kUnexpected.
bool is_of_caller(FrameType type);
bool is_of_server(FrameType type);

// With its length. Checked: the frame keeps the limits.
std::string encode(const Frame& frame);
// `payload` is a frame without its length. The error is what its sender is told.
tl::expected<Frame, ErrorFrame> decode(std::string_view payload);

}  // namespace postrider::rpc
