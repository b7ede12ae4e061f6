#include "postrider/transports/net/address_guard.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace postrider {
namespace {

AddressGuard guard_of(const std::vector<std::string>& allow) {
  auto guard = AddressGuard::make(allow);
  EXPECT_TRUE(guard.has_value());
  return *guard;
}

std::string read(std::string_view host) {
  const HostReading reading = read_host(host);
  switch (reading.kind) {
    case HostKind::kName: return "name";
    case HostKind::kNonsense: return "nonsense";
    case HostKind::kAddress: return to_string(reading.address);
  }
  return "?";
}

// req: webhook.wire.11
TEST(ReadHost, KnowsEverySpellingOfAnAddress) {
  const std::pair<const char*, const char*> cases[] = {
      {"127.0.0.1", "127.0.0.1"},
      {"2130706433", "127.0.0.1"},
      {"0x7f000001", "127.0.0.1"},
      {"0X7F000001", "127.0.0.1"},
      {"017700000001", "127.0.0.1"},
      {"0177.0.0.01", "127.0.0.1"},
      {"0x7f.1", "127.0.0.1"},
      {"127.1", "127.0.0.1"},
      {"127.0.1", "127.0.0.1"},
      {"127.0.0.1.", "127.0.0.1"},
      {"169.254.43518", "169.254.169.254"},
      {"0", "0.0.0.0"},
      {"0x", "0.0.0.0"},
      {"4294967295", "255.255.255.255"},
      {"4294967296", "nonsense"},
      {"256.1.1.1", "nonsense"},
      {"1.2.3.256", "nonsense"},
      {"1.2.65536", "nonsense"},
      {"1.2.65535", "1.2.255.255"},
      {"1.2.3.4.5", "nonsense"},
      {"1..2", "nonsense"},
      {"08.0.0.1", "nonsense"},
      {"example.1", "nonsense"},
      {"example.0x7f", "nonsense"},
      {"[::1]", "::1"},
      {"[::ffff:10.0.0.1]", "10.0.0.1"},
      {"[::ffff:a00:1]", "10.0.0.1"},
      {"[fe80::1%25eth0]", "nonsense"},
      {"[fe80::1%1]", "nonsense"},
      {"[::1", "nonsense"},
      {"[127.0.0.1]", "nonsense"},
      {"[]", "nonsense"},
      {"::1", "nonsense"},
      {"localhost", "name"},
      {"example.org", "name"},
      {"example.org.", "name"},
      {"1.example.org", "name"},
      {"0x7f.example", "name"},
      {"my_service", "name"},
      {"xn--bcher-kva.example", "name"},
      {"", "nonsense"},
      {".", "nonsense"},
      {".example", "nonsense"},
      {"a..b", "nonsense"},
      {"exa%6dple.org", "nonsense"},
      {"a b", "nonsense"},
  };
  for (const auto& [host, want] : cases) EXPECT_EQ(read(host), want) << host;
  EXPECT_EQ(read(std::string(253, 'a')), "name");
  EXPECT_EQ(read(std::string(254, 'a')), "nonsense");
}

// req: webhook.wire.2
TEST(AddressGuard, RefusesAllThatIsNotAPublicHost) {
  const AddressGuard guard = guard_of({});
  const char* const refused[] = {
      "0.0.0.0",
      "0.1.2.3",
      "10.0.0.0",
      "10.255.255.255",
      "100.64.0.0",
      "100.127.255.255",
      "127.0.0.1",
      "127.255.255.255",
      "169.254.0.0",
      "169.254.169.254",
      "172.16.0.0",
      "172.31.255.255",
      "192.0.0.8",
      "192.0.2.1",
      "192.88.99.1",
      "192.168.0.0",
      "192.168.255.255",
      "198.18.0.0",
      "198.19.255.255",
      "198.51.100.7",
      "203.0.113.7",
      "224.0.0.1",
      "239.255.255.255",
      "240.0.0.1",
      "255.255.255.255",
      "::",
      "::1",
      "::ffff:10.0.0.1",
      "::ffff:127.0.0.1",
      "::ffff:0:10.0.0.1",
      "::10.0.0.1",
      "::8.8.8.8",
      "64:ff9b::a00:1",
      "64:ff9b::7f00:1",
      "64:ff9b:1::1",
      "100::1",
      "2001::1",
      "2001:2::1",
      "2001:10::1",
      "2001:db8::1",
      "3fff::1",
      "2002:a00:1::1",
      "2002:7f00:1::1",
      "2002:a9fe:a9fe::",
      "fc00::1",
      "fd00::1",
      "fe80::1",
      "febf::1",
      "fec0::1",
      "ff02::1",
      "4000::1",
      "1fff::1",
  };
  for (const std::string host : refused) {
    const bool v6 = host.find(':') != std::string::npos;
    const HostReading reading = read_host(v6 ? "[" + host + "]" : host);
    ASSERT_EQ(reading.kind, HostKind::kAddress) << host;
    EXPECT_FALSE(guard.permits(reading.address)) << host;
  }
}

TEST(AddressGuard, PermitsPublicHostsAndTheNeighboursOfWhatIsRefused) {
  const AddressGuard guard = guard_of({});
  const char* const permitted[] = {
      "1.0.0.0",         "8.8.8.8",        "9.255.255.255",    "11.0.0.0",
      "100.63.255.255",  "100.128.0.0",    "126.255.255.255",  "128.0.0.0",
      "169.253.255.255", "169.255.0.0",    "172.15.255.255",   "172.32.0.0",
      "192.0.1.0",       "192.0.3.0",      "192.167.255.255",  "192.169.0.0",
      "198.17.255.255",  "198.20.0.0",     "198.51.101.0",     "203.0.114.0",
      "223.255.255.255", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1",
      "2606:4700::1111", "2001:200::1",    "2001:db9::1",      "2a00::1",
      "3ffe::1",
  };
  for (const std::string host : permitted) {
    const bool v6 = host.find(':') != std::string::npos;
    const HostReading reading = read_host(v6 ? "[" + host + "]" : host);
    ASSERT_EQ(reading.kind, HostKind::kAddress) << host;
    EXPECT_TRUE(guard.permits(reading.address)) << host;
  }
}

TEST(AddressGuard, LetsThroughWhatIsAllowedAndNoMore) {
  const AddressGuard guard = guard_of({"127.0.0.0/8", "10.1.2.3", "fd00:1::/32", "192.168.0.0/23"});
  const auto permits = [&](const std::string& host) {
    return guard.permits(read_host(host).address);
  };
  EXPECT_TRUE(permits("127.9.9.9"));
  EXPECT_TRUE(permits("[::ffff:127.0.0.1]"));
  EXPECT_TRUE(permits("[64:ff9b::7f00:1]"));
  EXPECT_TRUE(permits("10.1.2.3"));
  EXPECT_FALSE(permits("10.1.2.4"));
  EXPECT_FALSE(permits("10.1.2.2"));
  EXPECT_TRUE(permits("[fd00:1::5]"));
  EXPECT_FALSE(permits("[fd00:2::5]"));
  EXPECT_TRUE(permits("192.168.1.255"));
  EXPECT_FALSE(permits("192.168.2.0"));
  EXPECT_FALSE(permits("[::1]"));
}

TEST(AddressGuard, RefusesRangesThatAreNotWhatTheySay) {
  const char* const wrong[] = {"",           "localhost",  "10.0.0.0/33", "10.0.0.1/8",
                               "10.0.0.0/",  "10.0.0.0/x", "10.0.0.0/8x", "10.0.0/8",
                               "fd00::/129", "fd00::1/8",  "0x7f.1",      "10.0.0.0/-1",
                               "::1%lo"};
  for (const char* text : wrong) {
    const auto guard = AddressGuard::make({"127.0.0.0/8", text});
    ASSERT_FALSE(guard.has_value()) << text;
    EXPECT_NE(guard.error().detail.find(text), std::string::npos) << text;
  }
  for (const char* text : {"0.0.0.0/0", "::/0", "10.0.0.0/8", "255.255.255.255/32", "::1/128"})
    EXPECT_TRUE(AddressGuard::make({text}).has_value()) << text;
}

RC_GTEST_PROP(AddressGuard, JudgesAMappedAddressLikeTheAddressItself, (std::uint32_t value)) {
  const AddressGuard guard = guard_of({});
  const IpAddress plain = IpAddress::v4(value);
  const HostReading again = read_host("[::ffff:" + to_string(plain) + "]");
  RC_ASSERT(again.address == plain);
  RC_ASSERT(read_host(std::to_string(value)).address == plain);
  RC_ASSERT(guard.permits(plain) == guard.permits(again.address));
}

}  // namespace
}  // namespace postrider
