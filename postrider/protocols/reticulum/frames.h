// Frames of a stream: each packet between flags, with flags and escapes inside of it escaped. There
// is neither length nor checksum. FrameReader: one direction of one connection; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "postrider/protocols/reticulum/packet.h"

namespace postrider::reticulum {

std::string encode_frame(std::string_view packet);

class FrameReader {
 public:
  using Take = std::function<void(std::string_view packet)>;
  // Hands over each complete frame of at least kPacketBytesMin bytes, unescaped. Where the bytes
  // are cut does not matter. Bytes before the first flag belong to no frame.
  void feed(std::string_view bytes, const Take& take);

  std::uint64_t short_frames() const { return short_; }      // empty ones are not counted
  std::uint64_t long_frames() const { return long_; }        // above kPacketBytesMax
  std::uint64_t damaged_frames() const { return damaged_; }  // an escape of nothing

 private:
  enum class State : std::uint8_t { kOutside, kInside, kEscaped, kSkipping };
  void end_frame(const Take& take);
  void add(std::string_view bytes);

  State state_ = State::kOutside;
  std::string frame_;
  std::uint64_t short_ = 0;
  std::uint64_t long_ = 0;
  std::uint64_t damaged_ = 0;
};

}  // namespace postrider::reticulum
