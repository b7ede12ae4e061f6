#include "postrider/protocols/rpc/frames.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/base/codec.h"

namespace postrider::rpc {
namespace {

constexpr std::string_view kMagic = "PRPC";
constexpr std::uint8_t kPersistBit = 1;
constexpr std::uint8_t kIdemBit = 2;
constexpr std::uint8_t kChannelsBit = 4;

tl::unexpected<ErrorFrame> fault(FaultCode code, std::string_view detail) {
  return tl::unexpected<ErrorFrame>(ErrorFrame{.code = code, .detail = std::string(detail)});
}

// The fields of a body, each with its bounds. A field that is out of bounds fails the whole body.
class Fields {
 public:
  explicit Fields(std::string_view body) : in_(body) {}

  bool good() const { return in_.ok(); }
  bool at_end() const { return in_.at_end(); }

  std::uint16_t u16(std::uint16_t high = UINT16_MAX) { return within(in_.u16(), {}, high); }
  std::uint32_t u32(std::uint32_t low = 0, std::uint32_t high = UINT32_MAX) {
    return within(in_.u32(), low, high);
  }
  std::uint64_t u64(std::uint64_t low = 0) { return within(in_.u64(), low, UINT64_MAX); }
  std::uint8_t u8(std::uint8_t high) { return within(in_.u8(), {}, high); }
  template <class Enum>
  Enum word(Enum high) {  // words are numbered from 1 on
    return static_cast<Enum>(within(in_.u8(), std::uint8_t{1}, static_cast<std::uint8_t>(high)));
  }
  bool flag() { return u8(1) == 1; }
  std::string text(std::size_t high, std::size_t low = 0) {
    return take(within<std::size_t>(in_.u16(), low, high));
  }
  std::string bytes(std::size_t high = kFrameBytesMax) {
    return take(within<std::size_t>(in_.u32(), 0, high));
  }
  template <std::size_t kSize>
  void raw(std::array<std::uint8_t, kSize>& out) {
    const std::string_view bytes = in_.raw(kSize);
    std::copy(bytes.begin(), bytes.end(), out.begin());
  }
  std::string_view raw(std::size_t size) { return in_.raw(size); }
  void fail() { in_.fail(); }

 private:
  template <class Number>
  Number within(Number value, Number low, Number high) {
    if (value >= low && value <= high) return value;
    in_.fail();
    return low;
  }
  std::string take(std::size_t size) { return std::string(in_.raw(size)); }

