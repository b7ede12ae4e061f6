// The key files of a configuration: which are taken, and which are refused by name.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "postrider/config/config.h"

namespace postrider {
namespace {

// A folder for key files, which goes with the test.
class KeyFolder {
 public:
  KeyFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "postrider-keys-XXXXXX").string();
    path_ = mkdtemp(path.data());
  }
  ~KeyFolder() { std::filesystem::remove_all(path_); }
  KeyFolder(const KeyFolder&) = delete;
  KeyFolder& operator=(const KeyFolder&) = delete;
  std::string write(const std::string& name, const std::string& bytes) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::remove(file);
    std::ofstream(file, std::ios::binary) << bytes;
    return file.string();
  }

 private:
  std::filesystem::path path_;
};

class ConfigSecrets : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& bytes, ::mode_t mode = 0600) {
    const std::string path = directory_.write(name, bytes);
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  static Result<Config> read(const std::string& path, const std::string& more = {}) {
    return parse_config("[secrets]\nbilling = \"" + path + "\"\n" + more, "p.toml", {});
  }
  static std::string problem(const std::string& path) {
    const Result<Config> config = read(path);
    return config ? std::string("none") : config.error().detail;
  }
  static std::string bytes_of(const Result<Config>& config) {
    EXPECT_TRUE(config) << config.error().detail;
    return config ? std::string(config->host.shard.engine.secrets->find("billing")) : std::string();
  }

  KeyFolder directory_;
};

// req: engine.secret.1, engine.secret.5
TEST_F(ConfigSecrets, AreReadFromFilesOfTheirOwnersAlone) {
  EXPECT_EQ(bytes_of(read(file("text", "whsec_abc\n"))), "whsec_abc");
  EXPECT_EQ(bytes_of(read(file("text", "two\nlines\r\n"))), "two\nlines");
  const std::string raw("\x01\x00\xFF\n", 4);
  EXPECT_EQ(bytes_of(read(file("raw", raw, 0400))), raw) << "raw bytes stay as they are";
  const Result<Config> none = parse_config("", "p.toml", {});
  EXPECT_EQ(none->host.shard.engine.secrets, nullptr);
}

// req: engine.secret.5
TEST_F(ConfigSecrets, AreRefusedByName) {
  EXPECT_EQ(problem("/nowhere/key"), "p.toml:2: secret 'billing': No such file or directory");
  EXPECT_EQ(problem("/"), "p.toml:2: secret 'billing': it is not a file that can be read");
  EXPECT_EQ(problem(file("empty", "")), "p.toml:2: secret 'billing': the file is empty");
  EXPECT_EQ(problem(file("empty", "\n")), "p.toml:2: secret 'billing': the file is empty");
  for (const ::mode_t mode : {0604U, 0640U, 0602U, 0660U}) {
    EXPECT_EQ(problem(file("open", "a secret", mode)),
              "p.toml:2: secret 'billing': others than its owner may look at the file; it needs "
              "mode 0600");
  }
  EXPECT_EQ(problem(file("below", std::string(kSecretBytesMax - 1, '\1'))), "none");
  EXPECT_EQ(problem(file("at", std::string(kSecretBytesMax, '\1'))), "none");
  EXPECT_EQ(problem(file("above", std::string(kSecretBytesMax + 1, '\1'))),
            "p.toml:2: secret 'billing': the file has more than 65536 bytes");
  const auto whole = [](const std::string& text) {
    const Result<Config> config = parse_config(text, "p.toml", {});
    return config ? std::string("none") : config.error().detail;
  };
  EXPECT_EQ(whole("secrets = 1\n"), "p.toml:1: secrets is a section: write [secrets]");
  EXPECT_EQ(whole("[secrets]\nx = 1\n"),
            "p.toml:2: secret 'x' must be a text: the path of its file");
  EXPECT_NE(whole("[secrets]\n\"a b\" = \"x\"\n").find("the name of a secret has 1 to 64"),
            std::string::npos);
}

// req: engine.secret.5
TEST_F(ConfigSecrets, ThereAreAtMostSoMany) {
  const std::string path = file("one", "a secret");
  const auto with = [&](std::size_t count) {
    std::string text = "[secrets]\n";
    for (std::size_t i = 0; i < count; ++i)
      text += "s" + std::to_string(i) + " = \"" + path + "\"\n";
    return parse_config(text, "p.toml", {}).has_value();
  };
  EXPECT_TRUE(with(kSecretsMax - 1));
  EXPECT_TRUE(with(kSecretsMax));
  EXPECT_FALSE(with(kSecretsMax + 1));
}

// req: engine.secret.5
TEST_F(ConfigSecrets, OfADestinationMustBeThere) {
  const std::string path = file("key", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  const std::string head =
      "[destinations.a]\nprofile = \"webhook\"\n[destinations.a.settings]\n"
      "url = \"https://x.example/\"\nsecret_name = ";
  EXPECT_TRUE(read(path, head + "\"billing\"\n"));
  const Result<Config> other = read(path, head + "\"biling\"\n");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().detail,
            "p.toml:7: destination 'a': there is no secret 'biling' in [secrets]");
}

}  // namespace
}  // namespace postrider
