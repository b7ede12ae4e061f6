// What the tests of the embedded store share: a directory that goes away, and a Store that waits.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "postrider/model/seams/store.h"
#include "postrider/stores/embedded_store.h"

namespace postrider {

// In memory where the system has a place for that: on a busy disk every opening of a store would
// wait a quarter of a second for its syncs.
class TemporaryDirectory {
 public:
  TemporaryDirectory()
      : path_((std::filesystem::exists("/dev/shm") ? "/dev/shm/" : ::testing::TempDir()) +
              "postrider-XXXXXX") {
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline StoreOptions small(const std::string& directory) {
  StoreOptions options;
  options.directory = directory;
  options.cache_bytes = 1U << 20;
  return options;
}

inline std::string read_whole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void write_whole(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// BlockingStore as a Store that answers before the call returns.
class WaitingStore final : public Store {
 public:
  explicit WaitingStore(BlockingStore& store) : store_(store) {}

  Result<Epoch> acquire(std::uint32_t shard) override { return store_.acquire(shard); }
  void commit(Epoch epoch, std::shared_ptr<const WriteBatch> batch, CommitDone done) override {
    done(store_.write(epoch, *batch).outcome);
  }
  void read(const Reads& reads, ReadDone done) override { done(store_.read(reads)); }

 private:
  BlockingStore& store_;
};

}  // namespace postrider
