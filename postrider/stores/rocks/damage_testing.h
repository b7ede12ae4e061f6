// What the tests of damaged stores share: a store with some commits, a copy of it to be damaged,
// and a look at what the copy still holds.
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/base/rng.h"
#include "postrider/stores/rocks/check.h"
#include "postrider/stores/rocks/rocks_store.h"
#include "postrider/stores/rocks/rocks_testing.h"

namespace postrider {

using Contents = std::map<std::string, std::string>;

inline void flip(std::string& bytes, std::uint64_t at, std::uint64_t bit) {
  bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1 << bit));
}

inline std::string value_of(Rng& rng, std::size_t size) {
  std::string value;
  while (value.size() < size) value += std::to_string(rng.next());
  value.resize(size);
  return value;
}

inline std::vector<std::string> files_of(const std::string& directory, std::string_view ending) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().string().ends_with(ending)) out.push_back(entry.path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// A store with some commits, copied while it runs as a power cut would leave it.
class DamageTest : public ::testing::Test {
 protected:
  void make(StoreOptions options, int commits, std::size_t value_bytes) {
    options.directory = live.path();
    store = std::move(*RocksStore::open(options));
    epoch = *store->acquire(0);
    commit(commits, value_bytes);
  }
  void commit(int commits, std::size_t value_bytes) {
    for (int i = 0; i < commits; ++i) {
      WriteBatch batch;
      for (const char* space : {"H", "C", "R"}) {
        const std::string key = space + std::to_string(acknowledged.size());
        acknowledged[key] = value_of(rng, 1 + rng.below(value_bytes));
        batch.put_once(key, Blob::copy_of(acknowledged[key]));
      }
      ASSERT_EQ(store->write(epoch, batch).outcome, CommitOutcome::kDurable);
    }
  }
  // The store is open: a file may come or go while we copy, and then the whole is copied again.
  void copy() {
    std::error_code error;
    std::string before;
    do {
      before = read_whole(live.file("SYNCED"));
      std::filesystem::remove_all(damaged.path());
      std::filesystem::copy(live.path(), damaged.path(), error);
    } while (error == std::errc::no_such_file_or_directory ||
             before != read_whole(damaged.file("SYNCED")) ||
             before != read_whole(live.file("SYNCED")));
    ASSERT_FALSE(error) << error.message();
  }

  enum class Seen { kRefused, kReadError, kWhole, kMissing, kWrong };
  Seen look() {
    auto opened = RocksStore::open(small(damaged.path()));
    if (!opened) {
      said = opened.error().detail;
      EXPECT_NE(said.find(damaged.path()), std::string::npos) << said;
      return Seen::kRefused;
    }
    Contents held;
    const Result<void> read =
        (*opened)->for_each("", "\xFF", [&](std::string_view key, std::string_view value) {
          held.emplace(key, value);
          return true;
        });
    for (const auto& [key, value] : held) {
      const auto known = acknowledged.find(key);
      if (known == acknowledged.end() || known->second != value) return Seen::kWrong;
    }
    if (!read) {
      said = read.error().detail;
      return Seen::kReadError;
    }
    return held.size() == acknowledged.size() ? Seen::kWhole : Seen::kMissing;
  }

  // Refused by the opening and by the check alike, which name the file and change nothing.
  void expect_refused(const std::string& name, const std::string& what) {
    const auto report = check_store(damaged.path());
    ASSERT_TRUE(report) << report.error().detail;
    ASSERT_FALSE(report->whole()) << what;
    EXPECT_NE(report->damage[0].find(name), std::string::npos) << what << ": " << report->damage[0];
    const std::string before = std::filesystem::exists(damaged.file(name))
                                   ? read_whole(damaged.file(name))
                                   : std::string();
    ASSERT_EQ(look(), Seen::kRefused) << what;
    EXPECT_NE(said.find(name), std::string::npos) << what << ": " << said;
    EXPECT_EQ(std::filesystem::exists(damaged.file(name)) ? read_whole(damaged.file(name))
                                                          : std::string(),
              before);
  }
  void expect_whole(const std::string& what) {
    EXPECT_EQ(look(), Seen::kWhole) << what << ": " << said;
  }

  TemporaryDirectory live;
  TemporaryDirectory damaged;
  std::unique_ptr<RocksStore> store;
  Epoch epoch;
  Contents acknowledged;
  Rng rng{11};
  std::string said;
};

}  // namespace postrider
