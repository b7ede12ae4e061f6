// What a program hands over: where messages go, and the messages.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace postrider {

using Texts = std::vector<std::pair<std::string, std::string>>;

// A destination as a program names it; `settings` are those of `postrider profile show PROFILE`.
struct Address {
  std::string name;
  std::string profile = "webhook";
  Texts settings;  // {"url", "https://…"}
};

struct Outgoing {
  std::string destination;
  std::string body;
  Texts attributes;  // for the profile: {"content-type", "application/json"}, {"order-key", "…"}
  // The caller's own name for this message: submitting twice with one key is submitting once.
  std::string key = {};
  std::uint8_t lane = 0;
  std::uint16_t priority = 0;               // higher first; a FIFO lane has none
  std::chrono::milliseconds delay{0};       // not before
  std::chrono::milliseconds expires_in{0};  // 0: never
};

}  // namespace postrider
