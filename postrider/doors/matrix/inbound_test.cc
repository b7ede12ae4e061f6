// Mirrored requests: which are verified, and what follows from it.
#include "postrider/doors/matrix/inbound.h"

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace postrider::matrix_door {
namespace {

class StandingClock final : public Clock {
 public:
  Instant read() const override { return {Timestamp(1'000'000), Timestamp(1'800'000'000'000)}; }
};

matrix::SigningKey far_key() {
  matrix::Seed seed{};
  seed[0] = 9;
  return matrix::SigningKey::make("ed25519:a", seed);
}

class InboundRig {
 public:
  InboundRig()
      : ring(clock,
             [this](const std::string& server, const KeyRing::Body& then) {
               ++fetches;
               then(has_keys ? Result<std::string>(matrix::write_key_object(
                                   server, clock.read().wall + Duration(3'600'000), far_key()))
                             : fail(ErrorCode::kUnavailable, "no"));
             }),
        inbound({.server_name = "us.example",
                 .waiting_max = 1,
                 .ask_closed =
                     [this](const std::string& server, std::function<void(bool)> then) {
                       asked.push_back(server);
                       if (answers) return then(closed);
                       held = std::move(then);
                     },
                 .seen = [this](const std::string& server) { seen.push_back(server); }},
                ring) {}

  // As far.example signs it.
  static Mirrored request(const std::string& destination = "us.example",
                          const std::string& body = R"({"pdus":[],"origin":"far.example"})") {
    const matrix::RequestWords words{.method = "PUT",
                                     .uri = "/_matrix/federation/v1/send/1",
                                     .origin = "far.example",
                                     .destination = destination};
    std::string scratch;
    const auto content = matrix::signed_content(body, scratch);
    const matrix::SigningKey key = far_key();
    const std::string signature = key.sign(matrix::signed_request(words, *content));
    return {.method = "PUT",
            .uri = std::string(words.uri),
            .authorization = matrix::authorization_of(words, key.id(), signature),
            .body = body};
  }
  std::optional<Verdict> take(Mirrored mirrored) {
    auto shared = std::make_shared<std::optional<Verdict>>();
    inbound.take(std::move(mirrored), [shared](Verdict verdict) { *shared = verdict; });
    return *shared;
  }

  StandingClock clock;
  bool closed = true;
  bool answers = true;
  bool has_keys = true;
  int fetches = 0;
  std::vector<std::string> asked;
  std::vector<std::string> seen;
  std::function<void(bool)> held;
  KeyRing ring;
  Inbound inbound;
};

// req: matrix.seen.2
TEST(Inbound, ASignedRequestOfAClosedServerIsASignOfLife) {
  InboundRig rig;
  EXPECT_EQ(rig.take(InboundRig::request()), Verdict::kAlive);
  EXPECT_EQ(rig.seen, std::vector<std::string>{"far.example"});
  EXPECT_EQ(rig.take(InboundRig::request("us.example", "")), Verdict::kAlive);
  EXPECT_EQ(rig.fetches, 1);
  EXPECT_EQ(rig.inbound.count(Verdict::kAlive), 2U);
}

// req: matrix.seen.2
TEST(Inbound, NothingIsVerifiedOfAServerThatIsNotClosed) {
  InboundRig rig;
  rig.closed = false;
  Mirrored forged = InboundRig::request();
  forged.body = "{}";
  EXPECT_EQ(rig.take(forged), Verdict::kNotNeeded);
  EXPECT_EQ(rig.take(InboundRig::request()), Verdict::kNotNeeded);
  EXPECT_EQ(rig.fetches, 0);
  EXPECT_TRUE(rig.seen.empty());
}

struct BadCase {
  std::string name;
  std::function<void(Mirrored&)> spoil;
  Verdict verdict;
  int status;
};
void PrintTo(const BadCase& each, std::ostream* out) { *out << each.name; }

class BadRequest : public ::testing::TestWithParam<BadCase> {};

// req: matrix.seen.3, matrix.auth.4, matrix.wake.7
TEST_P(BadRequest, IsCountedAndChangesNothing) {
  InboundRig rig;
  Mirrored mirrored = InboundRig::request();
  GetParam().spoil(mirrored);
  EXPECT_EQ(rig.take(std::move(mirrored)), GetParam().verdict);
  EXPECT_TRUE(rig.seen.empty());
  EXPECT_EQ(rig.inbound.count(GetParam().verdict), 1U);
  EXPECT_EQ(status_of(GetParam().verdict), GetParam().status);
}

void replace(std::string& text, std::string_view what, std::string_view with) {
  const std::size_t at = text.find(what);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, what.size(), with);
}

INSTANTIATE_TEST_SUITE_P(
    Inbound, BadRequest,
    ::testing::Values(
        BadCase{"WithoutAHeader", [](Mirrored& it) { it.authorization.clear(); }, Verdict::kMissing,
                401},
        BadCase{"WithAnotherScheme", [](Mirrored& it) { it.authorization = "Bearer x"; },
                Verdict::kMalformed, 400},
        BadCase{"WithoutAnOrigin",
                [](Mirrored& it) { it.authorization = "X-Matrix key=\"ed25519:a\",sig=\"x\""; },
                Verdict::kMalformed, 400},
        BadCase{"WithAnOriginThatIsNone",
                [](Mirrored& it) { replace(it.authorization, "far.example", "u@far"); },
                Verdict::kMalformed, 400},
        BadCase{"WithABodyThatIsNoJson", [](Mirrored& it) { it.body = "{"; }, Verdict::kMalformed,
                400},
        BadCase{"WithAnotherBody", [](Mirrored& it) { it.body = "{}"; }, Verdict::kForged, 401},
        BadCase{"WithAnotherPath", [](Mirrored& it) { it.uri += "0"; }, Verdict::kForged, 401},
        BadCase{"WithAnotherMethod", [](Mirrored& it) { it.method = "POST"; }, Verdict::kForged,
                401},
        BadCase{"OfAKeyThatTheServerDoesNotHave",
                [](Mirrored& it) { replace(it.authorization, "ed25519:a", "ed25519:b"); },
                Verdict::kUnknownKey, 401},
        BadCase{"ForAnotherDestination",
                [](Mirrored& it) { it = InboundRig::request("other.example"); },
                Verdict::kElsewhere, 401},
        // Signed for another, and then sent to us under our own name.
        BadCase{"ReplayedToUs",
                [](Mirrored& it) {
                  it = InboundRig::request("other.example");
                  replace(it.authorization, "other.example", "us.example");
                },
                Verdict::kForged, 401}),
    [](const auto& each) { return each.param.name; });

// req: matrix.seen.3
TEST(Inbound, WithoutKeysNothingIsBelieved) {
  InboundRig rig;
  rig.has_keys = false;
  EXPECT_EQ(rig.take(InboundRig::request()), Verdict::kNoKeys);
  EXPECT_TRUE(rig.seen.empty());
}

// req: matrix.seen.2
TEST(Inbound, FewWaitToBeVerified) {
  InboundRig rig;
  rig.answers = false;
  EXPECT_EQ(rig.take(InboundRig::request()), std::nullopt);
  EXPECT_EQ(rig.take(InboundRig::request()), Verdict::kBusy);
  rig.held(true);
  EXPECT_EQ(rig.seen.size(), 1U);
  rig.answers = true;
  EXPECT_EQ(rig.take(InboundRig::request()), Verdict::kAlive);
}

}  // namespace
}  // namespace postrider::matrix_door
