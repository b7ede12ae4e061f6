// Frames against docs/rpc-wire.md, and against everything that is no frame.
#include "postrider/protocols/rpc/frames.h"

#include <fstream>
#include <map>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "postrider/protocols/hex_testing.h"

namespace postrider::rpc {
namespace {

SessionId example_session() {
  SessionId out;
  std::iota(out.begin(), out.end(), std::uint8_t{0x10});
  return out;
}

ResumeKey example_key(std::uint8_t first) {
  ResumeKey out;
  std::iota(out.begin(), out.end(), first);
  return out;
}

// What the rows of the page's examples say, in their order.
std::vector<Frame> example_frames() {
  return {
      HelloFrame{.token = "t0", .client = "py", .resume = {}},
      HelloFrame{.token = "",
                 .client = "c",
                 .resume = ResumeClaim{example_session(), 3, example_key(0x40)}},
      WelcomeFrame{.attachment = Attachment{.resumed = false,
                                            .session = example_session(),
                                            .generation = 1,
                                            .key = example_key(0x60),
                                            .epoch = 9,
                                            .frame_bytes_max = 1U << 20,
                                            .arguments_bytes_max = 65'536,
                                            .calls_max = 100,
                                            .ping_ms = 15'000},
                   .refusal = Refusal::kUnavailable,
                   .detail = ""},
      WelcomeFrame{.attachment = {}, .refusal = Refusal::kKey, .detail = "no"},
      CallFrame{.number = 7,
                .service = "bank",
                .method = "transfer",
                .policy = {.persist = true, .idem = true},
                .first_epoch = 9,
                .time_ms = 5000,
                .content_type = "text/plain",
                .channels = {},
                .arguments = "hi"},
      CallFrame{.number = 8,
                .service = "s",
                .method = "m",
                .policy = {.channels = true},
                .first_epoch = 9,
                .time_ms = 0,
                .content_type = "",
                .channels = {{1, Direction::kToHandler, 0}, {3, Direction::kFromHandler, 4}},
                .arguments = ""},
      AdmittedFrame{7, LiveState::kQueued, Origin::kFirst},
      OutcomeFrame{.number = 7,
                   .kind = OutcomeKind::kValue,
                   .origin = Origin::kReplayed,
                   .status = 201,
                   .retry_ms = 0,
                   .content_type = "text/plain",
                   .body = "ok"},
      OutcomeFrame{.number = 9,
                   .kind = OutcomeKind::kBusy,
                   .origin = Origin::kFirst,
                   .status = 0,
                   .retry_ms = 250,
                   .content_type = "",
                   .body = "full"},
      CancelFrame{7, CancelMode::kCancel},
      QueryFrame{7, true},
      ItemFrame{3, "x"},
      CreditFrame{1, 16},
      CloseFrame{3, CloseHow::kEnd, ""},
      PingFrame{258},
      PongFrame{258},
      ByeFrame{ByeReason::kLeaving, "later"},
      ErrorFrame{FaultCode::kTooLong, "2 GiB"},
  };
}

// The bytes of the page's examples, with their lengths.
std::vector<std::string> example_bytes() {
  std::ifstream file(POSTRIDER_SOURCE_DIR "/docs/rpc-wire.md");
  std::vector<std::string> out;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    inside = inside || line == "## Examples";
    const std::size_t last = line.rfind(" | ");
    if (!inside || !line.starts_with("| ") || line.starts_with("| frame |")) continue;
    out.push_back(from_hex(line.substr(last + 3, line.size() - last - 5)));
  }
  return out;
}

std::string payload_of(const Frame& frame) { return encode(frame).substr(kLengthBytes); }

FaultCode fault_of(std::string_view payload) {
  const auto frame = decode(payload);
  EXPECT_FALSE(frame.has_value());
  return frame ? FaultCode::kInternal : frame.error().code;
}

TEST(RpcFrames, ExamplesOfThePageAreWrittenAndRead) {
  const std::vector<std::string> bytes = example_bytes();
  const std::vector<Frame> frames = example_frames();
  ASSERT_EQ(bytes.size(), frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(to_hex(encode(frames[i])), to_hex(bytes[i])) << i;
    const auto read = decode(std::string_view(bytes[i]).substr(kLengthBytes));
    ASSERT_TRUE(read.has_value()) << i << ": " << read.error().detail;
    EXPECT_EQ(*read, frames[i]) << i;
  }
}

TEST(RpcFrames, EveryTypeHasItsNumberAndItsSides) {
  std::map<FrameType, std::pair<bool, bool>> sides;
  for (const Frame& frame : example_frames()) {
    const auto type = static_cast<FrameType>(payload_of(frame)[0]);
    EXPECT_EQ(type, type_of(frame));
    sides[type] = {is_of_caller(type), is_of_server(type)};
  }
  const std::pair<bool, bool> caller{true, false}, server{false, true}, both{true, true};
  const std::map<FrameType, std::pair<bool, bool>> expected = {
      {FrameType::kHello, caller},    {FrameType::kWelcome, server}, {FrameType::kCall, caller},
      {FrameType::kAdmitted, server}, {FrameType::kOutcome, server}, {FrameType::kCancel, caller},
      {FrameType::kQuery, caller},    {FrameType::kItem, both},      {FrameType::kCredit, both},
      {FrameType::kClose, both},      {FrameType::kPing, both},      {FrameType::kPong, both},
      {FrameType::kBye, both},        {FrameType::kError, both}};
  EXPECT_EQ(sides, expected);
}

// req: rpc.own.10
TEST(RpcFrames, EveryCutAndEveryLongerBodyIsMalformed) {
  for (const Frame& frame : example_frames()) {
    const std::string payload = payload_of(frame);
    for (std::size_t size = 0; size < payload.size(); ++size)
      EXPECT_EQ(fault_of(payload.substr(0, size)), FaultCode::kMalformed) << size;
    EXPECT_EQ(fault_of(payload + '\0'), FaultCode::kMalformed);
  }
}

TEST(RpcFrames, EveryFlippedBitIsReadAsItStandsOrRefused) {
  for (const Frame& frame : example_frames()) {
    const std::string payload = payload_of(frame);
    for (std::size_t bit = 0; bit < 8 * payload.size(); ++bit) {
      std::string damaged = payload;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
      const auto read = decode(damaged);
      if (read) {
        EXPECT_EQ(to_hex(payload_of(*read)), to_hex(damaged));
      }
    }
  }
}

TEST(RpcFrames, NoBytesAndTooManyHaveCodesOfTheirOwn) {
  EXPECT_EQ(fault_of(""), FaultCode::kMalformed);
  EXPECT_EQ(fault_of(std::string(kFrameBytesMax + 1, '\x0b')), FaultCode::kTooLong);
  OutcomeFrame longest{.content_type = ""};
  longest.body.assign(kFrameBytesMax - payload_of(longest).size(), 'x');
  const std::string payload = payload_of(longest);
  EXPECT_EQ(payload.size(), kFrameBytesMax);
  EXPECT_EQ(decode(payload), Frame(longest));
}

TEST(RpcFrames, UnknownTypesAndVersionsHaveCodesOfTheirOwn) {
  for (int type = 0; type < 256; ++type) {
    if (type >= 1 && type <= 14) continue;
    EXPECT_EQ(fault_of(std::string(1, static_cast<char>(type))), FaultCode::kUnknownType) << type;
  }
  // Whatever another version says behind its number.
  EXPECT_EQ(fault_of(std::string("\x01PRPC\x00\x02", 7)), FaultCode::kVersion);
  EXPECT_EQ(fault_of(std::string("\x01PRPC\x00\x00 and more", 16)), FaultCode::kVersion);
  EXPECT_EQ(fault_of(std::string("\x02\x00\x02", 3)), FaultCode::kVersion);
  EXPECT_EQ(fault_of(std::string("\x01PRPX\x00\x01", 7)), FaultCode::kMalformed);
}

struct BadCase {
  const char* name;
  Frame frame;
  std::size_t at;  // in the payload
  std::string bytes;
};

void PrintTo(const BadCase& bad, std::ostream* out) { *out << bad.name; }

class RpcBadFrames : public ::testing::TestWithParam<BadCase> {};

TEST_P(RpcBadFrames, AreMalformed) {
  const BadCase& bad = GetParam();
  std::string payload = payload_of(bad.frame);
  ASSERT_TRUE(decode(payload).has_value());
  ASSERT_LE(bad.at + bad.bytes.size(), payload.size());
  payload.replace(bad.at, bad.bytes.size(), bad.bytes);
  EXPECT_EQ(fault_of(payload), FaultCode::kMalformed);
}

const CallFrame kPlainCall{.service = "s", .method = "m"};
const CallFrame kStreamCall{
    .service = "s",
    .method = "m",
    .policy = {.channels = true},
    .channels = {{1, Direction::kToHandler, 0}, {3, Direction::kFromHandler, 4}}};
constexpr std::size_t kPolicyAt = 15;    // type, number, two texts of one byte
constexpr std::size_t kChannelsAt = 30;  // and epoch, time, empty content type
const std::string kZero8(8, '\0');
const std::string kZero4(4, '\0');
const Attachment kGranted;

INSTANTIATE_TEST_SUITE_P(
    Frames, RpcBadFrames,
    ::testing::Values(
        BadCase{"CallNumberZero", kPlainCall, 1, kZero8},
        BadCase{"CallLengthOfServiceBeyondBody", kPlainCall, 9, std::string("\x00\xff", 2)},
        BadCase{"CallServiceEmpty", kPlainCall, 9, std::string("\x00\x00", 2)},
        BadCase{"CallPersistWithChannels", kStreamCall, kPolicyAt, "\x05"},
        BadCase{"CallUnknownPolicy", kPlainCall, kPolicyAt, "\x08"},
        BadCase{"CallChannelsNotDeclared", kStreamCall, kPolicyAt, std::string(1, '\0')},
        BadCase{"CallChannelsDeclaredAndNone", kPlainCall, kPolicyAt, "\x04"},
        BadCase{"CallEpochZero", kPlainCall, kPolicyAt + 1, kZero8},
        BadCase{"CallTooManyChannels", kStreamCall, kChannelsAt, "\x11"},
        BadCase{"CallChannelZero", kStreamCall, kChannelsAt + 1, kZero4},
        BadCase{"CallChannelEven", kStreamCall, kChannelsAt + 1, std::string("\0\0\0\x02", 4)},
        BadCase{"CallChannelTwice", kStreamCall, kChannelsAt + 1, std::string("\0\0\0\x03", 4)},
        BadCase{"CallChannelLastOneFirst", kStreamCall, kChannelsAt + 1, "\xff\xff\xff\xff"},
        BadCase{"CallCreditToTheHandler", kStreamCall, kChannelsAt + 6,
                std::string("\0\0\0\x01", 4)},
        BadCase{"CallDirectionZero", kStreamCall, kChannelsAt + 5, std::string(1, '\0')},
        BadCase{"CallCreditTooHigh", kStreamCall, kChannelsAt + 15, std::string("\0\x01\0\0", 4)},
        BadCase{"CallArgumentsBeyondBody", kPlainCall, kChannelsAt + 1, "\xff\xff\xff\xff"},
        BadCase{"CancelModeUnknown", CancelFrame{}, 9, "\x03"},
        BadCase{"CancelNumberZero", CancelFrame{}, 1, kZero8},
        BadCase{"QueryWatchUnknown", QueryFrame{}, 9, "\x02"},
        BadCase{"AdmittedReplayed", AdmittedFrame{}, 10, "\x03"},
        BadCase{"AdmittedStateZero", AdmittedFrame{}, 9, std::string(1, '\0')},
        BadCase{"OutcomeKindUnknown", OutcomeFrame{}, 9, "\x0b"},
        BadCase{"OutcomeRetryOfAValue", OutcomeFrame{}, 13, std::string("\0\0\0\x01", 4)},
        BadCase{"OutcomeStatusOfACancel", OutcomeFrame{.kind = OutcomeKind::kCancelled}, 11,
                std::string("\x00\xc8", 2)},
        BadCase{"OutcomeContentTypeOfABusy", OutcomeFrame{.kind = OutcomeKind::kBusy, .body = "12"},
                17, std::string("\x00\x04", 2)},
        BadCase{"HelloModeUnknown", HelloFrame{}, 11, "\x02"},
        BadCase{"HelloGenerationZero", HelloFrame{.resume = ResumeClaim{}}, 28, kZero4},
        BadCase{"WelcomeVerdictUnknown", WelcomeFrame{.attachment = kGranted}, 3, "\x03"},
        BadCase{"WelcomeEpochZero", WelcomeFrame{.attachment = kGranted}, 56, kZero8},
        BadCase{"WelcomeFramesTooShort", WelcomeFrame{.attachment = kGranted}, 64,
                std::string("\0\0\x0f\xff", 4)},
        BadCase{"WelcomeFramesTooLong", WelcomeFrame{.attachment = kGranted}, 64,
                std::string("\x01\0\0\x01", 4)},
        BadCase{"WelcomeNoCalls", WelcomeFrame{.attachment = kGranted}, 72, kZero4},
        BadCase{"ItemChannelZero", ItemFrame{}, 1, kZero4},
        BadCase{"ItemLengthBeyondBody", ItemFrame{1, "x"}, 5, std::string("\0\0\0\x02", 4)},
        BadCase{"CreditZero", CreditFrame{}, 5, kZero4},
        BadCase{"CreditTooHigh", CreditFrame{}, 5, std::string("\0\x01\0\0", 4)},
        BadCase{"CloseUnknown", CloseFrame{}, 5, "\x04"},
        BadCase{"ByeUnknown", ByeFrame{}, 1, "\x05"},
        BadCase{"ErrorZero", ErrorFrame{}, 1, std::string(1, '\0')}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(RpcFrames, TextsEndAtTheirLimits) {
  const auto longest = [](std::size_t size) { return std::string(size, 'x'); };
  for (const Frame& frame : std::vector<Frame>{
           HelloFrame{.token = longest(kTokenBytesMax), .client = longest(kClientBytesMax)},
           CallFrame{.service = longest(kServiceBytesMax),
           .method = longest(kMethodBytesMax),
           .content_type = longest(kContentTypeBytesMax)},
           ItemFrame{1, longest(kItemBytesMax)},
           ByeFrame{ByeReason::kDone, longest(kDetailBytesMax)},
           OutcomeFrame{.kind = OutcomeKind::kConflict, .body = longest(kDetailBytesMax)}})
    EXPECT_EQ(decode(payload_of(frame)), frame);
  // One byte more, with a length that says so.
  std::string item = payload_of(ItemFrame{1, longest(kItemBytesMax)}) + 'x';
  item.replace(5, 4, std::string("\0\x04\0\x01", 4));
  EXPECT_EQ(fault_of(item), FaultCode::kMalformed);
  std::string bye = payload_of(ByeFrame{ByeReason::kDone, longest(kDetailBytesMax)}) + 'x';
  bye.replace(2, 2, std::string("\x04\x01", 2));
  EXPECT_EQ(fault_of(bye), FaultCode::kMalformed);
}

RC_GTEST_PROP(RpcFrames, CallsAreReadAsTheyAreWritten, ()) {
  CallFrame call;
  call.number = *rc::gen::inRange<std::uint64_t>(1, UINT64_MAX);
  call.service = std::string(*rc::gen::inRange<std::size_t>(1, kServiceBytesMax + 1), 's');
  call.method = std::string(*rc::gen::inRange<std::size_t>(1, kMethodBytesMax + 1), 'm');
  call.policy.idem = *rc::gen::arbitrary<bool>();
  const auto count = *rc::gen::inRange<std::uint32_t>(0, kChannelsMax + 1);
  call.policy.channels = count > 0;
  call.policy.persist = count == 0 && *rc::gen::arbitrary<bool>();
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool up = *rc::gen::arbitrary<bool>();
    call.channels.push_back({2 * i + 1, up ? Direction::kToHandler : Direction::kFromHandler,
                             up ? 0 : *rc::gen::inRange<std::uint32_t>(0, kCreditMax + 1)});
  }
  call.arguments = *rc::gen::arbitrary<std::string>();
  RC_ASSERT(decode(payload_of(call)) == Frame(call));
}

RC_GTEST_PROP(RpcFrames, WhatIsReadIsWrittenAsItCame, ()) {
  auto payload = *rc::gen::arbitrary<std::string>();
  if (!payload.empty()) payload[0] = static_cast<char>(payload[0] % 15);
  const auto frame = decode(payload);
  if (frame) RC_ASSERT(payload_of(*frame) == payload);
}

}  // namespace
}  // namespace postrider::rpc
