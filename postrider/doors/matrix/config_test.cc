// [matrix]: what a file may say, and the files that it names.
#include "postrider/doors/matrix/config.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace postrider::matrix_door {
namespace {

constexpr const ConfigPart* kParts[] = {&kConfigPart};

Result<Config> parse(std::string_view text) { return parse_config(text, "p.toml", {}, {}, kParts); }

std::string problems_of(std::string_view text) {
  const auto config = parse(text);
  return config ? "" : config.error().detail;
}

TEST(MatrixConfig, IsRead) {
  const auto config = parse(R"([matrix]
server_name = "us.example"
egress = "unix:/run/postrider/egress"
secret_file = "/etc/postrider/egress.secret"
allow_servers = ["far.example", "other.example:8448"]
relays_max = 10
relay_time_out = "5s"
)");
  ASSERT_TRUE(config) << config.error().detail;
  const MatrixConfig& said = config->parts.of<MatrixConfig>();
  EXPECT_EQ(said.egress, "unix:/run/postrider/egress");
  EXPECT_EQ(said.allow_servers.size(), 2U);
  EXPECT_EQ(said.relays_max, 10U);
  EXPECT_EQ(said.relay_time_out, 5s);
  EXPECT_TRUE(config->warnings.empty());
  EXPECT_EQ(problems_of(""), "");
}

// req: matrix.egress.1
TEST(MatrixConfig, AnEgressNeedsASecretAndAName) {
  EXPECT_NE(problems_of("[matrix]\negress = \"127.0.0.1:8009\"\nserver_name = \"us.example\"\n")
                .find("without a secret it does not open"),
            std::string::npos);
  EXPECT_NE(problems_of("[matrix]\negress = \"127.0.0.1:8009\"\nsecret_file = \"/x\"\n")
                .find("matrix.server_name"),
            std::string::npos);
}

TEST(MatrixConfig, NamesOfServersAreLookedAt) {
  EXPECT_NE(problems_of("[matrix]\nserver_name = \"us.example:0\"\n").find("the port must be"),
            std::string::npos);
  EXPECT_NE(problems_of("[matrix]\nallow_servers = [\"u@far.example\"]\n").find("u@far.example"),
            std::string::npos);
}

// req: matrix.egress.1
TEST(MatrixConfig, AnEgressThatOthersReachIsWarnedOf) {
  const auto config = parse(
      "[matrix]\nserver_name = \"us.example\"\nsecret_file = \"/x\"\negress = \"0.0.0.0:8009\"\n");
  ASSERT_TRUE(config) << config.error().detail;
  ASSERT_EQ(config->warnings.size(), 1U);
  EXPECT_NE(config->warnings.front().find("clear text"), std::string::npos);
}

class PrivateFile : public ::testing::Test {
 protected:
  PrivateFile() {
    std::string pattern = testing::TempDir() + "postrider_matrix_XXXXXX";
    directory = mkdtemp(pattern.data());
  }
  ~PrivateFile() override { std::filesystem::remove_all(directory); }
  std::string file(std::string_view text, std::filesystem::perms mode) const {
    const std::string path = directory + "/secret";
    std::ofstream(path) << text;
    std::filesystem::permissions(path, mode);
    return path;
  }
  std::string directory;
};

using std::filesystem::perms;

TEST_F(PrivateFile, IsReadWhenItIsOursAlone) {
  const auto read = read_private_file(file("hush", perms::owner_read | perms::owner_write), 4);
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_EQ(*read, "hush");
}

TEST_F(PrivateFile, IsRefusedWhenOthersMayUseIt) {
  for (const perms more : {perms::group_read, perms::others_read, perms::others_write}) {
    const auto read =
        read_private_file(file("hush", perms::owner_read | perms::owner_write | more), 9);
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().detail.find("chmod 600"), std::string::npos);
    EXPECT_EQ(read.error().detail.find("hush"), std::string::npos);
    std::filesystem::remove(directory + "/secret");
  }
}

TEST_F(PrivateFile, IsRefusedWhenItIsNoneOrTooLong) {
  EXPECT_FALSE(read_private_file(directory, 9));
  EXPECT_FALSE(read_private_file(directory + "/none", 9));
  EXPECT_FALSE(read_private_file(file("hush!", perms::owner_read), 4));
}

}  // namespace
}  // namespace postrider::matrix_door
