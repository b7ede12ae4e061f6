// LibraryOptions: how a program opens Postrider inside itself. What is not said is as in the
// daemon.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace postrider {

struct LibraryOptions {
  std::string directory;           // of the store; made when it is missing
  std::vector<std::string> allow;  // private networks that may be reached, "127.0.0.0/8"
  std::uint64_t free_bytes_min = 256ULL << 20;  // below it new messages are refused
  std::chrono::milliseconds patience{30'000};   // of close(), for open attempts
};

}  // namespace postrider
