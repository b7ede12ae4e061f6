// Reserve: a file that only takes up room, so that there is some left to end what we have when
// others have filled the disk. One thread.
#pragma once

#include <cstdint>
#include <string>

namespace postrider {

class Reserve {
 public:
  Reserve(std::string path, std::uint64_t bytes) : path_(std::move(path)), bytes_(bytes) {}

  bool is_held() const;
  bool hold();  // takes the room; false: it could not
  bool give();  // lets it go; false: there was none
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::string path_;
  std::uint64_t bytes_;
};

}  // namespace postrider
