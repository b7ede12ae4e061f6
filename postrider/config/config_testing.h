// A folder for files that a configuration names; it goes when the test is done.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace postrider {

class ConfigFolder {
 public:
  ConfigFolder() {
    std::string pattern = testing::TempDir() + "postrider_config_XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~ConfigFolder() { std::filesystem::remove_all(path_); }
  ConfigFolder(const ConfigFolder&) = delete;
  ConfigFolder& operator=(const ConfigFolder&) = delete;

  std::string write(const std::string& name, std::string_view text) const {
    const std::string path = path_ + "/" + name;
    std::ofstream(path) << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    return path;
  }

 private:
  std::string path_;
};

}  // namespace postrider
