// Connections when file descriptors run out.
#include <fcntl.h>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/transports/http/http_transport.h"
#include "postrider/transports/http/peers_testing.h"

namespace postrider {
namespace {

// The undefined-behaviour sanitizer opens a pipe to look whether it may read an object, and takes
// it for damaged when it cannot.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kSanitizerNeedsDescriptors = true;
#else
constexpr bool kSanitizerNeedsDescriptors = false;
#endif

// Leaves the process `spare` file descriptors while it lives.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t spare) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = open("/dev/null", O_RDONLY);
    close(next);
    const rlimit few{static_cast<rlim_t>(next) + spare, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

// req: webhook.wire.16
TEST(HttpDescriptors, AttemptsAreHeldBackWhenThereAreNone) {
  if (kSanitizerNeedsDescriptors) GTEST_SKIP() << "the sanitizer needs descriptors itself";
  Rig rig;
  Peer peer(rig.loop, always(answer(200)));
  {
    const FewDescriptors none(0);
    std::vector<AttemptId> attempts;
    attempts.reserve(20);
    for (int i = 0; i < 20; ++i) attempts.push_back(rig.start(peer.url()));
    for (const AttemptId attempt : attempts) EXPECT_EQ(rig.end_of(attempt).end, WireEnd::kHeldBack);
    EXPECT_EQ(rig.transport->connections(), 0U);
  }
  EXPECT_EQ(rig.post(peer.url()).status, 200);
}

// req: webhook.wire.16
TEST(HttpDescriptors, AboveTheBoundAreNotUsed) {
  const int next = open("/dev/null", O_RDONLY);
  close(next);
  HttpTransportOptions options = Rig::local();
  options.descriptors_max = next;
  Rig rig(options);
  Peer peer(rig.loop, always(answer(200)));
  EXPECT_EQ(rig.end_of(rig.start(peer.url())).end, WireEnd::kHeldBack);
  EXPECT_EQ(rig.transport->connections(), 0U);
  options.descriptors_max = next + 100;
  Rig roomy(options);
  Peer other(roomy.loop, always(answer(200)));
  EXPECT_EQ(roomy.post(other.url()).status, 200);
}

// req: webhook.wire.16
TEST(HttpDescriptors, OfAKeptConnectionAreGivenUpForAnAttempt) {
  if (kSanitizerNeedsDescriptors) GTEST_SKIP() << "the sanitizer needs descriptors itself";
  Rig rig;
  Peer first(rig.loop, always(answer(200)));
  Peer second(rig.loop, always(answer(200)));
  rig.post(first.url());
  const FewDescriptors none(0);
  // One descriptor for our end; the other end of the closed connection makes room for the peer's.
  EXPECT_EQ(rig.post(second.url()).status, 200);
  EXPECT_EQ(rig.transport->connections(), 1U);
}

}  // namespace
}  // namespace postrider
