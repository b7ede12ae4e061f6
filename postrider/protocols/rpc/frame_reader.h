// FrameReader: cuts the bytes of one direction of one connection into frames. Where the bytes are
// cut does not matter. It holds what has come of one frame, never what a length merely announces.
// One owner, one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/protocols/rpc/frames.h"

namespace postrider::rpc {

class FrameReader {
 public:
  // Returns false when nothing more is wanted; then the rest of the bytes is dropped.
  using Take = std::function<bool(Frame frame)>;

  explicit FrameReader(std::size_t bytes_max = kGreetingBytesMax) : bytes_max_(bytes_max) {}

  // Of frames whose length has not come yet. `take` may call it.
  void set_bytes_max(std::size_t bytes_max) { bytes_max_ = bytes_max; }
  // Nothing, or what is wrong with the first bad frame: the connection is to be told so and closed.
  // After that nothing is read any more.
  std::optional<ErrorFrame> feed(std::string_view bytes, const Take& take);

  bool in_frame() const { return has_length_ || !held_.empty(); }  // part of one has come

 private:
  std::optional<ErrorFrame> begin_frame();

  std::size_t bytes_max_;
  std::size_t wanted_ = kLengthBytes;  // until the next step
  bool has_length_ = false;
  bool over_ = false;
  std::string held_;
};

}  // namespace postrider::rpc
