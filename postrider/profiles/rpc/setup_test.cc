#include "postrider/profiles/rpc/setup.h"

#include <gtest/gtest.h>

namespace postrider::rpc {
namespace {

std::string complaint(const NamedTexts& settings) {
  const auto setup = read_station_setup(settings);
  return setup ? std::string() : setup.error().detail;
}

TEST(RpcStationSetup, TakesAddressesAndLimits) {
  const auto setup = read_station_setup({{"listen", "tcp://127.0.0.1:1  tls://[::1]:2 unix:/run/x"},
                                         {"tls", "door"},
                                         {"attachments_max", "7"},
                                         {"calls_max", "8"},
                                         {"arguments_bytes_max", "9"},
                                         {"ping", "0"}});
  ASSERT_TRUE(setup) << setup.error().detail;
  EXPECT_EQ(setup->listen,
            (std::vector<std::string>{"tcp://127.0.0.1:1", "tls://[::1]:2", "unix:/run/x"}));
  EXPECT_EQ(setup->tls, "door");
  EXPECT_EQ(setup->attachments_max, 7U);
  EXPECT_EQ(setup->calls_max, 8U);
  EXPECT_EQ(setup->arguments_bytes_max, 9U);
  EXPECT_EQ(setup->ping, Duration(0));
}

TEST(RpcStationSetup, NamesWhatIsWrong) {
  const NamedText good = {"listen", "tcp://127.0.0.1:1"};
  EXPECT_EQ(complaint({good}), "");
  EXPECT_NE(complaint({}).find("'listen'"), std::string::npos);
  for (const char* bad : {"", "udp://127.0.0.1:1", "tcp://", "127.0.0.1:1", "tcp://a:1 nonsense"})
    EXPECT_NE(complaint({{"listen", bad}}).find("'listen'"), std::string::npos) << bad;
  for (const NamedText& bad : NamedTexts{{"attachments_max", "0"},
                                         {"calls_max", "x"},
                                         {"arguments_bytes_max", "9000000"},
                                         {"ping", "2d"},
                                         {"tls", "a b"},
                                         {"tls", "unused"},
                                         {"other", "1"}})
    EXPECT_NE(complaint({good, bad}).find("'" + bad.first + "'"), std::string::npos) << bad.first;
  EXPECT_NE(complaint({{"listen", "tls://127.0.0.1:1"}}).find("'tls'"), std::string::npos);
  EXPECT_FALSE(make_rpc_station({{"listen", "tls://127.0.0.1:1"}, {"tls", "door"}}, Secrets()));
  EXPECT_TRUE(make_rpc_station({good}, Secrets()));
}

}  // namespace
}  // namespace postrider::rpc