  Reader in_;
};

// One function for each type; the body is judged by `Fields` as a whole.

void read(Fields& in, HelloFrame& out) {
  out.token = in.text(kTokenBytesMax);
  out.client = in.text(kClientBytesMax);
  if (!in.flag()) return;
  ResumeClaim& claim = out.resume.emplace();
  in.raw(claim.session);
  claim.generation = in.u32(1);
  in.raw(claim.key);
}

void read(Fields& in, WelcomeFrame& out) {
  const std::uint8_t verdict = in.u8(2);
  if (verdict == 2) {
    out.refusal = in.word(Refusal::kUnavailable);
    out.detail = in.text(kDetailBytesMax);
    return;
  }
  Attachment& attachment = out.attachment.emplace();
  attachment.resumed = verdict == 1;
  in.raw(attachment.session);
  attachment.generation = in.u32(1);
  in.raw(attachment.key);
  attachment.epoch = in.u64(1);
  attachment.frame_bytes_max = in.u32(kGreetingBytesMax, kFrameBytesMax);
  attachment.arguments_bytes_max = in.u32();
  attachment.calls_max = in.u32(1);
  attachment.ping_ms = in.u32();
}

void read_channels(Fields& in, CallFrame& out) {
  const std::uint8_t count = in.u8(kChannelsMax);
  if ((count > 0) != out.policy.channels) in.fail();
  std::uint32_t least = 1;
  for (std::uint8_t i = 0; i < count && in.good(); ++i) {
    CallChannel& channel = out.channels.emplace_back();
    channel.channel = in.u32(least);
    channel.direction = in.word(Direction::kFromHandler);
    channel.credit = in.u32(0, channel.direction == Direction::kFromHandler ? kCreditMax : 0);
    if (channel.channel % 2 == 0) in.fail();
    // The greatest odd number has no successor; a further channel must not begin at 0 again.
    if (channel.channel == UINT32_MAX && i + 1 < count) in.fail();
    least = channel.channel + 1;
  }
}

void read(Fields& in, CallFrame& out) {
  out.number = in.u64(1);
  out.service = in.text(kServiceBytesMax, 1);
  out.method = in.text(kMethodBytesMax, 1);
  const std::uint8_t bits = in.u8(kPersistBit | kIdemBit | kChannelsBit);
  out.policy = {.persist = (bits & kPersistBit) != 0,
                .idem = (bits & kIdemBit) != 0,
                .channels = (bits & kChannelsBit) != 0};
  if (!is_allowed(out.policy)) in.fail();
  out.first_epoch = in.u64(1);
  out.time_ms = in.u32();
  out.content_type = in.text(kContentTypeBytesMax);
  read_channels(in, out);
  out.arguments = in.bytes();
}

void read(Fields& in, AdmittedFrame& out) {
  out.number = in.u64(1);
  out.state = in.word(LiveState::kRunning);
  out.origin = in.word(Origin::kAttached);
}

void read(Fields& in, OutcomeFrame& out) {
  out.number = in.u64(1);
  out.kind = in.word(OutcomeKind::kAbsent);
  out.origin = in.word(Origin::kReplayed);
  const bool sealed = is_sealed(out.kind);
  out.status = in.u16(sealed ? UINT16_MAX : 0);
  out.retry_ms = in.u32(0, out.kind == OutcomeKind::kBusy ? UINT32_MAX : 0);
  out.content_type = in.text(sealed ? kContentTypeBytesMax : 0);
  out.body = in.bytes(sealed ? kFrameBytesMax : kDetailBytesMax);
}

void read(Fields& in, CancelFrame& out) {
  out.number = in.u64(1);
  out.mode = in.word(CancelMode::kCancel);
}

void read(Fields& in, QueryFrame& out) {
  out.number = in.u64(1);
  out.watch = in.flag();
}

void read(Fields& in, ItemFrame& out) {
  out.channel = in.u32(1);
  out.item = in.bytes(kItemBytesMax);
}

void read(Fields& in, CreditFrame& out) {
  out.channel = in.u32(1);
  out.items = in.u32(1, kCreditMax);
}

void read(Fields& in, CloseFrame& out) {
  out.channel = in.u32(1);
  out.how = in.word(CloseHow::kFailed);
  out.detail = in.text(kDetailBytesMax);
}

void read(Fields& in, PingFrame& out) { out.nonce = in.u64(); }
void read(Fields& in, PongFrame& out) { out.nonce = in.u64(); }

void read(Fields& in, ByeFrame& out) {
  out.reason = in.word(ByeReason::kIdle);
  out.detail = in.text(kDetailBytesMax);
}

void read(Fields& in, ErrorFrame& out) {
  out.code = in.word(FaultCode::kInternal);
  out.detail = in.text(kDetailBytesMax);
}

using Decoded = tl::expected<Frame, ErrorFrame>;

template <class Type>
Decoded decode_as(std::string_view body) {
  Fields in(body);
  // What another version says behind its number is not for us to read.
  if constexpr (std::is_same_v<Type, HelloFrame>) {
    if (in.raw(kMagic.size()) != kMagic) in.fail();
  }
  if constexpr (std::is_same_v<Type, HelloFrame> || std::is_same_v<Type, WelcomeFrame>) {
    const std::uint16_t version = in.u16();
    if (in.good() && version != kWireVersion)
      return fault(FaultCode::kVersion, "version 1 is known");
  }
  Type out;
  read(in, out);
  if (!in.good()) return fault(FaultCode::kMalformed, "a field is cut off or out of bounds");
  if (!in.at_end()) return fault(FaultCode::kMalformed, "bytes behind the last field");
  return Frame(std::move(out));
}

template <std::size_t... kIndex>
constexpr auto decoders(std::index_sequence<kIndex...> /*indices*/) {
  return std::array{&decode_as<std::variant_alternative_t<kIndex, Frame>>...};
}
constexpr auto kDecoders = decoders(std::make_index_sequence<kFrameTypes>());

// Writes the fields of a body. What does not keep the limits is a bug of ours.
class Body {
 public:
  explicit Body(std::string& out) : out_(out) {}

  Body& u8(std::uint8_t value) { return out_.u8(value), *this; }
  Body& u16(std::uint16_t value) { return out_.u16(value), *this; }
  Body& u32(std::uint32_t value) { return out_.u32(value), *this; }
  Body& u64(std::uint64_t value) { return out_.u64(value), *this; }
  Body& raw(std::string_view bytes) { return out_.raw(bytes), *this; }
  template <std::size_t kSize>
  Body& raw(const std::array<std::uint8_t, kSize>& bytes) {
    return raw({reinterpret_cast<const char*>(bytes.data()), kSize});
  }
  template <class Enum>
  Body& word(Enum value) {
    return u8(static_cast<std::uint8_t>(value));
  }
  Body& text(std::string_view text, std::size_t high) {
    POSTRIDER_CHECK(text.size() <= high);
    return u16(static_cast<std::uint16_t>(text.size())).raw(text);
  }
  Body& bytes(std::string_view bytes, std::size_t high = kFrameBytesMax) {
    POSTRIDER_CHECK(bytes.size() <= high);
    return u32(static_cast<std::uint32_t>(bytes.size())).raw(bytes);
  }

