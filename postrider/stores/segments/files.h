// Folder and File: what the journal needs of a file system, and nothing else. The real ones are
// made by open_folder; the tests have a model that loses what was not synced.
//
// A Folder and its Files belong to one journal. Files may be read by any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"

namespace postrider::segments {

enum class Io : std::uint8_t {
  kDone,
  kNoSpace,  // part of the bytes may have been written
  kFailed,   // the disk fails
};
struct IoEnd {
  Io io = Io::kDone;
  std::string reason;  // for people, names the file

  bool done() const { return io == Io::kDone; }
};

class File {
 public:
  virtual ~File() = default;

  // Fewer bytes than `size` come only from beyond the end of the file.
  virtual Result<std::string> read(std::uint64_t offset, std::size_t size) const = 0;
  virtual IoEnd write(std::uint64_t offset, std::string_view bytes) = 0;
  virtual IoEnd sync() = 0;
  virtual Result<std::uint64_t> size() const = 0;
};

class Folder {
 public:
  virtual ~Folder() = default;

  virtual Result<std::vector<std::string>> list() const = 0;  // names of files, sorted
  // kNotFound: there is none.
  virtual Result<std::unique_ptr<File>> open(const std::string& name) = 0;
  // An empty file, whether one was there or not. kLimit: no room.
  virtual Result<std::unique_ptr<File>> create(const std::string& name) = 0;
  // Names of created files are durable afterwards.
  virtual IoEnd sync() = 0;
};

// Makes the directory if it is not there.
Result<std::unique_ptr<Folder>> open_folder(const std::string& directory);

}  // namespace postrider::segments
