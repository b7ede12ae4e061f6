// Actor: what one client of the load does over its connection. One thread, the client's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace postrider::crash {

class Actor {
 public:
  Actor() = default;
  virtual ~Actor() = default;
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  virtual bool connect(const std::string& address) = 0;
  virtual bool is_connected() const = 0;
  virtual void disconnect() = 0;
  virtual void act() = 0;  // something drawn at random, whole or until the connection breaks
  // Sends again what may be sent again and has no answer. False: the connection broke.
  virtual bool repeat_unknown(bool all) = 0;
};

// `accepted` is to be called for each message that was.
using MakeActor =
    std::function<std::unique_ptr<Actor>(std::uint32_t number, std::function<void()> accepted)>;

}  // namespace postrider::crash
