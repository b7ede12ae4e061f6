// What a caller of a session must not send: one clear answer, a counter, and nothing changes.
#include <string>

#include "postrider/base/codec.h"
#include "tests/rpc/session_rig.h"

namespace postrider {
namespace {

using rpc::ErrorFrame;
using rpc::FaultCode;
using rpc::OutcomeFrame;
using rpc::OutcomeKind;
using rpc::QueryFrame;

std::string raw_frame(std::string_view payload) {
  std::string out;
  Writer(out).u32(static_cast<std::uint32_t>(payload.size())).raw(payload);
  return out;
}
// A frame with its bytes changed at a place behind the length.
std::string changed(const rpc::Frame& frame, std::size_t at, std::string_view bytes) {
  std::string out = rpc::encode(frame);
  out.replace(rpc::kLengthBytes + at, bytes.size(), bytes);
  return out;
}

class BadSessions : public SessionRig {
 protected:
  // The connection ends with this error and one more of this figure; the session goes on with its
  // key, and nothing has run.
  void expect_fault(const std::string& bytes, FaultCode code, std::string_view name) {
    const Session session = begin();
    const std::uint64_t before = figure(name);
    const std::size_t ran = runs().size();
    send_bytes(session.line, bytes + rpc::encode(frame_of(session, kPersist, 1)));
    EXPECT_EQ(only<ErrorFrame>(session.line).code, code);
    EXPECT_TRUE(is_closed(session.line));
    EXPECT_EQ(figure(name), before + 1);
    EXPECT_EQ(runs().size(), ran) << "nothing behind it is heard";
    const Session later = resume(session);
    send(later.line, QueryFrame{1, true});
    EXPECT_EQ(only<OutcomeFrame>(later.line).kind, OutcomeKind::kAbsent);
  }
  void expect_fault_first(const std::string& bytes, FaultCode code, std::string_view name) {
    const LineId line = connect();
    const std::uint64_t before = figure(name);
    send_bytes(line, bytes);
    EXPECT_EQ(only<ErrorFrame>(line).code, code);
    EXPECT_TRUE(is_closed(line));
    EXPECT_EQ(figure(name), before + 1);
    EXPECT_EQ(figure("rpc sessions begun"), 0U);
  }
  OutcomeKind refusal(const Session& session, const rpc::CallFrame& frame) {
    send(session.line, frame);
    return only<OutcomeFrame>(session.line).kind;
  }
};

constexpr std::string_view kMalformed = "rpc frames malformed";
constexpr std::string_view kTooLong = "rpc frames too long";
constexpr std::string_view kNoType = "rpc frames of no type";
constexpr std::string_view kVersion = "rpc frames of another version";
constexpr std::string_view kUnexpected = "rpc frames unexpected";
constexpr std::string_view kNumber = "rpc numbers far ahead";
constexpr std::string_view kCredit = "rpc items without credit";

TEST_F(BadSessions, FramesThatAreNone) {
  start();
  expect_fault(raw_frame(""), FaultCode::kMalformed, kMalformed);
  expect_fault(std::string("\x01\x00\x00\x01", 4), FaultCode::kTooLong, kTooLong);
  expect_fault(std::string("\xff\xff\xff\xff", 4), FaultCode::kTooLong, kTooLong);
  expect_fault(raw_frame(std::string("\x00", 1)), FaultCode::kUnknownType, kNoType);
  expect_fault(raw_frame("\x0f"), FaultCode::kUnknownType, kNoType);
  expect_fault(raw_frame("\x0b"), FaultCode::kMalformed, kMalformed);  // a body too short …
  expect_fault(raw_frame("\x0b" "123456789"), FaultCode::kMalformed, kMalformed);  // … too long
  const Session session = begin();
  // A length beside its body: of the arguments, and of the service.
  const rpc::Frame call = frame_of(session, kPersist, 1, "xy");
  const std::string whole = rpc::encode(call);
  expect_fault(whole.substr(0, whole.size() - 6) + std::string("\x00\x00\x00\x09xy", 6),
               FaultCode::kMalformed, kMalformed);
  expect_fault(changed(call, 9, std::string_view("\xff\xff", 2)), FaultCode::kMalformed,
               kMalformed);
  // Number 0.
  expect_fault(changed(call, 1, std::string_view("\0\0\0\0\0\0\0\0", 8)), FaultCode::kMalformed,
               kMalformed);
}

TEST_F(BadSessions, WhatComesBeforeHelloOrTwice) {
  start();
  const rpc::HelloFrame hello{"shop-token", "test", {}};
  const Session none{{}, {.epoch = 1}};
  expect_fault_first(rpc::encode(frame_of(none, kPersist, 1)), FaultCode::kUnexpected, kUnexpected);
  expect_fault_first(rpc::encode(rpc::PingFrame{1}), FaultCode::kUnexpected, kUnexpected);
  expect_fault_first(changed(hello, 5, std::string_view("\x00\x02", 2)), FaultCode::kVersion,
                     kVersion);
  expect_fault_first(changed(hello, 1, "QRPC"), FaultCode::kMalformed, kMalformed);
  expect_fault_first(std::string("\x00\x00\x10\x01", 4), FaultCode::kTooLong, kTooLong);
  expect_fault_first("GET / HTTP/1.1\r\n\r\n", FaultCode::kTooLong, kTooLong);
  expect_fault(rpc::encode(hello), FaultCode::kUnexpected, kUnexpected);

  // Behind HELLO and before WELCOME.
  const LineId line = connect();
  send_bytes(line, rpc::encode(hello) + rpc::encode(rpc::PingFrame{1}));
  EXPECT_EQ(only<ErrorFrame>(line).code, FaultCode::kUnexpected);
}

TEST_F(BadSessions, FramesOfTheServerAndOfChannelsThatAreNotThere) {
  start();
  expect_fault(rpc::encode(rpc::AdmittedFrame{1}), FaultCode::kUnexpected, kUnexpected);
  expect_fault(rpc::encode(OutcomeFrame{}), FaultCode::kUnexpected, kUnexpected);
  expect_fault(rpc::encode(rpc::WelcomeFrame{}), FaultCode::kUnexpected, kUnexpected);
  expect_fault(rpc::encode(rpc::ItemFrame{1, "x"}), FaultCode::kCredit, kCredit);
  expect_fault(rpc::encode(rpc::CreditFrame{1, 1}), FaultCode::kCredit, kCredit);
  expect_fault(rpc::encode(rpc::CloseFrame{1}), FaultCode::kCredit, kCredit);
}

TEST_F(BadSessions, NumbersFarAhead) {
  start();
  const Session session = begin();
  expect_fault(rpc::encode(frame_of(session, kPersist, rpc::kNumbersAhead + 1)),
               FaultCode::kNumber, kNumber);
  begin_call(session, kPersist, rpc::kNumbersAhead);  // the bound itself
  begin_call(session, kPersist, 2 * rpc::kNumbersAhead);
  // How far the numbers have come is known after a restart.
  handler_answers(200, "x");
  start();
  const Session later = resume(session);
  begin_call(later, kPersist, 2 * rpc::kNumbersAhead + 1);
}

// req: rpc.own.7, rpc.own.12
TEST_F(BadSessions, KeysThatAreNotOfTheSession) {
  start();
  const Session one = begin();
  const Session two = begin();
  const auto refused = [&](rpc::ResumeClaim claim) {
    const LineId line = connect();
    const std::uint64_t before = figure("rpc attachments refused");
    const auto welcome = greet(line, "shop-token", claim);
    EXPECT_FALSE(welcome.attachment);
    EXPECT_EQ(welcome.refusal, rpc::Refusal::kKey);
    EXPECT_TRUE(is_closed(line));
    EXPECT_EQ(figure("rpc attachments refused"), before + 1);
  };
  rpc::ResumeClaim claim = one.claim();
  claim.key = two.granted.key;
  refused(claim);
  claim = one.claim();
  claim.generation = 2;
  refused(claim);
  claim = one.claim();
  claim.key[31] ^= 1;
  refused(claim);
  // Of a wrong length.
  const std::string hello = rpc::encode(rpc::HelloFrame{"shop-token", "test", one.claim()});
  std::string shorter = hello.substr(rpc::kLengthBytes);
  shorter.pop_back();
  const LineId line = connect();
  send_bytes(line, raw_frame(shorter));
  EXPECT_EQ(only<ErrorFrame>(line).code, FaultCode::kMalformed);
  // After all that both go on as they were.
  EXPECT_FALSE(is_closed(one.line));
  EXPECT_EQ(resume(one).granted.generation, 2U);
  EXPECT_EQ(resume(two).granted.generation, 2U);
}

TEST_F(BadSessions, TokensThatAreNotKnown) {
  start();
  for (const std::string& token : {std::string(), std::string("other"), std::string(1024, 'x')}) {
    const auto welcome = greet(connect(), token);
    EXPECT_FALSE(welcome.attachment);
    EXPECT_EQ(welcome.refusal, rpc::Refusal::kToken);
  }
  EXPECT_EQ(figure("rpc attachments refused"), 3U);
  // By the Unix socket its file says who may.
  EXPECT_TRUE(greet(connect("", kUnix), "").attachment);
  EXPECT_FALSE(greet(connect("", kUnix), "other").attachment);
}

// req: rpc.rule.5, rpc.own.1, rpc.own.2
TEST_F(BadSessions, ANumberWithOtherContentIsAConflict) {
  start();
  const Session session = begin();
  begin_call(session, kPersist, 1);
  for (const bool sealed : {false, true}) {
    rpc::CallFrame frame = frame_of(session, kPersist, 1, "other");
    EXPECT_EQ(refusal(session, frame), OutcomeKind::kConflict) << sealed;
    frame = frame_of(session, kPersistIdem, 1);
    EXPECT_EQ(refusal(session, frame), OutcomeKind::kConflict);
    frame = frame_of(session, kPersist, 1);
    frame.service = "other";
    EXPECT_EQ(refusal(session, frame), OutcomeKind::kConflict);
    frame = frame_of(session, kPersist, 1);
    frame.content_type = "text/html";
    send(session.line, frame);
    const auto conflict = only<OutcomeFrame>(session.line);
    EXPECT_EQ(conflict.kind, OutcomeKind::kConflict);
    EXPECT_EQ(conflict.body.find("paid"), std::string::npos);
    if (!sealed) {
      handler_answers(200, "paid");
      EXPECT_EQ(only<OutcomeFrame>(session.line).body, "paid");
    }
  }
  // How long the handler may take is not what is asked for.
  rpc::CallFrame again = frame_of(session, kPersist, 1);
  again.time_ms = 77;
  EXPECT_EQ(refusal(session, again), OutcomeKind::kValue);
  EXPECT_EQ(runs().size(), 1U);
}

// req: rpc.rule.50
TEST_F(BadSessions, ANumberThatWasPassedOverIsExpired) {
  start();
  const Session session = begin();
  begin_call(session, kPersist, 5);
  EXPECT_EQ(refusal(session, frame_of(session, kPersist, 4)), OutcomeKind::kExpired);
  send(session.line, QueryFrame{4, true});
  EXPECT_EQ(only<OutcomeFrame>(session.line).kind, OutcomeKind::kExpired);
  EXPECT_EQ(runs().size(), 1U);
  EXPECT_FALSE(is_closed(session.line));
}

// req: rpc.own.10
TEST_F(BadSessions, CallsThatNoServiceTakes) {
  setup.arguments_bytes_max = 1000;
  start();
  const Session session = begin();
  rpc::CallFrame frame = frame_of(session, kPersist, 1);
  frame.service = "unknown";
  EXPECT_EQ(refusal(session, frame), OutcomeKind::kUnknownMethod);
  frame = frame_of(session, kPersist, 2);
  frame.method = "unknown";
  EXPECT_EQ(refusal(session, frame), OutcomeKind::kUnknownMethod);
  for (std::uint8_t bits = 0; bits < 4; ++bits) {
    frame = frame_of(session, kPersist, 3U + bits);
    if (rpc::policy_of(bits) == frame.policy) continue;
    frame.policy = rpc::policy_of(bits);
    EXPECT_EQ(refusal(session, frame), OutcomeKind::kUnknownMethod) << "declared otherwise";
  }
  frame = frame_of(session, kVolatile, 8);
  frame.policy.channels = true;
  frame.channels = {{1, rpc::Direction::kToHandler, 0}};
  EXPECT_EQ(refusal(session, frame), OutcomeKind::kUnknownMethod);
  frame = frame_of(session, kPersist, 9, std::string(1001, 'x'));
  EXPECT_EQ(refusal(session, frame), OutcomeKind::kBadArguments);
  frame = frame_of(session, kPersist, 10);
  frame.content_type = "a\nb";
  EXPECT_EQ(refusal(session, frame), OutcomeKind::kBadArguments);
  EXPECT_TRUE(runs().empty());
  EXPECT_FALSE(is_closed(session.line));
  begin_call(session, kPersist, 11);
  EXPECT_EQ(runs().size(), 1U);
}

}  // namespace
}  // namespace postrider
