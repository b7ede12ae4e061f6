#include "postrider/runtime/reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace postrider {

bool Reserve::is_held() const {
  struct stat status {};
  return ::stat(path_.c_str(), &status) == 0 &&
         static_cast<std::uint64_t>(status.st_size) == bytes_;
}

bool Reserve::hold() {
  if (bytes_ == 0 || is_held()) return true;
  const int file = ::open(path_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return false;
  // Really allocated, not merely a size: a sparse file would keep nothing.
  const bool taken = ::posix_fallocate(file, 0, static_cast<off_t>(bytes_)) == 0 &&
                     ::ftruncate(file, static_cast<off_t>(bytes_)) == 0;
  ::close(file);
  if (!taken) static_cast<void>(give());
  return taken;
}

bool Reserve::give() { return ::unlink(path_.c_str()) == 0; }

}  // namespace postrider
