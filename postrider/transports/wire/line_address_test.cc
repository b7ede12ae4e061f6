#include "postrider/transports/wire/line_address.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace postrider {
namespace {

using Kind = LineAddress::Kind;

TEST(LineAddress, SaysWhatItNames) {
  const auto tcp = parse_line_address("tcp://B.example:4242");
  ASSERT_TRUE(tcp.has_value());
  EXPECT_EQ(tcp->kind, Kind::kTcp);
  EXPECT_EQ(tcp->name, "b.example");
  EXPECT_EQ(tcp->port, 4242);
  EXPECT_FALSE(tcp->tls);
  const auto tls = parse_line_address("tls://[::1]:0");
  ASSERT_TRUE(tls.has_value());
  EXPECT_TRUE(tls->tls);
  EXPECT_EQ(tls->host.kind, HostKind::kAddress);
  const auto udp = parse_line_address("udp://0.0.0.0:65535");
  ASSERT_TRUE(udp.has_value());
  EXPECT_EQ(udp->kind, Kind::kUdp);
  EXPECT_EQ(udp->port, 65535);
  const auto file = parse_line_address("unix:/run/x");
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->path, "/run/x");
  EXPECT_FALSE(file->abstract);
  const auto abstract = parse_line_address("unix:@rns/default");
  ASSERT_TRUE(abstract.has_value());
  EXPECT_TRUE(abstract->abstract);
  EXPECT_EQ(abstract->path, "rns/default");
  const auto socks = parse_line_address("socks5://127.0.0.1:9050/abc.onion:443");
  ASSERT_TRUE(socks.has_value());
  EXPECT_EQ(socks->kind, Kind::kSocks5);
  EXPECT_EQ(socks->behind, "abc.onion:443");
}

TEST(LineAddress, RefusesWhatItCannotRead) {
  for (const std::string text :
       {"", "tcp://", "tcp://x", "tcp://x:", "tcp://x:1a", "tcp://x:65536", "tcp://:1", "x:1",
        "http://x:1", "unix:", "unix:@", "unix:run/x", "tcp://x y:1", "tcp://0x1.2.3.4.5:1",
        "socks5://127.0.0.1:9050", "socks5://127.0.0.1:9050/", "udp://[::1:1"}) {
    EXPECT_FALSE(parse_line_address(text).has_value()) << text;
  }
}

TEST(LineAddress, APathFitsIntoItsAddress) {
  const std::string most = "/" + std::string(kUnixPathBytesMax - 1, 'p');
  EXPECT_TRUE(parse_line_address("unix:" + most).has_value());
  EXPECT_FALSE(parse_line_address("unix:" + most + "p").has_value());
  EXPECT_FALSE(parse_line_address("tcp://" + std::string(510, 'a') + ":1").has_value());
}

TEST(LineEndpoint, IsAnAddressAndNeverAName) {
  EXPECT_EQ(parse_line_endpoint("192.0.2.1:7"), (LineEndpoint{IpAddress::v4(0xC0000201), 7}));
  EXPECT_TRUE(parse_line_endpoint("[2001:db8::1]:7").has_value());
  EXPECT_FALSE(parse_line_endpoint("b.example:7").has_value());
  EXPECT_FALSE(parse_line_endpoint("192.0.2.1").has_value());
}

RC_GTEST_PROP(LineEndpoint, ReadsWhatItWrites, (std::uint32_t value, std::uint16_t port)) {
  const LineEndpoint endpoint{IpAddress::v4(value), port};
  const auto read = parse_line_endpoint(to_string(endpoint));
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == endpoint);
}

RC_GTEST_PROP(LineAddress, AnyTextIsReadOrRefused, (const std::string& text)) {
  if (const auto read = parse_line_address("tcp://" + text)) {
    RC_ASSERT(read->kind == Kind::kTcp);
    RC_ASSERT(read->host.kind != HostKind::kNonsense);
  }
  if (const auto path = parse_line_address("unix:" + text)) RC_ASSERT(!path->path.empty());
  if (const auto endpoint = parse_line_endpoint(text)) {
    const auto again = parse_line_endpoint(to_string(*endpoint));
    RC_ASSERT(again.has_value());
    RC_ASSERT(*again == *endpoint);
  }
}

}  // namespace
}  // namespace postrider