 private:
  Writer out_;
};

void write(Body& out, const HelloFrame& frame) {
  out.raw(kMagic).u16(kWireVersion).text(frame.token, kTokenBytesMax);
  out.text(frame.client, kClientBytesMax).u8(frame.resume ? 1 : 0);
  if (frame.resume)
    out.raw(frame.resume->session).u32(frame.resume->generation).raw(frame.resume->key);
}

void write(Body& out, const WelcomeFrame& frame) {
  out.u16(kWireVersion);
  if (!frame.attachment) {
    out.u8(2).word(frame.refusal).text(frame.detail, kDetailBytesMax);
    return;
  }
  const Attachment& attachment = *frame.attachment;
  out.u8(attachment.resumed ? 1 : 0).raw(attachment.session).u32(attachment.generation);
  out.raw(attachment.key).u64(attachment.epoch).u32(attachment.frame_bytes_max);
  out.u32(attachment.arguments_bytes_max).u32(attachment.calls_max).u32(attachment.ping_ms);
}

void write(Body& out, const CallFrame& frame) {
  POSTRIDER_CHECK(is_allowed(frame.policy));
  POSTRIDER_CHECK(frame.policy.channels == !frame.channels.empty());
  POSTRIDER_CHECK(frame.channels.size() <= kChannelsMax);
  out.u64(frame.number).text(frame.service, kServiceBytesMax);
  out.text(frame.method, kMethodBytesMax).u8(bits_of(frame.policy));
  out.u64(frame.first_epoch).u32(frame.time_ms).text(frame.content_type, kContentTypeBytesMax);
  out.u8(static_cast<std::uint8_t>(frame.channels.size()));
  for (const CallChannel& channel : frame.channels)
    out.u32(channel.channel).word(channel.direction).u32(channel.credit);
  out.bytes(frame.arguments);
}

void write(Body& out, const AdmittedFrame& frame) {
  out.u64(frame.number).word(frame.state).word(frame.origin);
}

void write(Body& out, const OutcomeFrame& frame) {
  const bool sealed = is_sealed(frame.kind);
  POSTRIDER_CHECK(sealed || (frame.status == 0 && frame.content_type.empty()));
  POSTRIDER_CHECK(frame.kind == OutcomeKind::kBusy || frame.retry_ms == 0);
  out.u64(frame.number).word(frame.kind).word(frame.origin).u16(frame.status);
  out.u32(frame.retry_ms).text(frame.content_type, kContentTypeBytesMax);
  out.bytes(frame.body, sealed ? kFrameBytesMax : kDetailBytesMax);
}

void write(Body& out, const CancelFrame& frame) { out.u64(frame.number).word(frame.mode); }
void write(Body& out, const QueryFrame& frame) { out.u64(frame.number).u8(frame.watch ? 1 : 0); }
void write(Body& out, const ItemFrame& frame) {
  out.u32(frame.channel).bytes(frame.item, kItemBytesMax);
}
void write(Body& out, const CreditFrame& frame) { out.u32(frame.channel).u32(frame.items); }
void write(Body& out, const CloseFrame& frame) {
  out.u32(frame.channel).word(frame.how).text(frame.detail, kDetailBytesMax);
}
void write(Body& out, const PingFrame& frame) { out.u64(frame.nonce); }
void write(Body& out, const PongFrame& frame) { out.u64(frame.nonce); }
void write(Body& out, const ByeFrame& frame) {
  out.word(frame.reason).text(frame.detail, kDetailBytesMax);
}
void write(Body& out, const ErrorFrame& frame) {
  out.word(frame.code).text(frame.detail, kDetailBytesMax);
}

}  // namespace

bool is_of_caller(FrameType type) {
  switch (type) {
    case FrameType::kWelcome:
    case FrameType::kAdmitted:
    case FrameType::kOutcome: return false;
    case FrameType::kHello:
    case FrameType::kCall:
    case FrameType::kCancel:
    case FrameType::kQuery:
    case FrameType::kItem:
    case FrameType::kCredit:
    case FrameType::kClose:
    case FrameType::kPing:
    case FrameType::kPong:
    case FrameType::kBye:
    case FrameType::kError: return true;
  }
  POSTRIDER_CHECK(false);
}

bool is_of_server(FrameType type) {
  return !is_of_caller(type) || (type != FrameType::kHello && type != FrameType::kCall &&
                                 type != FrameType::kCancel && type != FrameType::kQuery);
}

std::string encode(const Frame& frame) {
  std::string out(kLengthBytes, '\0');
  Body body(out);
  body.word(type_of(frame));
  std::visit([&](const auto& one) { write(body, one); }, frame);
  const std::size_t length = out.size() - kLengthBytes;
  POSTRIDER_CHECK(length <= kFrameBytesMax);
  std::string prefix;
  Writer(prefix).u32(static_cast<std::uint32_t>(length));
  std::copy(prefix.begin(), prefix.end(), out.begin());
  return out;
}

tl::expected<Frame, ErrorFrame> decode(std::string_view payload) {
  if (payload.empty()) return fault(FaultCode::kMalformed, "a frame of 0 bytes");
  if (payload.size() > kFrameBytesMax) return fault(FaultCode::kTooLong, "a frame above 16 MiB");
  const auto type = static_cast<std::uint8_t>(payload[0]);
  if (type == 0 || type > kFrameTypes)
    return fault(FaultCode::kUnknownType, "type " + std::to_string(type) + " is not known");
  return kDecoders[type - 1U](payload.substr(1));
}

}  // namespace postrider::rpc
